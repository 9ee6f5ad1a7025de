"""What the rooms above ask of an embedding model, built in or remote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from openviking.errors import OpenVikingError
from openviking.model.embedding import EmbeddingModel

if TYPE_CHECKING:
    # Most commands need no numbers, and numpy takes its time to load.
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]


HARMLESS: Final = "hello"
"""A text that every model takes: whether it is answered tells an outage from a text that can't be embedded."""


@dataclass(frozen=True, slots=True)
class Unmade:
    """Why one text has no vector although others of the call have: the call failed before its end."""

    error: OpenVikingError


@dataclass(frozen=True, slots=True)
class Refused:
    """Why the model gave no vector for one text, and will not when it is asked again."""

    reason: str


def real_numbers(given: object) -> Vector | None:
    """What an embedder gave, as an array of real numbers; None if it is something else, so that nothing is made of it."""
    import numpy as np  # noqa: PLC0415

    try:
        numbers = np.asarray(given)
        return numbers.astype(np.float32, copy=False) if numbers.dtype.kind in "fiu" else None
    except (TypeError, ValueError, OverflowError):
        return None


class Embedder(Protocol):
    """Makes vectors of length 1. Safe to use from several threads at once."""

    @property
    def model(self) -> EmbeddingModel:
        """The model's record. Raises `UnavailableError` if it has to be asked for its dimension and does not answer."""
        ...

    @property
    def batch(self) -> int:
        """How many passages one call is best given."""
        ...

    def passages(self, texts: Sequence[str], *, timeout: float) -> Sequence[Vector | Refused | Unmade]:
        """The vectors of texts that are stored, in order.

        Of shape (windows, dimension): a text that exceeds the model's window is embedded in several. A text that the
        model refuses is a `Refused`, and the others have their vectors all the same; what a call had made when it failed
        may be given too, and the rest is `Unmade`. Raises `UnavailableError` when the model does not answer (``details["retry_after"]`` seconds if it said so, ``details["permanent"]`` if waiting
        will not help), `DeadlineExceededError` after ``timeout`` seconds.
        """
        ...

    def query(self, text: str, *, timeout: float) -> Vector:
        """The vector of a question, of shape (dimension,); of one that exceeds the window its beginning counts.

        Raises as `passages` does, and `UnavailableError` with ``details["refused"]`` if the model refuses it.
        """
        ...

    def close(self) -> None:
        """Release everything; calls under way come to an end."""
        ...

    def describe(self) -> dict[str, Any]:
        """What people may know of it: provider, model, dimension, address; never a key."""
        ...
