"""One search by way of directories: its roots, its rerank model, the notes of what went wrong (contract/retrieval.md §8)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from openviking.clock import now_ms
from openviking.model.hit import Degradation
from openviking.retrieve.find import FindRequest
from openviking.retrieve.hierarchical.parameters import Parameters
from openviking.retrieve.hierarchical.search import Found, Judge, walked
from openviking.service.reranking import Reranking
from openviking.service.search_request import SearchRequest
from openviking.store.port import View
from openviking.uri import SCHEME

JUDGING_S: Final = 10.0
"""Seconds after which the rerank model is not asked again within one walk: it is asked in every round."""


def by_directories(
    view: View, asking: FindRequest, request: SearchRequest, parameters: Parameters, reranking: Reranking | None
) -> tuple[Found, list[Degradation]]:
    """What a walk from the request's directories finds, and what was wrong with the rerank model."""
    notes: list[Degradation] = []
    judge = None if reranking is None else _judge(request.query, reranking, notes)
    roots = [uri.removeprefix(SCHEME) for uri in request.directories]
    found = walked(view, asking, roots, parameters, now=now_ms(), judge=judge)
    return found, list(dict.fromkeys(notes))


def _judge(query: str, reranking: Reranking, notes: list[Degradation]) -> Judge:
    end = time.monotonic() + JUDGING_S
    asked = True

    def judge(texts: Sequence[str], own: Sequence[float]) -> Sequence[float]:
        nonlocal asked
        if not asked:
            return own
        found = reranking.reranked(query, texts, own)
        notes.extend(found.degraded)
        if time.monotonic() > end:
            notes.append(
                Degradation("rerank", f"the walk took longer than {JUDGING_S:g} s: what it saw last is not reranked")
            )
            asked = False
        if found.degraded and not found.applied:
            # The scores that the model gave and those that it did not are hardly comparable; more of these help nobody.
            asked = False
        return found.scores

    return judge
