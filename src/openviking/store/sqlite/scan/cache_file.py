"""The file that a scan is kept in, beside the database: disposable, mapped into memory, refused unless it is whole.

A header page, then the columns, each at the beginning of a page with room to grow. The stamp in the header must be the
one that the database names, so that a database which was put back to an older state never meets a newer file.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from openviking.store.sqlite.private import opener
from openviking.store.sqlite.scan.reading import Model, State
from openviking.store.sqlite.scan.rows import NEVER, TYPES, GrowingRows, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC: Final = b"OVscan\r\n"
FORMAT: Final = 2

PAGE: Final = 4096

SPARE_ROWS: Final = 1024
"""Room for so many more rows, and a quarter of those there are."""

_HEADER: Final = struct.Struct("<8sIIqqqqqq32s32sI")
_KEPT: Final = tuple(name for name in TYPES if name not in {"born", "died"})


class UnusableFileError(Exception):
    """A file that is no whole cache of this format; the message says what is wrong with it."""


def write(path: Path, rows: Rows, model: Model, state: State, stamp: str) -> None:
    """Write a new file with ``rows``; raises `OSError`."""
    capacity = len(rows) + len(rows) // 4 + SPARE_ROWS
    check = 0
    with open(path, "xb", opener=opener) as file:
        for name, start, _ in _places(capacity, model.dimension):
            column = np.ascontiguousarray(getattr(rows, name), np.dtype(TYPES[name]))
            file.seek(start)
            if column.size:
                data = column.reshape(-1).view(np.uint8).data
                file.write(data)
                check = zlib.crc32(data, check)
        file.truncate(_size(capacity, model.dimension))
        file.seek(0)
        file.write(_header(model, state, stamp, len(rows), capacity, check))


def read(path: Path, model: Model, stamp: str) -> tuple[GrowingRows, State]:
    """The rows in a file, mapped so that what is written to them stays in memory, and the state that they are of.

    Raises `UnusableFileError` for one that is not whole, not of this ``model`` or has another ``stamp``, and `OSError`.
    """
    if not path.is_file():
        # Opening a pipe would wait for somebody to write into it.
        raise UnusableFileError("it is no file")
    with path.open("rb") as file:
        head = file.read(PAGE)
        size = os.fstat(file.fileno()).st_size
        if len(head) < PAGE or head[:8] != MAGIC:
            raise UnusableFileError("it is no cache of a scan, or is cut short")
        _, form, dimension, of, cleared, change, vector, count, capacity, fingerprint, stamped, check = (
            _HEADER.unpack_from(head)
        )
        if form != FORMAT:
            raise UnusableFileError(f"its format is {form}, this release writes {FORMAT}")
        if _sealed(head[: _HEADER.size]) != head:
            raise UnusableFileError("its header is damaged")
        if (of, fingerprint, dimension, cleared) != (
            model.id,
            model.fingerprint.encode(),
            model.dimension,
            model.cleared,
        ):
            raise UnusableFileError("it is of another model, or of vectors that are gone")
        if stamped != stamp.encode():
            raise UnusableFileError("it was not made from this state of the database")
        if not 0 <= count <= capacity or size != _size(capacity, dimension):
            raise UnusableFileError("it is cut short or has grown")
        mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
    columns: dict[str, Any] = {}
    found = 0
    for name, start, length in _places(capacity, dimension):
        kind = np.dtype(TYPES[name])
        column = np.frombuffer(mapped, kind, length // kind.itemsize, start)
        used = column[: count * dimension if name == "code" else count]
        found = zlib.crc32(used.view(np.uint8).data, found)
        columns[name] = column.reshape(capacity, dimension) if name == "code" else column
    if found != check:
        raise UnusableFileError("its contents are damaged")
    state = State(change, vector)
    columns["born"] = np.full(capacity, state.change, np.int64)
    columns["died"] = np.full(capacity, NEVER, np.int64)
    return GrowingRows(Rows(**columns), count), state


def _header(model: Model, state: State, stamp: str, count: int, capacity: int, check: int) -> bytes:
    head = _HEADER.pack(
        MAGIC, FORMAT, model.dimension, model.id, model.cleared, state.change, state.vector, count, capacity,
        model.fingerprint.encode(), stamp.encode(), check,
    )  # fmt: skip
    return _sealed(head)


def _sealed(head: bytes) -> bytes:
    return (head + zlib.crc32(head).to_bytes(4, "little")).ljust(PAGE, b"\0")


def _places(capacity: int, dimension: int) -> Iterator[tuple[str, int, int]]:
    """Each column's name, first byte and number of bytes."""
    start = PAGE
    for name in _KEPT:
        length = capacity * np.dtype(TYPES[name]).itemsize * (dimension if name == "code" else 1)
        yield name, start, length
        start += -(-length // PAGE) * PAGE


def _size(capacity: int, dimension: int) -> int:
    *_, (_, start, length) = _places(capacity, dimension)
    return start + -(-length // PAGE) * PAGE
