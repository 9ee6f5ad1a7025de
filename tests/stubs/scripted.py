"""A chat and rerank service on loopback that does as its script says: it answers well, badly, slowly or never.

In a test: ``with Scripted() as stub:``, then ``stub.chat_url`` and ``stub.rerank_url`` are the addresses, ``stub.calls`` the
requests so far, ``stub.behave(Script(mood="badly"))`` changes what it does. As a process of its own:
``python tests/stubs/scripted.py [PORT]`` prints its address; ``POST /behave`` takes the fields of `Script` as JSON, ``GET
/calls`` gives the requests.

It gives vectors of texts and pictures, too (``stub.chat_url`` is their ``api_base``), in the forms of several services: those
of hashed words; of a picture, of the words in its bytes.

A well-behaved plan is made of the last message (two queries); a score is the share of the query's words in a document.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PATIENCE_S = 30.0
DIMENSION = 64


@dataclass(frozen=True)
class Script:
    """What the stub does. ``mood``: ``well``, ``badly`` (what is no answer at all), ``slowly`` (``delay`` seconds), ``never``.

    ``status`` other than 200 is an error. ``reply`` is the text of chat answers, ``scores`` are those of rerank answers
    (None: no number; shorter than the documents: the rest is left out). ``body`` is sent as it is. ``after`` requests are
    answered well before. A request that shows a picture with the words ``poison`` makes it fail (500), with ``refuse`` it is
    refused (400).
    """

    mood: str = "well"
    delay: float = 0.3
    status: int = 200
    message: str = "told to fail"
    headers: Mapping[str, str] = field(default_factory=dict)
    reply: str = ""
    scores: Sequence[float | None] | None = None
    indices: Sequence[int] | None = None
    body: str = ""
    after: int = 0
    poison: str = ""
    refuse: str = ""


@dataclass(frozen=True)
class Asked:
    """One request: path, headers in lower case, body as bytes and as JSON."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Mapping[str, Any]

    @property
    def documents(self) -> list[str]:
        """The documents of a rerank request in any of the formats."""
        if "data" in self.body:
            return [one[0]["text"] for one in self.body["data"]]
        found = (self.body.get("input") or self.body).get("documents", [])
        return list(found)

    @property
    def query(self) -> str:
        """The query of a rerank request in any of the formats."""
        given = (self.body.get("input") or self.body).get("query", "")
        return given if isinstance(given, str) else str(given[0]["text"])

    @property
    def prompt(self) -> str:
        """The messages of a chat request, one after the other."""
        return "\n\n".join(_told(message["content"]) for message in self.body.get("messages", []))

    @property
    def shown(self) -> str:
        """The words in the pictures of a request, "" if it has none."""
        return " ".join(_shown(self.body))


class Scripted:
    """The stub in this process; a context manager that starts and stops it."""

    def __init__(self, port: int = 0) -> None:
        self._changed = threading.Condition()
        self._script = Script()
        self._calls: list[Asked] = []
        self._since = 0
        self._let_go = threading.Event()
        self._server = _Server(self, port)
        self.port: int = self._server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), name="scripted", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go.set()
        self._server.shutdown()
        self._server.server_close()
        self._server.drop()

    @property
    def chat_url(self) -> str:
        """``api_base`` of a chat model."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def rerank_url(self) -> str:
        """``api_base`` of a reranker that posts to it as it is."""
        return f"http://127.0.0.1:{self.port}/rerank"

    @property
    def calls(self) -> list[Asked]:
        """The requests so far."""
        with self._changed:
            return list(self._calls)

    def behave(self, script: Script | None = None) -> None:
        """From now on do as told, and count from nothing; requests that wait are let go."""
        with self._changed:
            self._script = script or Script()
            self._calls.clear()
            released, self._let_go = self._let_go, threading.Event()
        released.set()

    def wait(self, until: Callable[[list[Asked]], bool]) -> None:
        """Return when ``until`` is true of the requests so far; fail after half a minute."""
        with self._changed:
            assert self._changed.wait_for(lambda: until(self._calls), PATIENCE_S), f"{len(self._calls)} calls"

    def asked(self, call: Asked) -> tuple[Script, threading.Event]:
        """Note a request; what is to be done with it, and what lets it go if it has to wait."""
        with self._changed:
            script = Script() if len(self._calls) < self._script.after else self._script
            self._calls.append(call)
            self._changed.notify_all()
            return script, self._let_go

    @staticmethod
    def answer(call: Asked, script: Script) -> tuple[int, bytes]:
        """Status and body."""
        if script.poison and script.poison in call.shown:
            return 500, b'{"error": {"message": "an input makes the model crash"}}'
        if script.refuse and script.refuse in call.shown:
            return 400, b'{"error": {"message": "this picture is not acceptable"}}'
        if script.status != 200:
            return script.status, json.dumps({"error": {"message": script.message}}).encode()
        if script.body:
            return 200, script.body.encode("utf-8", "surrogatepass")
        if script.mood == "badly":
            return 200, b"<html>It works!</html>"
        if "embeddings" in call.path:
            return 200, json.dumps(_embeddings(call)).encode()
        told = _completion(call, script) if call.path.endswith("/chat/completions") else _ranking(call, script)
        return 200, json.dumps(told).encode()


def _completion(call: Asked, script: Script) -> dict[str, Any]:
    said = call.body["messages"][-1]["content"]
    text = script.reply or (f"A picture that shows {call.shown}." if isinstance(said, list) else _plan(said))
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message}], "usage": usage}


def _told(content: Any) -> str:
    return content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content)


def _shown(told: Any) -> list[str]:
    """The words of the pictures anywhere in a body."""
    if isinstance(told, str) and told.startswith("data:image/"):
        return [_said({"image": told})]
    parts = told.values() if isinstance(told, dict) else told if isinstance(told, list) else ()
    return [word for part in parts for word in _shown(part)]


def _plan(said: str) -> str:
    message = said.rpartition("## Current message")[2].replace("| ", "").strip() or said
    queries = [
        {"query": message, "context_type": "resource", "intent": "what was asked", "priority": 1},
        {"query": f"User's notes on {message}", "context_type": "memory", "intent": "preferences", "priority": 2},
    ]
    return json.dumps({"reasoning": "as scripted", "queries": queries})


def _ranking(call: Asked, script: Script) -> dict[str, Any]:
    asked = set(re.findall(r"\w+", call.query.lower()))
    scores: list[float | None] = [
        len(asked & set(re.findall(r"\w+", one.lower()))) / max(len(asked), 1) for one in call.documents
    ]
    if script.scores is not None:
        scores = list(script.scores)[: len(call.documents)]
    if "vikingdb" in call.path:
        return {"result": {"data": [{"score": score} for score in scores]}}
    places = list(script.indices if script.indices is not None else range(len(scores)))
    results = [{"index": place, "relevance_score": score} for place, score in zip(places, scores, strict=False)]
    # Services answer best first.
    results.sort(key=lambda one: -(one["relevance_score"] or 0.0))
    return {"output": {"results": results}} if "input" in call.body else {"results": results}


def _embeddings(call: Asked) -> dict[str, Any]:
    body = call.body
    if "messages" in body:
        items: list[Any] = [body["messages"][0]["content"]]
    elif "inputs" in body:
        items = [one["content"] for one in body["inputs"]]
    elif isinstance(body["input"], dict):
        items = body["input"]["contents"]
    elif call.path.endswith("/multimodal"):
        return {"data": {"embedding": _vector(_said(body["input"]))}}
    else:
        items = body["input"]
    found = [{"index": place, "embedding": _vector(_said(one))} for place, one in enumerate(items)]
    return {"output": {"embeddings": found}} if "services/embeddings" in call.path else {"data": found}


def _vector(text: str) -> list[float]:
    """A hashed bag of words: texts that share words are near each other."""
    vector = [0.01] + [0.0] * (DIMENSION - 1)
    for word in re.findall(r"\w+", text.lower()):
        vector[1 + zlib.crc32(word.encode()) % (DIMENSION - 1)] += 1.0
    return vector


def _said(item: Any) -> str:
    """The words of a text, of a picture's bytes, or of a list of both."""
    if isinstance(item, str):
        return item
    if isinstance(item, list):
        return " ".join(map(_said, item))
    if "text" in item:
        return str(item["text"])
    image = item.get("image") or item.get("image_base64") or item["image_url"]["url"]
    content = base64.b64decode(image.rpartition(",")[2])
    return content.partition(b"\n\x1a\n")[2].decode("utf-8", "replace")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, stub: Scripted, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.stub = stub
        self._open: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def close_request(self, request: Any) -> None:
        self._open.discard(request)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

    def drop(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        calls = [{"path": call.path, "body": call.body} for call in self.server.stub.calls]
        self._send(200, json.dumps(calls).encode(), {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw or b"{}")
        stub = self.server.stub
        if self.path == "/behave":
            stub.behave(Script(**body))
            self._send(200, b"{}", {})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Asked(self.path, headers, raw, body)
        script, let_go = stub.asked(call)
        if script.mood == "never":
            let_go.wait(PATIENCE_S)
            self.close_connection = True
            return
        if script.mood == "slowly":
            let_go.wait(script.delay)
        self._send(*stub.answer(call, script), script.headers)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    with Scripted(int(sys.argv[1]) if len(sys.argv) > 1 else 0) as stub:
        sys.stdout.write(f"http://127.0.0.1:{stub.port}\n")
        sys.stdout.flush()
        threading.Event().wait()
