"""What a writer asks of the store: operations that take effect together or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from openviking.errors import OpenVikingError
from openviking.store.sessions import SessionOperation

FileMode = Literal["create", "replace", "put"]
TagMode = Literal["replace", "append", "clear"]
OutcomeKind = Literal["created", "updated", "unchanged", "removed", "missing", "kept", "moved", "copied", "failed"]


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage ready to be stored: its place, its terms by field, and its content hash.

    The hash covers the embedded text (title, breadcrumb, symbol, body) and is what vectors are keyed by. ``length``
    counts its terms for BM25.
    """

    start: int
    end: int
    first_line: int
    last_line: int
    breadcrumb: str
    symbol: str
    hash: bytes
    title_terms: str
    heading_terms: str
    body_terms: str
    length: int


@dataclass(frozen=True, slots=True)
class FileContent:
    """The bytes of a file with everything derived from them.

    ``text`` is the UTF-8 form, None for a binary file and identical to ``data`` where that is UTF-8 already. ``hash``
    and ``text_hash`` are their SHA-256; the store takes them as they are, what is read and its audit compute them again.
    ``title`` is what its passages are embedded with, more than a heading: its keywords and the language of code too.
    ``prepared`` is the version of the code that derived it. ``fault`` says why the parser of its language failed, so
    that the file was taken as plain text; else it is "".
    """

    data: bytes
    hash: bytes
    text: bytes | None
    text_hash: bytes | None
    encoding: str
    kind: str
    language: str
    title: str
    abstract: str
    overview: str
    passages: tuple[StoredPassage, ...]
    prepared: int
    fault: str = ""


@dataclass(frozen=True, slots=True)
class FromSource:
    """Which source delivered a file, under which name relative to the source's root, with which SHA-256."""

    source_id: int
    name: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class PutFile:
    """Write a file, making its parents.

    ``create`` refuses an existing node, ``replace`` a missing one, ``put`` takes both. With ``base`` the present
    bytes must still have that SHA-256, else `ConflictError`: so a read-modify-write loses no other writer's bytes.
    ``below`` is a directory that must exist, else `NotFoundError`: so an import does not bring back a removed root.
    Replaced passages beyond a bound count in the statistics behind scores until the purge, as after `Remove`.
    """

    path: str
    content: FileContent
    mode: FileMode = "put"
    base: bytes | None = None
    source: FromSource | None = None
    below: str = ""


@dataclass(frozen=True, slots=True)
class MakeDirectory:
    """Make a directory and its parents; with ``exist_ok`` an existing one is left as it is."""

    path: str
    exist_ok: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a node and what is below it; a directory only if ``recursive``, a missing node is no error.

    With ``base`` a file is removed only while its bytes have that SHA-256, with ``only_empty`` a directory only while
    nothing is in it (else the outcome is ``kept``).

    Nothing of it is found or listed any more. What one batch removes up to a bound also stops counting in the
    statistics behind scores with it; more does so piece by piece as `AccountStore.purge` clears it away.
    """

    path: str
    recursive: bool = False
    base: bytes | None = None
    only_empty: bool = False


@dataclass(frozen=True, slots=True)
class NoteSource:
    """Note that files from ``location`` (an absolute path or URL) fill the existing node ``path``.

    A location that fills another node which is still there is a `ConflictError`: the first import wins.
    """

    location: str
    path: str


@dataclass(frozen=True, slots=True)
class NoteFetched:
    """Keep ``state`` with the source known by ``location``; a source that is gone is no error."""

    location: str
    state: str


@dataclass(frozen=True, slots=True)
class Move:
    """Give a node another path; the target's parent must exist, the target must not."""

    from_path: str
    to_path: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Make another node of what is at ``from_path``, a directory only if ``recursive``; the target must be free.

    Its parent must exist. A copy has the tags and descriptions, the bytes and vectors are shared; it belongs to no
    source. Beyond a bound `ResourceExhaustedError`.
    """

    from_path: str
    to_path: str
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Outdate:
    """Note that the text files at and below ``path`` are to be prepared anew, and the summaries there to be made anew.

    Without ``recursive`` of a directory its own summary and the files right in it.
    """

    path: str
    recursive: bool = True


@dataclass(frozen=True, slots=True)
class SetTags:
    """Change the tags of a node, of everything below it too if ``recursive``.

    Tags with the key ``protected`` of memories stay as they are, whatever ``tags`` and ``mode`` say.
    """

    path: str
    tags: tuple[str, ...]
    mode: TagMode = "replace"
    recursive: bool = False
    protected: str = ""


@dataclass(frozen=True, slots=True)
class PutSidecars:
    """Store the L0 and L1 of a directory with their passages.

    ``seen`` is the directory's change number that they were made from: if it was changed since, it stays dirty.
    """

    path: str
    seen: int
    abstract: str
    overview: str
    origin: str
    abstract_passages: tuple[StoredPassage, ...]
    overview_passages: tuple[StoredPassage, ...]


@dataclass(frozen=True, slots=True)
class AdoptFile:
    """Note that a file that is there already is what a source delivers now; touches nothing else."""

    path: str
    source: FromSource


Operation = (
    PutFile | MakeDirectory | Remove | Move | Copy | Outdate | SetTags | PutSidecars | AdoptFile
    | NoteSource | NoteFetched | SessionOperation
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an operation did: ``count`` is the number of nodes it touched, ``touched`` their paths if it lists them (SetTags).

    ``error`` is why a ``failed`` one of a tolerant batch was undone.
    """

    kind: OutcomeKind
    count: int = 0
    touched: tuple[str, ...] = ()
    error: OpenVikingError | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What a batch did: its change number, and an outcome for each operation."""

    change: int
    outcomes: tuple[Outcome, ...]
