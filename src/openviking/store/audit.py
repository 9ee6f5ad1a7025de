"""What the rooms above ask of a store's audit: it looks at a bounded piece at a time, and mends what it found.

Between two pieces nothing is held: neither a lock nor a state of the database. What others write meanwhile is seen by
the pieces that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

Repair = Literal["vectors_only", "semantic_and_vectors", "prune_orphans"]
"""The mode of a reindex that mends a kind of damage."""

PRUNE: Final[Repair] = "prune_orphans"
DERIVE: Final[Repair] = "semantic_and_vectors"
VECTORS: Final[Repair] = "vectors_only"

KINDS: Final[dict[str, tuple[Repair, str]]] = {
    "content_missing": (PRUNE, "the bytes of a file are not there; the file is removed, add it again"),
    "content_changed": (
        PRUNE,
        "the bytes of a file are not those that were written; the file is removed, add it again",
    ),
    "text": (DERIVE, "the text that was made of a file's bytes is missing or changed"),
    "passages": (DERIVE, "the passages of a record do not cover its text, or not once"),
    "postings": (DERIVE, "passages of a record have no words"),
    "summary": (DERIVE, "a directory has no abstract and overview, and none are to be made"),
    "name_terms": (DERIVE, "the name of a node can't be searched for"),
    "directory": (DERIVE, "a directory is not where its path says, or has no node"),
    "stale": (DERIVE, "what lies in a directory changed, and the summaries above are not to be made anew"),
    "name_twice": (DERIVE, "a file and a directory have the same path; the file gets another name"),
    "vectors": (VECTORS, "passages of a record have no vector and wait for none"),
    "vector_damaged": (VECTORS, "a vector has a size that its model does not give"),
    "source": (PRUNE, "a file names a source that is not known"),
    "session": (
        PRUNE,
        "a session has no directory, or a directory no session; or it counts other messages and archives than it has",
    ),
    "archive": (PRUNE, "the messages of an archive are gone or not as many as were archived; it is marked as failed"),
    "orphan_node": (PRUNE, "a node lies in no directory"),
    "orphan_passage": (PRUNE, "a passage belongs to no record"),
    "orphan_posting": (PRUNE, "words belong to no passage"),
    "orphan_name": (PRUNE, "the terms of a name belong to no node"),
    "orphan_vector": (PRUNE, "a vector, or the wait for one, belongs to no passage or model"),
    "orphan_content": (PRUNE, "a content belongs to no file"),
    "orphan_file": (PRUNE, "a file in the directory of contents is named by nothing"),
    "orphan_row": (PRUNE, "tags, summaries or parts of sessions belong to nothing that is there"),
    "task": (PRUNE, "a task waits for work that is in no queue"),
    "postings_damaged": (PRUNE, "the postings can't be read; they are made anew from the stored words"),
    "count": (PRUNE, "the count of passages is wrong"),
}
"""By kind of damage, which reindex mends it, and what it is.

Those that belong to no place are looked for, and mended, at ``viking://`` alone.
"""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is wrong.

    ``path`` and ``level`` say where, as far as it has a place; ``key`` says what to mend: numbers or digests of the
    store's own, for `Audit.mend`.
    """

    kind: str
    detail: str
    path: str | None = None
    level: int = 2
    key: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """From where on an audit looks: a part of it, and what of that it has seen; fit for JSON."""

    part: int = 0
    after: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """What was seen in a piece: how many of each thing, what is wrong, and from where on to look next (None: done).

    ``sessions`` are paths of sessions whose archives are for the caller to compare. ``nodes`` are those with passages,
    ``wanting`` those of them that lack a vector and wait for none, also because a model refused it.
    """

    counts: dict[str, int]
    found: list[Damage]
    next: Position | None
    sessions: list[str] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    wanting: list[int] = field(default_factory=list)


class Audit(Protocol):
    """Compares what a store's parts promise each other."""

    def look(
        self,
        roots: Sequence[str],
        position: Position,
        *,
        whole: bool,
        bytes_too: bool = True,
        recursive: bool = True,
    ) -> Piece:
        """The next piece of an audit of what is at and below ``roots``; with ``whole`` also of what has no place.

        With ``bytes_too`` contents are read and compared with their digests. Without ``recursive`` only the
        directories themselves and the files right in them.
        """
        ...

    def queue_vectors(self, nodes: Sequence[int], *, force: bool = False) -> int:
        """Queue the passages of nodes that have no vector, or a damaged one, also refused ones; how many.

        With ``force`` vectors that are there are made anew too.
        """
        ...

    def mend(self, found: Sequence[Damage]) -> int:
        """Mend damage of any kind but that of contents, in one transaction, where it is still there; how much was mended.

        What is made of files, and summaries, are marked to be made anew, and that work is queued.
        """
        ...
