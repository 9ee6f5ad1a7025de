"""The methods of the embedded door for watches; named as those of the SDK."""

from __future__ import annotations

from typing import Any

from openviking.model.identity import Identity
from openviking.service.watches import Watches


class WatchMethods:
    """Mixed into `openviking.OpenViking`."""

    _identity: Identity
    _watches: Watches

    def list_watches(self, active_only: bool = False) -> dict[str, Any]:
        """``tasks``, each with ``task_id``, ``to_uri``, ``watch_interval`` (minutes), ``is_active``; and ``total``."""
        return self._watches.find(self._identity, active_only=active_only)

    def get_watch(self, task_id: str | None = None, to_uri: str | None = None) -> dict[str, Any]:
        """One watch, by its id or by what it fills, with what became of the last look. Raises `NotFoundError`."""
        return self._watches.get(self._identity, task_id, to_uri)

    def update_watch(
        self,
        task_id: str | None = None,
        *,
        to_uri: str | None = None,
        watch_interval: float | None = None,
        is_active: bool | None = None,
        reason: str | None = None,
        instruction: str | None = None,
    ) -> dict[str, Any]:
        """Change a watch, and get it; what is None stays. ``watch_interval`` in minutes.

        Raises `NotFoundError`, `InvalidArgumentError`.
        """
        return self._watches.update(
            self._identity, task_id, to_uri, watch_interval=watch_interval, is_active=is_active, reason=reason,
            instruction=instruction,
        )  # fmt: skip

    def delete_watch(self, task_id: str | None = None, *, to_uri: str | None = None) -> dict[str, Any]:
        """Stop watching; what was added stays. Raises `NotFoundError`."""
        return self._watches.delete(self._identity, task_id, to_uri)

    def trigger_watch(self, task_id: str | None = None, *, to_uri: str | None = None) -> dict[str, Any]:
        """Have a source looked at now; ``scheduled``, and the import as ``run_task_id``.

        Background work does it, or `wait_processed`. Raises `NotFoundError`, `FailedPreconditionError` where
        ``enable_watch_scheduler`` is false.
        """
        return self._watches.trigger(self._identity, task_id, to_uri)
