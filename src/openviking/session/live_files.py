"""The files of a session that are no files: live messages, metadata and long outputs, read from their rows.

They have addresses, and whoever names one can read it; listings and searches, which know files only, don't show them.
"""

from __future__ import annotations

import json
from typing import Any

from openviking.clock import iso
from openviking.model.session import Session
from openviking.session.archives import MESSAGES, META, as_lines
from openviking.session.tool_results import RESULTS
from openviking.store.port import AccountStore
from openviking.uri import URI

_DEPTH = 4


def live_file(store: AccountStore, target: URI) -> str | None:
    """The text of ``messages.jsonl``, ``.meta.json`` or ``tool-results/<id>`` of a session; None for any other URI."""
    parts = target.parts
    if len(parts) <= _DEPTH or parts[0] != "user" or parts[2] != "sessions":
        return None
    path, below = "/".join(parts[:_DEPTH]), parts[_DEPTH:]
    if len(below) == 2 and below[0] == RESULTS:
        result = store.sessions.tool_result(path, below[1])
        return None if result is None else result.content
    if below not in {(MESSAGES,), (META,)}:
        return None
    session = store.sessions.get(path)
    if session is None:
        return None
    if below == (META,):
        return json.dumps(session_meta(session), ensure_ascii=False, indent=2) + "\n"
    return as_lines([one.message for one in store.sessions.live(path)])


def session_meta(session: Session) -> dict[str, Any]:
    """What is known of a session, as ``.meta.json`` and `GET /sessions/{id}` tell it, but for whose it is."""
    settings = session.settings
    kept = settings.retention
    return {
        "session_id": session.id,
        "created_at": iso(session.created_at),
        "updated_at": iso(session.updated_at),
        "last_message_at": _moment(session.last_message_at),
        "last_commit_at": _moment(session.last_commit_at),
        "last_auto_commit_at": _moment(session.last_auto_commit_at),
        "message_count": session.messages,
        "total_message_count": session.total,
        "commit_count": session.commits,
        "memories_extracted": _counted(session),
        "llm_token_usage": _used(session),
        "embedding_token_usage": {"total_tokens": 0},
        "pending_tokens": session.pending,
        "keep_recent_count": kept.get("keep_recent_count", 0),
        "retention_mode": kept.get("retention_mode"),
        "keep_recent_turn_count": kept.get("keep_recent_turn_count"),
        "retained_message_token_budget": kept.get("retained_message_token_budget"),
        "min_raw_tail_steps": kept.get("min_raw_tail_steps"),
        "memory_policy": settings.memory_policy,
        "auto_commit_policy": settings.auto_commit,
        "memory_extraction_config": settings.extraction,
    }


def _counted(session: Session) -> dict[str, int]:
    """The memories that the commits of a session added or updated, by type, and all of them as ``total``."""
    kind, counts = "memories.", session.extracted
    by_type = {name.removeprefix(kind): counts[name] for name in sorted(counts) if name.startswith(kind)}
    return {**by_type, "total": sum(by_type.values())}


def _used(session: Session) -> dict[str, int]:
    prompt, completion = (session.extracted.get(f"llm.{name}_tokens", 0) for name in ("prompt", "completion"))
    used = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return used | {"cached_tokens": 0, "reasoning_tokens": 0}


def _moment(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)
