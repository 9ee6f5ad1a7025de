"""What the adding of a source says of its watch: one is made, updated, or paused (contract/core.md §3.4, §3.13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from openviking.errors import FailedPreconditionError, InvalidArgumentError
from openviking.index.tags import accepted_tags
from openviking.model.identity import Identity
from openviking.model.watch import NewWatch, interval_ms
from openviking.store.port import AccountStore
from openviking.text import quoted

KEPT: Final = (
    "source_name", "strict", "include", "exclude", "ignore_dirs", "preserve_structure", "tags", "tag_mode", "args",
)  # fmt: skip
"""Fields of an addition, beside ``reason`` and ``instruction``, that a later import has again."""

CANCELLED: Final = "an addition to its target asked for watch_interval 0"
REPLACED: Final = "another source was added to the target of this watch"


class Asked(Protocol):
    """What is to be known of an addition; it also has the fields `KEPT`."""

    @property
    def path(self) -> str | None:
        """The URL."""
        ...

    @property
    def watch_interval(self) -> float | None:
        """Minutes; 0 or less ends a watch, None leaves one of the same source as it is."""
        ...

    @property
    def is_active(self) -> bool | None:
        """False: the watch is made, and paused."""
        ...

    @property
    def reason(self) -> str:
        """Why it is added."""
        ...

    @property
    def instruction(self) -> str:
        """What a model is to heed."""
        ...


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What an addition of ``location`` (a URL) asks for; ``interval`` None if that is not to be watched.

    ``ends``: a watch of what it fills is to end. ``request`` is what a later import is to be asked for beside ``reason`` and ``instruction``, fit for JSON.
    """

    location: str
    interval: int | None
    active: bool
    reason: str
    instruction: str
    request: Mapping[str, Any]
    ends: bool = False

    @classmethod
    def of(cls, addition: Asked, *, enabled: bool = True) -> Self:
        """``watch_interval`` of 0 or less asks for none; ``enabled`` says whether anybody looks at sources here.

        Raises `InvalidArgumentError` for no number of minutes, `FailedPreconditionError` where no one looks.
        """
        asked = addition.watch_interval
        minutes = 0.0 if asked is None else asked
        if isinstance(minutes, bool) or not isinstance(minutes, int | float):
            raise InvalidArgumentError(
                f"watch_interval must be a number of minutes, 0 for none, not {quoted(minutes)}",
                field="watch_interval",
                value=quoted(minutes),
            )
        interval = None if minutes <= 0 else interval_ms(minutes)
        if interval is not None and not enabled:
            raise refused()
        kept: dict[str, Any] = {}
        if interval is not None:
            kept = {name: value for name in KEPT if (value := getattr(addition, name)) is not None}
            kept["tags"] = list(accepted_tags(kept.get("tags"))[0])
        return cls(
            (addition.path or "").strip(), interval, addition.is_active is not False, addition.reason,
            addition.instruction, kept, ends=interval is None and asked is not None,
        )  # fmt: skip

    def check(self, identity: Identity, store: AccountStore, path: str | None) -> None:
        """Raises `ConflictError` if what fills ``path`` (None: a place of its own) is watched otherwise.

        Fit to be asked before anything is made.
        """
        if self.interval is not None and path is not None:
            store.watches.check(path, identity.user, self.location)

    def keep(self, identity: Identity, store: AccountStore, path: str, task: str) -> list[str]:
        """Make or update the watch of what fills ``path``, which the import ``task`` begins; what is to be said of it.

        Where none is asked for, one that there is goes on if it is of the same source and the addition does not say that
        it is to end; else it is paused, whoever's it is. Raises `ConflictError`.
        """
        if self.interval is not None:
            store.watches.put(
                NewWatch(
                    path, identity.user, identity.role, self.location, self.interval, self.reason, self.instruction,
                    self.request, self.active, task,
                )
            )  # fmt: skip
            return []
        present = store.watches.at(path, None)
        if present is None or not present.active or not (self.ends or present.location != self.location):
            return []
        why = CANCELLED if self.ends else REPLACED
        store.watches.pause(present.id, why)
        return [f"the watch of {present.uri} is paused: {why}; to go on with one, add its URL with a watch_interval"]


def refused() -> FailedPreconditionError:
    """Why there is no looking at sources here."""
    return FailedPreconditionError(
        "This server does not look at sources: enable_watch_scheduler is false", setting="enable_watch_scheduler"
    )
