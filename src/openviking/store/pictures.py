"""Pictures and what a model says of them, once for each content.

A description belongs to the bytes: copies share it, a move or a new index costs no model call, and it goes when the last
file with these bytes goes. Stores of two accounts share nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from openviking.model.node import Node

MOST_ATTEMPTS: Final = 3
"""So often a model that answers may fail to describe a picture before it is asked no more."""

RETRY_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Described:
    """What is known of a picture: its ``description``, the ``model`` that made it, or the ``error`` for which there is none."""

    description: str
    model: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class ClaimedPicture:
    """A file with a picture that nobody has described; only the holder of ``lease`` may report on it.

    ``known`` is the description where other files with these bytes had one: it is only to be put into this one, too.
    """

    node: Node
    lease: str
    attempts: int
    known: str | None


class Pictures(Protocol):
    """The pictures of one account."""

    def claim(self, lease_ms: int, *, below: str = "") -> ClaimedPicture | None:
        """A picture without a description, for ``lease_ms``; the newest first, with ``below`` at and below that path."""
        ...

    def describe(self, claimed: ClaimedPicture, description: str, model: str) -> bool:
        """Keep a description for all files with these bytes; False if the lease is another's by now."""
        ...

    def give_back(self, claimed: ClaimedPicture, *, failed: str = "", refused: bool = False) -> None:
        """Let others claim it: at once, or after it ``failed`` some time later; ``refused``, or often failed, never."""
        ...

    def bare(self, digest: bytes, limit: int) -> list[Node]:
        """Files with the bytes ``digest`` that carry no description."""
        ...

    def waiting(self, below: str = "") -> int:
        """How many pictures may be described, now or later."""
        ...

    def ready(self, below: str = "") -> int:
        """How many may be described now, or are claimed."""
        ...

    def refused(self) -> int:
        """How many pictures have no description for good."""
        ...

    def of(self, digest: bytes) -> Described | None:
        """What is known of the picture with these bytes."""
        ...

    def forget(self, below: str = "") -> int:
        """Forget what is known of the pictures at and below a path; what their files carry stays until it is replaced."""
        ...

    def forget_refusals(self, below: str = "") -> int:
        """Have the pictures at and below a path tried again that were refused; how many."""
        ...
