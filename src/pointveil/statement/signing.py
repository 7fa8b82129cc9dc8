"""Sign statements, and check signatures (Ed25519, by the library `cryptography`)."""

from __future__ import annotations

import base64
import binascii
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointveil.errors import InputError, VerificationError, missing_extra
from pointveil.ledger import OWN, Own, default_ledger_path

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

CONTEXT = b"pointveil-statement-1\n"
"""Stands before every signed text, so that a signature can mean nothing else."""


def default_key_path() -> Path:
    """Return where the private key of this user lies."""
    return default_ledger_path().with_name("signing-key.pem")


@dataclass(frozen=True)
class SigningKey:
    """A private key in a file that only its owner can read.

    Parameters
    ----------
    path
        Of the private key; the public one lies beside it.
    public
        The public key: 32 bytes in base64.
    """

    path: Path
    public: str
    _private: Any = field(repr=False, compare=False)

    @property
    def public_path(self) -> Path:
        """Where the public key lies."""
        return self.path.with_suffix(".pub")

    @classmethod
    def new(cls, path: Path) -> SigningKey:
        """Make a key and write it; refuses to overwrite one."""
        library = _library()
        private = library.Ed25519PrivateKey.generate()
        made = cls(path, _public_text(private), private)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_pem(private))
            made.public_path.write_text(made.public + "\n", encoding="ascii")
        except FileExistsError:
            raise InputError(f"There is a key in {path} already; give another path with --key.") from None
        except OSError as fault:
            raise InputError(f"The key {path} cannot be written: {fault.strerror}.") from None
        return made

    @classmethod
    def read(cls, path: Path) -> SigningKey:
        """Read a private key."""
        library = _library()
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            private = load_pem_private_key(path.read_bytes(), password=None)
        except OSError as fault:
            raise InputError(f"The key {path} cannot be read: {fault.strerror}. Make one: pointveil keys new") from None
        except (ValueError, TypeError):
            raise InputError(f"{path} is not a private key made by 'pointveil keys new'.") from None
        if not isinstance(private, library.Ed25519PrivateKey):
            raise InputError(f"{path} is not an Ed25519 key; make one with 'pointveil keys new'.")
        return cls(path, _public_text(private), private)

    def sign(self, text: bytes) -> str:
        """Return the signature of a text: 64 bytes in base64."""
        return base64.b64encode(self._private.sign(CONTEXT + text)).decode()


def find_key(given: SigningKey | str | os.PathLike[str] | Own | None = OWN) -> SigningKey | None:
    """Return the key that was named, or the user's own if there is one, or none if that was said."""
    if given is None or isinstance(given, SigningKey):
        return given
    if given is not OWN:
        return SigningKey.read(Path(given))
    own = default_key_path()
    return SigningKey.read(own) if own.is_file() else None


def check_signature(public: str, signature: str, text: bytes) -> None:
    """Raise VerificationError unless the signature is that of this text by this key."""
    library = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        key = library.Ed25519PublicKey.from_public_bytes(_decode(public, 32))
        key.verify(_decode(signature, 64), CONTEXT + text)
    except InvalidSignature:
        raise VerificationError("The signature is not that of this statement by this key.") from None


def read_public_key(text_or_path: str) -> str:
    """Return a public key from a file or from itself."""
    path = Path(text_or_path)
    text = path.read_text(encoding="ascii", errors="replace").strip() if path.is_file() else text_or_path.strip()
    try:
        _decode(text, 32)
    except VerificationError:
        raise InputError(f"'{text_or_path}' is neither a public key nor a file with one.") from None
    return text


def _decode(text: str, length: int) -> bytes:
    """Return the bytes of a base64 text in its one canonical form."""
    try:
        content = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        content = b""
    if len(content) != length or base64.b64encode(content).decode() != text or re.search(r"\s", text):
        raise VerificationError("The signature or its key is not well-formed.")
    return content


def _public_text(private: Ed25519PrivateKey) -> str:
    return base64.b64encode(private.public_key().public_bytes_raw()).decode()


def _pem(private: Ed25519PrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise missing_extra("sign", "cryptography") from None
    return ed25519
