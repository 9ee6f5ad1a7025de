"""A model service on loopback that speaks the OpenAI embeddings protocol, counts what it is asked, and fails as it is told.

In a test: ``with StubModels() as stub:``, then ``stub.url`` is the ``api_base``, ``stub.calls`` are the requests so far
and ``stub.inputs`` all texts in them; ``stub.behave(status=503)`` makes it fail, ``stub.behave()`` makes it well again.
As a process of its own: ``python tests/stubs/models.py [PORT]`` prints its address; ``POST /behave`` takes the fields of
`Behaviour` as JSON, ``GET /calls`` gives ``{"calls": …, "inputs": […]}``.

An embedding is a hashed bag of words: texts that share words are near each other, and equal texts are equal.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import itertools
import json
import math
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

DIMENSION = 256
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Behaviour:
    """What the stub does with requests for embeddings; by default it answers well.

    ``status`` other than 200 is an error with ``message`` and ``headers``, such as ``{"Retry-After": "2"}``. ``delay``
    seconds pass before any answer, and ``delay_per_input`` for each text; ``hang`` waits until `StubModels.behave` or `StubModels.stop` is called. ``close``
    ends the connection without an answer. ``refuse`` is a word: 400 for the whole request if one input has it, or is
    blank, or exceeds ``max_input`` bytes; so is one of more than ``max_batch`` inputs, or with a parameter in ``without``;
    ``crash`` is a word that makes it a 500 instead. ``dimension`` and ``count`` are those of the answer (0: the right
    ones). ``shuffled`` answers out of order, with the right ``index``. ``broken`` is a word: inputs that have it get a
    vector of ``broken_number``. ``answer`` is sent as it is, instead of anything sensible; ``huge`` MB of numbers are
    sent if it is not 0; ``trickle`` sends one byte of the answer's head each so many seconds. The first ``after``
    requests are answered well, and after ``times`` more (0: without end) the stub is well again.
    """

    status: int = 200
    message: str = "told to fail"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    delay_per_input: float = 0.0
    hang: bool = False
    close: bool = False
    refuse: str = ""
    max_input: int = 0
    max_batch: int = 0
    without: str = ""
    crash: str = ""
    dimension: int = 0
    count: int = 0
    shuffled: bool = False
    broken: str = ""
    broken_number: float = math.nan
    answer: str = ""
    huge: int = 0
    trickle: float = 0.0
    after: int = 0
    times: int = 0


WELL = Behaviour()
POISON = Behaviour(refuse="POISON", max_input=8_192)
"""400 for the whole request if an input contains POISON, is blank, or exceeds 8 KB."""


@dataclass(frozen=True)
class Call:
    """One request for embeddings: when it came (`time.monotonic`), its headers (lower case), body and texts."""

    at: float
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    inputs: tuple[str, ...]


def embedding(text: str, dimension: int = DIMENSION) -> list[float]:
    """The stub's vector of ``text``, of length 1."""
    vector = [0.0] * dimension
    vector[0] = 0.05
    counts: dict[str, int] = {}
    for word in _words(text):
        counts[word] = counts.get(word, 0) + 1
    for word, count in counts.items():
        place, sign = _place(word, dimension)
        vector[place] += sign * (1 + math.log(count))
    length = math.sqrt(sum(number * number for number in vector)) or 1.0
    return [round(number / length, 6) for number in vector]


class StubModels:
    """The stub in this process; a context manager that starts and stops it.

    ``port`` 0 takes a free one; `stop` and `start` keep it, so that an outage can come to an end.
    """

    def __init__(self, *, port: int = 0, dimension: int = DIMENSION) -> None:
        self._port = port
        self._dimension = dimension
        self._changed = threading.Condition()
        self._calls: list[Call] = []
        self._behaviour = WELL
        self._since = 0
        self._at_once = self._most_at_once = self._connections = 0
        self._released = threading.Event()
        self._server: _Server | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """What ``api_base`` is to be."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def calls(self) -> list[Call]:
        """The requests for embeddings so far, also those that failed."""
        with self._changed:
            return list(self._calls)

    @property
    def inputs(self) -> list[str]:
        """The texts of all requests so far, in order."""
        return [text for call in self.calls for text in call.inputs]

    @property
    def connections(self) -> int:
        """How many connections were made so far."""
        return self._connections

    @property
    def most_at_once(self) -> int:
        """How many requests were under way at the same time, at most."""
        return self._most_at_once

    def start(self) -> None:
        """Listen (again)."""
        self._released = threading.Event()
        server = self._server = _Server(self, self._port)
        self._port = server.server_address[1]
        # Not at once noticed by select: a short interval makes stopping quick.
        threading.Thread(target=server.serve_forever, args=(0.02,), name="stub-models", daemon=True).start()

    def stop(self) -> None:
        """Refuse connections and end those that are open."""
        server, self._server = self._server, None
        if server is not None:
            self._released.set()
            server.shutdown()
            server.server_close()
            server.drop_connections()

    def behave(self, behaviour: Behaviour = WELL, **changes: Any) -> None:
        """From now on do as told: ``behaviour`` with ``changes``; requests that hang are let go."""
        with self._changed:
            self._behaviour = replace(behaviour, **changes)
            self._since = len(self._calls)
            released, self._released = self._released, threading.Event()
        released.set()

    def forget(self) -> None:
        """Count from nothing again."""
        with self._changed:
            self._since -= len(self._calls)
            self._calls.clear()

    def drop_connections(self) -> None:
        """End all open connections, as a proxy does that is restarted; new ones are accepted."""
        if self._server is not None:
            self._server.drop_connections()

    def wait(self, until: Callable[[StubModels], bool], timeout: float = PATIENCE_S) -> None:
        """Return when ``until`` is true of the stub, looked at after each request; fail after ``timeout`` seconds."""
        with self._changed:
            assert self._changed.wait_for(lambda: until(self), timeout), f"{len(self._calls)} calls after {timeout} s"

    def connected(self) -> None:
        """Note a connection."""
        with self._changed:
            self._connections += 1

    def asked(self, call: Call) -> tuple[Behaviour, threading.Event]:
        """Note a request; what is to be done with it, and what lets it go if it hangs."""
        with self._changed:
            behaviour = self._behaviour
            number = len(self._calls) - self._since
            if number < behaviour.after or (behaviour.times and number >= behaviour.after + behaviour.times):
                behaviour = WELL
            self._calls.append(call)
            self._at_once += 1
            self._most_at_once = max(self._most_at_once, self._at_once)
            self._changed.notify_all()
            return behaviour, self._released

    def answered(self) -> None:
        """Note that a request came to its end."""
        with self._changed:
            self._at_once -= 1
            self._changed.notify_all()

    def answer(self, call: Call, behaviour: Behaviour) -> tuple[int, bytes]:
        """Status and body of the answer to ``call``."""
        if behaviour.status != 200:
            return _failure(behaviour.status, behaviour.message)
        if behaviour.answer:
            return 200, behaviour.answer.encode()
        if behaviour.huge:
            return 200, b'{"data":[{"index":0,"embedding":[' + b"0.125," * (behaviour.huge * 1_000_000 // 6) + b"1]}]}"
        if behaviour.crash and any(behaviour.crash in text for text in call.inputs):
            return _failure(500, "an input makes the model crash")
        if reason := _refusal(call, behaviour):
            return _failure(400, reason)
        entries = [self._entry(index, text, call, behaviour) for index, text in enumerate(call.inputs)]
        if behaviour.shuffled:
            entries.reverse()
        if behaviour.count:
            entries = (entries * behaviour.count)[: behaviour.count]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        told = {"object": "list", "model": call.body.get("model", "stub"), "data": entries, "usage": usage}
        return 200, json.dumps(told).encode()

    def _entry(self, index: int, text: str, call: Call, behaviour: Behaviour) -> dict[str, Any]:
        dimension = behaviour.dimension or int(call.body.get("dimensions") or self._dimension)
        vector = embedding(text, dimension)
        if behaviour.broken and behaviour.broken in text:
            vector = [behaviour.broken_number] * dimension
        given: Any = vector
        if call.body.get("encoding_format") == "base64":
            given = base64.b64encode(struct.pack(f"<{dimension}f", *vector)).decode()
        return {"object": "embedding", "index": index, "embedding": given}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, stub: StubModels, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.stub = stub
        self._open: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        self.stub.connected()
        return connection, address

    def close_request(self, request: Any) -> None:
        self._open.discard(request)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

    def drop_connections(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else the answer's body waits for the client's acknowledgement of its head, 40 ms.
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        stub = self.server.stub
        calls = {"calls": len(stub.calls), "inputs": stub.inputs}
        self._send(200, json.dumps(calls if self.path == "/calls" else {"data": [{"id": "stub"}]}).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if self.path == "/behave":
            self.server.stub.behave(**body)
            self._send(200, b"{}")
            return
        if not self.path.endswith("/embeddings"):
            self._send(*_failure(404, f"no such path: {self.path}"))
            return
        given = body.get("input", [])
        inputs = (given,) if isinstance(given, str) else tuple(given)
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(time.monotonic(), self.path, headers, body, inputs)
        behaviour, released = self.server.stub.asked(call)
        if behaviour.hang:
            released.wait()
        if delay := behaviour.delay + behaviour.delay_per_input * len(call.inputs):
            released.wait(delay)
        status, answer = self.server.stub.answer(call, behaviour)
        # Before the client has the answer and may ask again.
        self.server.stub.answered()
        if behaviour.close or behaviour.hang:
            self.close_connection = True
        elif behaviour.trickle:
            self._trickle(behaviour.trickle, released)
        else:
            self._send(status, answer, behaviour.headers)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _trickle(self, interval: float, released: threading.Event) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10_000:
                self.wfile.write(bytes([byte]))
                if released.wait(interval):
                    return


def _refusal(call: Call, behaviour: Behaviour) -> str:
    if behaviour.max_batch and len(call.inputs) > behaviour.max_batch:
        return f"at most {behaviour.max_batch} inputs"
    if behaviour.without and behaviour.without in call.body:
        return f"unknown parameter: {behaviour.without}"
    if behaviour.max_input and any(len(text.encode()) > behaviour.max_input for text in call.inputs):
        return f"an input exceeds {behaviour.max_input} bytes"
    if behaviour.refuse and any(behaviour.refuse in text or not text.strip() for text in call.inputs):
        return "an input is not acceptable"
    return ""


def _failure(status: int, message: str) -> tuple[int, bytes]:
    return status, json.dumps({"error": {"message": message, "type": "stub", "code": status}}).encode()


def _words(text: str) -> Iterator[str]:
    for word in re.findall(r"[a-z0-9_]+", text.lower()):
        yield word
        if len(word) > 4:
            yield word[:4]
    characters = re.findall(r"[\u3040-\u30ff\u3400-\u9fff]", text)
    yield from characters
    yield from map("".join, itertools.pairwise(characters))


@functools.lru_cache(maxsize=50_000)
def _place(word: str, dimension: int) -> tuple[int, int]:
    number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    return number % dimension, 1 if (number >> 40) & 1 else -1


if __name__ == "__main__":
    with StubModels(port=int(sys.argv[1]) if len(sys.argv) > 1 else 0) as running:
        print(running.url, flush=True)  # noqa: T201
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
