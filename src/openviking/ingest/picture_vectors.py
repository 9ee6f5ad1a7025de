"""Vectors of stored pictures: each is shown to the model in a request of its own, a few at once, as it is stored."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast

from openviking.errors import OpenVikingError, UnavailableError
from openviking.parse.pictures import MAX_BYTES, format_of
from openviking.providers.embedder import Embedder, Refused
from openviking.store.port import AccountStore
from openviking.store.vectors import PendingPassage

if TYPE_CHECKING:
    from openviking.providers.embedder import Vector

AT_ONCE: Final = 4
"""Pictures that are held in memory and shown at once."""

SHOWN_S: Final = 20.0
"""After so long no further picture of one call is begun: what was made is to be stored."""

TOO_LARGE: Final = f"the picture has more than {MAX_BYTES:,} bytes and is shown to no model"


class Seeing(Protocol):
    """An `Embedder` that makes vectors of pictures, too (`Embedder` explains the errors)."""

    def picture(self, text: str, pictures: Sequence[str], *, timeout: float, stored: bool = False) -> Vector:
        """The vector of pictures (``data:`` URIs) with a text that may be ""; ``stored`` is not a question."""
        ...


@dataclass(frozen=True, slots=True)
class Readable:
    """A claimed passage with what the model reads of it; with ``picture`` it looks at the picture of its file, too."""

    passage: PendingPassage
    text: str
    picture: bool = False


def shows_picture(passage: PendingPassage) -> bool:
    """Whether a passage of a picture's file stands for the picture: the first one does."""
    return passage.node.is_picture and passage.level > 1 and passage.start == 0


def data_uri(content: bytes) -> str | None:
    """A picture as models take it; None for what is none in a format that they know."""
    kind = format_of(content)
    return None if kind is None else f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def seen_vectors(
    store: AccountStore, embedder: Embedder, readable: Sequence[Readable], deadline: float
) -> tuple[list[tuple[PendingPassage, Vector | Refused]], OpenVikingError | None]:
    """The vectors of some of the pictures, and why one failed; none is begun when several have failed, or time is up.

    ``deadline`` is on the monotonic clock. A picture that the model refuses, or fails at, keeps no other from having its
    vector.
    """
    found: list[tuple[PendingPassage, Vector | Refused]] = []
    failed: OpenVikingError | None = None
    until = min(deadline, time.monotonic() + SHOWN_S)
    with ThreadPoolExecutor(AT_ONCE, "openviking-pictures") as pool:
        for start in range(0, len(readable), AT_ONCE):
            some = readable[start : start + AT_ONCE]
            if start and time.monotonic() > until:
                break
            calls = [pool.submit(_seen, store, cast("Seeing", embedder), one, deadline) for one in some]
            before = len(found)
            for one, call in zip(some, calls, strict=True):
                try:
                    found.append((one.passage, call.result()))
                except OpenVikingError as error:
                    failed = failed or error
            if len(found) == before:
                break
    return found, failed


def _seen(store: AccountStore, embedder: Seeing, one: Readable, deadline: float) -> Vector | Refused:
    with store.read() as view:
        shown = data_uri(view.data(one.passage.node))
    if shown is None:
        return Refused("it is no picture in a format that models take")
    try:
        vector = embedder.picture(one.text, [shown], timeout=max(deadline - time.monotonic(), 0.001), stored=True)
    except OpenVikingError as error:
        if error.details.get("refused"):
            return Refused(error.message)
        raise
    except Exception as error:
        # The edge to an embedder of somebody else: what it raises is no reason to lose the vectors of other passages.
        raise UnavailableError(
            f"The embedding model failed: {error!r}", service="embedding", reason=repr(error)
        ) from error
    return vector.reshape(1, -1)
