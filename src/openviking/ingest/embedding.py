"""Vectors behind the writes: what a model reads of claimed passages, and one call of the model for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from openviking.errors import OpenVikingError, UnavailableError
from openviking.index.question import mostly_unspaced
from openviking.ingest.picture_content import picture_hash
from openviking.ingest.picture_vectors import TOO_LARGE, Readable, seen_vectors, shows_picture
from openviking.ingest.prepare import BOOKKEEPING, content_hash, embedded_text, embedded_texts
from openviking.model.embedding import EmbeddingModel
from openviking.parse.pictures import MAX_BYTES
from openviking.providers.embedder import HARMLESS, Embedder, Refused, Unmade, real_numbers
from openviking.store.port import AccountStore, View
from openviking.store.vectors import LOST, MadeVector, PendingPassage
from openviking.uri import from_path

if TYPE_CHECKING:
    from openviking.providers.embedder import Vector

LATER_MS: Final = 2_000
"""After this a passage is looked at again whose file is being changed or prepared anew."""

MOST_LOOKS: Final = 4
REMEMBERED: Final = 10_000

LONGEST_AWAY_MS: Final = 300_000
"""The passages of a content that the store can't read are looked at again after longer and longer, up to this."""

MOST_ATTEMPTS: Final = 4
"""A passage that failed so often, at last alone, while the model answered another text, is refused."""

FILE_LEVEL: Final = 2

PROOF_S: Final = 20.0
"""So long a model has to answer the text that tells an outage from passages that can't be embedded."""

KEPT_CHARS: Final = 32_000_000
"""Of a file that had to be parsed once more, so much is kept for its next passages."""


class PassageTexts:
    """What a model reads of passages, rebuilt from what is stored and proved by their hashes.

    For one thread; it keeps the last file that had to be parsed, because the passages of a file come together.
    ``away`` is why the store could not read a text when last it could not.
    """

    def __init__(self) -> None:
        self.away: OpenVikingError | None = None
        self._away: dict[bytes, tuple[int, float]] = {}
        self._parsed: tuple[bytes, str, str] | None = None
        self._texts: dict[bytes, str] = {}
        self._looks: dict[bytes, int] = {}

    def settle(
        self, store: AccountStore, model: EmbeddingModel, claimed: Sequence[PendingPassage], *, sees: bool = False
    ) -> list[Readable]:
        """The passages that the model is to read; of the others it is reported to the store what becomes of them.

        A model that ``sees`` is to look at pictures; any other reads what is said of them.

        One of which the model can say nothing (`can_read`) is settled without a vector. One whose text can be read and
        not be proved is given back for later, and refused when that has not helped a few times: a file is being changed,
        or waits to be prepared by this version of the parsers. One that the store can't read is given back, for longer and
        longer as long as no passage of its content can be read, and never refused for that.
        """
        texts = self.of(store, claimed)
        to_read: list[Readable] = []
        settled: list[MadeVector] = []
        later: list[PendingPassage] = []
        away: dict[bytes, list[PendingPassage]] = {}
        for passage, text in zip(claimed, texts, strict=True):
            if isinstance(text, OpenVikingError):
                self.away = text
                away.setdefault(passage.node.text_hash or b"", []).append(passage)
                continue
            self._away.pop(passage.node.text_hash or b"", None)
            picture = sees and text is not None and shows_picture(passage)
            if picture and passage.node.size > MAX_BYTES:
                settled.append(MadeVector(passage.hash, passage.lease, None, TOO_LARGE))
            elif text is not None and (picture or can_read(model, text)):
                to_read.append(Readable(passage, text, picture))
            elif text is not None:
                settled.append(MadeVector(passage.hash, passage.lease, _nothing(model)))
            elif _counted(self._looks, passage.hash) >= MOST_LOOKS:
                settled.append(MadeVector(passage.hash, passage.lease, None, LOST))
            else:
                later.append(passage)
        if settled:
            store.vectors.put(model.fingerprint, settled)
        if later:
            store.vectors.give_back(model.fingerprint, later, retry_in=LATER_MS)
        for content, passages in away.items():
            store.vectors.give_back(model.fingerprint, passages, retry_in=self._pause(content))
        return to_read

    def _pause(self, content: bytes) -> int:
        """Milliseconds until a content is looked at again that the store can't read: twice those that are over now."""
        pause, until = self._away.get(content, (0, 0.0))
        now = time.monotonic()
        if now >= until:
            pause = min(max(2 * pause, LATER_MS), LONGEST_AWAY_MS)
            until = now + pause / 1000
            _make_room(self._away, content)
            self._away[content] = pause, until
        return int((until - now) * 1000)

    def of(self, store: AccountStore, passages: Sequence[PendingPassage]) -> list[str | UnavailableError | None]:
        """The text of each passage, None where what is stored does not give it, or why it can't be read at present."""
        with store.read() as view:
            found = [_stored_text(view, passage) for passage in passages]
        return [
            self._parsed_text(store, passage) if text is None and passage.level == FILE_LEVEL else text
            for passage, text in zip(passages, found, strict=True)
        ]

    def _parsed_text(self, store: AccountStore, passage: PendingPassage) -> str | UnavailableError | None:
        """The text from parsing the file once more: markup is left out of it, or the file was indexed differently."""
        node = passage.node
        if node.text_hash is None:
            return None
        if self._parsed != (node.text_hash, node.name, node.kind):
            try:
                with store.read() as view:
                    text = view.text(node)
            except UnavailableError as error:
                return error
            except OpenVikingError:
                return None
            self._texts = embedded_texts(node.name, text or "", bookkeeping=node.kind == BOOKKEEPING)
            kept = len(text or "") <= KEPT_CHARS
            self._parsed = (node.text_hash, node.name, node.kind) if kept else None
        found = self._texts.get(passage.hash)
        if self._parsed is None:
            self._texts = {}
        return found


def can_read(model: EmbeddingModel, text: str) -> bool:
    """Whether ``model`` can say anything of a passage: not of a blank one, nor a model of English of one in Chinese.

    It places what it can't read near anything, so that no cosine at all is better.
    """
    return bool(text.strip()) and (model.multilingual or not mostly_unspaced(text))


def _nothing(model: EmbeddingModel) -> Vector:
    import numpy as np  # noqa: PLC0415

    return np.zeros((0, model.dimension), np.float32)


def made_vectors(
    store: AccountStore, embedder: Embedder, model: EmbeddingModel, readable: Sequence[Readable], timeout: float
) -> tuple[list[MadeVector], OpenVikingError | None]:
    """What one call of the model makes of passages, in order; and why not of all, if not.

    Of many pictures it makes some. Raises what `Embedder.passages` raises, and `UnavailableError` for vectors that are
    not of this model.
    """
    deadline = time.monotonic() + timeout
    texts = [one for one in readable if not one.picture]
    made, error = _read(embedder, model, texts, timeout) if texts else ([], None)
    if error is None and len(texts) < len(readable):
        seen, error = seen_vectors(store, embedder, [one for one in readable if one.picture], deadline)
        if error is not None and not seen and not made:
            raise error
        made += [_made(model, passage, vector) for passage, vector in seen]
    return made, error


def _read(
    embedder: Embedder, model: EmbeddingModel, readable: Sequence[Readable], timeout: float
) -> tuple[list[MadeVector], OpenVikingError | None]:
    made = embedder.passages([one.text for one in readable], timeout=timeout)
    if len(made) != len(readable):
        raise _wrong(model, f"gave {len(made)} vectors for {len(readable)} texts")
    failed = next((one.error for one in made if isinstance(one, Unmade)), None)
    found = [
        _made(model, one.passage, vector)
        for one, vector in zip(readable, made, strict=True)
        if not isinstance(vector, Unmade)
    ]
    return found, failed


def prove_alive(embedder: Embedder, model: EmbeddingModel, timeout: float) -> None:
    """Have the model make a vector of a text that every model takes; raises what keeps it from that."""
    [made] = embedder.passages([HARMLESS], timeout=min(timeout, PROOF_S))
    if isinstance(made, Unmade):
        raise made.error
    if isinstance(made, Refused):
        raise _wrong(model, f"refuses every text: {made.reason}")
    _checked(model, made)


def settle_failed(
    store: AccountStore, fingerprint: str, failed: Sequence[PendingPassage], error: OpenVikingError
) -> None:
    """Put off passages that failed while the model answered another text; one that failed often is refused for it."""
    if len(failed) == 1 and failed[0].attempts + 1 >= MOST_ATTEMPTS:
        store.vectors.put(fingerprint, [MadeVector(failed[0].hash, failed[0].lease, None, error.message)])
    else:
        store.vectors.give_back(fingerprint, failed, failed=True)


def _make_room(kept: dict[bytes, Any], digest: bytes) -> None:
    if len(kept) >= REMEMBERED and digest not in kept:
        kept.pop(next(iter(kept)))


def _counted(counts: dict[bytes, int], digest: bytes) -> int:
    """How often something was met, this time included; of much only the last is remembered."""
    _make_room(counts, digest)
    counts[digest] = counts.get(digest, 0) + 1
    return counts[digest]


def _stored_text(view: View, passage: PendingPassage) -> str | UnavailableError | None:
    """The text from the passage's place in the file or sidecar, None if its hash does not prove it."""
    node, title = passage.node, passage.title
    try:
        if node.is_picture and passage.level == FILE_LEVEL:
            return _said_of_picture(view, passage)
        if passage.level == FILE_LEVEL:
            if node.kind in ("html", "conversation"):
                return None
            body = view.slice(node, passage.start, passage.end)
        else:
            title = from_path(node.path).name
            sidecars = view.sidecars(node.path)
            whole = "" if sidecars is None else sidecars.abstract if passage.level == 0 else sidecars.overview
            body = whole.encode()[passage.start : passage.end].decode("utf-8", "replace")
    except UnavailableError as error:
        return error
    except OpenVikingError:
        return None
    parts = (title, passage.breadcrumb, passage.symbol, body)
    return embedded_text(*parts) if content_hash(*parts) == passage.hash else None


def _said_of_picture(view: View, passage: PendingPassage) -> str | None:
    """What is said of a picture in a passage, which may be nothing; None if the hash does not prove it."""
    body = view.slice(passage.node, passage.start, passage.end)
    return (
        body if passage.hash in {picture_hash(passage.node.hash or b"", body), content_hash("", "", "", body)} else None
    )


def _made(model: EmbeddingModel, passage: PendingPassage, vector: Vector | Refused) -> MadeVector:
    if isinstance(vector, Refused):
        reason = str(vector.reason).encode("utf-8", "replace").decode()
        return MadeVector(passage.hash, passage.lease, None, reason or "the model refused it")
    return MadeVector(passage.hash, passage.lease, _checked(model, vector))


def _checked(model: EmbeddingModel, vector: Vector) -> Vector:
    numbers = real_numbers(vector)
    if numbers is None:
        raise _wrong(model, "gave something else than vectors of real numbers")
    if numbers.ndim != 2 or numbers.shape[1] != model.dimension or not len(numbers):
        raise _wrong(model, f"gave a vector of shape {numbers.shape}, not (windows, {model.dimension})")
    return numbers


def _wrong(model: EmbeddingModel, what: str) -> UnavailableError:
    error = UnavailableError(f"The embedding model {model.name} {what}", service="embedding", reason=what)
    error.details["permanent"] = True
    return error
