"""Health, readiness, waiting, consistency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openviking_sdk.call import Call, an_object, given, the_envelope
from openviking_sdk.uri import full_uri

WAIT_S = 600.0
"""How long the server may work when a call waits for it and names no time of its own."""


def waiting(wait: bool, timeout: float | None) -> float:
    """The seconds that the server itself may take."""
    if isinstance(timeout, int | float) and timeout >= 0:
        return float(timeout)
    return WAIT_S if wait else 0.0


def waiting_for(body: Mapping[str, Any]) -> float:
    """The seconds that the server itself may take for a body with ``wait`` and ``timeout``."""
    return waiting(bool(body.get("wait")), body.get("timeout"))


def health() -> Call[bool]:
    """Whether the server answers and calls itself healthy; needs no key.

    Raises `UnavailableError` if nothing answers at the address.
    """
    return Call(
        method="GET",
        path="/health",
        form="bare",
        read=lambda answer: answer.envelope.get("status") == "ok",
        repeatable=True,
        accepted=(503,),
    )


def health_info() -> Call[dict[str, Any]]:
    """What ``/health`` says: ``status``, ``healthy``, ``version``, ``auth_mode``; whose the key is, if it is valid."""
    return Call(method="GET", path="/health", form="bare", read=the_envelope, repeatable=True, accepted=(503,))


def ready() -> Call[dict[str, Any]]:
    """Whether the server can do its work: ``status`` (``ready`` or ``not_ready``) and ``checks``, each ``ok`` or why not."""
    return Call(method="GET", path="/ready", form="bare", read=the_envelope, repeatable=True, accepted=(503,))


def system_status() -> Call[dict[str, Any]]:
    """``initialized``, and ``user``: whom the server takes the caller for."""
    return Call(method="GET", path="/api/v1/system/status", read=an_object, repeatable=True)


def wait_processed(timeout: float | None = None) -> Call[dict[str, Any]]:
    """The queues, once everything is done that was waiting before the call: ``{queue: {processed, error_count, …}}``.

    Waits for ``timeout`` seconds, without it for as long as the server likes; this side gives up after 600 s more than its
    usual timeout. Raises `DeadlineExceededError`; what was not done in time is done later.
    """
    return Call(
        method="POST",
        path="/api/v1/system/wait",
        body=given(timeout=timeout),
        read=an_object,
        repeatable=True,
        seconds=waiting(True, timeout),
    )


def erase(*, rewrite: bool | None = None) -> Call[dict[str, Any]]:
    """Begin to overwrite on the disk what was removed from the account: ``task_id``; the ``result`` of the task says what was done.

    ``rewrite`` True writes the whole database anew, while writers wait, and no byte of what was removed is left; None does
    so up to 512 MiB.
    """
    return Call(
        method="POST", path="/api/v1/system/erase", body=given(rewrite=rewrite), read=an_object, repeatable=True
    )


def check_consistency(uri: str, *, timeout: float | None = None, cursor: str | None = None) -> Call[dict[str, Any]]:
    """Whether files and index agree below ``uri``: ``ok``, ``expected_count``, ``missing_record_count``, ``missing_records``.

    Each of ``problems`` has a ``kind``, a ``count``, ``examples``, and as ``repair`` the mode of `reindex` that mends it.
    After ``timeout`` seconds (30) the audit ends with ``complete`` False and a ``cursor`` with which the next call goes
    on. Raises `NotFoundError`.
    """
    return Call(
        method="POST",
        path="/api/v1/system/consistency",
        body=given(uri=full_uri(uri), timeout=timeout, cursor=cursor),
        read=an_object,
        repeatable=True,
        seconds=WAIT_S,
    )


def debug_health() -> Call[dict[str, Any]]:
    """``healthy``, as the server's own check sees it."""
    return Call(method="GET", path="/api/v1/debug/health", read=an_object, repeatable=True)


def debug_vector_count(uri: str | None = None, *, filter: str | None = None) -> Call[dict[str, Any]]:  # noqa: A002
    """``count``: how many index records there are below ``uri`` that match ``filter``, a filter written as JSON."""
    return Call(
        method="GET",
        path="/api/v1/debug/vector/count",
        query=given(uri=None if uri is None else full_uri(uri), filter=filter),
        read=an_object,
        repeatable=True,
    )


def debug_vector_scroll(
    uri: str | None = None, *, limit: int | None = None, cursor: str | None = None
) -> Call[dict[str, Any]]:
    """``records`` of the index below ``uri``, at most ``limit`` (100; 1 to 1,000), and ``next_cursor`` for the next ones."""
    return Call(
        method="GET",
        path="/api/v1/debug/vector/scroll",
        query=given(uri=None if uri is None else full_uri(uri), limit=limit, cursor=cursor),
        read=an_object,
        repeatable=True,
    )
