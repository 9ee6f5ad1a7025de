"""What the rooms above ask of the watches of one account.

A watch belongs to the path that it fills: who moves that, or what is above it, moves the watch in the same transaction,
and who removes it pauses the watch. A look at a source is an import with a task; that the task is over, for whatever
reason and in whichever process, tells the watch when it is due again, in the same transaction.
"""

from __future__ import annotations

from typing import Final, Protocol

from openviking.model.watch import NewWatch, Watch, WatchChange
from openviking.store.jobs import NewJob

SHORTEST_MS: Final = 60_000
"""So long lies between two looks at least, however short the interval."""

LONGEST_PAUSE_MS: Final = 24 * 3_600_000
"""The pause after failures doubles up to this, or to the interval if that is longer."""

CLOCK_SLACK_MS: Final = 60_000
"""A last look that lies further ahead than this was noted by a clock that has been set back: nothing that was reckoned
from it holds, and the watch is due."""


class WatchStore(Protocol):
    """The watches of one account; ``owner`` None means anybody's."""

    def check(self, path: str, owner: str, location: str) -> None:
        """Raises `ConflictError` if another's active watch, or one of another source, fills ``path``."""
        ...

    def put(self, new: NewWatch) -> Watch:
        """Watch a source that is imported now, for the next time after one interval.

        The same source at the same path keeps its id and becomes what ``new`` says; a paused watch of another makes
        room. Raises `ConflictError` as `check` does.
        """
        ...

    def get(self, watch_id: str, owner: str | None) -> Watch | None:
        """A watch by its id."""
        ...

    def at(self, path: str, owner: str | None) -> Watch | None:
        """The watch that fills a path."""
        ...

    def find(self, owner: str | None, *, active_only: bool = False) -> list[Watch]:
        """Watches, the oldest first."""
        ...

    def change(self, watch_id: str, change: WatchChange) -> Watch | None:
        """A watch after a change; None if it is gone.

        One that is active again forgets its failures. It is due one interval after the last look, or now if that is
        past.
        """
        ...

    def remove(self, watch_id: str) -> bool:
        """Forget a watch; what it filled stays. False if it is gone."""
        ...

    def forget(self, owner: str) -> int:
        """Forget all watches of a user; how many there were."""
        ...

    def pause(self, watch_id: str, error: str = "") -> None:
        """Look no more, until the watch is made active again; ``error`` says why."""
        ...

    def put_off(self, watch_id: str, error: str) -> None:
        """A look could not even begin: as a failed import, it is tried again later and later."""
        ...

    def due(self, limit: int) -> list[Watch]:
        """Watches whose time has come and whose last import is over, those that are due for longest first.

        So many that at most ``limit`` looks are under way with those that are already.
        """
        ...

    def next_due(self) -> int | None:
        """When the next watch is due (milliseconds since the epoch), None if none will be."""
        ...

    def begin(self, watch: Watch, job: NewJob, *, asked: bool = False) -> str:
        """Queue ``job``, which must have a task, as the next look; the id of the task.

        Of several processes that find a watch due one does it, and "" tells the others. One that was ``asked`` for
        needs not be due; while one is under way the id is that of its task.
        """
        ...
