"""A web server on loopback that does whatever a test wants, byte by byte; and name services that answer as told."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Asked:
    """One request: the target with its query, and headers by lower-case name."""

    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


Reply = bytes | Callable[[socket.socket, Asked], None]


def answer(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; ``content_type`` and the like name headers, one that is "" is left out."""
    told = {"Content-Length": str(len(body)), "Connection": "close"}
    told |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items() if value)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body


def redirect(to: str, status: str = "302 Found") -> bytes:
    return answer(status=status, location=to)


class WebServer:
    """Serves what ``pages`` has by path, each connection once; ``asked`` are the requests so far.

    ``repositories`` are bare repositories by name: at ``/smart/NAME`` git answers, at ``/dumb/NAME`` lie their files.
    While the context lasts; replies that go on wait for ``over``.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Reply] = {}
        self.repositories: dict[str, Path] = {}
        self.asked: list[Asked] = []
        self.over = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._connected: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join()
        for one in self._connected:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while not self.over.is_set():
            try:
                connected, _ = self._listening.accept()
            except OSError:
                return
            self._connected.append(connected)
            thread = threading.Thread(target=self._serve, args=(connected,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connected: socket.socket) -> None:
        with connected, contextlib.suppress(OSError):
            asked = _request(connected)
            if asked is None:
                return
            self.asked.append(asked)
            reply = self._reply(asked)
            if callable(reply):
                reply(connected, asked)
            else:
                connected.sendall(reply)

    def _reply(self, asked: Asked) -> Reply:
        if asked.path in self.pages:
            return self.pages[asked.path]
        kind, _, rest = asked.path.strip("/").partition("/")
        name, _, below = rest.partition("/")
        if kind == "dumb" and name in self.repositories:
            file = self.repositories[name] / below
            return answer(file.read_bytes(), content_type="text/plain") if file.is_file() else answer(status="404 Gone")
        if kind == "smart" and name in self.repositories:
            return _git_answer(self.repositories[name], below, asked)
        return answer(b"nothing here", "404 Not Found")


def _request(connected: socket.socket) -> Asked | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connected.recv(65_536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if "100-continue" in headers.get("expect", ""):
        connected.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    while len(body) < int(headers.get("content-length", "0")):
        body += connected.recv(65_536)
    return Asked(lines[0].split(" ")[1], headers, body)


def _git_answer(repository: Path, below: str, asked: Asked) -> bytes:
    """What ``git http-backend`` says as a CGI program."""
    environment = {
        "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(repository.parent), "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{repository.name}/{below}", "QUERY_STRING": asked.target.partition("?")[2],
        "REQUEST_METHOD": "POST" if asked.body else "GET", "CONTENT_TYPE": asked.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(asked.body)), "HTTP_CONTENT_ENCODING": asked.headers.get("content-encoding", ""),
        "GIT_PROTOCOL": asked.headers.get("git-protocol", ""), "HOME": str(repository), "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
    }  # fmt: skip
    done = subprocess.run(["git", "http-backend"], input=asked.body, env=environment, capture_output=True, check=False)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    lines = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line)
    return answer(
        body, lines.pop("Status", "200 OK"), **{name.replace("-", "_"): value for name, value in lines.items()}
    )


@dataclass
class ToldResolver:
    """A name service that answers each question for a name with the next of its answers, the last for ever."""

    answers: Mapping[str, Sequence[Sequence[str]]]
    asked: list[str] = field(default_factory=list)

    def addresses(self, host: str, port: int) -> Sequence[str]:
        del port
        told = self.answers.get(host)
        if told is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        number = self.asked.count(host)
        self.asked.append(host)
        return told[min(number, len(told) - 1)]


class SilentResolver:
    """A name service that answers when it is told to."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def addresses(self, host: str, port: int) -> Sequence[str]:
        del port
        self.released.wait()
        raise socket.gaierror(socket.EAI_NONAME, f"{host}: Name or service not known")
