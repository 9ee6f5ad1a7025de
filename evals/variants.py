"""The ways of asking that are compared: words alone, vectors alone, both fused, and that without one of its signals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from openviking.index.analyse import MAX_QUERY_TERMS, analyse_query
from openviking.index.fusion import fusion
from openviking.index.question import SENTENCE, Question, question
from openviking.index.signals import phrases
from openviking.model.embedding import EmbeddingModel
from openviking.model.scope import Scope
from openviking.retrieve.find import FindRequest, find
from openviking.retrieve.ranking import ranked
from openviking.retrieve.recall import Recall
from openviking.store.port import Query, QueryVector, View


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of asking; ``changed`` says what the engine takes the query for, None for what it is."""

    name: str
    vectors: bool
    dense_weight: float | None = None
    changed: Callable[[Question], Question] | None = None

    def find(
        self, view: View, text: str, scope: Scope, limit: int, model: EmbeddingModel | None, vector: QueryVector | None
    ) -> list[str]:
        """The URIs of the hits, best first."""
        if self.changed is None:
            request = FindRequest(text, scope, limit, model=model, vector=vector, dense_weight=self.dense_weight)
            return [hit.uri for hit in find(view, request)]
        asked = self.changed(question(text))
        terms = analyse_query(text)[:MAX_QUERY_TERMS]
        fused = fusion(asked, has_terms=bool(terms), model=model if vector else None, dense_weight=self.dense_weight)
        query = Query(terms, vector, fused.score)
        best = ranked(Recall(view, query, phrases(asked.phrases)), scope, limit, 0.0)
        return [str(one.candidate.node.uri) for one in best]


VARIANTS: Final = (
    Variant("words", vectors=False),
    Variant("vectors", vectors=True, dense_weight=1.0),
    Variant("fused", vectors=True),
    Variant("without short questions", True, changed=lambda one: replace(one, words=max(one.words, SENTENCE))),
    Variant("without exact names", True, changed=lambda one: replace(one, exact=0.0)),
    Variant("without scripts", True, changed=lambda one: replace(one, unspaced=False)),
    Variant("without phrases", True, changed=lambda one: replace(one, phrases=())),
)
"""`fused` is what find does; each of the others lacks one of its signals."""
