"""The blocking client: every call of the table, a pool of connections, and session objects."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from openviking_sdk import sync_methods as blocking
from openviking_sdk.observer import Observer
from openviking_sdk.sync_methods.session import Session


class SyncHTTPClient(
    blocking.SystemCalls,
    blocking.ObserverCalls,
    blocking.FsCalls,
    blocking.ContentCalls,
    blocking.ResourcesCalls,
    blocking.SearchCalls,
    blocking.ContextCalls,
    blocking.SessionsCalls,
    blocking.StatsCalls,
    blocking.SkillsCalls,
    blocking.TasksCalls,
    blocking.WatchesCalls,
    blocking.RelationsCalls,
    blocking.AdminCalls,
):
    """A client of an OpenViking server; several threads may share it.

    Addresses may leave ``viking://`` out. Answers are plain dictionaries, lists and strings; errors are the classes of
    `openviking_sdk.errors`. Use it as a context manager, or call `close`.
    """

    def __enter__(self) -> Self:
        self.initialize()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def initialize(self) -> None:
        """Make ready, also again after `close`. It asks nothing of the server, and the first call would do it too."""
        self._closed = False
        self._open()

    def close(self) -> None:
        """Close the connections; more than once does no harm."""
        self._close()

    def session(self, session_id: str) -> Session:
        """The session of that id as an object; asks nothing of the server."""
        return Session(self, session_id)

    @property
    def observer(self) -> Observer:
        """What the server's parts are doing: ``client.observer.queue`` and so on."""
        return Observer(self.send)

    def is_healthy(self) -> bool:
        """Whether the whole system calls itself healthy."""
        return self.observer.system.get("is_healthy") is True
