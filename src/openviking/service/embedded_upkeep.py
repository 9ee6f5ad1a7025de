"""The methods of the embedded door that look after a store: audit, reindex, tasks; named as those of the SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openviking.errors import NotFoundError
from openviking.model.identity import Identity
from openviking.model.listing import Listing
from openviking.service.erasing import Erasing
from openviking.service.reindex import Reindexing
from openviking.service.system import System
from openviking.service.tasks import Tasks


class UpkeepMethods:
    """Mixed into `openviking.OpenViking`."""

    _identity: Identity
    _system: System
    _reindexing: Reindexing
    _tasks: Tasks
    _erasing: Erasing

    def check_consistency(
        self, uri: str = "viking://", *, timeout: float | None = None, cursor: str | None = None
    ) -> dict[str, Any]:
        """Whether what lies at and below ``uri`` is whole and in the index: ``ok``, and what is wrong as ``problems``.

        Each of these has a ``kind``, a ``count``, ``examples``, and as ``repair`` the mode of `reindex` that mends it.
        After ``timeout`` seconds (30) it ends with ``complete`` False and a ``cursor`` with which the next call goes
        on. Raises `NotFoundError`.
        """
        return self._system.consistency(self._identity, uri, timeout=timeout, cursor=cursor)

    def reindex(
        self,
        uri: str = "viking://",
        mode: str = "vectors_only",
        wait: bool = True,
        recursive: bool = True,
        *,
        timeout: float | None = None,
        dry_run: bool = False,
        force: bool = False,
        tags: Sequence[str] | None = None,
        tag_mode: str = "replace",
    ) -> dict[str, Any]:
        """Make the index at and below ``uri`` anew, and mend it: ``status``, counts such as ``scanned_records``, ``warnings``.

        ``vectors_only`` makes vectors that are missing (with ``force`` all), ``semantic_and_vectors`` passages, words
        and summaries too, ``prune_orphans`` removes files whose bytes are lost and what belongs to nothing (``dry_run``
        only counts). Without ``wait`` a ``task_id``; background work does it, or `wait_processed`. Raises
        `NotFoundError`, `ConflictError` if it runs there already.
        """
        return self._reindexing.start(
            self._identity, uri, mode, wait=wait, timeout=timeout, dry_run=dry_run, force=force, recursive=recursive,
            tags=tags, tag_mode=tag_mode,
        )  # fmt: skip

    def erase(self, *, rewrite: bool | None = None, wait: bool = True, timeout: float | None = None) -> dict[str, Any]:
        """Overwrite on the disk what was removed before: its task, with ``wait`` when it has ended.

        ``rewrite`` True writes the whole database anew, while writers wait, and no byte of what was removed is left;
        None does so up to 512 MiB. ``result`` of the task says whether it was ``rewritten``. Raises
        `DeadlineExceededError` after ``timeout`` seconds; it goes on then.
        """
        if wait:
            return self._erasing.wait(self._identity, rewrite=rewrite, timeout=timeout)
        return self._erasing.start(self._identity, rewrite=rewrite)

    def get_task(self, task_id: str) -> dict[str, Any] | None:
        """A task's ``status``, ``stage``, ``result``, ``error`` and more; None if it is unknown or forgotten."""
        try:
            return self._tasks.get(self._identity, task_id)
        except NotFoundError:
            return None

    def list_tasks(
        self,
        task_type: str | None = None,
        status: str | None = None,
        resource_id: str | None = None,
        limit: int = 50,
    ) -> Listing:
        """The caller's tasks, newest first; ``resource_id`` is what they work on."""
        return self._tasks.find(
            self._identity, task_type=task_type, status=status, resource_id=resource_id, limit=limit
        )

    def cancel_task(self, task_id: str) -> dict[str, Any]:
        """Stop a task; gives it, ``cancelling`` or ``cancelled``.

        Raises `NotFoundError`, and `FailedPreconditionError` for one that has ended or can't be stopped.
        """
        return self._tasks.cancel(self._identity, task_id)
