"""The table of contents of a zip, read within bounds and so that one damaged entry does not take the others along."""

from __future__ import annotations

import contextlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from openviking.errors import ProcessingError
from openviking.ingest.zip_names import names_codec

MAX_ENTRIES: Final = 100_000
MAX_DIRECTORY_BYTES: Final = 64 * 1024 * 1024

_ENTRY: Final = b"PK\x01\x02"
_ENTRY_BYTES: Final = 46
_UTF8_FLAG: Final = 0x800
_ZIP64: Final = 0x0001
_UNICODE_NAME: Final = 0x7075
_BEYOND_32_BITS: Final = 0xFFFFFFFF


class ZipDirectory:
    """A zip that is open: ``file`` reads its entries, `names` says what they are called; close it.

    Raises `ProcessingError`, which calls the archive ``name``, for more entries or bytes of directory than are taken,
    and what `zipfile` raises for what is no zip.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._bytes = _Bounded(path, name)
        try:
            self.file = zipfile.ZipFile(self._bytes)
        except BaseException:
            self._bytes.close()
            raise
        self._bytes.reads_directory = False

    def entries(self) -> list[tuple[zipfile.ZipInfo, str]]:
        """The entries with their names as they were meant."""
        infos = self.file.infolist()
        return list(zip(infos, _names(infos), strict=True))

    def close(self) -> None:
        """Close it."""
        self.file.close()
        self._bytes.close()


class _Bounded(io.BufferedReader):
    """A file that never gives more at once than a directory may have, and directories as `zipfile` can read them.

    What `zipfile` takes for the directory is told by the archive alone, so that the bound is where it is read.
    """

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(io.FileIO(path))
        self._name = name
        self._size = path.stat().st_size
        self.reads_directory = True

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            if size > self._size:
                raise zipfile.BadZipFile("it is cut off")
            raise too_many(self._name)
        data = super().read(size)
        return _tamed(data, self._name) if self.reads_directory and data.startswith(_ENTRY) else data


def too_many(name: str) -> ProcessingError:
    """What an archive with too many entries is refused with."""
    return ProcessingError(f"{name} has too many entries, at most {MAX_ENTRIES:,} are taken", limit=MAX_ENTRIES)


def _tamed(directory: bytes, name: str) -> bytes:
    """``directory`` without what makes `zipfile` refuse all entries for the sake of one.

    A name that is not the UTF-8 that it says to be is read as one that says nothing; extra fields that can't be parsed
    become part of the entry's comment, which nobody reads; and what needs a later version of the format fails when it
    is unpacked. Nothing changes its place.
    """
    made = bytearray(directory)
    at = count = 0
    while made.startswith(_ENTRY, at) and at + _ENTRY_BYTES <= len(made):
        count += 1
        if count > MAX_ENTRIES:
            raise too_many(name)
        name_bytes, extra_bytes, comment_bytes = struct.unpack_from("<HHH", made, at + 28)
        extra_at = at + _ENTRY_BYTES + name_bytes
        if made[at + 9] & 0x08 and not _is_utf8(directory[at + _ENTRY_BYTES : extra_at]):
            made[at + 9] &= ~0x08
        made[at + 6] = min(made[at + 6], zipfile.MAX_EXTRACT_VERSION)
        if extra_bytes and extra_bytes + comment_bytes <= 0xFFFF:
            fields = struct.unpack_from("<LL", made, at + 20) + struct.unpack_from("<L", made, at + 42)
            if not _is_sound(directory[extra_at : extra_at + extra_bytes], fields):
                struct.pack_into("<HH", made, at + 30, 0, extra_bytes + comment_bytes)
        at = extra_at + extra_bytes + comment_bytes
    return bytes(made)


def _is_utf8(data: bytes) -> bool:
    with contextlib.suppress(UnicodeDecodeError):
        data.decode()
        return True
    return False


def _is_sound(extra: bytes, fields: Sequence[int]) -> bool:
    """Whether the extra fields of an entry can be parsed; ``fields`` are its sizes and its place."""
    needed = 8 * sum(field == _BEYOND_32_BITS for field in fields)
    at = 0
    for tag, held in _fields(extra):
        at += 4 + len(held)
        if (tag == _ZIP64 and len(held) < needed) or (tag == _UNICODE_NAME and _unicode_name(held) is None):
            return False
    return len(extra) - at < 4


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """Tags and contents of extra fields, up to the first that is cut off."""
    at = 0
    while at + 4 <= len(extra):
        tag, size = struct.unpack_from("<HH", extra, at)
        if at + 4 + size > len(extra):
            return
        yield tag, extra[at + 4 : at + 4 + size]
        at += 4 + size


def _unicode_name(field: bytes) -> tuple[int, str] | None:
    """The checksum of the name that an extra field stands for, and what it says instead."""
    if len(field) < 5:
        return None
    try:
        return int.from_bytes(field[1:5], "little"), field[5:].decode()
    except UnicodeDecodeError:
        return None


def _names(infos: list[zipfile.ZipInfo]) -> list[str]:
    """The entries' names: as an extra field says, else marked as UTF-8, else decoded together, in one encoding for all."""
    names = [info.orig_filename for info in infos]
    unmarked: list[int] = []
    raws: list[bytes] = []
    for index, info in enumerate(infos):
        if info.flag_bits & _UTF8_FLAG or names[index].isascii():
            continue
        try:
            raw = names[index].encode("cp437")
        except UnicodeEncodeError:
            continue
        said = next((_unicode_name(held) for tag, held in _fields(info.extra) if tag == _UNICODE_NAME), None)
        if said is not None and said[1] and said[0] == zlib.crc32(raw):
            names[index] = said[1]
        else:
            unmarked.append(index)
            raws.append(raw)
    if raws:
        encoding = names_codec(raws)
        for index, raw in zip(unmarked, raws, strict=True):
            with contextlib.suppress(UnicodeDecodeError):
                names[index] = raw.decode(encoding)
    return names
