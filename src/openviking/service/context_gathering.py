"""Gathering what may become context: the finds of one call, each of a bucket or of everything (contract/retrieval.md §5.4).

Scores are absolute, so that what different finds give compares. All finds of a call see one state of the account, unless
a model rereads what they give: then each has its own, and they wait for the model at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from openviking.context.answer import MOST_ERRORS, error_told
from openviking.context.candidates import Candidate, candidate_of
from openviking.context.exclusion import Exclusion
from openviking.context.parameters import ContextRequest
from openviking.errors import InvalidArgumentError, OpenVikingError
from openviking.model.hit import NO_WORK, Degradation, FindResult, Hit
from openviking.model.identity import Identity
from openviking.model.skill import FILE
from openviking.model.work import Work
from openviking.service.context_places import MOST, Look, looks
from openviking.service.embedding import Asked
from openviking.service.search import Search
from openviking.service.search_request import SearchRequest
from openviking.service.skill_views import best_of
from openviking.store.port import AccountStore, View
from openviking.uri import from_path

WIDTH: Final = 4
"""Records of skills that are looked at for each wanted package at first: each has several."""

GROWTH: Final = 4
"""So many times more records are looked at each time that too few of them, or of their packages, can be entries."""

AT_ONCE: Final = 8
"""Finds that wait for a rerank model at the same time."""


@dataclass(frozen=True, slots=True)
class Found:
    """What all finds of a call gave; a record may come more than once.

    ``searched`` names where they looked, ``errors`` says why some gave nothing, ``work`` is what all took together.
    """

    candidates: tuple[Candidate, ...] = ()
    searched: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    work: Work = NO_WORK


class Gathering:
    """Carries out the finds of context mode."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def meanings(self, identity: Identity, asked: Sequence[SearchRequest], store: AccountStore) -> list[Asked]:
        """What the embedding model makes of each query; it is asked once, whatever number of finds there will be.

        Raises as `Search.meaning`.
        """
        return [self._search.meaning(identity, one, store) for one in asked]

    @property
    def waits(self) -> bool:
        """Whether finds wait for a rerank model."""
        return self._search.rereads

    def found(
        self,
        identity: Identity,
        request: ContextRequest,
        asked: Sequence[tuple[SearchRequest, Asked]],
        exclusion: Exclusion,
        store: AccountStore,
    ) -> Found:
        """What the queries ``asked``, with their meanings, find for ``request``; more where ``exclusion`` takes some away.

        A find that fails is told in ``errors`` and stops no other. Raises `InvalidArgumentError` for what is wrong with
        the request itself.
        """

        def tried(one: tuple[Look, Asked]) -> FindResult | OpenVikingError:
            look, meaning = one
            try:
                if look.packages:
                    return self._packages(identity, look, meaning, exclusion, store)
                return self._hits(identity, look, meaning, exclusion, store)
            except InvalidArgumentError:
                raise
            except OpenVikingError as error:
                return error

        with store.read() as view:
            plan = [
                (look, meaning) for one, meaning in asked for look in looks(view, identity, request, one, exclusion)
            ]
            if not self.waits:
                return _together(identity, plan, [tried(one) for one in plan])
        with ThreadPoolExecutor(AT_ONCE, "openviking-context") as threads:
            return _together(identity, plan, list(threads.map(tried, plan)))

    def _hits(
        self, identity: Identity, look: Look, meaning: Asked, exclusion: Exclusion, store: AccountStore
    ) -> FindResult:
        """The hits of a find; where too many of them are excluded, what there is beside and behind these as well."""
        request, work = look.request, NO_WORK
        hits: tuple[Hit, ...] = ()
        while True:
            result = self._search.answered(look.identity or identity, request, meaning, store, rerank=True)
            hits, work = (*hits, *result.hits), work + result.work
            if len(result) < request.limit or _left(identity, hits, exclusion) >= look.enough:
                break
            further = _further(look, request, exclusion)
            if further is None:
                break
            request = further
        return replace(result, hits=hits, work=work)

    def _packages(
        self, identity: Identity, look: Look, meaning: Asked, exclusion: Exclusion, store: AccountStore
    ) -> FindResult:
        """Hits in so many different packages of skills as are wanted, the best record of each; no model rereads them."""
        request, wanted = look.request, look.request.limit
        roots = [from_path(root) for root in request.scope.roots or ()]
        width = WIDTH * wanted
        while True:
            result = self._search.answered(identity, replace(request, limit=width), meaning, store)
            best = best_of(result.hits, roots)
            left = _left(identity, best.values(), exclusion)
            if (len(best) >= wanted and left >= look.enough) or len(result) < width:
                break
            width *= GROWTH
        with store.read() as view:
            there = [hit for path, hit in best.items() if _is_package(view, path)]
        return replace(result, hits=tuple(there[: wanted + len(best) - left]))


def _further(look: Look, request: SearchRequest, exclusion: Exclusion) -> SearchRequest | None:
    """What to ask for after ``request`` gave too little that is not excluded; None where that is all."""
    if look.beside and request.scope.excluded != look.beside:
        return replace(request, scope=replace(request.scope, excluded=look.beside))
    if exclusion.cooled and request.limit < MOST:
        # A directory that was served leaves out nothing below it: what is cooled can't be left out as a place.
        wider = look.behind if look.behind > request.limit else GROWTH * request.limit
        return replace(request, limit=min(wider, MOST))
    return None


def _left(identity: Identity, hits: Iterable[Hit], exclusion: Exclusion) -> int:
    """How many hits are of something that may become an entry and is not excluded."""
    candidates = [candidate_of(identity, hit) for hit in hits]
    return len({one.uri for one in candidates if one is not None and not exclusion.drops(one)})


def _is_package(view: View, path: str) -> bool:
    node = view.get(f"{path}/{FILE}")
    return node is not None and not node.is_dir


def _together(
    identity: Identity, plan: Sequence[tuple[Look, Asked]], tried: Sequence[FindResult | OpenVikingError]
) -> Found:
    candidates: list[Candidate] = []
    errors: list[str] = []
    degraded: list[Degradation] = []
    work = NO_WORK
    for (look, _), result in zip(plan, tried, strict=True):
        if isinstance(result, OpenVikingError):
            errors.append(error_told(result))
            continue
        made = (candidate_of(identity, hit, look.bucket) for hit in result if look.keeps in hit.uri)
        candidates += [one for one in made if one is not None]
        degraded += result.degraded
        work = work + result.work
    searched = dict.fromkeys(name for look, _ in plan for name in look.names)
    different = tuple(dict.fromkeys(errors))[:MOST_ERRORS]
    return Found(tuple(candidates), tuple(searched), different, tuple(dict.fromkeys(degraded)), work)
