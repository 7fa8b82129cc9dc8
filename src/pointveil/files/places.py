"""Where data lie: one file or many, on this machine or in an object store; their public names hold no secret."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from pointveil.errors import InputError
from pointveil.files.whole import refuse_address

STORES = ("s3", "gs", "gcs")
DATABASES = ("postgresql", "postgres")
WILD = re.compile(r"\*\*/?|\*|\?|\[[^]]*\]")
PATIENCE = 60  # seconds, for a store of Google, which pyarrow would try to reach for 15 minutes
NOT_DATA = (".", "_")  # how the names of what other programs leave beside their files begin
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, repr=False)
class RemoteFile:
    """An object in a store, which is read much as a `Path` is; shows nothing of how the store is entered."""

    system: Any = field(compare=False)  # of pyarrow.fs
    key: str

    def __repr__(self) -> str:
        return f"<RemoteFile {self.name}>"

    def __fspath__(self) -> str:
        return self.key

    @property
    def name(self) -> str:
        """The last part of the key."""
        return PurePosixPath(self.key).name

    def open(self, mode: str = "rb") -> Any:
        """Open for reading from any place."""
        del mode
        return self.system.open_input_file(self.key)


File = Path | RemoteFile
Stamped = dict[File, object]  # each file with what changes when its content does


def is_url(source: object) -> bool:
    """Whether a source is an address rather than a path."""
    return isinstance(source, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", source) is not None


def split_address(url: str) -> SplitResult:
    """Return the parts of an address; an error quotes nothing of one that has none."""
    try:
        return urlsplit(url)
    except ValueError:
        raise InputError(
            "An address cannot be read. Write odd signs in its user or password as %5B is for [."
        ) from None


def _server_and_path(url: SplitResult) -> tuple[str, str]:
    """Return the server or bucket of an address, and the path, without user and password."""
    place, path = url.netloc.rpartition("@")[2], url.path
    if ":" in place and url.scheme in STORES:  # no bucket has a colon: this is a password with a slash in it
        place, _, path = path.rpartition("@")[2].partition("/")
    return place, path


def is_database(source: object) -> bool:
    """Whether a source is the address of a table or query."""
    return isinstance(source, str) and is_url(source) and split_address(source).scheme in DATABASES


def is_store(source: object) -> bool:
    """Whether a source is the address of something in a store."""
    return isinstance(source, str) and is_url(source) and split_address(source).scheme in STORES


def is_file_list(source: object) -> bool:
    """Whether a source is a list of nothing but paths and addresses."""
    items = source if isinstance(source, list | tuple) else ()
    return bool(items) and all(isinstance(item, str | os.PathLike) for item in items)


def is_named(source: object) -> bool:
    """Whether a source is told by its path or address, or by a list of them."""
    return isinstance(source, str | os.PathLike) or is_file_list(source)


def local_path(source: object) -> Path | None:
    """Return the path of a source on this machine, if it has one."""
    if isinstance(source, str) and is_url(source):
        url = split_address(source)
        return Path(unquote(url.path)) if url.scheme == "file" and url.netloc in {"", "localhost"} else None
    return Path(source) if isinstance(source, str | os.PathLike) else None


def public_name(source: Any) -> str:
    """Return what to call a source in ledgers and errors: always the same, without user, password or server."""
    if is_file_list(source):
        others = f" and {len(source) - 1} more" if len(source) > 1 else ""
        return public_name(source[0]) + others
    path = local_path(source)
    if path is None and is_database(source):
        return _database_name(split_address(source))
    if path is None and is_url(source):
        url = split_address(source)
        place, below = _server_and_path(url)
        path = Path(place, *unquote(below).split("/"))
    if path is None:
        return "frame"
    wild = [place for place, part in enumerate(path.parts) if WILD.search(part)]
    if wild and not path.exists():
        return "/".join(path.parts[max(wild[0] - 1, 0) :])
    return path.name if path.name not in {"", ".."} else path.resolve().name


def without_secrets(place: str | os.PathLike[str]) -> str:
    """Return a path as it is, and an address without user, password and options, save for the name of a table."""
    if not is_url(place):
        return os.fspath(place)
    url = split_address(os.fspath(place))
    table = "".join(f"?table={name}" for name in parse_qs(url.query).get("table", []) if url.scheme in DATABASES)
    place, path = _server_and_path(url)
    return f"{url.scheme}://{place}/{path.lstrip('/')}{table}"


def _database_name(url: SplitResult) -> str:
    wanted = parse_qs(url.query)
    table = wanted.get("table", ["query " + hashlib.sha256("".join(wanted.get("query", [])).encode()).hexdigest()[:8]])
    return f"{unquote(url.path.strip('/'))}: {table[0]}"


def files_in(source: Any) -> Stamped | None:
    """Return the files of a folder, pattern, list or store, in a fixed order; None for one file on this machine."""
    if is_file_list(source):
        if any(map(is_database, source)):
            raise InputError("A table or a query cannot be one of a list of files: give it by itself.")
        return _each_once(pair for item in source for pair in (files_in(item) or _stamped(item)).items())
    path = local_path(source)
    if path is None:
        return _in_store(source)
    refuse_address(path)
    if path.is_dir():
        found = list(_below(path))
    elif WILD.search(str(path)) and not path.exists():
        pattern = _pattern(str(path))
        found = [file for file in _below(_fixed(path)) if pattern.fullmatch(str(file))]
    else:
        return None
    return _some(_each_once((file, stamp_of(file)) for file in sorted(found)), source)


def stamp_of(path: Path) -> tuple[int, int, int]:
    """Return what changes when a file does."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _each_once(files: Iterable[tuple[File, object]]) -> Stamped:
    """Return files, each once whatever it is called or linked as: read twice, one record would count as two."""
    found: dict[object, tuple[File, object]] = {}
    for file, stamp in files:
        first, _ = found.setdefault(_identity(file), (file, stamp))
        if isinstance(first, RemoteFile) and isinstance(file, RemoteFile) and first.system != file.system:
            raise InputError(f"{file.name} is given twice, by different users or of different stores. Give it once.")
    return dict(found.values())


def _identity(file: File) -> object:
    if isinstance(file, RemoteFile):
        return file
    status = file.stat()
    return (status.st_dev, status.st_ino) if status.st_ino else file.resolve()


def _stamped(item: Any) -> Stamped:
    path = local_path(item)
    assert path is not None  # noqa: S101 - `files_in` has all others
    refuse_address(path)
    try:
        return {path: stamp_of(path)}
    except OSError:
        raise InputError(f"{path.name} does not exist; check the path.") from None


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files under a folder, without those that are hidden or are notes of other programs."""
    for entry in folder.rglob("*"):
        if entry.is_file() and not _is_note(entry.relative_to(folder).parts):
            yield entry


def _is_note(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(NOT_DATA) for part in parts)


def _pattern(text: str) -> re.Pattern[str]:
    """Return a pattern of file names as a regular expression: `*` stays within a folder, `**` does not."""
    made, place = "", 0
    for wild in WILD.finditer(text):
        sign = wild.group()
        made += re.escape(text[place : wild.start()])
        sign = sign.replace("[!", "[^/")  # so regular expressions have it
        made += "(?:.*/)?" if sign == "**/" else {"**": ".*", "*": "[^/]*", "?": "[^/]"}.get(sign, sign)
        place = wild.end()
    try:
        return re.compile(made + re.escape(text[place:]))
    except re.error:
        raise InputError(
            "A pattern cannot be read: in square brackets stand signs, as in [ab], [a-z] or [!a]."
        ) from None


def store_of(url: str) -> tuple[Any, str]:
    """Return the file system and the key that an address names."""
    from pyarrow import fs

    scheme = split_address(url).scheme.lower()
    if scheme not in STORES:
        raise InputError(
            f"{public_name(url)} cannot be reached: an address begins with file:///, s3://, gs:// or postgresql://, "
            f"not with {scheme}://. Use a file on this machine."
        )
    if scheme != "s3" and "retry_limit_seconds=" not in url:
        url += f"{'&' if '?' in url else '?'}retry_limit_seconds={PATIENCE}"
    try:
        system, key = fs.FileSystem.from_uri(url)
    except Exception:  # noqa: BLE001 - its text may quote the password in the address
        raise InputError(f"{public_name(url)} cannot be opened: {REFUSED}") from None
    return system, str(key)


REFUSED = "the store does not answer, or does not let you in. Check the address, the region and the credentials."


def _sought(url: str) -> tuple[Any, str, re.Pattern[str] | None]:
    """Return the file system that an address names, the key below which all lies, and a pattern if there is one."""
    star = re.compile(r"\*\*/?|\*")  # a question mark begins the options of an address
    before, mark, options = url.partition("?")
    wild = star.search(before)
    folder = before[: wild.start()].rpartition("/")[0] if wild else before.rstrip("/")
    system, base = store_of(folder + mark + options)
    return system, base, _pattern(base + unquote(before[len(folder) :])) if wild else None


def _infos(system: Any, base: str, url: str) -> list[Any]:
    """Return what a store tells of an object, or of all that lies in a folder; nothing if neither is there."""
    from pyarrow import fs

    try:
        info = system.get_file_info(base)
        selector = fs.FileSelector(base, allow_not_found=True, recursive=True)
        infos = [info] if info.is_file else system.get_file_info(selector)
    except Exception:  # noqa: BLE001 - as above
        raise InputError(f"{public_name(url)} cannot be opened: {REFUSED}") from None
    return [each for each in infos if each.is_file]


def _in_store(url: str) -> Stamped:
    system, base, pattern = _sought(url)
    infos = _infos(system, base, url)
    found = [each for each in infos if not _is_note(PurePosixPath(each.path.removeprefix(base)).parts)]
    if pattern is not None:
        found = [each for each in found if pattern.fullmatch(each.path)]
    stamped: Stamped = {
        RemoteFile(system, each.path): (each.path, each.size, each.mtime_ns)
        for each in sorted(found, key=lambda each: each.path)
    }
    return _some(stamped, url)


def names_at(url: str) -> list[str]:
    """Return the names of all that lies below an address, where something is to be written; that of an object is ""."""
    system, key = store_of(url)
    parts = key.strip("/").split("/")
    if "*" in key or len(parts) < 2 or {".", ".."} & {*parts}:
        raise InputError(f"{public_name(url)} cannot be written: give the address of one object or folder in a bucket.")
    found = [each.path.removeprefix(key).strip("/") for each in _infos(system, key, url)]
    with suppress(OSError):  # who may write into a bucket may perhaps not look at it
        is_missing = not found and system.get_file_info(parts[0]).type.name == "NotFound"
        if is_missing and "allow_bucket_creation=true" not in url.casefold():
            raise InputError(f"{public_name(url)} cannot be written: there is no bucket {parts[0]}; make it first.")
    return found


def is_beside(url: str, *names: str) -> bool:
    """Whether an object of one of these names lies beside an address."""
    system, key = store_of(url)
    try:
        found = system.get_file_info([str(PurePosixPath(key).with_name(name)) for name in names])
    except Exception:  # noqa: BLE001 - as above
        raise InputError(f"{public_name(url)} cannot be opened: {REFUSED}") from None
    return any(each.is_file for each in found)


def refuse_within(output: Any, private: Any) -> None:
    """Refuse to write where private files are read, or would be the next time, or lie in a folder that is replaced."""
    if _is_within(output, private):
        name, others = public_name(output), public_name(private)
        raise InputError(f"{name} would lie among the private files, {others}. Give another place for it.")


def _is_within(target: Any, source: Any) -> bool:
    if is_file_list(source):
        return any(_is_within(target, item) for item in source)
    if is_store(source) and is_store(target):
        return _is_within_store(target, source)
    path, local = local_path(source), local_path(target)
    if path is None or local is None:
        return False
    target, fixed = local.resolve(), _fixed(path).resolve()
    if WILD.search(str(path)) and not path.exists():
        rest = _pattern(str(path.relative_to(_fixed(path))))
        if target.is_relative_to(fixed) and rest.fullmatch(str(target.relative_to(fixed))):
            return True
    elif target.is_relative_to(path.resolve()):
        return True
    return any(_holds(target, file) for file in files_in(source) or [path] if isinstance(file, Path))


def _is_within_store(target: str, source: str) -> bool:
    """As above; whoever enters a store, and by whichever name of its server, may mean the same objects."""
    (system, base, pattern), (other, key) = _sought(source), store_of(target.rstrip("/"))
    if system.type_name != other.type_name:
        return False
    if f"{base}/".startswith(f"{key}/") or (pattern is None and f"{key}/".startswith(f"{base}/")):
        return True
    found = pattern is not None and pattern.fullmatch(key)
    return bool(found) or any(f"{os.fspath(file)}/".startswith(f"{key}/") for file in _in_store(source))


def _holds(target: Path, file: Path) -> bool:
    """Whether a path is a file, by this or another name, or a folder with it."""
    with suppress(OSError):
        if target.samefile(file):
            return True
    if not target.is_dir():
        return False
    return file.resolve().is_relative_to(target) or (file.parent.resolve() / file.name).is_relative_to(target)


def _fixed(path: Path) -> Path:
    """Return the folder below which lies all that a pattern matches."""
    return Path(*itertools.takewhile(lambda part: not WILD.search(part), path.parts))


def _some(found: Stamped, source: Any) -> Stamped:
    if not found:
        raise InputError(f"{public_name(source)} has no file in it; check the path.")
    return found


@contextmanager
def fetched(source: str | os.PathLike[str], *beside: str) -> Iterator[Path]:
    """Give a file or folder on this machine: itself, or a private copy of what lies in a store.

    `beside` has endings of files that come along if they are there.
    """
    path = local_path(source)
    if path is not None:
        yield path
        return
    from pyarrow import fs

    system, key = store_of(str(source))
    with TemporaryDirectory(prefix="pointveil-") as folder:
        copy = Path(folder) / PurePosixPath(key).name
        try:
            found = system.get_file_info([key, *(key.rstrip("/") + ending for ending in beside)])
            for info in found:
                if info.type == fs.FileType.Directory:
                    copy.mkdir()
                if info.type != fs.FileType.NotFound:
                    fs.copy_files(info.path, str(copy.with_name(Path(info.path).name)), source_filesystem=system)
        except Exception:  # noqa: BLE001 - its text may quote the password in the address
            raise InputError(f"{public_name(source)} cannot be opened: {REFUSED}") from None
        yield copy


def put(url: str, files: list[Path]) -> None:
    """Copy files or folders into a store, beside each other, in this order: all of them or none."""
    from pyarrow import fs

    system, key = store_of(url)
    targets = [str(PurePosixPath(key).with_name(file.name)) for file in files]
    try:
        for file, target in zip(files, targets, strict=True):
            fs.copy_files(str(file), target, destination_filesystem=system)
    except Exception:  # noqa: BLE001 - as above
        with suppress(Exception):
            remove(url, *(file.name for file in files))
        raise InputError(f"{public_name(url)} cannot be written: {REFUSED}") from None


def remove(url: str, *names: str) -> None:
    """Remove what has one of these names beside an address of a store, if it is there."""
    system, key = store_of(url)
    for name in names:
        info = system.get_file_info(str(PurePosixPath(key).with_name(name)))
        if info.is_file:
            system.delete_file(info.path)
        elif info.type.name == "Directory":
            system.delete_dir(info.path)


def hive_keys(file: File) -> dict[str, str | None]:
    """Return what the folders of a file say about its records, as in `year=2024/month=5`."""
    folders = [part.partition("=") for part in PurePosixPath(os.fspath(file)).parts[:-1]]
    pairs = {name: unquote(value) for name, equals, value in folders if equals and name}
    return {name: None if value == NO_VALUE else value for name, value in pairs.items()}
