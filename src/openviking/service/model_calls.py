"""Calls of an embedding model in threads of their own, and its failures as ours."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from openviking.errors import DeadlineExceededError, OpenVikingError, UnavailableError

T = TypeVar("T")

_log = logging.getLogger(__name__)


def begun(work: Callable[[], T], name: str) -> Future[T]:
    """``work`` in a thread of its own, which keeps no process from ending: what hangs in it can be left behind."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001
            # Whoever waits for the future gets it.
            future.set_exception(error)
        else:
            future.set_result(result)

    if not started(run, name):
        # The system has no thread left: the caller does it.
        run()
    return future


def started(work: Callable[[], object], name: str) -> bool:
    """Whether ``work`` is done by a thread of its own from now on; False if the system has none left."""
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError:
        return False
    return True


def translated(error: Exception) -> OpenVikingError:
    """A model's error as one of ours; what only a fault of its code raises is logged."""
    if isinstance(error, OpenVikingError):
        return error
    _log.error("the embedding model failed", exc_info=error)
    try:
        told = repr(error)
    except Exception:  # noqa: BLE001
        # The edge to an embedder of somebody else, whose errors may fail themselves.
        told = type(error).__name__
    return unavailable(told.encode("utf-8", "replace").decode())


def unavailable(reason: str) -> UnavailableError:
    """That the model does not answer."""
    return UnavailableError(f"The embedding model does not answer: {reason}", service="embedding", reason=reason)


def unavailable_still(error: OpenVikingError) -> UnavailableError:
    """That the model is not asked because it did not answer a moment ago."""
    still = UnavailableError(error.message, service="embedding", reason="it is left alone for a while")
    status = error.details.get("upstream_status_code")
    return still if status is None else _with_status(still, status)


def _with_status(error: UnavailableError, status: object) -> UnavailableError:
    error.details["upstream_status_code"] = status
    return error


def without_quotes(error: OpenVikingError) -> str:
    """Why a model does not answer, without the words of its service: they may quote what another caller sent it."""
    status = error.details.get("upstream_status_code")
    return error.message if status is None else f"The embedding model does not answer: HTTP {status}"


def late(seconds: float, why: str) -> DeadlineExceededError:
    """That the model did not answer in time."""
    return DeadlineExceededError(
        f"The embedding model did not answer within {seconds:g} s ({why})", operation="embedding", timeout=seconds
    )
