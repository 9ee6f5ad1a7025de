"""The files of a local zip, which may be hostile: nothing of it is trusted but the bytes that were really unpacked."""

from __future__ import annotations

import contextlib
import lzma
import re
import stat
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import IO, Final

from openviking.errors import ProcessingError
from openviking.ingest.delivery import (
    LINK,
    SPECIAL,
    Cancelled,
    Scan,
    UnreadableError,
    files_text,
    storable,
    too_large,
    with_ignore_file,
)
from openviking.ingest.ignore import IGNORE_FILE, IgnoreChain, SkipRules, Verdict
from openviking.ingest.zip_names import names_codec
from openviking.names import root_name

MAX_ENTRIES: Final = 100_000
MAX_DIRECTORY_BYTES: Final = 64 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 2 * 1024 * 1024 * 1024
MAX_RATIO: Final = 100
RATIO_FREE_BYTES: Final = 10 * 1024 * 1024
"""So much of an entry may be unpacked whatever its ratio."""

_CHUNK: Final = 1024 * 1024
_MAX_NAME_CHARS: Final = 4096
_UTF8_FLAG: Final = 0x800
_ENCRYPTED_FLAG: Final = 0x1
_FROM_DOS: Final = 0
_FROM_UNIX: Final = 3
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_APPLE_NOISE: Final = "__MACOSX"
_ESCAPES: Final = Verdict("its name leads out of the archive")
_ODD_NAME: Final = Verdict("its name holds a NUL or is too long")
_DOUBLE: Final = Verdict("a later entry has the same name")
_NOISE: Final = Verdict("metadata of another system")
_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, OverflowError,
    NotImplementedError, RuntimeError, IndexError, KeyError,
)  # fmt: skip


_Below = dict[str, tuple[str, IgnoreChain | None]]


class ZipDelivery:
    """A zip, called ``name``; one root directory of the same name as the archive (``stem``) is unwrapped."""

    def __init__(self, path: Path, stem: str, *, name: str = "", max_total_bytes: int = MAX_TOTAL_BYTES) -> None:
        name = name or path.name
        self._path = path
        self._stem = stem
        self._left = max_total_bytes
        self._counted: set[str] = set()
        self._entries: dict[str, zipfile.ZipInfo] = {}
        try:
            with path.open("rb") as file:
                _check_directory(file)
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise ProcessingError(f"{name} can't be unpacked: {error}", resource=name) from error
        if len(self._zip.infolist()) > MAX_ENTRIES:
            self._zip.close()
            raise _too_many(name)

    def scan(self, rules: SkipRules, cancelled: Cancelled) -> Scan:
        """Its files by name, under the rules that hold for folders."""
        scan = Scan()
        self._entries = self._unwrapped(self._safe_entries(scan))
        below: _Below = {"": ("", self._chain("", scan, None))}
        left_out: dict[str, Verdict] = {}
        held: Counter[str] = Counter()
        for name in sorted(self._entries, key=lambda name: name.split("/")):
            if cancelled():
                break
            parent, _, _ = name.rpartition("/")
            outside, chain = self._directory(parent, rules, scan, below, left_out)
            if outside:
                held[outside] += 1
                continue
            verdict = rules.file(name, chain)
            if verdict is None:
                scan.files.append(name)
            else:
                scan.skip(name, verdict)
        for directory, verdict in left_out.items():
            scan.skip(directory, verdict, directory=True, holds=files_text(held[directory]))
        return scan

    def read(self, name: str, limit: int) -> bytes:
        """The unpacked bytes of a file, counted as they come."""
        info = self._entries[name]
        if info.flag_bits & _ENCRYPTED_FLAG:
            raise UnreadableError("it is encrypted")
        if info.file_size > limit:
            raise UnreadableError(too_large(info.file_size, limit))
        allowed = max(RATIO_FREE_BYTES, info.compress_size * MAX_RATIO)
        if info.file_size > allowed:
            raise UnreadableError(_bomb(info))
        chunks: list[bytes] = []
        size = 0
        try:
            with self._zip.open(info) as file:
                while chunk := file.read(_CHUNK):
                    size += len(chunk)
                    self._left -= 0 if name in self._counted else len(chunk)
                    if size > limit:
                        raise UnreadableError(too_large(size, limit))
                    if size > allowed:
                        raise UnreadableError(_bomb(info))
                    if self._left < 0:
                        raise UnreadableError("the archive unpacks to more than is taken in total")
                    chunks.append(chunk)
        except _BROKEN as error:
            raise UnreadableError(f"it can't be unpacked: {str(error) or type(error).__name__}") from error
        self._counted.add(name)
        return b"".join(chunks)

    def close(self) -> None:
        """Close the archive."""
        self._zip.close()

    def _directory(
        self, path: str, rules: SkipRules, scan: Scan, below: _Below, left_out: dict[str, Verdict]
    ) -> tuple[str, IgnoreChain | None]:
        """Which skipped directory a directory is in, "" if it is taken, with its ``.gitignore`` files.

        Decided once, from the top down.
        """
        missing: list[str] = []
        while path not in below:
            missing.append(path)
            path = path.rpartition("/")[0]
        outside, chain = below[path]
        for directory in reversed(missing):
            if not outside:
                verdict = rules.directory(directory, chain)
                if verdict is None:
                    chain = self._chain(directory, scan, chain)
                else:
                    left_out[directory] = verdict
                    outside = directory
            below[directory] = (outside, chain)
        return outside, chain

    def _chain(self, directory: str, scan: Scan, outer: IgnoreChain | None) -> IgnoreChain | None:
        name = f"{directory}/{IGNORE_FILE}" if directory else IGNORE_FILE
        return with_ignore_file(self, directory, scan, outer) if name in self._entries else outer

    def _safe_entries(self, scan: Scan) -> dict[str, zipfile.ZipInfo]:
        entries: dict[str, zipfile.ZipInfo] = {}
        infos = self._zip.infolist()
        for info, shown in zip(infos, _names(infos), strict=True):
            name = _path(info, shown)
            kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == _FROM_UNIX else 0
            if "\0" in shown or len(shown) > _MAX_NAME_CHARS:
                scan.skip(storable(shown[:200].replace("\0", "\\0")), _ODD_NAME)
            elif name is None:
                scan.skip(shown, _ESCAPES)
            elif kind == stat.S_IFLNK:
                scan.skip(name, LINK)
            elif info.is_dir() or shown.endswith(("/", "\\")) or not name:
                continue
            elif kind not in {0, stat.S_IFREG}:
                scan.skip(name, SPECIAL)
            elif name.startswith(_APPLE_NOISE + "/"):
                scan.skip(name, _NOISE)
            else:
                if name in entries:
                    scan.skip(name, _DOUBLE)
                entries[name] = info
        return entries

    def _unwrapped(self, entries: dict[str, zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        visible = [name for name in entries if not name.startswith(".")]
        roots = {name.partition("/")[0] for name in visible}
        if len(roots) != 1 or not all("/" in name for name in visible):
            return entries
        root = roots.pop()
        if self._stem not in {root, root_name(root)} and root_name(self._stem) != root_name(root):
            return entries
        return {name.removeprefix(root + "/"): info for name, info in entries.items()}


def _path(info: zipfile.ZipInfo, shown: str) -> str | None:
    """The relative path that an entry's name stands for, None if it would lead out of the archive."""
    name = shown
    if "\\" in name and (info.create_system == _FROM_DOS or "/" not in name):
        name = name.replace("\\", "/")
    parts = name.split("/")
    escapes = name.startswith(("/", "\\")) or _DRIVE.match(name) or ".." in re.split(r"[/\\]", name)
    return None if escapes else "/".join(part for part in parts if part not in {"", "."})


def _names(infos: list[zipfile.ZipInfo]) -> list[str]:
    """The entries' names; those not marked as UTF-8 are decoded together, so that all get the same encoding."""
    names = [info.orig_filename for info in infos]
    unmarked = [
        index for index, info in enumerate(infos) if not info.flag_bits & _UTF8_FLAG and not names[index].isascii()
    ]
    try:
        raw = [names[index].encode("cp437") for index in unmarked]
    except UnicodeEncodeError:
        return names
    encoding = names_codec(raw)
    for index, data in zip(unmarked, raw, strict=True):
        with contextlib.suppress(UnicodeDecodeError):
            names[index] = data.decode(encoding)
    return names


def _check_directory(file: IO[bytes]) -> None:
    """Raises `ProcessingError` for a central directory that would fill the memory; `BadZipFile` for none at all."""
    file.seek(0, 2)
    size = file.tell()
    start = max(0, size - 66_000)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise zipfile.BadZipFile("it is not a zip file")
    directory_bytes = int.from_bytes(tail[at + 12 : at + 16], "little")
    entries = int.from_bytes(tail[at + 10 : at + 12], "little")
    wide = tail.rfind(b"PK\x06\x06", 0, at)
    if wide >= 0 and 0xFFFFFFFF in {directory_bytes, entries | 0xFFFF0000}:
        directory_bytes = int.from_bytes(tail[wide + 40 : wide + 48], "little")
    if min(directory_bytes, size) > MAX_DIRECTORY_BYTES:
        raise _too_many("The archive")


def _too_many(name: str) -> ProcessingError:
    return ProcessingError(f"{name} has too many entries, at most {MAX_ENTRIES:,} are taken", limit=MAX_ENTRIES)


def _bomb(info: zipfile.ZipInfo) -> str:
    return f"it unpacks to more than {MAX_RATIO} times its {info.compress_size:,} packed bytes"
