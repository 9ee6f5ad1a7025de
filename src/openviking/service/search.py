"""Searching: find, grep, glob (contract/retrieval.md §3, §6)."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from openviking.clock import now_ms
from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.index.choices import one_of
from openviking.index.context_types import parse_context_types
from openviking.index.fusion import NONE, PENDING
from openviking.index.levels import parse_levels
from openviking.index.limits import context_lines, glob_limit, optional_limit, result_limit, whole_number
from openviking.index.line_pattern import LinePattern
from openviking.index.match_budget import MatchBudget
from openviking.index.path_pattern import PathPattern
from openviking.index.tags import accepted_tags, required_tags
from openviking.index.time_window import check_time_field, resolve_window
from openviking.model.hit import Degradation, FindResult, Hit
from openviking.model.identity import Identity
from openviking.model.matches import GlobResult, GrepResult
from openviking.model.scope import Scope
from openviking.retrieve.find import FindRequest, find
from openviking.retrieve.glob import GlobRequest, glob
from openviking.retrieve.grep import GrepRequest, grep
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.embedding import STAGE, Asked, Embedding
from openviking.service.targets import search_roots, visible_roots
from openviking.store.port import AccountStore
from openviking.text import quoted
from openviking.uri import from_path

MAX_QUERY_CHARS: Final = 32_000
"""Characters of a query that are searched for; of a longer one the answer says so."""

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
    ) -> None:
        self._accounts = accounts
        self._grep_timeout = grep_timeout
        self._embedding = embedding
        self._dense_weight = dense_weight

    def find(
        self,
        identity: Identity,
        query: str = "",
        target_uri: str | Sequence[str] | None = "",
        *,
        limit: int = 10,
        node_limit: int | None = None,
        score_threshold: float | None = None,
        context_type: str | Sequence[str] | None = None,
        level: int | str | Sequence[int] | None = None,
        read_content: bool = False,
        tags: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        time_field: str | None = None,
        explain: bool = False,
        search_type: str = "semantic",
    ) -> FindResult:
        """The best records for ``query``; a blank one needs a filter and gives the newest records.

        Filters are ``context_type``, ``tags``, ``since`` and ``until``. ``score_threshold`` is exclusive. Raises
        `InvalidArgumentError` for bad values, `InvalidURIError` and `PermissionDeniedError` for bad targets.
        ``search_type`` ``keywords`` lets the words answer alone.
        """
        one_of("search_type", search_type, ("semantic", "keywords"))
        filtered = any(given is not None for given in (context_type, tags, since, until))
        if not isinstance(query, str):
            raise InvalidArgumentError(f"query must be a string, not {type(query).__name__}", field="query")
        if any("\ud800" <= character <= "\udfff" for character in query):
            raise InvalidArgumentError("query must be valid Unicode: it has half of a surrogate pair", field="query")
        if not query.strip() and not filtered:
            raise InvalidArgumentError("query must not be empty unless a filter is given", field="query")
        wanted = result_limit(limit, node_limit)
        now = now_ms()
        first, last = resolve_window(since, until, now)
        levels = parse_levels(level)
        scope = Scope(
            roots=search_roots(identity, target_uri),
            context_types=parse_context_types(context_type) or (),
            levels=levels or (),
            tags=required_tags(tags or ()),
            time_field=check_time_field(time_field),
            since=first,
            until=last,
            nothing=levels == (),
        )
        asked = query.strip()
        searched = asked[:MAX_QUERY_CHARS]
        threshold = _threshold(score_threshold)
        store = self._accounts.store(identity)
        # No view is open while the model is asked.
        weight = 0.0 if search_type == "keywords" else self._dense_weight
        meaning = self._meaning(store, searched, weight)
        request = FindRequest(
            searched, scope, wanted, threshold, bool(read_content), bool(explain),
            model=meaning.model, vector=meaning.vector, dense_weight=weight, degraded=meaning.degraded,
        )  # fmt: skip
        notes = []
        if len(asked) > MAX_QUERY_CHARS:
            reason = f"of its {len(asked)} characters the first {MAX_QUERY_CHARS} are searched for"
            notes.append(Degradation("query", reason))
        with store.read() as view:
            if target_uri:
                # A target that is not there is no error, but must not look like a question without an answer.
                missing = [from_path(root) for root in scope.roots or () if view.get(root) is None]
                notes += [Degradation("target", f"{uri} does not exist") for uri in missing]
            result = find(view, request)
        if meaning.model is not None and self._weighs and any(_pending(hit) for hit in result.hits):
            result = replace(result, hits=_refused_named(store, meaning.model.fingerprint, result.hits))
        notes += self._other_model(store, meaning, searched)
        return replace(result, degraded=(*notes, *result.degraded), model_in_use=self._weighs)

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
        with self._accounts.store(identity).read() as view:
            if view.get(target.path) is None:
                raise NotFoundError(str(target), "file" if "." in target.name else "directory")
            budget = MatchBudget(self._grep_timeout)
            results = [
                grep(
                    view,
                    GrepRequest(
                        path, compiled, budget, excluded, limit, depth, before, after, wanted, bool(include_tags)
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


def _threshold(value: Any) -> float:
    if value is None:
        return 0.0
    if not isinstance(value, bool) and isinstance(value, int | float):
        with contextlib.suppress(OverflowError):
            number = float(value)
            if math.isfinite(number):
                return number
    raise InvalidArgumentError(
        f"score_threshold is {quoted(value)}, it must be a finite number", field="score_threshold", value=quoted(value)
    )
