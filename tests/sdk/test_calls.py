"""Every method: what it asks of the server, to the last field, and what it makes of the answer; of both clients."""

from __future__ import annotations

import base64
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

import openviking_sdk as ov

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sdk.conftest import ScriptedServer

R = "viking://resources"
API = "/api/v1"
PNG = b"\x89PNG\r\n\x1a\n....."
PNG_URI = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


@dataclass(frozen=True)
class Case:
    """A call, the request that it is, and what it gives for which answer (the result as it came, if nothing is said)."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    method: str
    path: str
    query: list[tuple[str, str]] = field(default_factory=list)
    body: Any = None
    result: Any = field(default_factory=lambda: {"is": "there"})
    gives: Any = "the result"

    def __str__(self) -> str:
        return f"{self.name}-{len(self.args)}-{'-'.join(self.kwargs)}"


def get(name: str, path: str, *args: Any, q: list[tuple[str, str]] | None = None, **kwargs: Any) -> Case:
    """A GET that gives its result."""
    return Case(name, args, kwargs, "GET", f"{API}{path}", q or [])


def post(name: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Case:
    """A POST that gives its result."""
    return Case(name, args, kwargs, "POST", f"{API}{path}", body=body)


LS = [("output", "original"), ("abs_limit", "256")]
TREE = [("output", "original"), ("abs_limit", "128")]

CASES = [
    # system
    Case("health", (), {}, "GET", "/health", result=..., gives=True),
    Case("health_info", (), {}, "GET", "/health", result=..., gives={"status": "ok", "version": "9"}),
    Case("ready", (), {}, "GET", "/ready", result=..., gives={"status": "ok", "version": "9"}),
    get("system_status", "/system/status"),
    post("wait_processed", "/system/wait", {}),
    post("wait_processed", "/system/wait", {"timeout": 5}, 5),
    post("check_consistency", "/system/consistency", {"uri": f"{R}/x"}, "resources/x"),
    get("debug_health", "/debug/health"),
    get("debug_vector_count", "/debug/vector/count", "~/memories", q=[("uri", "viking://~/memories")]),
    get("debug_vector_count", "/debug/vector/count", filter="{}", q=[("filter", "{}")]),
    get("debug_vector_scroll", "/debug/vector/scroll", R, limit=5, cursor="c", q=[("uri", R), ("limit", "5"), ("cursor", "c")]),
    # observer
    get("get_status", "/observer/system"),
    get("queue_status", "/observer/queue"),
    get("vikingdb_status", "/observer/vikingdb"),
    get("models_status", "/observer/models"),
    get("lock_status", "/observer/lock"),
    get("retrieval_status", "/observer/retrieval"),
    get("filesystem_status", "/observer/filesystem"),
    # fs
    Case("ls", (), {}, "GET", f"{API}/fs/ls", [("uri", "viking://"), *LS], result=[{"uri": R}]),
    Case("ls", ("/resources",), {"simple": True, "recursive": True, "show_all_hidden": True}, "GET", f"{API}/fs/ls",
         [("uri", R), *LS, ("simple", "true"), ("recursive", "true"), ("show_all_hidden", "true")], result=[R]),
    Case("ls", (R,), {"output": "agent", "abs_limit": 9, "node_limit": 3, "limit": 2, "offset": 4, "sort_by": "mtime",
                      "sort_order": "desc", "include_abstract": False, "include_overview": True, "overview_limit": 7,
                      "extra_fields": ["id", "mtime"], "tags": ["a=b", "c=d"], "include_tags": True},
         "GET", f"{API}/fs/ls",
         [("uri", R), ("output", "agent"), ("abs_limit", "9"), ("node_limit", "3"), ("limit", "2"), ("offset", "4"),
          ("sort_by", "mtime"), ("sort_order", "desc"), ("include_abstract", "false"), ("include_overview", "true"),
          ("overview_limit", "7"), ("extra_fields", "id"), ("extra_fields", "mtime"), ("tags", "a=b"), ("tags", "c=d"),
          ("include_tags", "true")], result=[]),
    Case("ls_page", (R,), {"limit": 2, "offset": 1}, "GET", f"{API}/fs/ls", [("uri", R), *LS, ("limit", "2"), ("offset", "1")],
         result=[1, 2], gives={"result": [1, 2], "has_more": True, "total": 9}),
    Case("tree", (R,), {}, "GET", f"{API}/fs/tree", [("uri", R), *TREE], result=[]),
    Case("tree", (R,), {"level_limit": 2, "directories_only": True, "node_limit": 5, "tags": ["a=b"], "include_tags": True},
         "GET", f"{API}/fs/tree", [("uri", R), *TREE, ("node_limit", "5"), ("level_limit", "2"), ("directories_only", "true"),
                                   ("tags", "a=b"), ("include_tags", "true")], result=[]),
    Case("tree_page", (R,), {"limit": 1}, "GET", f"{API}/fs/tree", [("uri", R), *TREE, ("limit", "1")], result=[1],
         gives={"result": [1], "has_more": True, "total": 9}),
    get("stat", "/fs/stat", "resources/a b&c.md", q=[("uri", f"{R}/a b&c.md")]),
    get("attrs", "/fs/attrs", R, q=[("uri", R)]),
    post("set_tags", "/fs/attrs/set_tags", {"uri": R, "tags": ["a=b"], "mode": "replace"}, R, ["a=b"]),
    post("set_tags", "/fs/attrs/set_tags", {"uri": R, "mode": "clear", "recursive": True}, R, mode="clear", recursive=True),
    Case("mkdir", (R,), {"description": "d"}, "POST", f"{API}/fs/mkdir", body={"uri": R, "description": "d"}, gives=None),
    Case("rm", (R,), {}, "DELETE", f"{API}/fs", [("uri", R)], gives=None),
    Case("rm", (R, True), {"wait": True, "timeout": 3.5}, "DELETE", f"{API}/fs",
         [("uri", R), ("recursive", "true"), ("wait", "true"), ("timeout", "3.5")], gives=None),
    Case("mv", ("resources/a", "resources/b"), {}, "POST", f"{API}/fs/mv", body={"from_uri": f"{R}/a", "to_uri": f"{R}/b"}, gives=None),
    Case("cp", (R, R, True), {}, "POST", f"{API}/fs/cp", body={"from_uri": R, "to_uri": R, "recursive": True}, gives=None),
    # content
    Case("read", (R,), {}, "GET", f"{API}/content/read", [("uri", R), ("offset", "0"), ("limit", "-1")], result="text"),
    Case("read", ("0123456789abcdef0123456789abcdef", 2, 1), {"raw": True}, "GET", f"{API}/content/read",
         [("uri", "0123456789abcdef0123456789abcdef"), ("offset", "2"), ("limit", "1"), ("raw", "true")], result=""),
    Case("read_raw", (R,), {}, "GET", f"{API}/content/read", [("uri", R), ("offset", "0"), ("limit", "-1"), ("raw", "true")], result="é"),
    Case("abstract", (R,), {}, "GET", f"{API}/content/abstract", [("uri", R)], result="short"),
    Case("overview", (R,), {}, "GET", f"{API}/content/overview", [("uri", R)], result="longer"),
    Case("download_bytes", (R,), {}, "GET", f"{API}/content/download", [("uri", R)], result=..., gives=b'{"status": "ok", "version": "9"}'),
    post("write", "/content/write", {"uri": R, "content": "a\n", "mode": "replace"}, R, "a\n"),
    post("write", "/content/write",
         {"uri": R, "content": "", "mode": "create", "wait": True, "timeout": 2, "processing_mode": "vectors_only", "tags": ["a=b"],
          "tag_mode": "append", "telemetry": True, "edit_source": "me"},
         R, "", "create", wait=True, timeout=2, processing_mode="vectors_only", tags=("a=b",), tag_mode="append", telemetry=True,
         options={"edit_source": "me"}),
    post("batch_write", "/content/batch-write",
         {"root_uri": R, "operations": [{"uri": f"{R}/a", "content": "x", "mode": "upsert"}], "wait": True},
         R, [{"uri": "resources/a", "content": "x", "mode": "upsert"}]),
    post("batch_write", "/content/batch-write",
         {"root_uri": R, "operations": [], "wait": False, "timeout": 1, "processing_mode": "vectors_only", "skip_conflicts": True},
         R, [], wait=False, timeout=1, processing_mode="vectors_only", options={"skip_conflicts": True}),
    post("reindex", "/content/reindex", {"uri": R, "mode": "vectors_only", "wait": True}, R),
    post("reindex", "/content/reindex",
         {"uri": R, "mode": "prune_orphans", "wait": False, "dry_run": True, "recursive": False, "force": True, "tags": [], "tag_mode": "replace"},
         R, "prune_orphans", False, dry_run=True, recursive=False, force=True, tags=[], tag_mode="replace"),
    # search
    post("find", "/search/find", {"query": "q"}, "q"),
    post("find", "/search/find", {"query": "q", "target_uri": f"{R}/a", "limit": 5, "level": [2], "tags": ["a=b"]},
         "q", "resources/a", 5, options={"level": [2], "tags": ["a=b"], "since": None}),
    post("find", "/search/find",
         {"query": "", "target_uri": [R, "viking://~/memories"], "image_url": [PNG_URI, "viking://resources/cat.png"],
          "context_type": ["memory"], "score_threshold": 0.0, "filter": {"op": "must"}, "tags": [], "since": "7d", "until": "2026-01-01",
          "time_field": "created_at", "level": "0,1", "include_provenance": True, "read_content": True,
          "events_time_decay_protection": "0", "explain": True, "telemetry": {"summary": True}},
         "", [R, "~/memories"], image=[PNG, "viking://resources/cat.png"], context_type=("memory",), score_threshold=0.0,
         filter={"op": "must"}, tags=(), since="7d", until="2026-01-01", time_field="created_at", level="0,1", include_provenance=True,
         read_content=True, events_time_decay_protection="0", explain=True, telemetry={"summary": True}),
    post("search", "/search/search", {"query": "q"}, "q"),
    post("search", "/search/search",
         {"query": "q", "target_uri": R, "session_id": "s", "limit": 3, "search_type": "keywords", "context_type": "skill", "level": 0},
         "q", "s", R, 3, search_type="keywords", context_type="skill", level=0),
    post("find", "/search/find", {"query": "q", "explain_missing": f"{R}/a"}, "q", explain_missing="resources/a"),
    post("search", "/search/search",
         {"query": "q", "dedup": True, "rerank": False, "explain_missing": [f"{R}/a", f"{R}/b"], "filter": {"op": "must"},
          "include_provenance": True, "events_time_decay_protection": "7d"},
         "q", dedup=True, rerank=False, explain_missing=[f"{R}/a", "resources/b"], filter={"op": "must"}, include_provenance=True,
         events_time_decay_protection="7d"),
    post("search_context", "/search/search", {"query": "q", "mode": "context"}, "q"),
    post("search_context", "/search/search",
         {"query": "q", "mode": "context", "target_uri": R, "session_id": "s", "max_tokens": 64, "limit": 2, "query_expansion": "off",
          "quotas": {"events": 1}, "purpose": "chat", "detail": {"events": "full"}, "dedup_turns": 3, "exclude_uris": [f"{R}/a"],
          "peer_scope": "actor", "other_peer_penalty": {"events": 0.5}, "rewrite": "auto", "rewrite_max_bullets": 2,
          "context_type": ["memory", "skill"], "score_threshold": 0.5, "filter": {}, "tags": ["a=b"], "since": "1d", "until": "1h",
          "search_type": "keywords", "events_time_decay_protection": "7d", "image_url": "https://x/y.png"},
         "q", "s", R, max_tokens=64, limit=2, query_expansion="off", quotas={"events": 1}, purpose="chat", detail={"events": "full"},
         dedup_turns=3, exclude_uris=["resources/a"], peer_scope="actor", other_peer_penalty={"events": 0.5}, rewrite="auto",
         rewrite_max_bullets=2, context_type=["memory", "skill"], score_threshold=0.5, filter={}, tags=["a=b"], since="1d", until="1h",
         search_type="keywords", events_time_decay_protection="7d", image="https://x/y.png"),
    post("search_context", "/search/search", {"query": "q", "mode": "context", "max_tokens": 64}, "q", options={"max_tokens": 64}),
    post("search_context", "/search/search",
         {"query": "continue that refactor", "mode": "context", "session_id": "cc-1a2b3c", "query_expansion": "auto",
          "dedup_turns": 5, "purpose": "coding", "max_tokens": 3000, "time_field": "created_at"},
         "continue that refactor", "cc-1a2b3c", query_expansion="auto", dedup_turns=5, purpose="coding", max_tokens=3000,
         time_field="created_at"),
    post("recall", "/search/recall", {"query": "q"}, "q"),
    post("recall", "/search/recall",
         {"query": "q", "session_id": "s", "quotas": {"events": 2}, "max_chars": 800, "min_score": 0.2, "render": False,
          "exclude_uris": [f"{R}/x"], "other_peer_penalty": {"events": 0.5}, "detail": {"events": "full"}},
         "q", "s", quotas={"events": 2}, max_chars=800, min_score=0.2, render=False, exclude_uris=["resources/x"],
         other_peer_penalty={"events": 0.5}, detail={"events": "full"}),
    post("grep", "/search/grep", {"uri": R, "pattern": "a.b"}, R, "a.b"),
    post("grep", "/search/grep",
         {"uri": R, "pattern": "", "case_insensitive": True, "exclude_uri": f"{R}/x", "node_limit": 1, "level_limit": 2, "before_context": 0,
          "after_context": 3, "tags": ["a=b"], "include_tags": True},
         R, "", True, exclude_uri="resources/x", node_limit=1, level_limit=2, before_context=0, after_context=3, tags=["a=b"], include_tags=True),
    post("glob", "/search/glob", {"pattern": "**/*.md", "uri": "viking://"}, "**/*.md"),
    post("glob", "/search/glob",
         {"pattern": "*", "uri": R, "node_limit": 0, "extra_fields": [], "tags": ["a=b"], "include_tags": True},
         "*", R, node_limit=0, extra_fields=(), tags=["a=b"], include_tags=True),
    # resources; local ones are in test_uploads.py
    post("add_resource", "/resources", {"path": "https://x.org/a"}, "https://x.org/a"),
    post("add_resource", "/resources", {"path": "/nowhere/x.md"}, "/nowhere/x.md"),
    post("add_resource", "/resources",
         {"path": "git@host:a/b", "to": f"{R}/x", "wait": True, "reason": "r", "instruction": "i", "timeout": 9, "create_parent": True,
          "source_name": "n", "strict": True, "ignore_dirs": "a,b", "include": "*.md", "exclude": "x/", "directly_upload_media": False,
          "preserve_structure": True, "watch_interval": 60, "processing_mode": "vectors_only", "tags": ["a=b"], "tag_mode": "append",
          "args": {"depth": 1}, "telemetry": True, "is_active": False},
         "git@host:a/b", "resources/x", None, True, reason="r", instruction="i", timeout=9, create_parent=True, source_name="n", strict=True,
         ignore_dirs=["a", "b"], include="*.md", exclude=["x/"], directly_upload_media=False, preserve_structure=True, watch_interval=60,
         processing_mode="vectors_only", tags=["a=b"], tag_mode="append", args={"depth": 1}, telemetry=True, options={"is_active": False}),
    post("add_resource", "/resources", {"path": "ssh://h/x", "parent": f"{R}/p", "create_parent": True}, "ssh://h/x",
         parent="resources/p", options={"create_parent": True}),
    # tasks
    get("get_task", "/tasks/a%2Fb", "a/b"),
    Case("list_tasks", (), {}, "GET", f"{API}/tasks", result=[]),
    Case("list_tasks", ("add_resource", "failed", R, 0), {}, "GET", f"{API}/tasks",
         [("task_type", "add_resource"), ("status", "failed"), ("resource_id", R), ("limit", "0")], result=[]),
    Case("cancel_task", ("t",), {}, "POST", f"{API}/tasks/t/cancel"),
    # skills; local ones are in test_uploads.py
    post("add_skill", "/skills", {"data": {"name": "n"}, "wait": True}, {"name": "n"}, wait=True),
    post("add_skill", "/skills",
         {"data": "---\nname: n\n---\n", "timeout": 1, "target_uri": "viking://agent/skills", "source_metadata": {"a": 1}, "telemetry": True},
         "---\nname: n\n---\n", False, {"timeout": 1}, target_uri="agent/skills", source_metadata={"a": 1}, telemetry=True),
    Case("update_skill", ("n", {"name": "n"}, True), {}, "PUT", f"{API}/skills/n", body={"data": {"name": "n"}, "wait": True}),
    get("list_skills", "/skills"),
    get("list_skills", "/skills", node_limit=3, target_uri="agent/skills", q=[("node_limit", "3"), ("target_uri", "viking://agent/skills")]),
    post("find_skills", "/skills/find", {"query": "q"}, "q"),
    post("find_skills", "/skills/find",
         {"query": "q", "limit": 2, "score_threshold": 0.1, "level": [0], "target_uri": "viking://agent/skills"},
         "q", 2, score_threshold=0.1, level=[0], target_uri="viking://agent/skills"),
    get("get_skill", "/skills/n", "n"),
    get("get_skill", "/skills/n", "n", include_content=True, include_files=False, include_integrity=True, include_source=True, level=0,
        target_uri="agent/skills",
        q=[("include_content", "true"), ("include_files", "false"), ("include_integrity", "true"), ("include_source", "true"),
           ("level", "0"), ("target_uri", "viking://agent/skills")]),
    Case("delete_skill", ("n",), {"target_uri": "agent/skills"}, "DELETE", f"{API}/skills/n", [("target_uri", "viking://agent/skills")]),
    post("validate_skill", "/skills/validate", {"data": {"name": "n"}, "strict": True, "source_path": "p", "skill_dir_name": "d"},
         {"name": "n"}, True, source_path="p", skill_dir_name="d"),
    # watches
    get("list_watches", "/watches", active_only=True, q=[("active_only", "true")]),
    get("get_watch", "/watches/t", "t"),
    get("get_watch", "/watches", to_uri="resources/x", q=[("to_uri", f"{R}/x")]),
    Case("update_watch", ("t",), {"is_active": False, "watch_interval": 5, "reason": "", "instruction": "i"}, "PATCH", f"{API}/watches/t",
         body={"is_active": False, "watch_interval": 5, "reason": "", "instruction": "i"}),
    Case("delete_watch", (), {"to_uri": R}, "DELETE", f"{API}/watches", [("to_uri", R)]),
    Case("trigger_watch", ("t",), {}, "POST", f"{API}/watches/t/trigger"),
    # relations
    Case("relations", ("resources/x",), {}, "GET", f"{API}/relations", [("uri", f"{R}/x")], result=[]),
    post("link", "/relations/link", {"from_uri": R, "to_uris": [f"{R}/a"]}, R, "resources/a"),
    post("link", "/relations/link", {"from_uri": R, "to_uris": [f"{R}/a", f"{R}/b"], "reason": "r"}, R, [f"{R}/a", f"{R}/b"], "r"),
    Case("unlink", (R, "resources/a"), {}, "DELETE", f"{API}/relations/link", body={"from_uri": R, "to_uri": f"{R}/a"}),
    # admin
    post("admin_create_account", "/admin/accounts", {"account_id": "a", "admin_user_id": "u"}, "a", "u"),
    post("admin_create_account", "/admin/accounts", {"account_id": "a", "admin_user_id": "u", "seed": "s", "user_config": {"x": 1}},
         "a", "u", seed="s", user_config={"x": 1}),
    Case("admin_list_accounts", (), {"name": "a*", "limit": 2}, "GET", f"{API}/admin/accounts", [("name", "a*"), ("limit", "2")], result=[]),
    get("admin_get_account", "/admin/accounts/a", "a"),
    Case("admin_delete_account", ("a",), {}, "DELETE", f"{API}/admin/accounts/a"),
    get("admin_get_account_settings", "/admin/accounts/a/settings", "a"),
    post("admin_register_user", "/admin/accounts/a/users", {"user_id": "u", "role": "user"}, "a", "u"),
    post("admin_register_user", "/admin/accounts/a/users", {"user_id": "u", "role": "admin", "seed": "s", "user_config": {}},
         "a", "u", "admin", seed="s", user_config={}),
    Case("admin_list_users", ("a",), {"limit": 5, "name": "*", "role": "admin"}, "GET", f"{API}/admin/accounts/a/users",
         [("limit", "5"), ("name", "*"), ("role", "admin")], result=[]),
    get("admin_get_user", "/admin/accounts/a/users/u%40x", "a", "u@x"),
    Case("admin_remove_user", ("a", "u"), {}, "DELETE", f"{API}/admin/accounts/a/users/u"),
    Case("admin_set_role", ("a", "u", "admin"), {}, "PUT", f"{API}/admin/accounts/a/users/u/role", body={"role": "admin"}),
    post("admin_regenerate_key", "/admin/accounts/a/users/u/key", {}, "a", "u"),
    post("admin_regenerate_key", "/admin/accounts/a/users/u/key", {"seed": "s"}, "a", "u", seed="s"),
]  # fmt: skip

MESSAGE = {
    "role": "assistant",
    "parts": [
        {"type": "text", "text": "noted"},
        {"type": "tool", "tool_id": "t1", "tool_name": "bash", "tool_input": {"cmd": "ls"}, "tool_output": "ok", "tool_status": "completed"},
        {"type": "context", "uri": R, "context_type": "resource", "abstract": "penguins"},
        {"type": "image_url", "image_url": {"url": PNG_URI, "detail": "low"}},
        {"type": "text", "text": "as it is"},
    ],
}  # fmt: skip
PARTS = [
    ov.TextPart("noted"),
    ov.ToolPart(tool_id="t1", tool_name="bash", tool_input={"cmd": "ls"}, tool_output="ok", tool_status="completed"),
    ov.ContextPart(uri=R, context_type="resource", abstract="penguins"),
    ov.ImagePart(PNG, detail="low"),
    {"type": "text", "text": "as it is"},
]
S = "/sessions/s%201"

SESSIONS = [
    post("create_session", "/sessions", {}),
    post("create_session", "/sessions",
         {"session_id": "s", "memory_policy": {"self": {}}, "auto_commit_policy": {}, "memory_extraction_config": {"events": {}}},
         "s", memory_policy={"self": {}}, auto_commit_policy={}, memory_extraction_config={"events": {}}),
    Case("list_sessions", (), {}, "GET", f"{API}/sessions", result=[]),
    get("get_session", S, "s 1"),
    get("get_session", S, "s 1", auto_create=True, q=[("auto_create", "true")]),
    Case("session_exists", ("s 1",), {}, "GET", f"{API}{S}", gives=True),
    Case("update_session_config", ("s 1", {"auto_commit_policy": None}), {}, "PATCH", f"{API}{S}/config", body={"auto_commit_policy": None}),
    Case("delete_session", ("s 1",), {}, "DELETE", f"{API}{S}"),
    Case("redact_message", ("s 1", "m/1"), {}, "DELETE", f"{API}{S}/messages/m%2F1"),
    Case("delete_session", ("s 1", True), {}, "DELETE", f"{API}{S}", query=[("memories", "true")]),
    Case("redact_message", ("s 1", "m/1"), {"memories": True}, "DELETE", f"{API}{S}/messages/m%2F1",
         query=[("memories", "true")]),
    Case("extract_session", ("s 1",), {}, "POST", f"{API}{S}/extract", result=[{"uri": "u"}]),
    Case("rollback_session", ("s 1", "archive_001"), {}, "POST", f"{API}{S}/archives/archive_001/rollback"),
    get("memory_stats", "/stats/memories", "events", q=[("category", "events")]),
    get("session_stats", "/stats/sessions/s%201", "s 1"),
    post("erase", "/system/erase", {"rewrite": True}, rewrite=True),
    post("add_message", f"{S}/messages", {"role": "user", "content": "hello"}, "s 1", "user", "hello"),
    post("add_message", f"{S}/messages", {"role": "user", "content": ""}, "s 1", "user", content=""),
    post("add_message", f"{S}/messages", MESSAGE, "s 1", "assistant", parts=PARTS),
    post("add_message", f"{S}/messages", MESSAGE, "s 1", "assistant", PARTS),
    post("add_message", f"{S}/messages",
         {"role": "user", "content": "c", "peer_id": "p", "created_at": "2026-01-02T03:04:05Z", "turn_id": "t", "message_kind": "user_query",
          "source_message_ids": ["a"], "id": "m1", "telemetry": True},
         "s 1", "user", "c", peer_id="p", turn_id="t", message_kind="user_query", source_message_ids=("a",), message_id="m1",
         telemetry=True, options={"created_at": "2026-01-02T03:04:05Z"}),
    post("batch_add_messages", f"{S}/messages/batch", {"messages": [{"role": "user", "content": "x"}, MESSAGE]},
         "s 1", [{"role": "user", "content": "x"}, {"role": "assistant", "parts": PARTS}]),
    post("session_used", f"{S}/used", {}, "s 1"),
    post("session_used", f"{S}/used", {"contexts": [f"{R}/a"], "skill": {"uri": "viking://agent/skills/x"}},
         "s 1", ["resources/a"], {"uri": "viking://agent/skills/x"}),
    post("commit_session", f"{S}/commit", {}, "s 1"),
    post("commit_session", f"{S}/commit",
         {"keep_recent_count": 0, "retention_mode": "turn_budget", "keep_recent_turn_count": 3, "retained_message_token_budget": 5,
          "min_raw_tail_steps": 1, "extraction_metadata": {"event": {"tags": []}}, "reset_context": True},
         "s 1", keep_recent_count=0, retention_mode="turn_budget", keep_recent_turn_count=3, retained_message_token_budget=5,
         min_raw_tail_steps=1, extraction_metadata={"event": {"tags": []}}, options={"reset_context": True}),
    get("get_session_context", f"{S}/context", "s 1"),
    get("get_session_context", f"{S}/context", "s 1", 0, q=[("token_budget", "0")]),
    get("get_session_archive", f"{S}/archives/archive_001", "s 1", "archive_001"),
    get("list_tool_results", f"{S}/tool-results", "s 1", tool_name="bash", limit=3, q=[("tool_name", "bash"), ("limit", "3")]),
    get("get_tool_result", f"{S}/tool-results/r", "s 1", "r", offset=0, limit=-1, include_metadata=False,
        q=[("offset", "0"), ("limit", "-1"), ("include_metadata", "false")]),
    get("search_tool_result", f"{S}/tool-results/r/search", "s 1", "r", "a&b", limit=1, context_chars=2,
        q=[("q", "a&b"), ("limit", "1"), ("context_chars", "2")]),
]  # fmt: skip

BARE = b'{"status": "ok", "version": "9"}'
ELSEWHERE = {"download"}
"""What test_downloads.py looks at."""


def ask(client: Any, server: ScriptedServer, case: Case) -> Any:
    """Make the call of a case on a server that answers as it says."""
    if case.result is ...:
        server.sends(BARE)
    elif case.name.endswith("_page"):
        server.gives(case.result, has_more=True, total=9)
    else:
        server.gives(case.result)
    return getattr(client, case.name)(*case.args, **case.kwargs)


@pytest.mark.parametrize("case", [*CASES, *SESSIONS], ids=str)
def test_a_call_asks_and_gives_what_the_contract_says(client: Any, server: ScriptedServer, case: Case) -> None:
    given = ask(client, server, case)
    assert given == (case.result if case.gives == "the result" else case.gives)
    (asked,) = server.take()
    assert (asked.method, asked.path) == (case.method, case.path)
    assert asked.query == case.query
    assert asked.json == case.body
    assert ("content-type" in asked.headers) == (case.body is not None)


def test_every_method_is_called() -> None:
    hand_written = {"initialize", "close", "session", "is_healthy", "send", "run"}
    for kind in (ov.SyncHTTPClient, ov.AsyncHTTPClient):
        methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
        assert methods - hand_written == {case.name for case in [*CASES, *SESSIONS]} | ELSEWHERE


def test_both_clients_send_the_same(make: Callable[..., Any], server: ScriptedServer) -> None:
    asked = []
    for flavour in ("sync", "async"):
        client = make(flavour, api_key="k", account="a", user="u", extra_headers={"X-More": "m"}, profile_enabled=True)
        for case in [*CASES, *SESSIONS]:
            ask(client, server, case)
        varying = {"idempotency-key", "host"}
        asked.append(
            [
                (one.method, one.path, one.query, one.body, {k: v for k, v in one.headers.items() if k not in varying})
                for one in server.take()
            ]
        )
    assert asked[0] == asked[1]
    assert len(asked[0]) == len(CASES) + len(SESSIONS)


def test_both_clients_have_the_same_signatures_and_docstrings() -> None:
    for one, other in ((ov.SyncHTTPClient, ov.AsyncHTTPClient), (ov.Session, ov.AsyncSession)):
        for name, method in inspect.getmembers(one, inspect.isfunction):
            awaited: Any = getattr(other, name, None)
            if name.startswith("_") or name in {"session", "is_healthy"}:
                continue
            assert inspect.signature(method) == inspect.signature(awaited), name
            assert inspect.iscoroutinefunction(awaited), name
            assert inspect.getdoc(method), name
            assert name == "run" or inspect.getdoc(method) == inspect.getdoc(awaited), name
