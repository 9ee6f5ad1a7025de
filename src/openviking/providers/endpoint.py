"""One address of a model service: calls with an exact deadline, bounded in number and in the size of their answers."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx2

from openviking.providers.failures import CallFailed, kind_of, shown, told_by
from openviking.providers.retry import retry_after_of

MAX_ERROR_BYTES: Final = 16_384
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_PATIENCE_S: Final = 5.0


class Endpoint:
    """Posts JSON to ``url``, at most ``limit`` calls at once, over connections that are kept.

    ``headers`` go with each call; ``secrets`` are never shown in a message. Safe to use from several threads.
    """

    def __init__(self, url: str, headers: Mapping[str, str], secrets: Sequence[str], limit: int) -> None:
        self._url = url
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "openviking", **headers}
        self._secrets = tuple(secrets)
        self._slots = threading.BoundedSemaphore(limit)
        self._lock = threading.Lock()
        self._free: list[_Line] = []
        self._busy: dict[_Call, threading.Thread] = {}
        self._context: ssl.SSLContext | None = None
        self._closed = False

    def post(self, body: bytes, *, timeout: float, max_bytes: int, headers: Mapping[str, str] | None = None) -> bytes:
        """The body of the answer, of at most ``max_bytes``. Raises `CallFailed`, after ``timeout`` seconds at the latest.

        ``headers`` belong to this call alone, such as a signature.

        The call runs in a thread of its own: neither a name that is not resolved nor an answer that comes byte by byte
        can hold the caller.
        """
        if not self._slots.acquire(timeout=max(timeout, 0)):
            raise CallFailed(f"all calls under way took longer than {timeout:g} s", "late")
        call = _Call(self, body, timeout, max_bytes, headers or {})
        thread = threading.Thread(target=call.run, name="openviking-embedding-call", daemon=True)
        with self._lock:
            if self._closed:
                self._slots.release()
                raise CallFailed("closed", "permanent")
            self._busy[call] = thread
        try:
            thread.start()
        except RuntimeError as error:
            self.give_back(call)
            raise CallFailed(f"cannot be asked: {error}", "outage") from error
        if not call.done.wait(timeout):
            self._interrupt(call)
            raise CallFailed(f"no answer after {timeout:g} s", "late")
        if call.failure is None:
            return call.answer
        if call.line.interrupted:
            raise CallFailed("closed", "permanent")
        raise call.failure

    def close(self) -> None:
        """End the calls under way and all connections."""
        with self._lock:
            self._closed = True
            busy = dict(self._busy)
            free, self._free = self._free, []
        for line in free:
            line.close()
        for call in busy:
            self._interrupt(call)
        for thread in busy.values():
            thread.join(_PATIENCE_S)

    def _interrupt(self, call: _Call) -> None:
        """End ``call``, unless it came to its end at this moment: then its connection may be another's already."""
        with self._lock:
            if call in self._busy:
                call.line.interrupt()

    def take(self) -> _Line:
        """A connection that nobody uses."""
        with self._lock:
            if self._free:
                return self._free.pop()
        return _Line()

    def give_back(self, call: _Call) -> None:
        """The end of a call: its connection is kept unless it was interrupted."""
        with self._lock:
            del self._busy[call]
            kept = not self._closed and not call.line.interrupted
            if kept:
                self._free.append(call.line)
        if not kept:
            call.line.close()
        self._slots.release()

    def new_client(self) -> httpx2.Client:
        """A client for one connection. A service on this machine is asked without any proxy."""
        with self._lock:
            if self._context is None:
                # What is trusted takes tens of milliseconds to load.
                secure = httpx2.URL(self._url).scheme == "https"
                self._context = httpx2.create_ssl_context(verify=secure)
        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=60.0)
        near = httpx2.URL(self._url).host in _LOOPBACK
        return httpx2.Client(verify=self._context, limits=limits, trust_env=not near, follow_redirects=False)

    def send(self, call: _Call) -> bytes:
        """Carry out a call over its connection."""
        client = call.line.client(self)
        timeout = httpx2.Timeout(max(call.timeout, 0.001))
        try:
            with client.stream(
                "POST",
                self._url,
                content=call.body,
                headers={**self._headers, **call.headers, "Content-Type": "application/json"},
                timeout=timeout,
                extensions={"trace": call.line.trace},
            ) as response:
                if not response.is_success:
                    raise self._status(response)
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise CallFailed("the answer is compressed, which was not asked for", "malformed")
                answer = _bounded(response, call.max_bytes)
                if len(answer) > call.max_bytes:
                    raise CallFailed(f"the answer exceeds {call.max_bytes:,} bytes", "malformed")
                return answer
        except httpx2.TimeoutException as error:
            raise CallFailed(f"no answer after {call.timeout:g} s", "late") from error
        except (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise CallFailed(shown(f"cannot be asked: {error}", self._secrets), "permanent") from error
        except (httpx2.HTTPError, OSError) as error:
            raise CallFailed(
                shown(f"does not answer: {str(error) or type(error).__name__}", self._secrets), "outage"
            ) from error

    def _status(self, response: httpx2.Response) -> CallFailed:
        status = response.status_code
        message = told_by(_bounded(response, MAX_ERROR_BYTES)[:MAX_ERROR_BYTES], self._secrets)
        if response.is_redirect:
            message = shown(f"redirects to {response.headers.get('location', '')}", self._secrets)
        asked = f" from {self._url.rpartition('@')[2]}" if status in {404, 405} else ""
        return CallFailed(
            f"HTTP {status}{asked}: {message or response.reason_phrase}".rstrip(": "),
            kind_of(status),
            status=status,
            retry_after=retry_after_of(response.headers.get("retry-after")),
        )


class _Call:
    """One call in its thread, and what became of it."""

    def __init__(
        self, endpoint: Endpoint, body: bytes, timeout: float, max_bytes: int, headers: Mapping[str, str]
    ) -> None:
        self._endpoint = endpoint
        self.headers = headers
        self.line = endpoint.take()
        self.body = body
        self.timeout = timeout
        self.max_bytes = max_bytes
        self.done = threading.Event()
        self.answer = b""
        self.failure: CallFailed | None = None

    def run(self) -> None:
        try:
            self.answer = self._endpoint.send(self)
        except CallFailed as failure:
            self.failure = failure
        except Exception as error:  # noqa: BLE001
            # The edge of the thread: whatever it is, somebody waits for it.
            self.failure = CallFailed(f"cannot be asked: {error!r}", "outage")
        finally:
            try:
                self._endpoint.give_back(self)
            finally:
                self.done.set()


class _Line:
    """One kept connection, which another thread can interrupt."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._socket: weakref.ref[socket.socket] | None = None
        self.interrupted = False

    def client(self, endpoint: Endpoint) -> httpx2.Client:
        """The client that holds the connection."""
        if self._client is None:
            self._client = endpoint.new_client()
        return self._client

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Learn the socket of a new connection."""
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        with self._lock:
            self._socket = weakref.ref(info["return_value"].get_extra_info("socket"))
            if self.interrupted:
                self._shut_down()

    def interrupt(self) -> None:
        """End what is read or written at this moment, and take no more."""
        with self._lock:
            self.interrupted = True
            self._shut_down()

    def _shut_down(self) -> None:
        connected = self._socket() if self._socket is not None else None
        if connected is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


def _bounded(response: httpx2.Response, limit: int) -> bytes:
    """The body, or a little more than ``limit`` bytes of it."""
    pieces: list[bytes] = []
    size = 0
    for piece in response.iter_raw():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            break
    return b"".join(pieces)
