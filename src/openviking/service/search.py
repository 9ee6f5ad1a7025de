"""Searching: find, grep, glob (contract/retrieval.md §3, §6)."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Unpack

from openviking.config.settings import FetchSettings, RetrievalSettings
from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.index.choices import one_of
from openviking.index.fusion import NONE, PENDING
from openviking.index.limits import context_lines, glob_limit, optional_limit, whole_number
from openviking.index.line_pattern import LinePattern
from openviking.index.match_budget import MatchBudget
from openviking.index.path_pattern import PathPattern
from openviking.index.tags import accepted_tags
from openviking.model.hit import Degradation, FindResult, Hit, Provenance
from openviking.model.identity import Identity
from openviking.model.matches import GlobResult, GrepResult
from openviking.model.trace import NO_TRACE
from openviking.retrieve.documents import documents
from openviking.retrieve.find import FILE_LEVEL, FindRequest, answer, first_stage
from openviking.retrieve.glob import GlobRequest, glob
from openviking.retrieve.grep import GrepRequest, grep
from openviking.retrieve.hierarchical.parameters import Parameters, parameters_of
from openviking.retrieve.hierarchical.related import with_relations
from openviking.retrieve.hierarchical.search import Found
from openviking.retrieve.missing import Account, concluded
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.embedding import STAGE, Asked, Embedding
from openviking.service.pictures import Pictures
from openviking.service.planned_search import carried_out
from openviking.service.planning import Planned, Planning
from openviking.service.relations import readable, tells
from openviking.service.reranking import Cut, Reranking
from openviking.service.search_request import Options, SearchRequest, checked
from openviking.service.targets import visible_roots
from openviking.service.turns import Turns
from openviking.service.walking import by_directories
from openviking.store.port import AccountStore, View
from openviking.text import estimate_tokens, quoted
from openviking.uri import from_path

READERS: Final = 2
"""Finds that read the store at once, and greps."""

REFUSED_KNOWN: Final = 1_000
"""Among so many refused passages one is looked for that has no vector."""


class Search:
    """Finding things in one account; ``dense_weight`` is the vectors' share, None for the shares by context type."""

    def __init__(
        self,
        accounts: Accounts,
        grep_timeout: float,
        embedding: Embedding | None = None,
        dense_weight: float | None = None,
        planning: Planning | None = None,
        reranking: Reranking | None = None,
        retrieval: RetrievalSettings | None = None,
        fetch: FetchSettings | None = None,
    ) -> None:
        self._accounts = accounts
        self._pictures = Pictures(accounts, fetch or FetchSettings())
        self._retrieval = retrieval or RetrievalSettings()
        self._planning = planning
        self._reranking = reranking if reranking is not None and reranking.enabled else None
        self._least = 0.0 if reranking is None else reranking.threshold
        self._grep_timeout = grep_timeout
        # A grep may take seconds; finds don't wait behind it.
        self._finds, self._greps = Turns(READERS), Turns(READERS)
        self._embedding = embedding
        self._dense_weight = dense_weight

    def find(
        self,
        identity: Identity,
        query: str = "",
        target_uri: str | Sequence[str] | None = "",
        **options: Unpack[Options],
    ) -> FindResult:
        """The best records for ``query``; a blank one needs a filter and gives the newest records.

        Filters are ``filter``, ``context_type``, ``tags``, ``since`` and ``until``. ``score_threshold`` is exclusive.
        Raises `InvalidArgumentError` for bad values, `InvalidURIError` and `PermissionDeniedError` for bad targets.
        """
        request = checked(
            identity, query, target_uri, options, filter_alone=True, threshold=self._least, sees=self._sees
        )
        return self._answered(identity, request)

    def search(
        self,
        identity: Identity,
        query: str = "",
        target_uri: str | Sequence[str] | None = "",
        *,
        session_id: str | None = None,
        search_type: str = "semantic",
        dedup: bool = False,
        rerank: bool = True,
        **options: Unpack[Options],
    ) -> FindResult:
        """As `find`, for a question that may belong to a session; it can't be blank.

        ``search_type`` ``keywords`` lets the words answer alone. An unknown session is none. Where a chat model is
        configured and something was said in the session, it plans up to five queries, each with the limit; with ``dedup``
        their hits are fused, and the limit is that of all. ``rerank`` False does without the rerank model.
        """
        one_of("search_type", search_type, ("semantic", "keywords"))
        if session_id is not None and not isinstance(session_id, str):
            raise InvalidArgumentError(f"session_id must be a string, not {quoted(session_id)}", field="session_id")
        words_only = search_type == "keywords"
        request = checked(
            identity, query, target_uri, options, filter_alone=False, words_only=words_only, threshold=self._least,
            sees=self._sees,
        )  # fmt: skip
        planned = Planned()
        if self._planning is not None and not request.pictures:
            target = request.scope.roots[0] if request.named and request.scope.roots else None
            planned = self._planning.planned(
                self._accounts.store(identity), identity, request.query, session_id,
                context_types=request.scope.context_types, target=target,
            )  # fmt: skip
        return carried_out(
            identity, request, planned, lambda one: self._answered(identity, one, rerank=rerank), dedup=dedup
        )

    def request(self, identity: Identity, query: str, options: Options, *, words_only: bool) -> SearchRequest:
        """What is asked of the default targets, checked; a filter may stand in for the query. Raises as `find`."""
        return checked(
            identity, query, "", options, filter_alone=not words_only, words_only=words_only, threshold=self._least,
            sees=self._sees,
        )  # fmt: skip

    @property
    def rereads(self) -> bool:
        """Whether there is a rerank model."""
        return self._reranking is not None

    def meaning(self, identity: Identity, request: SearchRequest, store: AccountStore) -> Asked:
        """What the embedding model makes of a request; it is asked, and no view of ``store`` should be open meanwhile.

        Raises only for pictures: `UnavailableError`, `DeadlineExceededError`, `InvalidArgumentError`.
        """
        if request.pictures and self._embedding is not None:
            pictures = self._pictures.loaded(identity, request.pictures)
            return self._embedding.looked_at(store, request.query, pictures)
        return self._meaning(store, request.query, 0.0 if request.words_only else self._dense_weight)

    def _answered(self, identity: Identity, request: SearchRequest, *, rerank: bool = False) -> FindResult:
        """The answer to one query: what it means, the first stage, perhaps a second one, and the telling of both."""
        store = self._accounts.store(identity)
        began = time.perf_counter()
        meaning = self.meaning(identity, request, store)
        asking = 0.0 if meaning.vector is None else 1000 * (time.perf_counter() - began)
        result = self.answered(identity, request, meaning, store, rerank=rerank)
        return replace(result, work=replace(result.work, embed_ms=asking))

    def answered(
        self, identity: Identity, request: SearchRequest, meaning: Asked, store: AccountStore, *, rerank: bool = False
    ) -> FindResult:
        """The answer of the caller's ``store`` to one query whose ``meaning`` is known; with ``rerank`` a model rereads it."""
        reranking = self._reranking if rerank and not request.pictures else None
        weight = 0.0 if request.words_only else self._dense_weight
        asked = time.perf_counter()
        limit, threshold = request.limit, request.threshold
        way = self._way(request)
        if reranking is not None and way is None:
            limit, threshold = reranking.recalled(limit), min(threshold, 0.0)
        asking = FindRequest(
            request.query, request.scope, limit, threshold, request.read_content, request.explain,
            model=meaning.model, vector=meaning.vector, dense_weight=weight, degraded=meaning.degraded,
            decay=request.decay, by_picture=bool(request.pictures), snippets=request.snippets,
        )  # fmt: skip
        # A walk asks the rerank model on its way: it holds no turn while that may not answer.
        turn = self._finds.turn() if way is None or reranking is None else contextlib.nullcontext()
        with turn, store.read() as view:
            notes = [*request.notes, *_missing(view, request)]
            walk: Found | None = None
            if way is None:
                stage = first_stage(view, asking)
            else:
                walk, wrong = by_directories(view, asking, request, way, reranking)
                notes += wrong
                stage, reranking = walk.stage, None
            result = answer(view, asking, stage)
            if walk is not None:
                result = replace(result, hits=walk.told(result.hits))
            most = (self._retrieval.max_relations or 0) if way is None else way.max_relations
            related = with_relations(view, result.hits, most, readable(identity), tells(identity))
            result = replace(result, hits=related)
            texts = documents(view, stage.best) if reranking is not None else []
            way_taken = None if walk is None else walk.way
            reasons = Account(view, asking, stage, result.hits, way_taken).reasons(request.missing or ())
        hits = ordered = result.hits
        if meaning.model is not None and self._weighs and any(_pending(hit) for hit in hits):
            hits = _refused_named(store, meaning.model.fingerprint, hits)
        notes += self._other_model(store, meaning, request.query)
        if request.pictures and meaning.vector is None and not any(one.stage == STAGE for one in notes):
            notes.append(Degradation(STAGE, "nothing has a vector yet that a picture could be compared with"))
        work = replace(
            result.work,
            query_tokens=0 if meaning.vector is None else estimate_tokens(request.query),
            search_ms=1000 * (time.perf_counter() - asked),
        )
        if reranking is not None:
            files = not request.scope.levels or FILE_LEVEL in request.scope.levels
            kept = Cut(limit, -math.inf, files, request.threshold)
            ordered, reread = reranking.reread(request.query, stage.best, texts, hits, kept)
            hits = tuple(hit for hit in ordered if hit.score > request.threshold)[: request.limit]
            notes += reread.degraded
            work = replace(work, passed=len(hits), rerank_tokens=reread.tokens)
        trace = NO_TRACE if walk is None else walk.trace
        told = (Provenance(request.query, request.directories, hits, trace),) if request.provenance else None
        return replace(
            result,
            hits=hits,
            degraded=(*notes, *result.degraded),
            model_in_use=self._weighs,
            provenance=told,
            work=work,
            missing=None if request.missing is None else concluded(
                request.missing, reasons, ordered, hits, request.threshold
            ),
        )  # fmt: skip

    def _way(self, request: SearchRequest) -> Parameters | None:
        """What a walk through directories goes by; None for a search that looks everywhere at once (§8)."""
        flat = request.words_only or not request.query or request.pictures
        return None if flat else parameters_of(self._retrieval, request.strategy)

    @property
    def _sees(self) -> bool:
        """Whether there is a model for pictures."""
        return self._embedding is not None and self._embedding.sees

    @property
    def _weighs(self) -> bool:
        """Whether vectors count at all."""
        return self._embedding is not None and self._embedding.enabled and self._dense_weight != 0

    def _other_model(self, store: AccountStore, meaning: Asked, question: str) -> list[Degradation]:
        """That the vectors of the account are another model's, while none is made with the one in use."""
        if not self._weighs or not question or meaning.model is None or meaning.vector is not None or meaning.degraded:
            return []
        others = [
            one.name for one in store.vectors.models() if one.filled and one.fingerprint != meaning.model.fingerprint
        ]
        if not others:
            return []
        return [
            Degradation(STAGE, f"no vector is made with {meaning.model.name} yet; those of {others[0]} can't be used")
        ]

    def _meaning(self, store: AccountStore, question: str, weight: float | None) -> Asked:
        """What the embedding model says of a question; it is not asked about nothing, nor where vectors weigh nothing."""
        if self._embedding is None or not self._embedding.enabled:
            return Asked()
        if not question or weight == 0:
            return Asked(self._embedding.known_model())
        return self._embedding.asked(store, question)

    def grep(
        self,
        identity: Identity,
        uri: str,
        pattern: str,
        *,
        case_insensitive: bool = False,
        exclude_uri: str | None = None,
        node_limit: int | None = 256,
        level_limit: int = 10,
        before_context: int = 0,
        after_context: int = 0,
        tags: Sequence[str] | None = None,
        include_tags: bool = False,
    ) -> GrepResult:
        """Lines that match a regular expression, in all files at and below ``uri`` down to ``level_limit`` levels.

        At most ``node_limit`` lines are listed (None: all), all are counted. Raises `InvalidArgumentError` for a
        pattern that does not compile, `DeadlineExceededError` for one that takes too long, `NotFoundError`.
        """
        compiled = LinePattern(pattern, case_insensitive=bool(case_insensitive))
        limit = optional_limit(node_limit)
        level_limit = whole_number(level_limit, "level_limit", minimum=1)
        before, after = context_lines(before_context, "before_context"), context_lines(after_context, "after_context")
        target = resolve(identity, uri)
        excluded = resolve(identity, exclude_uri).path if exclude_uri else None
        wanted = None if tags is None else accepted_tags(tags)[0]
        with self._greps.turn() as turn, self._accounts.store(identity).read() as view:
            if view.get(target.path) is None:
                raise NotFoundError(str(target), "file" if "." in target.name else "directory")
            budget = MatchBudget(self._grep_timeout)
            results = [
                grep(
                    view,
                    GrepRequest(
                        path, compiled, budget, excluded, limit, depth, before, after, wanted, bool(include_tags),
                        turn.give_way,
                    ),
                )
                for path in visible_roots(view, identity, target)
                if (depth := level_limit - len(from_path(path).parts) + len(target.parts)) >= 0
            ]  # fmt: skip
        matches = tuple(match for result in results for match in result.matches)
        return GrepResult(
            matches if limit is None else matches[:limit],
            sum(result.files_scanned for result in results),
            sum(result.total for result in results),
        )

    def glob(
        self,
        identity: Identity,
        pattern: str,
        uri: str = "viking://",
        *,
        node_limit: int | None = 256,
        extra_fields: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        include_tags: bool = False,
    ) -> GlobResult:
        """Files and directories whose path relative to ``uri`` matches ``pattern``; ``node_limit`` ≤ 0: no limit.

        Plain URIs (a directory's with a trailing slash), or objects with ``uri`` and ``isDir`` and what
        ``extra_fields`` asks for. Raises `InvalidArgumentError` for a blank or broken pattern, `NotFoundError`.
        """
        compiled = PathPattern(pattern)
        limit = glob_limit(node_limit)
        if isinstance(extra_fields, str) or not all(isinstance(one, str) for one in extra_fields or ()):
            raise InvalidArgumentError(
                f"extra_fields is {quoted(extra_fields)}, it must be a list of names", field="extra_fields"
            )
        target = resolve(identity, uri)
        wanted = None if tags is None else accepted_tags(tags)[0]
        fields = None if extra_fields is None else tuple(extra_fields)
        with self._accounts.store(identity).read() as view:
            if view.get(target.path) is None:
                raise NotFoundError(str(target), "directory")
            request = GlobRequest(
                target.path, visible_roots(view, identity, target), compiled, limit, fields, wanted, bool(include_tags)
            )
            return glob(view, request)


def _missing(view: View, request: SearchRequest) -> list[Degradation]:
    """The named targets that are not there: no error, but it must not look like a question without an answer."""
    if not request.named:
        return []
    missing = [root for root in request.scope.roots or () if view.get(root) is None]
    return [Degradation("target", f"{from_path(root)} does not exist") for root in missing]


def _pending(hit: Hit) -> bool:
    return any(name == PENDING for name, _ in hit.explain or ())


def _refused_named(store: AccountStore, fingerprint: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """``hits`` whose explanation tells refused passages from those whose vectors are to come."""
    refused = {
        (str(from_path(one.path)), (one.first_line, one.last_line))
        for one in store.vectors.refused(fingerprint, REFUSED_KNOWN)
    }

    def named(hit: Hit) -> Hit:
        if hit.explain is None or (hit.uri, hit.lines) not in refused:
            return hit
        return replace(hit, explain=tuple((NONE if name == PENDING else name, value) for name, value in hit.explain))

    return tuple(named(hit) for hit in hits)
