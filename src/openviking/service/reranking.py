"""The rerank model of one OpenViking: asked once for a search, within a deadline, left alone when it fails (§4.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from openviking.config.settings import EmbeddingSettings, RerankSettings
from openviking.errors import OpenVikingError
from openviking.index.question import mostly_unspaced
from openviking.model.hit import Degradation, Hit
from openviking.providers.builtin import BuiltinEmbedder
from openviking.providers.rerank.reranker import Reranker
from openviking.providers.rerank.selection import provider_of, reranker_of
from openviking.retrieve.ranking import Ranked, cut
from openviking.retrieve.reranking import behind_files, fitted, rescored
from openviking.service.breaker import Breaker
from openviking.service.embedding import Embedding
from openviking.service.guarded import Guarded
from openviking.service.kept_model import KeptModel
from openviking.text import estimate_tokens

STAGE: Final = "rerank"
"""The stage of a search that an answer is without when the model does not answer."""

DEFAULT_THRESHOLD: Final = 0.1
"""What a hit must exceed once a rerank section is there (contract/retrieval.md §3.8)."""

BEHIND: Final = 1 - 1e-9
"""What is left of a score behind an equal one."""

FAILURES: Final = 2
FIRST_PAUSE_S: Final = 10.0
LONGEST_PAUSE_S: Final = 600.0

_MODEL: Final = Guarded("rerank", "searches are not reranked")


@dataclass(frozen=True, slots=True)
class Reranked:
    """A score for each candidate; ``applied`` says that the model had a say, ``degraded`` what was wrong with it.

    ``tokens`` is the estimate of what it was given to read.
    """

    scores: tuple[float, ...]
    applied: bool = False
    degraded: tuple[Degradation, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """What is kept of reranked hits: ``limit`` above ``threshold``; ``files`` says that files are wanted at all.

    Of those kept the ones above ``shown`` are to be seen.
    """

    limit: int
    threshold: float
    files: bool = True
    shown: float = 0.0


class Reranking:
    """The reranker that ``settings`` name, made when it is first needed, or ``given``, which stays its owner's to close.

    ``embedder`` gives the built-in embedding model if that is in use, so that `local` loads none of its own.
    """

    def __init__(
        self,
        settings: RerankSettings,
        embedder: Callable[[], BuiltinEmbedder | None] = lambda: None,
        given: Reranker | None = None,
    ) -> None:
        self._settings = settings
        self._model = KeptModel[Reranker](
            lambda: reranker_of(settings, embedder()), given, lambda: _MODEL.unavailable("closed")
        )
        self._provider = provider_of(settings)
        self.calls = Breaker(FAILURES, FIRST_PAUSE_S, LONGEST_PAUSE_S)

    @property
    def enabled(self) -> bool:
        """Whether there is a reranker."""
        return self._model.given is not None or self._provider != "none"

    @property
    def threshold(self) -> float:
        """What a hit must exceed where a request does not say; 0 where nothing is said of reranking."""
        if self._settings.threshold is not None:
            return self._settings.threshold
        plain = self._settings == RerankSettings() or self._provider in ("local", "none")
        return 0.0 if plain and self._model.given is None else DEFAULT_THRESHOLD

    def recalled(self, limit: int) -> int:
        """How many candidates a search for ``limit`` hits gives to `reread` (contract/retrieval.md §3.8)."""
        return 2 * limit

    def reranked(self, query: str, documents: Sequence[str], own: Sequence[float], *, shown: float = 0.0) -> Reranked:
        """New scores for candidates, best first, whose texts are ``documents`` and whose own scores are ``own``.

        Blank documents are not sent: they keep their score, as all do when the model does not answer within
        ``rerank.timeout``. Those beyond what one call takes were behind the others before, and stay behind those that it
        gives more than ``shown``, what a hit must exceed. It never raises for a model that fails.
        """
        sent = [place for place, text in enumerate(documents) if text.strip()]
        if not self.enabled or not query.strip() or not sent:
            return Reranked(tuple(own))
        if self._provider == "local" and mostly_unspaced(query):
            # The built-in model can't read it.
            return Reranked(tuple(own))
        try:
            reranker = self._reranker()
            sent, unread = sent[: reranker.most], sent[reranker.most :]
            asked, texts = fitted(query, [documents[place] for place in sent], self._settings.max_input_tokens)
            given = self._asked(reranker, asked, texts)
        except OpenVikingError as error:
            return Reranked(tuple(own), degraded=(Degradation(STAGE, error.message),))
        found = rescored([own[place] for place in sent], given, reranker.share)
        scores = list(own)
        for place, score in zip(sent, found.scores, strict=True):
            scores[place] = score
        applied = any(one is not None and math.isfinite(one) for one in given)
        if applied and unread:
            lowest = min((scores[place] for place in sent if scores[place] > shown), default=math.inf)
            for place in unread:
                scores[place] = min(own[place], lowest * BEHIND)
        notes = tuple(Degradation(STAGE, note) for note in found.notes)
        tokens = estimate_tokens(asked) + sum(map(estimate_tokens, texts))
        return Reranked(tuple(scores), applied, notes, tokens)

    def reread(
        self, query: str, best: Sequence[Ranked], texts: Sequence[str], hits: Sequence[Hit], options: Cut
    ) -> tuple[tuple[Hit, ...], Reranked]:
        """``hits`` of the records ``best``, whose documents are ``texts``, in the model's order; and what it answered."""
        found = self.reranked(query, texts, [one.score for one in best], shown=options.shown)
        anew = behind_files(best, found.scores) if options.files else list(found.scores)
        ordered = cut(
            [replace(one, score=score) for one, score in zip(best, anew, strict=True)], options.limit, options.threshold
        )
        by_record = {one.candidate.node.id: hit for one, hit in zip(best, hits, strict=True)}
        return tuple(_told(by_record[one.candidate.node.id], one) for one in ordered), found

    def describe(self) -> dict[str, Any]:
        """What people may know of it. Raises `OpenVikingError` for one that is configured wrongly."""
        return self._reranker().describe() if self.enabled else {"provider": "none"}

    def close(self) -> None:
        """Close the reranker unless it was given; calls under way come to an end."""
        self._model.close()

    def _reranker(self) -> Reranker:
        return self._model.get()

    def _asked(self, reranker: Reranker, query: str, documents: Sequence[str]) -> list[float | None]:
        def scored() -> list[float | None]:
            scores = list(reranker.scores(query, documents, timeout=self._settings.timeout))
            _check_count(scores, documents)
            return scores

        return _MODEL.ask(self.calls, scored)


def _told(hit: Hit, one: Ranked) -> Hit:
    """``hit`` with its new score, of which its explanation tells."""
    duplicate = None if one.duplicate_of is None else str(one.duplicate_of.node.uri)
    explain = hit.explain
    if explain is not None and one.score != hit.score:
        explain = (*explain, ("rerank", one.score - hit.score))
    return replace(hit, score=one.score, explain=explain, duplicate_of=duplicate)


def builtin_of(settings: EmbeddingSettings, embedding: Embedding) -> BuiltinEmbedder | None:
    """The built-in model if it makes the vectors anyway."""
    made = embedding.embedder if settings.provider == "builtin" and embedding.enabled else None
    return made if isinstance(made, BuiltinEmbedder) else None


def _check_count(scores: Sequence[float | None], documents: Sequence[str]) -> None:
    if len(scores) != len(documents):
        raise _MODEL.unavailable(f"{len(scores)} scores for {len(documents)} documents")
