"""Vectors behind the writes: what a model reads of claimed passages, and one call of the model for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openviking.errors import OpenVikingError, UnavailableError
from openviking.ingest.prepare import content_hash, embedded_text, embedded_texts
from openviking.model.embedding import EmbeddingModel
from openviking.providers.embedder import Embedder, Refused
from openviking.store.port import AccountStore, View
from openviking.store.vectors import MadeVector, PendingPassage
from openviking.uri import from_path

if TYPE_CHECKING:
    from openviking.providers.embedder import Vector

BLANK: Final = "there is no text in it"
"""Why a passage of white space alone gets no vector."""

LOST: Final = "its text can't be read from the store"
"""Why a passage gets no vector whose text is not what it was indexed from, also after a while."""

LATER_MS: Final = 2_000
"""After this a passage is looked at again whose file is being changed or prepared anew."""

MOST_LOOKS: Final = 4
REMEMBERED: Final = 10_000

KEPT_CHARS: Final = 32_000_000
"""Of a file that had to be parsed once more, so much is kept for its next passages."""


@dataclass(frozen=True, slots=True)
class Readable:
    """A claimed passage with what the model reads of it."""

    passage: PendingPassage
    text: str


class PassageTexts:
    """What a model reads of passages, rebuilt from what is stored and proved by their hashes.

    For one thread; it keeps the last file that had to be parsed, because the passages of a file come together.
    """

    def __init__(self) -> None:
        self._parsed: tuple[bytes, str] | None = None
        self._texts: dict[bytes, str] = {}
        self._looks: dict[bytes, int] = {}

    def settle(self, store: AccountStore, fingerprint: str, claimed: Sequence[PendingPassage]) -> list[Readable]:
        """The passages that the model is to read; of the others it is reported to the store what becomes of them.

        A blank passage is refused. One whose text can't be proved is given back for later, and refused when that has
        not helped a few times: a file is being changed, or waits to be prepared by this version of the parsers.
        """
        texts = self.of(store, claimed)
        readable: list[Readable] = []
        refused: list[MadeVector] = []
        later: list[PendingPassage] = []
        for passage, text in zip(claimed, texts, strict=True):
            if text is not None and text.strip():
                readable.append(Readable(passage, text))
            elif text is not None:
                refused.append(MadeVector(passage.hash, passage.lease, None, BLANK))
            elif self._looked(passage.hash) >= MOST_LOOKS:
                refused.append(MadeVector(passage.hash, passage.lease, None, LOST))
            else:
                later.append(passage)
        if refused:
            store.vectors.put(fingerprint, refused)
        if later:
            store.vectors.give_back(fingerprint, later, retry_in=LATER_MS)
        return readable

    def of(self, store: AccountStore, passages: Sequence[PendingPassage]) -> list[str | None]:
        """The text of each passage, None where what is stored does not give it."""
        with store.read() as view:
            found = [_stored_text(view, passage) for passage in passages]
        return [
            self._parsed_text(store, passage) if text is None and passage.level == 2 else text
            for passage, text in zip(passages, found, strict=True)
        ]

    def _parsed_text(self, store: AccountStore, passage: PendingPassage) -> str | None:
        """The text from parsing the file once more: markup is left out of it, or the file was indexed differently."""
        node = passage.node
        if node.text_hash is None:
            return None
        if self._parsed != (node.text_hash, node.name):
            try:
                with store.read() as view:
                    text = view.text(node)
            except OpenVikingError:
                return None
            self._texts = embedded_texts(node.name, text or "")
            kept = len(text or "") <= KEPT_CHARS
            self._parsed = (node.text_hash, node.name) if kept else None
        found = self._texts.get(passage.hash)
        if self._parsed is None:
            self._texts = {}
        return found

    def _looked(self, digest: bytes) -> int:
        """How often the text of this passage was looked for in vain, this time included."""
        if len(self._looks) >= REMEMBERED and digest not in self._looks:
            self._looks.pop(next(iter(self._looks)))
        self._looks[digest] = self._looks.get(digest, 0) + 1
        return self._looks[digest]


def made_vectors(
    embedder: Embedder, model: EmbeddingModel, readable: Sequence[Readable], timeout: float
) -> list[MadeVector]:
    """What one call of the model makes of passages, in order.

    Raises what `Embedder.passages` raises, and `UnavailableError` for vectors that are not of this model.
    """
    made = embedder.passages([one.text for one in readable], timeout=timeout)
    if len(made) != len(readable):
        raise _wrong(model, f"gave {len(made)} vectors for {len(readable)} texts")
    return [_made(model, one.passage, vector) for one, vector in zip(readable, made, strict=True)]


def _stored_text(view: View, passage: PendingPassage) -> str | None:
    """The text from the passage's place in the file or sidecar, None if its hash does not prove it."""
    node, title = passage.node, passage.title
    try:
        if passage.level == 2:
            if node.kind == "html":
                return None
            body = view.slice(node, passage.start, passage.end)
        else:
            title = from_path(node.path).name
            sidecars = view.sidecars(node.path)
            whole = "" if sidecars is None else sidecars.abstract if passage.level == 0 else sidecars.overview
            body = whole.encode()[passage.start : passage.end].decode("utf-8", "replace")
    except OpenVikingError:
        return None
    parts = (title, passage.breadcrumb, passage.symbol, body)
    return embedded_text(*parts) if content_hash(*parts) == passage.hash else None


def _made(model: EmbeddingModel, passage: PendingPassage, vector: Vector | Refused) -> MadeVector:
    if isinstance(vector, Refused):
        return MadeVector(passage.hash, passage.lease, None, vector.reason or "the model refused it")
    if vector.ndim != 2 or vector.shape[1] != model.dimension or not len(vector):
        raise _wrong(model, f"gave a vector of shape {vector.shape}, not (windows, {model.dimension})")
    return MadeVector(passage.hash, passage.lease, vector)


def _wrong(model: EmbeddingModel, what: str) -> UnavailableError:
    error = UnavailableError(f"The embedding model {model.name} {what}", service="embedding", reason=what)
    error.details["permanent"] = True
    return error
