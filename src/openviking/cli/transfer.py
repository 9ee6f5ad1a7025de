"""Uploads to a server with their progress, and tasks of a server followed to their end."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from openviking.cli.door import ServerError
from openviking.errors import DeadlineExceededError
from openviking.text import seconds_told
from openviking_sdk.call import Call, Done, Steps, advance

if TYPE_CHECKING:
    from collections.abc import Callable

    from openviking.cli.progress import Told
    from openviking.cli.remote import Remote

ENDED: Final = frozenset({"completed", "failed", "cancelled"})
KIB: Final = 1024
FIRST_LOOK_S: Final = 0.1
LAST_LOOK_S: Final = 1.0
"""How long to wait before a task is looked at again: little at first, then twice as long each time up to this."""


@dataclass(frozen=True, slots=True)
class Stage:
    """How far something is, for the progress on standard error."""

    stage: str
    done: int = 0
    total: int = 0
    name: str = ""


def carried_out(server: Remote, steps: Steps[Any], show: Callable[[Told], None] | None) -> Any:
    """The value of several calls; ``show`` is told how much of an upload is sent."""
    try:
        step = advance(steps)
        while not isinstance(step, Done):
            if step is None:
                step = advance(steps)
                continue
            if step.upload is not None and show is not None:
                step = _counted(step, show)
            elif show is not None:
                show(Stage("asking"))
            step = advance(steps, server.client.send(step))
        return step.value
    finally:
        steps.close()


def followed(
    server: Remote, task_id: str, timeout: float | None, show: Callable[[Told], None] | None
) -> dict[str, Any]:
    """A task when it has completed.

    Raises the error that it met, or that it was cancelled, and `DeadlineExceededError` after ``timeout`` seconds; it goes
    on then.
    """
    end = None if timeout is None else time.monotonic() + timeout
    pause = FIRST_LOOK_S
    while True:
        task: dict[str, Any] = server.get_task(task_id)
        status = task.get("status")
        if show is not None:
            progress = task.get("progress") or {}
            show(Stage(str(task.get("stage") or status), progress.get("done") or 0, progress.get("total") or 0))
        if status in ENDED:
            break
        if end is not None and time.monotonic() >= end:
            raise DeadlineExceededError(
                f"The task {task_id} has not ended within {seconds_told(timeout or 0.0)}; it goes on",
                operation=str(task.get("task_type")), timeout=timeout or 0.0, task_id=task_id,
            )  # fmt: skip
        time.sleep(pause if end is None else max(min(pause, end - time.monotonic()), 0.0))
        pause = min(2 * pause, LAST_LOOK_S)
    if status == "completed":
        return task
    told = task.get("result")
    result: dict[str, Any] = told if isinstance(told, dict) else {}
    message = task.get("error") or f"The task was {status}"
    code = str(result.get("code") or ("ABORTED" if status == "cancelled" else "PROCESSING_ERROR"))
    raise ServerError(code, str(message), {**(result.get("details") or {}), "task_id": task_id})


class _Counting:
    """A file that tells how much of it was read."""

    def __init__(self, file: BinaryIO, size: int, show: Callable[[Told], None]) -> None:
        self._file = file
        self._total = max(size // KIB, 1)
        self._show = show

    def read(self, count: int = -1) -> bytes:
        piece = self._file.read(count)
        self._show(Stage("uploading (KiB)", min(self._file.tell() // KIB, self._total), self._total))
        return piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _counted(call: Call[Any], show: Callable[[Told], None]) -> Call[Any]:
    upload = call.upload
    if upload is None:
        return call
    file: Any = _Counting(upload.file, upload.size, show)
    return replace(call, upload=replace(upload, file=file))
