"""Carrying out calls, one thread each."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping
from typing import Any, TypeVar

import httpx2

from openviking_sdk.call import Call, Done, Steps, advance
from openviking_sdk.configured import Configured
from openviking_sdk.errors import FailedPreconditionError
from openviking_sdk.failure import failure, wait_before_repeating
from openviking_sdk.meaning import MAX_ANSWER_BYTES, Head, meaning, too_large
from openviking_sdk.request import client_arguments, request_arguments
from openviking_sdk.settings import Settings

T = TypeVar("T")


class SyncSending(Configured):
    """A pool of connections that several threads may share."""

    _closed = False
    _http: httpx2.Client | None = None

    def _open(self) -> httpx2.Client:
        with self._opening:
            if self._closed:
                raise FailedPreconditionError("This client is closed; initialize() opens it again")
            if self._http is None:
                self._http = httpx2.Client(**client_arguments(self._settings))
                weakref.finalize(self, self._http.close)  # a client that is forgotten leaves no connection open
            return self._http

    def _close(self) -> None:
        with self._opening:
            self._closed = True
            http, self._http = self._http, None
        if http is not None:
            http.close()

    def send(self, call: Call[T]) -> T:
        """The value of a call; its methods do this. Raises `OpenVikingError`."""
        return send(self._open(), call, self._settings, self._retries)

    def run(self, steps: Steps[T]) -> T:
        """The value of several calls, one after the other."""
        try:
            step = advance(steps)
            while not isinstance(step, Done):
                step = advance(steps, None if step is None else self.send(step))
            return step.value
        finally:
            steps.close()


def send(http: httpx2.Client, call: Call[T], settings: Settings, retries: int) -> T:
    """The value of a call; raises `OpenVikingError`."""
    done = 0
    while True:
        try:
            return _once(http, call, settings)
        except httpx2.RequestError as error:
            done += 1
            wait = wait_before_repeating(call, error, done, retries)
            if wait is None:
                raise failure(call, error, settings) from error
            time.sleep(wait)


def send_alone(call: Call[T], settings: Settings, retries: int) -> T:
    """`send` over a connection of its own."""
    with httpx2.Client(**client_arguments(settings)) as http:
        return send(http, call, settings, retries)


def _once(http: httpx2.Client, call: Call[T], settings: Settings) -> T:
    arguments: Mapping[str, Any] = request_arguments(call, settings)
    with http.stream(**arguments) as response:
        head = Head(response.status_code, response.headers)
        if call.download is not None and head.is_success:
            with call.download.open() as file:
                for chunk in response.iter_bytes():
                    file.write(chunk)
            return meaning(call, head, b"", settings)
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > MAX_ANSWER_BYTES:
                raise too_large(call)
    return meaning(call, head, bytes(content), settings)
