"""What the rooms above ask of a store; every store of an account implements `AccountStore`.

No query language crosses this border: paths, values from `model` and batches go in, plain values come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol

from openviking.model.embedding import Coverage
from openviking.model.node import Node, Sidecars
from openviking.model.scope import Scope
from openviking.store.audit import Audit
from openviking.store.batch import Applied, Operation
from openviking.store.erasure import Erased
from openviking.store.jobs import Job, JobQueue, NewJob
from openviking.store.pictures import Pictures
from openviking.store.sessions import SessionStore
from openviking.store.tasks import TaskStore
from openviking.store.vectors import Vectors
from openviking.store.watches import WatchStore

if TYPE_CHECKING:
    # Most commands need no numbers, and numpy takes its time to load.
    import numpy as np
    from numpy.typing import NDArray


class Analyser(Protocol):
    """Gives the terms of path segments and tags, as the analyser of the passages does."""

    version: int

    def name_terms(self, name: str) -> tuple[str, ...]:
        """The distinct terms of one path segment or tag."""
        ...


Score = Callable[[str, float, float | None], float]
"""A passage's score by its context type, its words' score and its cosine; the last is None where it has no vector.

It must not fall where the words' score or the cosine grows: passages are left unread that can't score more than others,
by the most that their words and their cosine can be.
"""


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question as the model with ``fingerprint`` sees it: ``values`` of shape (dimension,), of length 1."""

    fingerprint: str
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for: terms, a vector, or both; ``score`` joins what the two say of a passage."""

    terms: Sequence[str]
    vector: QueryVector | None
    score: Score


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that may answer a query.

    ``score`` is what the query's `Score` makes of ``words`` and ``cosine``. ``words`` is BM25 divided by the most that
    the query can reach, so 0 ≤ words < 1; ``terms`` are the matched query terms with their shares, which add up to it,
    and ``covered`` is their share of the query by rarity, 0 to 1, however often the passage has them.
    ``cosine`` is that of the best of the passage's vectors, None if it has none or none was asked for; ``settled`` says
    that it never gets one, for the model can say nothing of it. ``level`` is 0 or 1 for a directory's sidecar, 2 for a
    file. Who lets ``score`` fade with time notes what it was in ``origin_score``, and the factor in ``time_score``.
    """

    passage_id: int
    node: Node
    level: int
    score: float
    words: float
    terms: tuple[tuple[str, float], ...]
    covered: float
    cosine: float | None
    settled: bool
    start: int
    end: int
    first_line: int
    last_line: int
    breadcrumb: str
    symbol: str
    origin_score: float | None = None
    time_score: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A node in a listing, with its depth below the listed directory (1 = direct child)."""

    node: Node
    depth: int


class FileText(NamedTuple):
    """The text of a file at ``path``; None where the file was found not to have the literal that was looked for."""

    node_id: int
    path: str
    text: str | None


@dataclass(frozen=True, slots=True)
class DirtyDirectory:
    """A directory whose sidecars are stale since change number ``seen``."""

    path: str
    seen: int


@dataclass(frozen=True, slots=True)
class Source:
    """A place that files were imported from; ``root`` is the path it fills now, None if that was removed.

    ``state`` is what the import of a fetched source keeps with it, else "".
    """

    id: int
    location: str
    root: str | None
    state: str = ""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """What is to be known of a file that a source made, of which there may be a million.

    ``name`` is the source's own, ``source_hash`` that of the bytes that it delivered, ``hash`` that of the present
    ones (the same object if they are equal).
    """

    name: str
    path: str
    hash: bytes | None
    source_hash: bytes | None
    is_text: bool


@dataclass(frozen=True, slots=True)
class PassageRow:
    """One stored passage of a node, without its text."""

    id: int
    level: int
    start: int
    end: int
    first_line: int
    last_line: int
    breadcrumb: str
    symbol: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the change log: ``op`` is ``put``, ``move``, ``remove``, ``tags`` or ``sidecars``."""

    change: int
    op: str
    node_id: int


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of what is stored."""

    files: int
    directories: int
    records: int
    passages: int
    dirty: int
    outdated: int
    change: int


class View(Protocol):
    """One consistent state of the account: everything read through it belongs together."""

    @property
    def change(self) -> int:
        """The number of the last change in this state."""
        ...

    def get(self, path: str) -> Node | None:
        """The node at ``path``; the root ``""`` always exists."""
        ...

    def by_id(self, node_id: int) -> Node | None:
        """The node with an id, wherever it is now."""
        ...

    def children(
        self,
        path: str,
        *,
        hidden: bool,
        limit: int | None = None,
        offset: int = 0,
        order: str = "name",
        descending: bool = False,
    ) -> list[Node]:
        """The children of a directory; ``order`` is ``name`` (files and directories mixed), ``kind`` (directories first, then by name) or ``mtime`` (directories first)."""
        ...

    def count_children(self, path: str, *, hidden: bool) -> int:
        """How many children `children` would give without limit."""
        ...

    def walk(
        self,
        path: str,
        *,
        depth: int | None = None,
        hidden_files: bool = True,
        tags: Sequence[str] = (),
        excluded: Sequence[str] = (),
        files_only: bool = False,
        under: str = "",
    ) -> Iterator[Entry]:
        """Everything below a directory in pre-order by path components, or the file itself with depth 0.

        ``excluded`` subtrees are left out, ``tags`` must all be carried, ``under`` is a relative directory that
        narrows the walk.
        """
        ...

    def texts(
        self,
        path: str,
        *,
        depth: int | None = None,
        tags: Sequence[str] = (),
        excluded: Sequence[str] = (),
        literal: str | None = None,
    ) -> Iterator[FileText]:
        """The texts of the files below a directory, or of the file itself, as `walk` orders them; binary and hidden files are left out.

        With a ``literal`` the store may say of files that do not have it that they don't, without reading them.
        """
        ...

    def count_below(self, path: str, *, depth: int | None = None, hidden_files: bool = True) -> int:
        """How many entries `walk` would give."""
        ...

    def count_records(self, path: str) -> int:
        """Records at and below a path: a file has one if it is text, a directory one per sidecar."""
        ...

    def data(self, node: Node) -> bytes:
        """The original bytes of a file."""
        ...

    def open(self, node: Node) -> IO[bytes]:
        """The original bytes of a file as an open file, which the caller closes; it outlives this view."""
        ...

    def text(self, node: Node) -> str | None:
        """The text of a file, None if it is binary."""
        ...

    def slice(self, node: Node, start: int, end: int) -> str:
        """Part of a file's UTF-8 text, by bytes."""
        ...

    def file_overview(self, node: Node) -> str:
        """The L1 of a file."""
        ...

    def sidecars(self, path: str) -> Sidecars | None:
        """The sidecars of a directory as they are stored; None if there are none yet."""
        ...

    def description(self, path: str) -> str:
        """The description that a directory was made with, else ""."""
        ...

    def tags(self, node_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """The tags of nodes in alphabetical order; nodes without are missing."""
        ...

    def active_counts(self, node_ids: Sequence[int]) -> dict[int, int]:
        """How often sessions used nodes; nodes that none did are missing."""
        ...

    def passages(self, node: Node) -> list[PassageRow]:
        """The passages of a node in order."""
        ...

    def search(self, query: Query, scope: Scope, limit: int) -> list[Candidate]:
        """The best passage of each record in ``scope`` that has a term or a cosine, best first, equal scores by path.

        A record is a file, or one level of a directory. Records with ``limit`` different contents if there are so
        many, and more where they were found anyway; byte-identical copies come beside them. The scores are exact.
        What the words find is exact for terms that are not common in the account: others select only as far as the
        limit needs it. What the vector finds are the nearest passages in the scope.
        """
        ...

    def coverage(self, fingerprint: str, scope: Scope) -> Coverage:
        """How many passages in ``scope`` have a vector of the model."""
        ...

    def records(self, scope: Scope, limit: int) -> list[tuple[Node, int]]:
        """Records in ``scope`` with their level, newest first, then by path; without any query."""
        ...

    def dirty(self, limit: int, path: str = "") -> list[DirtyDirectory]:
        """Directories at or below ``path`` whose sidecars are stale, deepest first."""
        ...

    def source(self, location: str) -> Source | None:
        """The source known by its absolute path or URL."""
        ...

    def sources(self, location: str) -> list[Source]:
        """The sources whose location is ``location``, or that and a second line, the oldest first."""
        ...

    def sources_at(self, path: str) -> list[Source]:
        """The sources that fill exactly the node at ``path``, the newest first."""
        ...

    def source_files(self, source_id: int) -> Iterator[SourceFile]:
        """What a source has made and is still there, in no order."""
        ...

    def outdated(self, prepared: int, limit: int, path: str = "") -> list[Node]:
        """Text files at and below ``path`` whose passages were made by another version than ``prepared``."""
        ...

    def changes(self, since: int, limit: int) -> list[Change]:
        """The change log after change number ``since``.

        Raises `FailedPreconditionError` if a part of that is no longer kept.
        """
        ...

    def stats(self, prepared: int) -> Stats:
        """Counts of what is stored; ``prepared`` is the version that is not outdated."""
        ...


class AccountStore(Protocol):
    """All data of one account."""

    @property
    def jobs(self) -> JobQueue:
        """The account's queue of work."""
        ...

    @property
    def tasks(self) -> TaskStore:
        """The account's tasks: what callers may know of the queued work."""
        ...

    @property
    def sessions(self) -> SessionStore:
        """The account's conversations."""
        ...

    @property
    def watches(self) -> WatchStore:
        """The sources that are looked at again and again."""
        ...

    @property
    def pictures(self) -> Pictures:
        """What models say of pictures, and which are still to be described."""
        ...

    @property
    def vectors(self) -> Vectors:
        """The vectors of passages, and the queue of those that wait for one."""
        ...

    @property
    def audit(self) -> Audit:
        """What looks for damage, and mends it."""
        ...

    def read(self) -> AbstractContextManager[View]:
        """A consistent view; views of one thread nest and share the outermost state."""
        ...

    def apply(self, operations: Sequence[Operation], *, jobs: Sequence[NewJob] = (), tolerant: bool = False) -> Applied:
        """Carry out ``operations`` in one durable transaction, with ``jobs`` queued in it.

        The passages of large files are stored before it in pieces, out of everybody's sight, so that other writers
        wait for a piece at most and readers see the old state or the new one.

        The first error undoes everything; with ``tolerant`` an operation that fails is undone alone and its
        outcome ``failed`` has the error. An outage of the store is never tolerated.
        """
        ...

    def purge(self, limit: int) -> int:
        """Clear away up to ``limit`` nodes that large removals left; how many were cleared, or shortened.

        What was removed may have more passages than are cleared at once, so only 0 says that nothing is left.
        """
        ...

    def erase(self, stopped: Callable[[], bool], *, rewrite: bool | None = None) -> Erased | None:
        """Overwrite on the disk what was removed and purged before; None if it was ``stopped`` on the way.

        With ``rewrite`` nothing is left of it, and writers wait while all is written anew; without, that is left out
        and pieces may be left. None rewrites up to a size at which others hardly notice. It may be repeated.
        """
        ...

    def check(self) -> list[str]:
        """What is inconsistent, a sentence each; empty when all is well."""
        ...

    def close(self) -> None:
        """Release everything; the store can't be used afterwards."""
        ...


__all__ = [
    "AccountStore",
    "Analyser",
    "Candidate",
    "Change",
    "DirtyDirectory",
    "Entry",
    "Job",
    "JobQueue",
    "NewJob",
    "PassageRow",
    "Query",
    "QueryVector",
    "Score",
    "Source",
    "SourceFile",
    "Stats",
    "View",
]
