"""Vectors of passages: what waits for one, what has one, and what the store keeps of a model.

A vector is keyed by the content hash of the embedded text and the model's fingerprint: content that is unchanged, moved
or copied needs none anew, and vectors of two models are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.model.node import Node

if TYPE_CHECKING:
    # Most commands need no numbers, and numpy takes its time to load.
    import numpy as np
    from numpy.typing import NDArray

LEASE_MS: Final = 20_000
"""So long claimed passages stay with their holder without a renewal, and so long others wait after a crash."""

RETRY_MS: Final = 1_000
LONGEST_RETRY_MS: Final = 600_000
"""A passage that failed is put off by the one, twice that the next time, and never by more than the other."""

ALONE: Final = 2
"""A passage that failed so often is claimed alone, so that it spoils no call for others and others none for it."""

LOST: Final = "its text can't be read from the store"
"""Why a passage is refused whose stored text is not what it was indexed from; writing it anew queues it again."""


@dataclass(frozen=True, slots=True)
class PendingPassage:
    """A passage that was claimed for embedding: where its text is, and what the text must hash to.

    ``title`` is the node's title as it was embedded ("" for sidecars, whose title is the directory's name); ``level`` is
    0 or 1 for a directory's sidecar, 2 for a file. Only the holder of ``lease`` may report on it. ``attempts`` is how
    often it failed (`Vectors.give_back`).
    """

    hash: bytes
    lease: str
    node: Node
    level: int
    title: str
    start: int
    end: int
    breadcrumb: str
    symbol: str
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class MadeVector:
    """What became of a claimed passage: ``vectors`` of shape (windows, dimension), or the ``error`` it was refused with.

    No window at all settles a passage of which the model can say nothing: it waits no more, its words are all of its
    score, and `Coverage` counts it neither as having a vector nor as wanting one.
    """

    hash: bytes
    lease: str
    vectors: NDArray[np.float32] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class RefusedPassage:
    """A passage that its model refused, so that it never gets a vector: found by its words alone."""

    path: str
    first_line: int
    last_line: int
    error: str


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model in use; ``filled`` says that there is a vector of it."""

    name: str
    fingerprint: str
    dimension: int
    filled: bool


class Vectors(Protocol):
    """The vectors of one account; every call says by ``fingerprint`` which model is meant."""

    def use(self, model: EmbeddingModel) -> None:
        """From now on passages that are written wait for a vector of ``model`` too; those there already are queued by `enqueue_missing`.

        Costs a read when it was called in the last hour. A model that nobody used for a week while another one was used
        is forgotten with its vectors.
        """
        ...

    def enqueue_missing(self, fingerprint: str, limit: int) -> bool:
        """Queue passages stored before the model was used, newest first, looking through ``limit`` of them; whether there may be more."""
        ...

    def claim(self, fingerprint: str, limit: int, *, up_to: int | None = None, below: str = "") -> list[PendingPassage]:
        """Claim up to ``limit`` waiting passages for `LEASE_MS`: those of small files before those of large ones, newest first.

        With ``up_to`` of those queued up to that number (`newest`). With ``below`` those of nodes at and below that path,
        whether or not it exists, and of the sidecars of the directories above it, which tell of it. Passages that are
        gone meanwhile are dropped from the queue. One that failed `ALONE` times comes alone.
        """
        ...

    def put(self, fingerprint: str, made: Sequence[MadeVector]) -> int:
        """Store vectors and refusals in one transaction; how many were still wanted."""
        ...

    def give_back(
        self, fingerprint: str, claimed: Sequence[PendingPassage], *, retry_in: int = 0, failed: bool = False
    ) -> None:
        """Queue claimed passages again, to be claimed in ``retry_in`` milliseconds at the earliest.

        Those that ``failed`` count one attempt more, and are put off for `RETRY_MS`, doubled with each.
        """
        ...

    def renew(self, fingerprint: str, claimed: Sequence[PendingPassage]) -> None:
        """Keep claimed passages for another `LEASE_MS`; those that are another's by now stay so."""
        ...

    def newest(self, fingerprint: str) -> int:
        """The number of the last passage that was queued, 0 if none is waiting."""
        ...

    def waiting(self, fingerprint: str, *, up_to: int | None = None, below: str = "") -> int:
        """How many passages wait or are claimed; `claim` explains the arguments.

        Those that `enqueue_missing` is yet to look through count without ``up_to`` and ``below``. What a writer is only
        staging does not count.
        """
        ...

    def next_due(self, fingerprint: str) -> int | None:
        """When (milliseconds since the epoch) the next passage may be claimed, None when nothing waits."""
        ...

    def refused(self, fingerprint: str, limit: int) -> list[RefusedPassage]:
        """Passages that the model refused, newest first."""
        ...

    def models(self) -> list[StoredModel]:
        """The models in use, whoever uses them, the one that was used last first."""
        ...

    def any_made(self, fingerprint: str) -> bool:
        """Whether there is a vector at all, not counting settled passages; costs next to nothing."""
        ...

    def coverage(self, fingerprint: str) -> Coverage:
        """How many passages of the account have a vector."""
        ...

    def keep_cache(self) -> None:
        """Write the scan's cache file if much has changed since it was written; it is disposable."""
        ...
