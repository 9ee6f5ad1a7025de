"""A server that answers what a test scripts and remembers what it was asked; and both clients on it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import email.parser
import email.policy
import functools
import inspect
import json
import socket
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import parse_qsl, urlsplit

import pytest

from openviking_sdk import AsyncHTTPClient, SyncHTTPClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

Flavour = Literal["sync", "async"]


@dataclass(frozen=True)
class Asked:
    """One request; the path as it was sent, the query as pairs in its order."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes
    raw_headers: list[tuple[str, str]] = field(default_factory=list, compare=False)

    @property
    def json(self) -> Any:
        """The body's JSON, None without a body."""
        return json.loads(self.body) if self.body else None

    @property
    def form(self) -> dict[str, tuple[str | None, bytes]]:
        """The parts of a multipart body by name: filename and bytes."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + self.body)
        parts: dict[str, tuple[str | None, bytes]] = {}
        for part in message.iter_parts():
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            parts[str(name)] = (part.get_filename(), content)
        return parts


@dataclass(frozen=True)
class Scripted:
    """One answer. ``cut`` ends the connection after so many bytes; ``after`` holds the answer back until it is set."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    after: threading.Event | None = None


class _Quiet(ThreadingHTTPServer):
    """A server that says nothing about clients which did not wait for their answer."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class ScriptedServer:
    """An HTTP server on loopback that gives its answers in the order in which they were scripted.

    After them it gives what ``by_path`` has for the path (of a function, what it gives for the request), or else an empty
    object.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: deque[Scripted] = deque()
        self.by_path: dict[str, Any] = {}
        self.connections = 0
        self._open: set[socket.socket] = set()
        self._server = _Quiet(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def gives(self, result: Any, **more: Any) -> None:
        """Answer the next request with a result in its envelope."""
        self.sends(json.dumps({"status": "ok", "result": result, "error": None, **more}).encode())

    def refuses(self, status: int, code: str, message: str = "no", details: Any = None, **headers: str) -> None:
        """Answer the next request with an error envelope."""
        error = {"code": code, "message": message, "details": details}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.sends(json.dumps({"status": "error", "error": error}).encode(), status, headers=named)

    def sends(
        self,
        body: bytes,
        status: int = 200,
        *,
        headers: dict[str, str] | None = None,
        cut: int | None = None,
        after: threading.Event | None = None,
    ) -> None:
        """Answer the next request with these bytes."""
        self.answers.append(Scripted(body, status, headers or {}, cut, after))

    def take(self) -> list[Asked]:
        """What was asked since the last look."""
        asked, self.asked = self.asked, []
        return asked

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        for connection in list(self._open):
            with contextlib.suppress(OSError):  # the other side was quicker
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                owner.connections += 1
                owner._open.add(self.connection)

            def finish(self) -> None:
                owner._open.discard(self.connection)
                super().finish()

            def log_message(self, *_: Any) -> None:
                """Nothing: what was asked is in ``asked``."""

            def answer(self) -> None:
                owner._answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - names of the base class

        return Handler

    def _usual(self, asked: Asked) -> Scripted:
        result = self.by_path.get(asked.path, {})
        result = result(asked) if callable(result) else result
        return Scripted(json.dumps({"status": "ok", "result": result}).encode())

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        body = handler.rfile.read(int(headers.get("content-length", 0)))
        query = parse_qsl(parts.query, keep_blank_values=True)
        asked = Asked(handler.command, parts.path, query, headers, body, handler.headers.items())
        self.asked.append(asked)
        answer = self.answers.popleft() if self.answers else self._usual(asked)
        if answer.after is not None:
            answer.after.wait(10)
        if answer.cut == 0:
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(answer.body)))
        handler.end_headers()
        handler.wfile.write(answer.body[: answer.cut])
        handler.close_connection = answer.cut is not None


class Blocking:
    """A client for asyncio, or a session of it, whose awaited methods are run to their end when they are called."""

    def __init__(self, target: Any, runner: asyncio.Runner) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._target, name)
        if name == "session":
            return lambda *args, **kwargs: Blocking(attribute(*args, **kwargs), self._runner)
        if not inspect.iscoroutinefunction(attribute):
            return attribute

        @functools.wraps(attribute)
        def run(*args: Any, **kwargs: Any) -> Any:
            return self._runner.run(attribute(*args, **kwargs), context=contextvars.copy_context())

        return run


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def make(server: ScriptedServer) -> Iterator[Callable[..., Any]]:
    """Make a client of one of the two kinds; by default of the scripted server and without another try."""
    made: list[Any] = []
    with asyncio.Runner() as runner:

        def make(flavour: Flavour, **settings: Any) -> Any:
            settings = {"url": server.url, "retries": 0, **settings}
            client = SyncHTTPClient(**settings) if flavour == "sync" else Blocking(AsyncHTTPClient(**settings), runner)
            made.append(client)
            return client

        yield make
        for client in made:
            client.close()


@pytest.fixture(params=["sync", "async"])
def flavour(request: pytest.FixtureRequest) -> Flavour:
    flavour: Flavour = request.param
    return flavour


@pytest.fixture
def client(make: Callable[..., Any], flavour: Flavour) -> Any:
    """A client, once of each kind."""
    return make(flavour)
