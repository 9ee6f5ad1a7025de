"""Asking as search does with `rerank.provider` local: the fused list, its first twenty passages compared token by token."""

from __future__ import annotations

from dataclasses import dataclass, field

from variants import Variant

from openviking.config.settings import RerankSettings
from openviking.model.embedding import EmbeddingModel
from openviking.model.scope import Scope
from openviking.retrieve.documents import documents
from openviking.retrieve.find import FindRequest, answer, first_stage
from openviking.service.reranking import Cut, Reranking
from openviking.store.port import QueryVector, View

PATIENCE = 600.0
"""Seconds that one call may take: this is no service, and the machine may be busy."""


@dataclass(frozen=True, slots=True)
class Reranked(Variant):
    """`fused`, reranked by the built-in model."""

    name: str = "reranked"
    vectors: bool = True
    reranking: Reranking = field(
        default_factory=lambda: Reranking(RerankSettings(provider="local", timeout=PATIENCE)), compare=False
    )

    def find(
        self, view: View, text: str, scope: Scope, limit: int, model: EmbeddingModel | None, vector: QueryVector | None
    ) -> list[str]:
        """The URIs of the hits, best first."""
        request = FindRequest(text, scope, self.reranking.recalled(limit), model=model, vector=vector)
        stage = first_stage(view, request)
        hits = answer(view, request, stage).hits
        found, _ = self.reranking.reread(text, stage.best, documents(view, stage.best), hits, Cut(limit, 0.0))
        return [hit.uri for hit in found]
