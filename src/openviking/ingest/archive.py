"""The files of a local zip, which may be hostile: nothing of it is trusted but the bytes that were really unpacked."""

from __future__ import annotations

import lzma
import re
import stat
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Final

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
from openviking.ingest.ignore import IGNORE_FILE, MAX_IGNORE_BYTES, IgnoreChain, SkipRules, Verdict
from openviking.ingest.zip_directory import MAX_ENTRIES, ZipDirectory, too_many
from openviking.names import root_name
from openviking.uri import MAX_DEPTH

MAX_TOTAL_BYTES: Final = 2 * 1024 * 1024 * 1024
MAX_RATIO: Final = 100
RATIO_FREE_BYTES: Final = 10 * 1024 * 1024
"""So much of an entry may be unpacked whatever its ratio."""

TOTAL_FREE_BYTES: Final = 64 * 1024 * 1024
"""So much of an archive may be unpacked whatever its ratio: many small bombs are a large one."""

MAX_IGNORE_LINES: Final = 5_000
"""Of all ``.gitignore`` files of an archive: each name is compared with each line."""

_CHUNK: Final = 1024 * 1024
_MAX_NAME_CHARS: Final = 4096
_ENCRYPTED_FLAG: Final = 0x1
_FROM_DOS: Final = 0
_FROM_UNIX: Final = 3
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Others are unpacked by `zipfile` without a bound: some hundred bytes of bzip2 fill the memory."""

_OTHER_METHODS: Final = {9: "deflate64", zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "lzma", 93: "zstd", 95: "xz"}
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_APPLE_NOISE: Final = "__MACOSX"
_ESCAPES: Final = Verdict("its name leads out of the archive")
_ODD_NAME: Final = Verdict("its name holds a NUL or is too long")
_NAMELESS: Final = Verdict("it has no name")
_TOO_DEEP: Final = Verdict(f"it lies more than {MAX_DEPTH} levels deep")
_DOUBLE: Final = Verdict("a later entry has the same name")
_NOISE: Final = Verdict("metadata of another system")
_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, OverflowError,
    NotImplementedError, RuntimeError, IndexError, KeyError,
)  # fmt: skip


_Level = tuple[str, str, IgnoreChain | None]
"""A directory, the skipped one that it is in ("" for none), and the ``.gitignore`` files that hold there."""


class ZipDelivery:
    """A zip, called ``name``; one root directory of the same name as the archive (``stem``) is unwrapped."""

    def __init__(self, path: Path, stem: str, *, name: str = "", max_total_bytes: int = MAX_TOTAL_BYTES) -> None:
        self._name = name or path.name
        self._stem = stem
        self._counted: set[str] = set()
        self._entries: dict[str, zipfile.ZipInfo] = {}
        self._ignore_lines = 0
        try:
            self._left = min(max_total_bytes, max(TOTAL_FREE_BYTES, path.stat().st_size * MAX_RATIO))
            self._zip = ZipDirectory(path, self._name)
        except _BROKEN as error:
            raise ProcessingError(
                f"{self._name} can't be unpacked: {str(error) or type(error).__name__}", resource=self._name
            ) from error

    def scan(self, rules: SkipRules, cancelled: Cancelled) -> Scan:
        """Its files by name, under the rules that hold for folders.

        Raises `ProcessingError` for one with too many directories.
        """
        scan = Scan()
        self._entries = self._unwrapped(self._safe_entries(scan))
        levels: list[_Level] = [("", "", self._chain("", scan, None))]
        left_out: dict[str, Verdict] = {}
        held: Counter[str] = Counter()
        directories = 0
        for name in sorted(self._entries, key=_tree_order):
            if cancelled():
                break
            directories += self._enter(name.rpartition("/")[0], rules, scan, levels, left_out)
            if directories > MAX_ENTRIES:
                raise too_many(self._name)
            _, outside, chain = levels[-1]
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
        if info.compress_type not in _METHODS:
            method = _OTHER_METHODS.get(info.compress_type, f"method {info.compress_type}")
            raise UnreadableError(f"it can't be unpacked: it is packed by {method}, and only deflate is taken")
        if info.file_size > limit:
            raise UnreadableError(too_large(info.file_size, limit))
        allowed = max(RATIO_FREE_BYTES, info.compress_size * MAX_RATIO)
        if info.file_size > allowed:
            raise UnreadableError(_bomb(info))
        chunks: list[bytes] = []
        size = 0
        try:
            with self._zip.file.open(info) as file:
                while chunk := file.read(_CHUNK):
                    size += len(chunk)
                    if name not in self._counted:
                        self._left -= len(chunk)
                        if self._left < 0:
                            raise UnreadableError("the archive unpacks to more than is taken in total")
                    if size > limit:
                        raise UnreadableError(too_large(size, limit))
                    if size > allowed:
                        raise UnreadableError(_bomb(info))
                    chunks.append(chunk)
        except _BROKEN as error:
            raise UnreadableError(f"it can't be unpacked: {str(error) or type(error).__name__}") from error
        if size != info.file_size:
            raise UnreadableError(f"it can't be unpacked: it has {size:,} bytes and says {info.file_size:,}")
        self._counted.add(name)
        return b"".join(chunks)

    def close(self) -> None:
        """Close the archive."""
        self._zip.close()

    def _enter(
        self, path: str, rules: SkipRules, scan: Scan, levels: list[_Level], left_out: dict[str, Verdict]
    ) -> int:
        """Make ``levels`` end with the directory ``path``; how many were entered.

        Files come in the order of the tree, so that each directory is entered once and only those above are held.
        """
        while levels[-1][0] and not f"{path}/".startswith(f"{levels[-1][0]}/"):
            levels.pop()
        entered = 0
        while levels[-1][0] != path:
            above, outside, chain = levels[-1]
            begin = len(above) + 1 if above else 0
            end = path.find("/", begin)
            directory = path if end < 0 else path[:end]
            if not outside:
                verdict = rules.directory(directory, chain)
                if verdict is None:
                    chain = self._chain(directory, scan, chain)
                else:
                    left_out[directory] = verdict
                    outside = directory
            levels.append((directory, outside, chain))
            entered += 1
        return entered

    def _chain(self, directory: str, scan: Scan, outer: IgnoreChain | None) -> IgnoreChain | None:
        name = f"{directory}/{IGNORE_FILE}" if directory else IGNORE_FILE
        if name not in self._entries:
            return outer
        try:
            self._ignore_lines += self.read(name, MAX_IGNORE_BYTES).count(b"\n") + 1
        except UnreadableError as error:
            scan.fail(name, str(error))
            return outer
        if self._ignore_lines > MAX_IGNORE_LINES:
            scan.fail(name, f"the archive has more than {MAX_IGNORE_LINES:,} lines of {IGNORE_FILE}")
            return outer
        return with_ignore_file(self, directory, scan, outer)

    def _safe_entries(self, scan: Scan) -> dict[str, zipfile.ZipInfo]:
        entries: dict[str, zipfile.ZipInfo] = {}
        for info, shown in self._zip.entries():
            name = _path(info, shown)
            kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == _FROM_UNIX else 0
            if "\0" in shown or len(shown) > _MAX_NAME_CHARS:
                scan.skip(storable(shown[:200].replace("\0", "\\0")), _ODD_NAME)
            elif name is None:
                scan.skip(shown, _ESCAPES)
            elif kind == stat.S_IFLNK:
                scan.skip(name, LINK)
            elif shown.endswith(("/", "\\")):
                continue
            elif not name:
                scan.skip(shown, _NAMELESS)
            elif name.count("/") >= MAX_DEPTH:
                scan.skip(name, _TOO_DEEP)
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


def _tree_order(name: str) -> str:
    """Sorts names as a walk finds them: by their parts, none of which holds a NUL."""
    return name.replace("/", "\0")


def _bomb(info: zipfile.ZipInfo) -> str:
    return f"it unpacks to more than {MAX_RATIO} times its {info.compress_size:,} packed bytes"
