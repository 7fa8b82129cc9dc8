"""Sign statements, and check signatures (Ed25519, by the library `cryptography`)."""

from __future__ import annotations

import base64
import binascii
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointveil.errors import InputError, VerificationError, missing_extra
from pointveil.files.whole import refuse_address
from pointveil.ledger import OWN, Own, default_ledger_path

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

CONTEXT = b"pointveil-statement-1\n"  # stands before every signed text, so that a signature can mean nothing else
LONGEST = 10_000  # bytes of a file with a key; more is not one


def default_key_path() -> Path:
    """Return where the private key of this user lies."""
    return default_ledger_path().with_name("signing-key.pem")


@dataclass(frozen=True)
class SigningKey:
    """A private key in a file that only its owner can read."""

    path: Path  # of the private key; the public one lies beside it
    public: str  # the public key: 32 bytes in base64
    _private: Any = field(repr=False, compare=False)

    @property
    def public_path(self) -> Path:
        """Where the public key lies."""
        return self.path.with_suffix(".pub")

    @classmethod
    def new(cls, path: Path) -> SigningKey:
        """Make a key and write it; refuses to overwrite one."""
        private = _library().Ed25519PrivateKey.generate()
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        made = cls(path, _public_text(private), private)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
            made.public_path.write_text(made.public + "\n", encoding="ascii")
        except FileExistsError:
            raise InputError(f"There is a key in {path} already; give another path with --key.") from None
        except OSError as fault:
            raise InputError(f"The key {path} cannot be written: {fault.strerror}.") from None
        return made

    @classmethod
    def read(cls, path: Path) -> SigningKey:
        """Read a private key."""
        refuse_address(path)
        library = _library()
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            with path.open("rb") as file:
                mode, content = os.fstat(file.fileno()).st_mode, file.read(LONGEST)
        except OSError as fault:
            raise InputError(f"The key {path} cannot be read: {fault.strerror}. Make one: pointveil keys new") from None
        if os.name == "posix" and mode & 0o077:
            raise InputError(f"Other users may open the key {path}. Close it to them with: chmod 600 '{path}'")
        try:
            private = load_pem_private_key(content, password=None)
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


def canonical(content: dict[str, Any]) -> bytes:
    """Return facts as text: the same facts, the same text."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def signed_text(content: dict[str, Any]) -> bytes:
    """Return what is signed of a statement: all its fields but the signature and the digest."""
    return canonical({name: value for name, value in content.items() if name not in ("signature", "digest")})


def check_signed(content: dict[str, Any], public_key: str | None = None) -> str:
    """Return the key that signed a statement; raise VerificationError if none did, or another than `public_key`.

    The statement is taken as it stands in its file: nothing else in it needs to be right yet.
    """
    if "signature" not in content:
        raise VerificationError("The statement is not signed.")
    signature = content["signature"] if isinstance(content["signature"], dict) else {}
    stated, value = str(signature.get("public_key")), str(signature.get("value"))
    key, signed = _decode(stated, 32), _decode(value, 64)
    if public_key is not None and stated != public_key:
        raise VerificationError(f"The statement was signed by another key: {stated}.")
    library = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        library.Ed25519PublicKey.from_public_bytes(key).verify(signed, CONTEXT + signed_text(content))
    except (InvalidSignature, ValueError):
        raise VerificationError("The signature is not that of this statement by this key.") from None
    return stated


def read_public_key(text_or_path: str) -> str:
    """Return a public key from a file or from itself."""
    for text in (text_or_path.strip(), _first_bytes(text_or_path).decode("ascii", "replace").strip()):
        try:
            _decode(text, 32)
        except VerificationError:
            continue
        return text
    raise InputError(f"{text_or_path[:200]!r} is neither a public key nor a file with one.")


def _first_bytes(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(LONGEST)
    except (OSError, ValueError):  # no file, or no name of one
        return b""


def _decode(text: str, length: int) -> bytes:
    """Return the bytes of a base64 text in its one canonical form."""
    try:
        content = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        content = b""
    if len(content) != length or base64.b64encode(content).decode() != text:
        raise VerificationError("The signature or its key is not well-formed.")
    return content


def _public_text(private: Ed25519PrivateKey) -> str:
    return base64.b64encode(private.public_key().public_bytes_raw()).decode()


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise missing_extra("sign", "cryptography") from None
    return ed25519
