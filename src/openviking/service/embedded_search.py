"""The methods of the embedded door for searching: find, search, context, grep and glob; named as those of the SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openviking.model.hit import FindResult
from openviking.model.identity import Identity
from openviking.model.matches import GlobResult, GrepResult
from openviking.service.pictures import Image, addresses_of
from openviking.service.search import Search
from openviking.service.use_cases import UseCases

if TYPE_CHECKING:
    from openviking.context.answer import ContextResult


class SearchMethods:
    """Mixed into `openviking.OpenViking`."""

    _identity: Identity
    _search: Search
    _cases: UseCases

    def find(
        self,
        query: str = "",
        target_uri: str | Sequence[str] = "",
        *,
        limit: int = 10,
        node_limit: int | None = None,
        score_threshold: float | None = None,
        context_type: str | Sequence[str] | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - its name on the wire
        level: int | str | Sequence[int] | None = None,
        tags: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        time_field: str | None = None,
        events_time_decay_protection: str | None = None,
        include_provenance: bool = False,
        read_content: bool = False,
        explain: bool = False,
        strategy: str | Mapping[str, Any] | None = None,
        explain_missing: str | Sequence[str] | None = None,
        image: Image | Sequence[Image] | None = None,
    ) -> FindResult:
        """The best records for ``query``, each with lines, snippet and score (0 ≤ score < 1).

        ``target_uri`` names one or more directories or files (default: the user's tree and ``viking://resources``).
        ``level`` 0, 1, 2 means abstracts, overviews, files. ``since`` and ``until`` take ``2h``, ``7d``, a date or an
        ISO time, on ``time_field`` ``updated_at`` or ``created_at``. ``filter`` is a tree of conditions on the fields of
        a record, such as ``{"op": "must", "field": "level", "conds": [2]}``. A blank query with one of ``filter``,
        ``context_type``, ``tags``, ``since``, ``until`` gives the newest records. With ``events_time_decay_protection``
        (``"0"``, ``"12h"``, ``"7d"``) the scores of events fade when they are older than that. ``include_provenance`` tells
        where the hits come from, ``explain`` adds the contributions to each score. ``strategy`` ``hierarchical`` walks
        through directories from those nearest to the query; a preset (``classic``, ``late``) or an object of its parameters
        says how.
        ``explain_missing`` takes up to 20 URIs; ``missing`` of the result says of each why it is not among the hits.
        ``image`` is a picture (path, bytes or address) or several, for a model that embeds them: its vector, together with
        that of ``query`` if there is one, is compared with those of resources' files.
        Raises `InvalidArgumentError`, `InvalidURIError`, `PermissionDeniedError`.
        """
        return self._search.find(
            self._identity, query, target_uri, limit=limit, node_limit=node_limit, score_threshold=score_threshold,
            context_type=context_type, filter=filter, level=level, tags=tags, since=since, until=until,
            time_field=time_field, events_time_decay_protection=events_time_decay_protection,
            include_provenance=include_provenance, read_content=read_content, explain=explain, strategy=strategy,
            explain_missing=explain_missing, image_url=addresses_of(image),
        )  # fmt: skip

    def search(
        self,
        query: str = "",
        target_uri: str | Sequence[str] = "",
        *,
        session_id: str | None = None,
        search_type: str = "semantic",
        dedup: bool = True,
        rerank: bool = True,
        limit: int = 10,
        node_limit: int | None = None,
        score_threshold: float | None = None,
        context_type: str | Sequence[str] | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - its name on the wire
        level: int | str | Sequence[int] | None = None,
        tags: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        time_field: str | None = None,
        events_time_decay_protection: str | None = None,
        include_provenance: bool = False,
        read_content: bool = False,
        explain: bool = False,
        strategy: str | Mapping[str, Any] | None = None,
        explain_missing: str | Sequence[str] | None = None,
        image: Image | Sequence[Image] | None = None,
    ) -> FindResult:
        """As `find`, for a question that may belong to a session; it can't be blank.

        ``search_type`` ``keywords`` ranks by words alone. Where a chat model is configured and something was said in the
        session, it plans up to five queries instead of yours (``query_plan`` of the result); their hits are fused, each
        record once, and ``limit`` is that of all. ``dedup`` False gives them one after the other, each query with its own
        limit, as over HTTP. ``rerank`` False does without the rerank model that may be configured. Raises as `find` does.
        """
        return self._search.search(
            self._identity, query, target_uri, session_id=session_id, search_type=search_type, dedup=dedup, rerank=rerank,
            limit=limit, node_limit=node_limit, score_threshold=score_threshold,
            context_type=context_type, filter=filter, level=level, tags=tags, since=since, until=until,
            time_field=time_field, events_time_decay_protection=events_time_decay_protection,
            include_provenance=include_provenance, read_content=read_content, explain=explain, strategy=strategy,
            explain_missing=explain_missing, image_url=addresses_of(image),
        )  # fmt: skip

    def search_context(
        self,
        query: str = "",
        *,
        session_id: str | None = None,
        limit: int | None = None,
        max_tokens: int = 1600,
        query_expansion: str = "auto",
        quotas: Mapping[str, int] | None = None,
        purpose: str | None = None,
        detail: str | Mapping[str, str] | None = None,
        dedup_turns: int = 0,
        exclude_uris: Sequence[str] = (),
        peer_scope: str = "all",
        other_peer_penalty: float | Mapping[str, float] | None = None,
        rewrite: bool | str = False,
        rewrite_max_bullets: int = 6,
        search_type: str = "semantic",
        context_type: str | Sequence[str] | None = None,
        score_threshold: float | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - its name on the wire
        tags: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        time_field: str | None = None,
        events_time_decay_protection: str | None = None,
        image: Image | Sequence[Image] | None = None,
    ) -> ContextResult:
        """A block of context for a prompt: ``rendered``, its ``entries``, ``digest``, and ``stats`` on how it came about.

        It has at most ``max_tokens`` estimated tokens (64 to 32,000). ``purpose`` (``chat``, ``coding``) or ``quotas`` say how
        many entries of events, entities, preferences, experiences, resources and skills there are at first; without either
        one search looks everywhere, and the best ``limit`` (10) are taken. ``detail`` says how much of each is told:
        ``abstract``, ``overview``, ``full``, or one by category; without it events are told as deep as the budget allows.

        With a ``session_id`` a chat model, if there is one, may add two queries, unless ``query_expansion`` is ``off``; and
        what was served in the last ``dedup_turns`` turns of the session is left out. One that is unknown is made for it.
        ``exclude_uris`` are left out, directories with all below. ``peer_scope`` ``actor`` leaves other peers out, else
        ``other_peer_penalty`` is taken from their rank. ``rewrite`` has a chat model condense the block into at most
        ``rewrite_max_bullets`` points with their sources, ``"auto"`` only where one is configured for planning. The others
        are those of `find`.

        A session or a model that fails is no error: ``stats`` tells. Nothing relevant gives no entries, and
        ``stats["empty"]`` says why. Raises `InvalidArgumentError`.
        """
        answer = self._cases.context.context(
            self._identity, query=query, session_id=session_id, limit=limit, max_tokens=max_tokens, query_expansion=query_expansion,
            quotas=quotas, purpose=purpose, detail=detail, dedup_turns=dedup_turns, exclude_uris=exclude_uris,
            peer_scope=peer_scope, other_peer_penalty=other_peer_penalty, rewrite=rewrite,
            rewrite_max_bullets=rewrite_max_bullets, search_type=search_type, context_type=context_type,
            score_threshold=score_threshold, filter=filter, tags=tags, since=since, until=until, time_field=time_field,
            events_time_decay_protection=events_time_decay_protection, image_url=addresses_of(image),
        )  # fmt: skip
        return answer.result

    def grep(
        self,
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
        """Lines that match a regular expression in all files at and below ``uri``.

        At most ``node_limit`` lines are listed (None: all) and all are counted; ``level_limit`` is the greatest depth
        of a file; up to 1,000 lines of context on each side. Raises `InvalidArgumentError`, `DeadlineExceededError`, `NotFoundError`.
        """
        return self._search.grep(
            self._identity, uri, pattern, case_insensitive=case_insensitive, exclude_uri=exclude_uri,
            node_limit=node_limit, level_limit=level_limit, before_context=before_context, after_context=after_context,
            tags=tags, include_tags=include_tags,
        )  # fmt: skip

    def glob(
        self,
        pattern: str,
        uri: str = "viking://",
        *,
        node_limit: int | None = 256,
        extra_fields: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        include_tags: bool = False,
    ) -> GlobResult:
        """Files and directories whose path relative to ``uri`` matches ``pattern`` (``*``, ``**``, ``?``, ``[ab]``).

        URIs, or objects if ``extra_fields`` (name, path, type, size, mode, mtime, locked, id) or tags are asked for.
        Raises `InvalidArgumentError`, `NotFoundError`.
        """
        return self._search.glob(
            self._identity, pattern, uri, node_limit=node_limit, extra_fields=extra_fields, tags=tags,
            include_tags=include_tags,
        )  # fmt: skip
