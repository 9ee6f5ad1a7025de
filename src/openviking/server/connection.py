"""One connection of a client: cut off where it is too slow, refused where there are too many.

uvicorn waits for the rest of a request as long as it takes, llhttp takes headers of any length, and both together lose
the body of a request that offers another protocol.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from openviking.errors import DeadlineExceededError, InvalidArgumentError, OpenVikingError
from openviking.server.envelope import failure
from openviking.server.lanes import overloaded, stopping

LINGER_S: Final = 2.0
"""So long what a refused client still sends is taken and thrown away."""

_HEAD: Final = "head"
_BODY: Final = "body"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may take its time for.

    ``head_s`` seconds for a request line with its headers, also for the first one of a connection. ``body_s`` seconds
    for a body, and another for each ``rate`` bytes that have come. ``send_s`` seconds in which at least so many bytes a
    second of an answer are taken. ``head_bytes`` of headers, ``connections`` at once.
    """

    head_s: float = 10.0
    body_s: float = 20.0
    send_s: float = 30.0
    rate: int = 500
    head_bytes: int = 64 * 1024
    connections: int = 1000


class Connection(HttpToolsProtocol):
    """HTTP/1.1 on one connection, within `Limits`."""

    limits: ClassVar[Limits] = Limits()

    _phase: str = ""
    _since: float = 0.0
    _taken: int = 0
    _beside: int = 0
    _reading: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None
    _refused: bool = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            error = overloaded(f"{self.limits.connections} connections are open")
            self._refuse(error, error.status)
            return
        self._enter(_HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        self._enter("")
        self._sent()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            # It is closed as soon as the answer is out.
            return
        if not self._phase:
            self._enter(_HEAD)
        in_body, before = self._phase == _BODY, self._taken
        self._feed(data)
        if self._phase == _HEAD:
            self._taken += len(data)
            if self._taken > self.limits.head_bytes:
                told = f"The headers have more than {self.limits.head_bytes:,} bytes"
                self._refuse(InvalidArgumentError(told), HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif in_body and self._phase == _BODY:
            # Extensions of chunks and trailers, which the parser gathers.
            self._beside = self._beside + len(data) if self._taken == before else 0
            if self._beside > self.limits.head_bytes:
                told = f"The body has more than {self.limits.head_bytes:,} bytes in a row that are not its content"
                self._refuse(InvalidArgumentError(told), HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _feed(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._without_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(InvalidArgumentError("This is no HTTP request that could be read"), HTTPStatus.BAD_REQUEST)

    def _without_upgrade(self, rest: bytes) -> None:
        """Read a request again as if it had not asked for another protocol, which ours may ignore.

        The parser takes its body for that protocol's; clients that offer HTTP/2 send it all the same.
        """
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse(InvalidArgumentError("This is no proxy"), HTTPStatus.METHOD_NOT_ALLOWED)
            return
        lines = [method + b" " + self.url + b" HTTP/" + self.parser.get_http_version().encode("ascii")]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._feed(b"\r\n".join([*lines, b"", rest]))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._phase != _HEAD:
            self._enter(_HEAD)

    def on_header(self, name: bytes, value: bytes) -> None:
        # A trailer is no header: what stands in front of this server may have cleared only the headers of what it
        # alone may say, and the caller is known before a body is read.
        if self._phase != _BODY:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        super().on_headers_complete()
        self._enter(_BODY)

    def on_body(self, body: bytes) -> None:
        self._taken += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._enter("")
        super().on_message_complete()

    def _enter(self, phase: str) -> None:
        """Begin to wait for the head or the body of a request, or for nothing."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        self._phase, self._taken, self._beside = phase, 0, 0
        if phase:
            self._since = self.loop.time()
            allowed = self.limits.head_s if phase == _HEAD else self.limits.body_s
            self._reading = self.loop.call_later(allowed, self._look)

    def _look(self) -> None:
        """Refuse a client that had its time."""
        now = self.loop.time()
        if self._phase == _HEAD:
            error = _late(f"The headers did not come within {self.limits.head_s:g} s", self.limits.head_s)
        else:
            if self.flow.read_paused:
                # It is this side that does not go on.
                self._since = now - self._taken / self.limits.rate
            until = self._since + self.limits.body_s + self._taken / self.limits.rate
            if now < until:
                self._reading = self.loop.call_later(max(until - now, 0.01), self._look)
                return
            told = f"The body came with less than {self.limits.rate} bytes a second"
            error = _late(told, self.limits.body_s)
        self._refuse(error, HTTPStatus.REQUEST_TIMEOUT)

    def _refuse(self, error: OpenVikingError, status: int) -> None:
        """Answer without the application, unless it has begun to answer the same request, and close."""
        in_body = self._phase == _BODY
        self._enter("")
        self._refused = True
        cycle = self.cycle
        # uvicorn has None before the first request.
        if cycle is None or (not cycle.response_started if in_body else cycle.response_complete):  # type: ignore[redundant-expr]
            answer = failure(error, {"connection": "close"})
            lines = [f"HTTP/1.1 {int(status)} {HTTPStatus(status).phrase}".encode()]
            lines += [name + b": " + value for name, value in answer.raw_headers]
            self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        if cycle is not None and not cycle.response_complete:  # type: ignore[redundant-expr]
            # The application need not wait for the connection to be gone.
            cycle.disconnected = True
            cycle.message_event.set()
        if self.transport.can_write_eof():
            # Closed while something is still to be read, it would be reset, and the answer lost on its way.
            self.transport.write_eof()
            self._reading = self.loop.call_later(LINGER_S, self.transport.close)
        else:
            self.transport.close()

    def give_up(self) -> None:
        """Answer that the server stops, if it still waits for a body."""
        if self._phase == _BODY:
            error = stopping("it was not carried out")
            self._refuse(error, error.status)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._writing is None:
            self._await_sending(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._sent()
        super().resume_writing()

    def _sent(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _await_sending(self, left: int) -> None:
        self._writing = self.loop.call_later(self.limits.send_s, self._look_at_sending, left)

    def _look_at_sending(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if before - left < self.limits.rate * self.limits.send_s:
            self.transport.abort()
            return
        self._await_sending(left)


def _late(told: str, timeout: float) -> DeadlineExceededError:
    return DeadlineExceededError(told, operation="receiving", timeout=timeout)
