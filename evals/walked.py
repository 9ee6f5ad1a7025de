"""Asking by way of directories, with the numbers of a preset (contract/retrieval.md §8)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from variants import Variant

from openviking.clock import now_ms
from openviking.model.embedding import EmbeddingModel
from openviking.model.scope import Scope
from openviking.retrieve.find import FindRequest
from openviking.retrieve.hierarchical.parameters import PRESETS, Parameters
from openviking.retrieve.hierarchical.search import walked
from openviking.store.port import QueryVector, View


@dataclass(frozen=True, slots=True)
class Walked(Variant):
    """`fused`, by a walk."""

    parameters: Parameters = Parameters()  # noqa: RUF009 - it is frozen

    def find(
        self, view: View, text: str, scope: Scope, limit: int, model: EmbeddingModel | None, vector: QueryVector | None
    ) -> list[str]:
        """The URIs of the hits, best first."""
        request = FindRequest(text, scope, limit, model=model, vector=vector)
        found = walked(view, request, scope.roots or (), self.parameters, now=now_ms())
        return [str(one.candidate.node.uri) for one in found.stage.best]


WALKS: Final = tuple(
    Walked(f"hierarchical, {name}{told}", vectors=True, parameters=replace(preset, **changed))
    for name, preset in PRESETS.items()
    for told, changed in (("", {}), *(((" without hotness", {"hotness_alpha": 0.0}),) if preset.hotness_alpha else ()))
)
"""Both presets, and `classic` without hotness, as all documents of a set are equally old."""
