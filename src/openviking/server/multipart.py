"""Reading ``multipart/form-data`` as it comes, so that a file of any size is never in memory as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final, Protocol

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from openviking.errors import InvalidArgumentError, OpenVikingError

MAX_FIELD_BYTES: Final = 64 * 1024
MAX_PARTS: Final = 16
MAX_HEADER_BYTES: Final = 16 * 1024
PIECE_BYTES: Final = 1024 * 1024
"""So much of a file is gathered before it goes to the disk, in a thread."""

READ_ON_BYTES: Final = 64 * 1024 * 1024
"""So much of a refused body is still read, so that a client that only sends first sees the answer."""


class Sink(Protocol):
    """Where the bytes of the file go."""

    def write(self, piece: bytes) -> None:
        """Take bytes; what is raised refuses the file."""
        ...


class FormReader:
    """Reads one form with one file, the part ``file``; other parts are short texts, ``fields`` afterwards.

    ``begin`` is asked for a sink when the file begins, with the name that the client gave it. Raises
    `InvalidArgumentError` for what is no such form, and what the sink raises.
    """

    def __init__(self, content_type: str, begin: Callable[[str | None], Sink]) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not boundary:
            raise InvalidArgumentError(
                "Send the file as multipart/form-data with a part named file", field="Content-Type"
            )
        self.fields: dict[str, str] = {}
        self._begin = begin
        self._sink: Sink | None = None
        self._filename: str | None = None
        self._waiting = bytearray()
        self._name = ""
        self._value = bytearray()
        self._in_file = self._file_began = self._ended = False
        self._header_name, self._header_value = bytearray(), bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._parts = 0
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begin, "on_part_data": self._part_data, "on_part_end": self._part_end,
                "on_header_field": self._header_field, "on_header_value": self._header_content,
                "on_header_end": self._header_end, "on_headers_finished": self._headers_finished, "on_end": self._end,
            },
        )  # fmt: skip

    async def read(self, stream: AsyncIterator[bytes]) -> None:
        """Read all of ``stream``; there was a file and the form is complete when this returns."""
        try:
            async for chunk in stream:
                self._feed(chunk)
                if self._file_began and (self._sink is None or len(self._waiting) >= PIECE_BYTES):
                    await self._write()
            await self._write()
            if not self._ended:
                raise InvalidArgumentError("The form ends before its closing boundary")
            if not self._file_began:
                raise InvalidArgumentError("The form has no part named file", field="file")
        except OpenVikingError:
            await _read_on(stream)
            raise

    def _feed(self, chunk: bytes) -> None:
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise InvalidArgumentError(f"The body is no multipart form: {error}") from error

    async def _write(self) -> None:
        if not self._file_began:
            return
        piece = bytes(self._waiting)
        self._waiting.clear()
        await asyncio.to_thread(self._write_now, piece)

    def _write_now(self, piece: bytes) -> None:
        if self._sink is None:
            self._sink = self._begin(self._filename)
        if piece:
            self._sink.write(piece)

    def _part_begin(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise InvalidArgumentError(f"The form has more than {MAX_PARTS} parts")
        self._headers = {}

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]
        self._check_header()

    def _header_content(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]
        self._check_header()

    def _check_header(self) -> None:
        if len(self._header_name) + len(self._header_value) > MAX_HEADER_BYTES:
            raise InvalidArgumentError("A header of the form is too long")

    def _header_end(self) -> None:
        self._headers[bytes(self._header_name).lower()] = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        self._value.clear()
        self._in_file = self._name == "file"
        if self._in_file:
            if self._file_began:
                raise InvalidArgumentError("The form has more than one part named file", field="file")
            self._file_began = True
            filename = options.get(b"filename")
            self._filename = None if filename is None else filename.decode("utf-8", "replace")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._waiting += data[start:end]
            return
        self._value += data[start:end]
        if len(self._value) > MAX_FIELD_BYTES:
            raise InvalidArgumentError(f"The part {self._name} has more than {MAX_FIELD_BYTES} bytes", field=self._name)

    def _part_end(self) -> None:
        if not self._in_file and self._name:
            self.fields[self._name] = self._value.decode("utf-8", "replace")

    def _end(self) -> None:
        self._ended = True


async def _read_on(stream: AsyncIterator[bytes]) -> None:
    read = 0
    async for chunk in stream:
        read += len(chunk)
        if read > READ_ON_BYTES:
            return
