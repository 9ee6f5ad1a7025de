"""GET with redirects, repetitions and limits; every hop is checked before anything is sent to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpcore2
import httpx2

from openviking.config.settings import FetchSettings
from openviking.errors import InvalidArgumentError
from openviking.ingest.fetch.connection import Limits, PinnedBackend
from openviking.ingest.fetch.failures import FetchCancelled, FetchFailedError, FetchTimeoutError, PassingError
from openviking.ingest.fetch.resolver import Gate
from openviking.ingest.fetch.unpacking import ACCEPTED, too_large, unpacked
from openviking.ingest.fetch.web_address import WebAddress
from openviking.providers.retry import retry_after_of

_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_COMPLETE: Final = frozenset((200,))
_OR_UNCHANGED: Final = frozenset((200, 304))
_PASSING: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
_FIRST_PAUSE_S: Final = 0.5
_LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server gave: ``where`` is the last hop, header names are in lower case."""

    status: int
    where: WebAddress
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """Fetches over connections of its own, one for each hop; no cookies, no proxy, no credentials."""

    def __init__(self, settings: FetchSettings, gate: Gate) -> None:
        self._settings = settings
        self._gate = gate
        self._lock = threading.Lock()
        self._context: Any = None

    def get(
        self,
        where: WebAddress,
        *,
        headers: Mapping[str, str],
        cancelled: Callable[[], bool],
        progress: Callable[[int], None],
        max_bytes: int | None = None,
        validators: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer of status 200, complete and unpacked, or of 304 if it is what ``validators`` tell (`validators_of`).

        ``progress`` is told how many bytes came. Raises `FetchFailedError` (also for another status), after
        ``timeout`` seconds `FetchTimeoutError`, `RefusedAddressError`, `FetchCancelled`.
        """
        settings = self._settings
        limits = Limits(time.monotonic() + settings.timeout, settings.connect_timeout, settings.idle_timeout, cancelled)
        for attempt in range(settings.max_retries + 1):
            try:
                return self._followed(
                    where, headers, limits, progress, max_bytes or settings.max_bytes, validators or {}
                )
            except httpcore2.TimeoutException as error:
                if time.monotonic() >= limits.deadline:
                    raise _late(where, settings.timeout) from error
                if attempt == settings.max_retries or not _pause(attempt, None, limits):
                    told = str(error) or "no answer in time"
                    raise FetchTimeoutError(
                        f"{where.shown} does not answer: {told}", url=where.shown, timeout=settings.timeout
                    ) from error
            except PassingError as error:
                if attempt == settings.max_retries or not _pause(attempt, error.retry_after, limits):
                    status = {} if error.http_status is None else {"http_status": error.http_status}
                    raise FetchFailedError(
                        f"{where.shown} can't be fetched: {error.message}", url=where.shown, **status
                    ) from error
        raise FetchFailedError(f"{where.shown} can't be fetched", url=where.shown)

    def _followed(
        self,
        where: WebAddress,
        headers: Mapping[str, str],
        limits: Limits,
        progress: Callable[[int], None],
        max_bytes: int,
        validators: Mapping[str, str],
    ) -> Answer:
        hop = where
        for _ in range(self._settings.max_redirects + 1):
            self._gate.check_spelling(hop)
            asked = _conditions(validators, hop)
            reply = self._one(
                hop, {**headers, **asked}, limits, progress, max_bytes, _OR_UNCHANGED if asked else _COMPLETE
            )
            if reply.status not in _REDIRECTS:
                return Answer(reply.status, hop, reply.headers, reply.body)
            location = reply.headers.get("location")
            if location is None:
                raise FetchFailedError(
                    f"{hop.shown} redirects without saying where to", url=where.shown, http_status=reply.status
                )
            try:
                hop = hop.joined(_as_sent(location))
            except (InvalidArgumentError, ValueError) as error:
                told = error.message if isinstance(error, InvalidArgumentError) else str(error)
                raise FetchFailedError(
                    f"{hop.shown} redirects where nothing can be fetched: {told}", url=where.shown
                ) from error
        raise FetchFailedError(
            f"{where.shown} redirects more than {self._settings.max_redirects} times, which is the most that is followed",
            url=where.shown,
        )

    def _one(
        self,
        hop: WebAddress,
        headers: Mapping[str, str],
        limits: Limits,
        progress: Callable[[int], None],
        max_bytes: int,
        statuses: frozenset[int],
    ) -> _Reply:
        """One request. Raises `PassingError` for what may be gone a moment later."""
        target = httpcore2.URL(
            scheme=hop.scheme.encode(), host=hop.host.encode(), port=hop.port, target=hop.target.encode()
        )
        sent = {
            "Host": hop.authority, "User-Agent": self._settings.user_agent, "Accept": "*/*",
            "Accept-Encoding": ACCEPTED, "Connection": "close", **headers,
        }  # fmt: skip
        backend = PinnedBackend(self._gate, limits)
        try:
            with (
                httpcore2.ConnectionPool(
                    ssl_context=self._secured() if hop.scheme == "https" else None, network_backend=backend,
                    max_connections=1, max_keepalive_connections=0,
                ) as pool,
                pool.stream("GET", target, headers=list(sent.items())) as response,
            ):  # fmt: skip
                told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                status = response.status
                if status in _REDIRECTS:
                    return _Reply(status, told, b"")
                if status not in statuses:
                    raise _refusal(hop, status, told)
                if status == 304:
                    return _Reply(status, told, b"")
                if (told.get("content-length") or "0").isdigit() and int(told.get("content-length") or "0") > max_bytes:
                    raise too_large(hop.shown, max_bytes)
                pieces = _counted(response.iter_stream(), progress)
                body = unpacked(pieces, told.get("content-encoding", ""), max_bytes, hop.shown)
                return _Reply(status, told, body)
        except httpcore2.RemoteProtocolError as error:
            # Also a body that is shorter than it was said to be.
            raise PassingError(f"the answer is broken or breaks off: {error}") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise PassingError(str(error) or type(error).__name__) from error
        except httpcore2.UnsupportedProtocol as error:
            raise FetchFailedError(f"{hop.shown} can't be fetched: {error}", url=hop.shown) from error

    def _secured(self) -> Any:
        """What is trusted, loaded once: it takes tens of milliseconds."""
        with self._lock:
            if self._context is None:
                self._context = httpx2.create_ssl_context(trust_env=True)
            return self._context


def validators_of(answer: Answer) -> dict[str, str]:
    """What a later `Client.get` is to be given to learn whether an answer still holds; empty if its server says nothing."""
    told = {"etag": answer.headers.get("etag", ""), "modified": answer.headers.get("last-modified", "")}
    told = {name: value for name, value in told.items() if value and value.isascii() and len(value) <= 1_000}
    return {**told, "at": str(answer.where)} if told else {}


def _conditions(validators: Mapping[str, str], hop: WebAddress) -> dict[str, str]:
    """The headers that ask whether something has changed, where it is what was got there before.

    A redirect that leads to another page than last time leads to another version "1", and to an older date. Signed
    addresses have another query each time, which says nothing against an ``ETag``, but all against a date.
    """
    at = validators.get("at", "")
    if validators.get("etag"):
        return {"If-None-Match": validators["etag"]} if at.partition("?")[0] == str(hop).partition("?")[0] else {}
    return {"If-Modified-Since": validators["modified"]} if validators.get("modified") and at == str(hop) else {}


def _as_sent(location: str) -> str:
    """A header that was read as Latin-1, as UTF-8 if it is that: some servers don't percent-encode."""
    try:
        return location.encode("latin-1").decode()
    except UnicodeError:
        return location


def _pause(attempt: int, asked: float | None, limits: Limits) -> bool:
    """Wait before another attempt; False if the time is over before."""
    until = time.monotonic() + max(_FIRST_PAUSE_S * 2**attempt, asked or 0.0)
    if until >= limits.deadline:
        return False
    waiting = threading.Event()
    while (left := until - time.monotonic()) > 0:
        if limits.cancelled():
            raise FetchCancelled
        waiting.wait(min(left, _LOOK_S))
    return True


def _counted(pieces: Iterator[bytes], progress: Callable[[int], None]) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        progress(size)
        yield piece


def _refusal(hop: WebAddress, status: int, headers: Mapping[str, str]) -> Exception:
    told = f"{hop.shown} answers with HTTP {status}"
    if status in _PASSING:
        return PassingError(
            f"it answers with HTTP {status}", retry_after=retry_after_of(headers.get("retry-after")), http_status=status
        )
    meaning = {401: ": it asks for credentials", 403: ": it is not for everybody", 404: ": there is no such page",
               410: ": it is gone"}.get(status, "")  # fmt: skip
    return FetchFailedError(told + meaning, url=hop.shown, http_status=status)


def _late(where: WebAddress, timeout: float) -> FetchTimeoutError:
    return FetchTimeoutError(f"{where.shown} was not complete after {timeout:g} s", url=where.shown, timeout=timeout)
