"""A real `openviking-server` on loopback and a client that costs next to nothing, for measuring and for killing it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

SOURCES = Path(__file__).resolve().parents[1] / "src"
COMMAND = [sys.executable, "-c", "from openviking.cli.server_command import run; run()"]
IDLE_S = 3.0
"""The server closes connections that nobody used for a little longer."""


class ServerProcess:
    """The server on a data directory; ``embedding`` and ``server`` as in ov.conf."""

    def __init__(self, data: Path, *, embedding: dict[str, Any], server: dict[str, Any] | None = None) -> None:
        self.data = data
        conf = data.with_name(f"{data.name}.conf")
        told = {"storage": {"workspace": str(data)}, "embedding": embedding, "server": server or {}}
        conf.write_text(json.dumps(told), "utf-8")
        self._argv = [*COMMAND, "--config", str(conf), "--port", "0"]
        self._log = data.with_name(f"{data.name}.log")
        self._process: subprocess.Popen[str] | None = None
        self.port = 0
        self.healthy_s = self.healthy_cpu_s = 0.0

    def start(self) -> Self:
        """Start it; ``healthy_s`` are the seconds until ``/health`` answered, ``healthy_cpu_s`` its own until then."""
        began = time.perf_counter()
        env = {**os.environ, "PYTHONPATH": str(SOURCES), "HOME": str(self.data.parent)}
        with self._log.open("a") as log:
            self._process = subprocess.Popen(self._argv, env=env, text=True, stdout=subprocess.PIPE, stderr=log)
        assert self._process.stdout
        found = re.search(r"http://[^ ]*:(\d+)", self._process.stdout.readline())
        if not found:
            raise RuntimeError(f"the server did not start: {self._log.read_text()[-2000:]}")
        self.port = int(found[1])
        status, _ = asyncio.run(_once(self.port, "GET", "/health"))
        if status != 200:
            raise RuntimeError(f"/health answered {status}")
        self.healthy_s = time.perf_counter() - began
        self.healthy_cpu_s = self.cpu_s()
        return self

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process
        return self._process.pid

    def cpu_s(self) -> float:
        """CPU seconds of all of its threads so far."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def megabytes(self, name: str = "VmRSS") -> float:
        """Its resident memory, or ``VmHWM``, the most that it has been."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def kill(self) -> None:
        """End it at once."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in good order."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)
            process.wait()
            assert process.stdout
            process.stdout.close()


class Connection:
    """One keep-alive connection; `ask` raises `ConnectionError` where the server went away."""

    def __init__(self, port: int, headers: dict[str, str] | None = None) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1:{port}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in (headers or {}).items())
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._used = 0.0

    async def ask(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, bytes]:
        """Status and body of an answer; ``body`` is JSON, or bytes as they are."""
        if time.monotonic() - self._used > IDLE_S:
            self.close()
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)
        reader, writer = self._streams
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        kind = f"Content-Type: {content_type}\r\n" if data else ""
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{kind}Content-Length: {len(data)}\r\n\r\n"
        try:
            writer.write(head.encode() + data)
            told = await reader.readuntil(b"\r\n\r\n")
            length = int(re.search(rb"(?i)\r\ncontent-length: (\d+)", told)[1])  # type: ignore[index]
            answer = await reader.readexactly(length)
        except (OSError, EOFError, asyncio.IncompleteReadError) as error:
            self.close()
            raise ConnectionError(str(error)) from error
        self._used = time.monotonic()
        if b"\r\nconnection: close" in told.lower():
            self.close()
        return int(told[9:12]), answer

    def close(self) -> None:
        """Close it; the next `ask` opens another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _once(port: int, method: str, path: str) -> tuple[int, bytes]:
    connection = Connection(port)
    try:
        return await connection.ask(method, path)
    finally:
        connection.close()
