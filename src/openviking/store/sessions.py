"""What the rooms above ask of the sessions of one account.

A session belongs to the directory at its path: the batch that makes the one makes the other, and who removes the
directory, or one above it, removes the session in the same transaction. Its live messages and the long outputs of its
tools are rows, its archives ordinary files below its directory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from openviking.model.message import Message
from openviking.model.session import Archive, ArchiveState, Session, Settings, ToolResult


@dataclass(frozen=True, slots=True)
class MakeSession:
    """Make the session of the directory at ``path``; an existing one is left alone if ``exist_ok``, else an error."""

    path: str
    settings: Settings
    exist_ok: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """What one input became: messages that are stored together, known by the ids that their client gave."""

    client_ids: tuple[str, ...]
    messages: tuple[Message, ...]
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class AddMessages:
    """Append to a session, in order; what has a client id that the session knows is a repetition and left out.

    The outcome counts the stored messages. Raises `NotFoundError`.
    """

    path: str
    sent: tuple[Sent, ...]


@dataclass(frozen=True, slots=True)
class ArchiveMessages:
    """Take ``count`` messages up to the one with ``number`` out of a session, as its ``archive``-th archive.

    That they stand in a file of the archive is up to the same batch. Raises `NotFoundError`, and `ConflictError` if
    the session was committed meanwhile.
    """

    path: str
    archive: int
    number: int
    count: int
    retention: dict[str, Any]
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class EndArchive:
    """Note what the second phase of a commit made of an archive; one that is done stays as it is.

    With ``once`` that is a `ConflictError`, so that what else is in the batch is not done twice. ``counts`` are added
    to what the session counts (`openviking.model.session.Session.extracted`). With ``of``, the number of messages that
    all this was made of, an archive that has another number by now is a `ConflictError`: one was taken out meanwhile.
    """

    path: str
    archive: int
    state: ArchiveState
    abstract: str = ""
    overview: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    once: bool = False
    of: int | None = None


@dataclass(frozen=True, slots=True)
class RedactMessages:
    """Take messages out of a session for ever: live ones by their numbers, or ``count`` of its ``archive``-th archive.

    The long outputs ``results`` of tools go with them. An archive that is done has ``abstract`` and ``overview`` then,
    and its ``directory`` that abstract as description; that its file lacks the messages is up to the same batch.
    ``notes`` are the paths of files that still name what was made of them, for `SessionStore.redacted_notes`. The
    outcome counts the messages. Raises `NotFoundError`, and `ConflictError` if they are not there any more.
    """

    path: str
    numbers: tuple[int, ...] = ()
    results: tuple[str, ...] = ()
    archive: int = 0
    count: int = 0
    abstract: str = ""
    overview: str = ""
    directory: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CountUses:
    """Count one use of each node at the paths ``used``; what the session noted up to number ``up_to`` is counted then.

    The outcome counts the nodes that are there. Raises `NotFoundError`.
    """

    path: str
    used: tuple[str, ...]
    up_to: int


SessionOperation = MakeSession | AddMessages | ArchiveMessages | EndArchive | RedactMessages | CountUses


@dataclass(frozen=True, slots=True)
class Live:
    """A message that is in no archive yet; ``number`` orders it among those of its account."""

    number: int
    message: Message
    tokens: int


@dataclass(frozen=True, slots=True)
class Use:
    """What an agent says that it used: ``kind`` is ``context`` or ``skill``."""

    kind: str
    uri: str
    detail: dict[str, Any]


class SessionStore(Protocol):
    """The sessions of one account by their paths; what is read inside of a view of the store belongs to its state."""

    def get(self, path: str) -> Session | None:
        """A session."""
        ...

    def find(self, directory: str, limit: int) -> list[Session]:
        """Sessions in a directory, the one that changed last first."""
        ...

    def live(self, path: str) -> list[Live]:
        """The messages of a session that are in no archive, in order."""
        ...

    def newest(self, path: str, limit: int) -> list[Message]:
        """The last messages of a session that are in no archive, the last first."""
        ...

    def sent_as(self, path: str, client_ids: tuple[str, ...]) -> tuple[str, ...]:
        """The ids of the messages that were stored under the first of these client ids that is known."""
        ...

    def archives(self, path: str) -> list[Archive]:
        """The archives of a session, the first first."""
        ...

    def archive(self, path: str, number: int) -> Archive | None:
        """One of them."""
        ...

    def tool_results(self, path: str, tool_name: str, limit: int) -> list[ToolResult]:
        """The long outputs of a session without their content, the newest first; "" means any tool."""
        ...

    def tool_result(self, path: str, result_id: str) -> ToolResult | None:
        """One of them with its content."""
        ...

    def next_idle(self) -> int | None:
        """When the next session is to be committed because nobody speaks in it any more, None if none ever is."""
        ...

    def idle(self, now: int, limit: int) -> list[str]:
        """The sessions for which that time has come, the one that is due for longest first."""
        ...

    def put_off(self, path: str, until: int) -> None:
        """Look at an idle session again at ``until``, unless it is changed before."""
        ...

    def redacted_notes(self) -> list[str]:
        """The paths of files that redactions left with names in them."""
        ...

    def forget_redacted_note(self, path: str) -> None:
        """Such a file names nothing any more."""
        ...

    def configure(self, path: str, change: Callable[[Settings], Settings]) -> Session:
        """Change the settings of a session in one transaction. Raises `NotFoundError`."""
        ...

    def note_uses(self, path: str, uses: list[Use]) -> None:
        """Record what was used. Raises `NotFoundError`."""
        ...

    def uncounted(self, path: str) -> tuple[tuple[str, ...], int]:
        """The distinct URIs that were used and are not counted yet, and the number of the last use, for `CountUses`."""
        ...
