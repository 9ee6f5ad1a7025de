"""Files and folders of this machine as uploads: a file as it is, a folder as a zip in a temporary file."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import zipfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from openviking_sdk.errors import InvalidArgumentError
from openviking_sdk.files import Upload
from openviking_sdk.ignore import IGNORE_FILE, MAX_IGNORE_BYTES, IgnoreFile, SendRules

_REMOTE: Final = ("http://", "https://", "git@", "ssh://", "git://", "viking://")
_CHUNK: Final = 1024 * 1024
_BREATH_BYTES: Final = 8 * 1024 * 1024
_BREATH_FILES: Final = 100
_STORED: Final = frozenset(
    (".zip", ".gz", ".xz", ".bz2", ".7z", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".mp3", ".mp4", ".mkv")
)

# A link is never opened, and a pipe that took the place of a file does not block.
_OPEN_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


def local_path(source: str | os.PathLike[str]) -> Path | None:
    """The file or folder of this machine that ``source`` names; None for an address, and for what is not there."""
    text = os.fspath(source)
    if text.startswith(_REMOTE) or "\n" in text:
        return None
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        path = Path(text).expanduser()
        if text and path.exists():
            return path.resolve()
    return None


def packed(
    path: Path, rules: SendRules, fields: dict[str, str]
) -> Generator[None, None, contextlib.AbstractContextManager[Upload]]:
    """The upload of a file or folder, to be closed after use; yields now and then, so that it can be given up.

    Raises `InvalidArgumentError` for a folder with nothing to send and for what is neither file nor folder, and
    `OSError` for what can't be read.
    """
    if path.is_dir():
        archive = yield from _zipped(path, rules)
        return _closing(archive, f"{path.name or 'folder'}.zip", fields)
    return _closing(_opened(str(path)), path.name, fields)


@contextlib.contextmanager
def _closing(file: BinaryIO, name: str, fields: dict[str, str]) -> Iterator[Upload]:
    with file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        yield Upload(_utf8(name), file, size, tuple(fields.items()))


def _zipped(folder: Path, rules: SendRules) -> Generator[None, None, BinaryIO]:
    archive = tempfile.TemporaryFile(prefix="openviking-")  # noqa: SIM115 - the caller closes it
    try:
        files = read = 0
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packing:
            for name in _walked(str(folder), rules):
                files += 1
                for size in _added(packing, str(folder), name):
                    read += size
                    if read >= _BREATH_BYTES:
                        read = 0
                        yield
                if not files % _BREATH_FILES:
                    yield
    except BaseException:
        archive.close()
        raise
    if not files:
        archive.close()
        raise InvalidArgumentError(
            f"{folder} has no file to send: what is hidden, ignored, excluded or a link is left out",
            details={"resource": str(folder)},
        )
    return archive


def _added(packing: zipfile.ZipFile, folder: str, name: str) -> Iterator[int]:
    """Add one file; gives the size of each piece."""
    with _opened(f"{folder}/{name}") as file:
        info = zipfile.ZipInfo(_utf8(name))  # without its time, so that the same folder is the same archive
        info.compress_type = zipfile.ZIP_STORED if name[name.rfind(".") :].lower() in _STORED else zipfile.ZIP_DEFLATED
        with packing.open(info, "w", force_zip64=os.fstat(file.fileno()).st_size > 2**30) as entry:
            while piece := file.read(_CHUNK):
                entry.write(piece)
                yield len(piece)


def _walked(folder: str, rules: SendRules) -> Iterator[str]:
    """The relative names of the files to send, the entries of each directory by name; links are passed over.

    Without recursion, so that no depth is too deep.
    """
    stack: list[tuple[Iterator[os.DirEntry[str]], str, IgnoreFile | None]] = [_listed(folder, "", None)]
    while stack:
        entries, directory, ignore = stack[-1]
        entry = next(entries, None)
        if entry is None:
            stack.pop()
            continue
        name = f"{directory}/{entry.name}" if directory else entry.name
        if entry.is_dir(follow_symlinks=False):
            if rules.sends_directory(name, ignore):
                stack.append(_listed(folder, name, ignore))
        elif entry.is_file(follow_symlinks=False) and rules.sends_file(name, ignore):
            yield name


def _listed(
    folder: str, directory: str, ignore: IgnoreFile | None
) -> tuple[Iterator[os.DirEntry[str]], str, IgnoreFile | None]:
    path = f"{folder}/{directory}" if directory else folder
    with os.scandir(path) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    if any(entry.name == IGNORE_FILE and entry.is_file(follow_symlinks=False) for entry in entries):
        with _opened(f"{path}/{IGNORE_FILE}") as file:
            text = file.read(MAX_IGNORE_BYTES).decode("utf-8", "replace")
        ignore = IgnoreFile.of(directory, text, ignore)
    return iter(entries), directory, ignore


def _opened(path: str) -> BinaryIO:
    handle = os.open(path, _OPEN_FLAGS)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InvalidArgumentError(f"{path} is neither a file nor a folder", details={"resource": path})
    return os.fdopen(handle, "rb")


def _utf8(name: str) -> str:
    """The name, with what is no Unicode replaced: archives and forms carry UTF-8."""
    return name.encode("utf-8", "replace").decode()
