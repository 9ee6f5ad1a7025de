"""One round of questions to a model: which texts it takes, and which one spoils a request for all others.

A request is refused as a whole if one of its texts is bad. Halving finds the bad ones with few more requests, and a
short harmless text tells whether it is the texts at all: a wrong key, model or parameter has everything refused, and
must not condemn passages for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from openviking.providers.embedder import HARMLESS, Refused
from openviking.providers.failures import CallFailed
from openviking.text import estimate_tokens

Vector = NDArray[np.float32]

MIN_TOKENS: Final = 128
"""A refused text of more is tried in halves: it may exceed a window that nobody told us of."""


class Asking(Protocol):
    """Sends one request and repeats it while that may help; None stands for a vector without a direction."""

    def __call__(self, texts: Sequence[str], *, repeat: bool = True) -> list[Vector | None]: ...


class Round:
    """Settles texts, with ``ask`` for requests. Its methods may run in several threads.

    ``plainly`` sets whether requests are made without what not every service takes, and says whether there is such a
    thing: it is tried when even a harmless text was refused. No lock is held while the model is asked: threads that fail
    together prove each for itself. ``shrink`` is told how many texts a request may have at most.
    """

    def __init__(self, ask: Asking, plainly: Callable[[bool], bool], shrink: Callable[[int], None]) -> None:
        self._ask = ask
        self._plainly = plainly
        self._shrink = shrink
        self._answered = False
        self._plain = False

    def settle(self, texts: Sequence[str], *, repeat: bool = True) -> list[Vector | Refused | CallFailed]:
        """The vectors of ``texts``, of shape (windows, dimension); a failure for those that came after one.

        Raises `CallFailed` if there is a vector of none, and no text is to blame.
        """
        plain = self._plain
        try:
            found = self._ask(texts, repeat=repeat)
        except CallFailed as failure:
            if failure.kind == "late" and len(texts) > 1:
                self._shrink(len(texts) // 2)
                return self._halves(texts)
            if not failure.of_text:
                raise
            return self._blamed(texts, failure, plain)
        if any(vector is not None for vector in found):
            self._answered = True
        return [self._directed(text, vector, len(texts)) for text, vector in zip(texts, found, strict=True)]

    def _directed(self, text: str, vector: Vector | None, neighbours: int) -> Vector | Refused | CallFailed:
        if vector is not None:
            return vector[np.newaxis]
        if neighbours > 1:
            return self.settle([text])[0]
        self._prove(CallFailed("the model gives vectors of zeros or of what is no number", "malformed"))
        return Refused("the model gives it a vector of zeros, or of what is no number")

    def _blamed(self, texts: Sequence[str], failure: CallFailed, plain: bool) -> list[Vector | Refused | CallFailed]:
        """``texts`` was refused, or made the model crash; ``plain`` tells how it was asked."""
        self._prove(failure)
        if self._plain != plain:
            return self.settle(texts)
        if len(texts) == 1:
            if failure.kind == "crash" and failure.status is not None:
                return [self._crashed(texts[0])]
            return [self._in_parts(texts[0], failure)]
        found = self._halves(texts)
        if not any(isinstance(one, Refused | CallFailed) for one in found):
            # Each half was fine: it was the number of texts.
            self._shrink((len(texts) + 1) // 2)
        return found

    def _halves(self, texts: Sequence[str]) -> list[Vector | Refused | CallFailed]:
        middle = len(texts) // 2
        found = self.settle(texts[:middle], repeat=False)
        if isinstance(found[-1], CallFailed):
            return [*found, *(found[-1] for _ in texts[middle:])]
        try:
            return [*found, *self.settle(texts[middle:], repeat=False)]
        except CallFailed as failure:
            return [*found, *(failure for _ in texts[middle:])]

    def _crashed(self, text: str) -> Vector | Refused | CallFailed:
        """Repeated, as a fault inside of a service comes and goes; the harmless text was answered just before."""
        try:
            found = self._ask([text])
        except CallFailed as failure:
            if failure.kind != "crash":
                raise
            self._prove(failure)
            return self._in_parts(text, failure)
        return self._directed(text, found[0], 1)

    def _in_parts(self, text: str, failure: CallFailed) -> Vector | Refused | CallFailed:
        if estimate_tokens(text) <= MIN_TOKENS:
            return Refused(failure.message)
        blank = text.rfind(" ", len(text) // 4, len(text) // 2)
        middle = blank + 1 if blank >= 0 else len(text) // 2
        parts: list[Vector] = []
        for part in (text[:middle], text[middle:]):
            found = self.settle([part], repeat=False)[0] if part.strip() else None
            if isinstance(found, Refused):
                return Refused(failure.message)
            if isinstance(found, CallFailed):
                return found
            if found is not None:
                parts.append(found)
        return np.concatenate(parts)

    def _prove(self, failure: CallFailed) -> None:
        """Make sure that the model answers at all, if need be asked plainly; raises if it does not."""
        # A crash may be the beginning of an outage: what was answered before it proves nothing.
        if self._answered and failure.kind != "crash":
            return
        try:
            self._try_harmless()
        except CallFailed as again:
            if again.kind != "refused" or not self._plainly(True):
                raise _of_all(again) from None
            self._try_plainly()
        self._answered = True

    def _try_plainly(self) -> None:
        try:
            self._try_harmless()
        except CallFailed as again:
            self._plainly(False)
            raise _of_all(again) from None
        self._plain = True

    def _try_harmless(self) -> None:
        if self._ask([HARMLESS], repeat=False)[0] is None:
            raise CallFailed("the model gives vectors of zeros or of what is no number", "malformed")


def _of_all(failure: CallFailed) -> CallFailed:
    """A refusal of a harmless text is one of all texts."""
    if failure.kind != "refused":
        return failure
    return CallFailed(f"every text is refused: {failure.message}", "permanent", status=failure.status)
