"""Clients that take their time hold nothing for long: they are cut off with a plain answer, and others are served."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.server import body_limit
from openviking.server.app import create_app
from openviking.server.connection import Connection, Limits
from openviking.service.authentication import Rules
from openviking.service.services import Services

PATIENCE_S = 20.0
RATE = 2_000


class Hasty(Connection):
    limits = Limits(head_s=0.8, body_s=0.8, send_s=0.3, rate=RATE, head_bytes=4096, connections=4)


def with_flood(app: ASGIApp) -> ASGIApp:
    """``app``, and a path whose answer fits into no buffer."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/flood":
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(64 * 1024 * 1024)})

    return served


class Serving(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self.port = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server with little patience, in a thread."""
    place = tmp_path_factory.mktemp("slow") / "data"
    settings = Settings(path=place, poll_interval=0.2, embedding=EmbeddingSettings(provider="none"))
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    app = with_flood(create_app(services))
    server = Serving(uvicorn.Config(app, http=Hasty, log_config=None, lifespan="on", ws="none"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server.port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        assert server.ready.wait(PATIENCE_S)
        yield server
        server.should_exit = True
        thread.join(PATIENCE_S)


@pytest.fixture
def dial(serving: Serving, until: Callable[[Callable[[], object]], None]) -> Iterator[Callable[[], socket.socket]]:
    """Opens connections, once those of the last test are gone."""
    until(lambda: not serving.server_state.connections)
    opened: list[socket.socket] = []

    def dialling() -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", serving.port), timeout=PATIENCE_S))
        return opened[-1]

    yield dialling
    for one in opened:
        one.close()


def answer(connection: socket.socket) -> tuple[int, dict[str, str], str]:
    """Status, headers and error code of an answer after which the server closes."""
    told = b""
    while piece := connection.recv(65536):
        told += piece
    head, _, body = told.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    return int(lines[0].split()[1]), headers, json.loads(body)["error"]["code"]


def dribble(connection: socket.socket) -> None:
    """Send a byte now and then until there is an answer."""
    for _ in range(int(PATIENCE_S / 0.02)):
        if select.select([connection], [], [], 0.02)[0]:
            return
        connection.sendall(b"x")
    pytest.fail("the server listens for ever")


def head(path: str, length: int, kind: str = "application/json") -> bytes:
    told = (
        f"POST /api/v1/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    )
    return told.encode()


def test_who_says_nothing_is_cut_off(dial: Callable[[], socket.socket]) -> None:
    assert answer(dial())[::2] == (408, "DEADLINE_EXCEEDED")


@pytest.mark.parametrize(
    "begin",
    [b"GET /health HTTP/1.1\r\nX-", head("content/write", 1000), head("content/write", 5_000_000), b"GET /"],
    ids=["headers", "body", "large body", "request line"],
)
def test_a_byte_now_and_then_is_too_slow(dial: Callable[[], socket.socket], begin: bytes) -> None:
    connection = dial()
    connection.sendall(begin)
    dribble(connection)
    status, headers, code = answer(connection)
    assert (status, code, headers["connection"]) == (408, "DEADLINE_EXCEEDED", "close")


def test_of_a_slow_upload_nothing_is_left(
    serving: Serving, dial: Callable[[], socket.socket], until: Callable[[Callable[[], object]], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    connection = dial()
    connection.sendall(head("resources/temp_upload", 1_000_000, "multipart/form-data; boundary=b"))
    connection.sendall(b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n')
    dribble(connection)
    assert answer(connection)[::2] == (408, "DEADLINE_EXCEEDED")
    place = tmp_path_factory.getbasetemp()
    until(lambda: not serving.server_state.tasks and not list(place.glob("slow*/data/accounts/*/uploads/*.part")))


def test_a_body_that_comes_steadily_may_take_longer(dial: Callable[[], socket.socket]) -> None:
    connection = dial()
    body = json.dumps({"uri": "viking://resources/steady.md", "content": "x" * 2_000, "mode": "create"}).encode()
    connection.sendall(head("content/write", len(body)))
    for start in range(0, len(body), 80):
        # For longer than a body may take that does not come.
        assert not select.select([connection], [], [], 0.04)[0]
        connection.sendall(body[start : start + 80])
    assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_second_request_has_its_own_time(dial: Callable[[], socket.socket]) -> None:
    connection = dial()
    for _ in range(3):
        assert not select.select([connection], [], [], 0.35)[0]
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        told = b""
        while not told.endswith(b"}"):
            # The headers come by themselves.
            told += connection.recv(65536)
        assert told.startswith(b"HTTP/1.1 200")


def test_headers_without_end_are_refused(dial: Callable[[], socket.socket]) -> None:
    connection = dial()
    connection.sendall(b"GET /health HTTP/1.1\r\nX-Long: " + b"x" * 5_000)
    assert answer(connection)[::2] == (431, "INVALID_ARGUMENT")


CHUNKED = head("content/write", 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")


@pytest.mark.parametrize(
    "begin",
    [b"2\r\n{}\r\n0\r\nX-Long: ", b"2\r\n{}\r\n0\r\n", b"2;"],
    ids=["one trailer", "many trailers", "extension of a chunk"],
)
def test_what_a_chunked_body_has_beside_its_content_has_a_bound(
    dial: Callable[[], socket.socket], begin: bytes
) -> None:
    connection = dial()
    connection.sendall(CHUNKED + begin)
    line = b"x" * 400 if begin[-1:] != b"\n" else b"X: 1\r\n" * 70
    for _ in range(40):
        if select.select([connection], [], [], 0.01)[0]:
            break
        connection.sendall(line)
    assert answer(connection)[::2] == (431, "INVALID_ARGUMENT")


def test_a_trailer_is_no_header(dial: Callable[[], socket.socket]) -> None:
    connection = dial()
    connection.sendall(
        CHUNKED.replace(b"\r\n\r\n", b"\r\nX-Request-ID: of-the-head\r\n\r\n")
        + b"2\r\n{}\r\n0\r\nX-Request-ID: of-the-end\r\nConnection: close\r\n\r\n"
    )
    told = connection.recv(65536)
    assert told.startswith(b"HTTP/1.1 400")
    assert b"x-request-id: of-the-head\r\n" in told
    assert b"X-Request-ID must be given once" not in told


def test_more_connections_than_there_is_room_for_are_refused_at_once(
    serving: Serving, dial: Callable[[], socket.socket], until: Callable[[Callable[[], object]], None]
) -> None:
    for _ in range(Hasty.limits.connections):
        dial()
    until(lambda: len(serving.server_state.connections) == Hasty.limits.connections)
    status, headers, code = answer(dial())
    assert (status, headers["retry-after"], code) == (503, "1", "UNAVAILABLE")


def test_who_does_not_take_the_answer_is_cut_off(
    serving: Serving, dial: Callable[[], socket.socket], until: Callable[[Callable[[], object]], None]
) -> None:
    reader = dial()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.sendall(b"GET /flood HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert select.select([reader], [], [], PATIENCE_S)[0]
    until(lambda: not serving.server_state.connections)


def test_large_bodies_have_a_bound_together(dial: Callable[[], socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limit, "MAX_HELD", 4 * 1024 * 1024)
    connection = dial()
    connection.sendall(head("content/write", 6_000_000))
    connection.sendall(b"x" * 6_000_000)
    status, headers, code = answer(connection)
    assert (status, code, headers["retry-after"]) == (503, "UNAVAILABLE", "1")
    monkeypatch.undo()
    after = dial()
    body = json.dumps({"uri": "viking://resources/after.md", "content": "x" * 2_000_000, "mode": "create"}).encode()
    after.sendall(head("content/write", len(body)) + body)
    assert after.recv(65536).startswith(b"HTTP/1.1 200")
