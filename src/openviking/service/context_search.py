"""Context for a prompt in one call: expansion, gathering, filling, digest, and what the session was served (contract/retrieval.md §5)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Unpack, cast

from openviking.config.settings import RetrievalSettings
from openviking.context.answer import ContextResult, Dedup, Gathered
from openviking.context.candidates import Candidate, with_abstracts, with_events
from openviking.context.exclusion import Exclusion, excluded
from openviking.context.filling import fill
from openviking.context.ledger import Ledger, read_ledger
from openviking.context.parameters import ContextOptions, ContextRequest, checked_context
from openviking.context.passages import Passages
from openviking.context.recall_preset import RecallOptions, checked_recall
from openviking.context.relevance import Floor, floor_of
from openviking.context.selection import select
from openviking.index.analyse import MAX_QUERY_TERMS, analyse_query
from openviking.model.hit import NO_WORK, Degradation
from openviking.model.identity import Identity
from openviking.model.work import Work
from openviking.service.accounts import Accounts
from openviking.service.context_digest import Digests
from openviking.service.context_expansion import Expansion, expansion
from openviking.service.context_gathering import Gathering
from openviking.service.context_reading import Reading
from openviking.service.context_session import ContextSessions, Opened
from openviking.service.embedding import Asked
from openviking.service.planning import Planning
from openviking.service.search import Search
from openviking.service.search_request import Options, SearchRequest
from openviking.service.worker import Worker
from openviking.store.port import AccountStore

GLOBAL: Final = "global"
"""Buckets are searched at once, whatever strategy is configured for lists of hits."""


@dataclass(frozen=True, slots=True)
class ContextAnswer:
    """A context, and what it took."""

    result: ContextResult
    work: Work = NO_WORK
    degraded: tuple[Degradation, ...] = ()


class ContextSearch:
    """Assembles context from what one account holds."""

    def __init__(
        self, accounts: Accounts, worker: Worker, search: Search, planning: Planning, retrieval: RetrievalSettings
    ) -> None:
        self._accounts = accounts
        self._search = search
        self._planning = planning
        self._expands = retrieval.enable_intent
        self._in_passages = retrieval.context_passages
        self._least = retrieval.context_floor
        self._gathering = Gathering(search)
        self._sessions = ContextSessions(accounts, worker)
        self._digests = Digests(planning, retrieval)

    def context(self, identity: Identity, **sent: Unpack[ContextOptions]) -> ContextAnswer:
        """The context that the fields ``sent`` ask for, see `ContextOptions`.

        A session that is named is made if it is unknown and something needs it; what it can't give is done without, and
        so are models and searches that fail: ``stats`` says so. Raises `InvalidArgumentError` for what was sent, and for
        pictures `UnavailableError` and `DeadlineExceededError` if the embedding model does not answer.
        """
        return self._answered(identity, checked_context(**sent))

    def recall(self, identity: Identity, **sent: Unpack[RecallOptions]) -> ContextAnswer:
        """As `context`, by the deprecated names and defaults of `RecallOptions`."""
        recall = checked_recall(**sent)
        answer = self._answered(identity, recall.request)
        more = {**answer.result.more, "deprecated": recall.deprecated}
        return replace(answer, result=replace(answer.result, more=more, with_rendered=recall.rendered))

    def _answered(self, identity: Identity, request: ContextRequest) -> ContextAnswer:
        asked = self._asked(identity, request)
        store = self._accounts.store(identity)
        opened, lost = self._opened(identity, request)
        ledger = read_ledger(opened.ledger) if opened and request.cooling else None
        exclusion = self._exclusion(identity, request, opened, ledger)
        expanded = self._expanded(identity, request, asked, opened)
        requests = [replace(asked, query=query) for query in expanded.queries]
        questions = list(zip(requests, self._gathering.meanings(identity, requests, store), strict=True))
        with self._one_state(store):
            found = self._gathering.found(identity, request, questions, exclusion, store)
            with store.read() as view:
                reading = Reading(view, identity.user)
                floor = self._floor(request, *questions[0])
                selection = select(request, _candidates(reading, found.candidates), exclusion, floor)
                candidates = with_abstracts(selection.candidates, reading.abstracts)
                assembly = fill(candidates, request, reading.bodies, self._passages(expanded.queries))
        gathered = Gathered(
            found.searched, asked.threshold, cast("Any", expanded.state),
            tuple(query for query in expanded.queries if query), found.errors,
        )  # fmt: skip
        result = ContextResult(request, gathered, selection, assembly)
        digest, undigested = self._digests.digest(result)
        result = replace(result, condensed=digest)
        dedup = self._noted(identity, result, opened, ledger)
        dedup = replace(dedup, made=opened is not None and opened.made)
        degraded = (*lost, *expanded.degraded, *found.degraded, *undigested)
        more = {"degraded": [{"stage": one.stage, "reason": one.reason} for one in degraded]} if degraded else {}
        usage = digest.usage or {}
        spent = Work(llm_input=usage.get("prompt_tokens", 0), llm_output=usage.get("completion_tokens", 0))
        return ContextAnswer(
            replace(result, dedup=dedup, more=more), found.work + expanded.work + spent, tuple(degraded)
        )

    def _passages(self, queries: Sequence[str]) -> Passages | None:
        """What tells long texts by the lines that answer the queries."""
        return Passages(analyse_query(" ".join(queries))[:MAX_QUERY_TERMS]) if self._in_passages else None

    def _floor(self, request: ContextRequest, asked: SearchRequest, meaning: Asked) -> Floor | None:
        """The floor of a request that has no threshold, neither its own nor one of the rerank model."""
        if "score_threshold" in request.find_options or asked.threshold > 0:
            return None
        return floor_of(self._least, meaning.model)

    def _asked(self, identity: Identity, request: ContextRequest) -> SearchRequest:
        """The find that every find of a request is made of. Raises `InvalidArgumentError` for what a find can't be asked."""
        options = dict(request.find_options)
        words_only = options.pop("search_type", "semantic") == "keywords"
        told = cast("Options", {**options, "limit": request.limit, "strategy": GLOBAL})
        return replace(self._search.request(identity, request.query, told, words_only=words_only), snippets=False)

    def _opened(self, identity: Identity, request: ContextRequest) -> tuple[Opened | None, tuple[Degradation, ...]]:
        """The session of a request, where something needs it: expansion or the ledger."""
        expands = self._expands and request.query_expansion == "auto" and bool(request.query) and not request.pictured
        if request.session_id is None or not (expands or request.cooling):
            return None, ()
        return self._sessions.opened(identity, request.session_id)

    @staticmethod
    def _exclusion(
        identity: Identity, request: ContextRequest, opened: Opened | None, ledger: Ledger | None
    ) -> Exclusion:
        cooled = ledger.cooled(opened.turn, request.dedup_turns) if opened and ledger else ()
        return excluded(request.exclude_uris, user=identity.user, today=datetime.now(tz=UTC).date(), cooled=cooled)

    def _expanded(
        self, identity: Identity, request: ContextRequest, asked: SearchRequest, opened: Opened | None
    ) -> Expansion:
        if opened is None or request.query_expansion == "off" or request.pictured or not asked.query:
            return Expansion((asked.query,))
        planned = self._planning.planned(
            self._accounts.store(identity), identity, asked.query, request.session_id,
            context_types=request.context_types,
        )  # fmt: skip
        return expansion(asked.query, planned)

    def _one_state(self, store: AccountStore) -> AbstractContextManager[object]:
        """One state of the account for all that is read, unless that would be held while a model is waited for."""
        if self._gathering.waits:
            return contextlib.nullcontext()
        return store.read()

    def _noted(self, identity: Identity, result: ContextResult, opened: Opened | None, ledger: Ledger | None) -> Dedup:
        """What the ledger held back; what was served now is noted in it."""
        request = result.request
        if opened is None or not request.cooling:
            return Dedup(request.dedup_turns)
        turn, turns = opened.turn, request.dedup_turns
        cooled = 0 if ledger is None else len(ledger.cooled(turn, turns))
        dedup = Dedup(turns, "new" if ledger is None else "ok", cooled, turn)
        if not result.entries or result.condensed.status == "no_relevant":
            return dedup

        def changed(text: str | None) -> str:
            return (read_ledger(text) or Ledger()).after(result.entries, turn, turns).to_json()

        return dedup if self._sessions.note(identity, opened, changed) else replace(dedup, status="write_failed")


def _candidates(reading: Reading, found: Iterable[Candidate]) -> list[Candidate]:
    """What was found, with archived conversations as the events that they are."""
    there = reading.there(found)
    archives = [one.archive for one in there if one.archive]
    told = with_events(there, reading.events(archives)) if archives else there
    return [replace(one, context_type="memory") if one.archive else one for one in told]
