"""Carrying out calls for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import httpx2

from openviking_sdk.call import Call, Done, Steps, advance
from openviking_sdk.configured import Configured
from openviking_sdk.errors import FailedPreconditionError
from openviking_sdk.failure import failure, wait_before_repeating
from openviking_sdk.meaning import MAX_ANSWER_BYTES, Head, meaning, too_large
from openviking_sdk.request import client_arguments, request_arguments

P = ParamSpec("P")
T = TypeVar("T")


class AsyncSending(Configured):
    """A pool of connections of one event loop."""

    _closed = False
    _http: httpx2.AsyncClient | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    def _open(self) -> httpx2.AsyncClient:
        if self._closed:
            raise FailedPreconditionError("This client is closed; initialize() opens it again")
        if self._http is None:
            self._http = httpx2.AsyncClient(**client_arguments(self._settings))
            self._loop = asyncio.get_running_loop()
        elif self._loop is not asyncio.get_running_loop():
            raise FailedPreconditionError("This client belongs to another event loop; make one in each loop")
        return self._http

    async def _close(self) -> None:
        self._closed = True
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def send(self, call: Call[T]) -> T:
        """The value of a call; its methods do this. Raises `OpenVikingError`."""
        http = self._open()
        done = 0
        while True:
            try:
                return await self._once(http, call)
            except httpx2.RequestError as error:
                done += 1
                wait = wait_before_repeating(call, error, done, self._retries)
                if wait is None:
                    raise failure(call, error, self._settings) from error
            await asyncio.sleep(wait)

    async def run(self, steps: Steps[T]) -> T:
        """The value of several calls, one after the other; what is between them runs in a thread, since it reads the disk."""
        try:
            step = await _in_thread(advance, steps)
            while not isinstance(step, Done):
                step = await _in_thread(advance, steps, None if step is None else await self.send(step))
            return step.value
        finally:
            steps.close()

    async def _once(self, http: httpx2.AsyncClient, call: Call[T]) -> T:
        arguments: Mapping[str, Any] = request_arguments(call, self._settings)
        async with http.stream(**arguments) as response:
            head = Head(response.status_code, response.headers)
            if call.download is not None and head.is_success:
                with call.download.open() as file:
                    async for chunk in response.aiter_bytes():
                        await _in_thread(file.write, chunk)
                return meaning(call, head, b"", self._settings)
            content = bytearray()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    raise too_large(call)
        return meaning(call, head, bytes(content), self._settings)


async def _in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The value of a call in a thread; a cancellation waits for the thread, which nothing can stop."""
    work = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        if not work.cancelled():
            work.exception()  # looked at, so that asyncio does not complain that nobody did
        raise
