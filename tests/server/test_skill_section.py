"""Skills over HTTP, request by request in the order of the contract (core.md §3.5)."""

from __future__ import annotations

import json
from typing import Any

OWN, SHARED = "viking://user/default/skills", "viking://agent/skills"
TEXT = "---\nname: tie\ndescription: Ties a boat\ntags: [sea]\nallowed-tools: Bash(git add:*), Read\n---\n\n# Tie\n\nTwo half hitches.\n"
TOOL = {
    "name": "weather_now", "description": "Tells the weather",
    "inputSchema": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "description": "Where"}}},
}  # fmt: skip

Row = tuple[str, str, Any, int, Any]
"""Method, path below ``/api/v1/skills``, body or query, status, and what the result must hold (of an error its code)."""

ROWS: list[Row] = [
    ("POST", "", {}, 400, "INVALID_ARGUMENT"),
    ("POST", "", {"data": TEXT, "temp_file_id": "upload_1"}, 400, "INVALID_ARGUMENT"),
    ("POST", "", {"data": "/srv/skills/SKILL.md"}, 403, "PERMISSION_DENIED"),
    ("POST", "", {"data": {}}, 400, "INVALID_ARGUMENT"),
    ("POST", "", {"data": {"description": "no name"}}, 400, "INVALID_ARGUMENT"),
    ("POST", "", {"data": TEXT, "target_uri": "viking://resources"}, 400, "INVALID_ARGUMENT"),
    ("POST", "", {"data": TEXT, "unknown": 1}, 400, "INVALID_ARGUMENT"),
    ("POST", "", {"data": {"name": "x" * 65, "description": "d"}}, 400, "INVALID_ARGUMENT"),
    ("POST", "", {"data": {"name": "a/b", "description": "d"}}, 400, "INVALID_ARGUMENT"),
    ("POST", "", {"data": TEXT, "wait": True, "timeout": None},
     200, {"status": "success", "root_uri": OWN, "uri": f"{OWN}/tie", "name": "tie", "auxiliary_files": 0}),
    ("POST", "", {"data": {"name": "bare"}}, 200, {"uri": f"{OWN}/bare"}),
    ("POST", "", {"data": {"name": "bare", "description": "now with one"}}, 200, {"uri": f"{OWN}/bare"}),
    ("POST", "", {"data": TOOL, "target_uri": SHARED}, 200, {"root_uri": SHARED, "uri": f"{SHARED}/weather-now", "name": "weather-now"}),
    ("POST", "", {"data": TEXT.replace("Ties a boat", "Shared knots"), "target_uri": SHARED}, 200, {"uri": f"{SHARED}/tie"}),
    ("GET", "", {}, 200, {"total": 4, "root_uris": [OWN, SHARED]}),
    ("GET", "", {"node_limit": 1}, 200, {"total": 4}),
    ("GET", "", {"node_limit": 0}, 400, "INVALID_ARGUMENT"),
    ("GET", "", {"target_uri": SHARED}, 200, {"total": 2, "root_uri": SHARED}),
    ("GET", "", {"target_uri": "viking://resources"}, 400, "INVALID_ARGUMENT"),
    ("POST", "/find", {"query": "tie a boat", "limit": 1}, 200, {"total": 1, "root_uris": [OWN, SHARED]}),
    ("POST", "/find", {"query": "knots", "target_uri": SHARED}, 200, {"root_uri": SHARED}),
    ("POST", "/find", {"query": " "}, 400, "INVALID_ARGUMENT"),
    ("POST", "/find", {}, 400, "INVALID_ARGUMENT"),
    ("POST", "/validate", {"data": TEXT, "strict": True, "skill_dir_name": "tie", "source_path": "s"},
     200, {"valid": True, "strict": True, "name": "tie", "description": "Ties a boat", "tags": ["sea"], "errors": [],
           "allowed_tools": ["Bash(git add:*)", "Read"], "body_lines": 3, "source_path": "s", "skill_dir_name": "tie", "warnings": []}),
    ("POST", "/validate", {"data": 5}, 200, {"valid": False}),
    ("POST", "/validate", {}, 400, "INVALID_ARGUMENT"),
    ("GET", "/tie", {}, 200, {
        "type": "skill", "name": "tie", "uri": f"{OWN}/tie", "root_uri": OWN, "skill_md_uri": f"{OWN}/tie/SKILL.md",
        "description": "Ties a boat", "tags": ["sea"], "allowed_tools": ["Bash(git add:*)", "Read"], "content": TEXT}),
    ("GET", "/tie", {"target_uri": SHARED}, 200, {"description": "Shared knots", "root_uri": SHARED}),
    ("GET", "/weather-now", {}, 200, {"uri": f"{SHARED}/weather-now", "description": "Tells the weather"}),
    ("GET", "/tie", {"level": 3}, 400, "INVALID_ARGUMENT"),
    ("GET", "/none", {}, 404, "NOT_FOUND"),
    ("PUT", "/tie", {"data": TEXT.replace("name: tie", "name: knot")}, 400, "INVALID_ARGUMENT"),
    ("PUT", "/none", {"data": TEXT}, 404, "NOT_FOUND"),
    ("PUT", "/tie", {"data": TEXT, "unknown": 1}, 400, "INVALID_ARGUMENT"),
    ("PUT", "/tie", {"data": TEXT.replace("hitches", "turns")}, 200, {"action": "update", "status": "success", "uri": f"{OWN}/tie"}),
    ("DELETE", "/tie", {}, 200, {"name": "tie", "uri": f"{OWN}/tie", "root_uri": OWN, "privacy_deleted": False}),
    ("GET", "/tie", {}, 200, {"root_uri": SHARED}),
    ("DELETE", "/tie", {"target_uri": OWN}, 404, "NOT_FOUND"),
    ("DELETE", "/none", {}, 404, "NOT_FOUND"),
]  # fmt: skip


def test_every_request_of_the_section(api: Any) -> None:
    for method, path, sent, status, expected in ROWS:
        how = {"params": sent} if method in {"GET", "DELETE"} else {"json": sent}
        answer = api.call(method, f"skills{path}", **how)
        body = answer.json()
        where = f"{method} /skills{path} {json.dumps(sent)[:200]}: {body}"
        assert answer.status_code == status, where
        if status != 200:
            assert body["error"]["code"] == expected, where
            continue
        assert {name: body["result"].get(name) for name in expected} == expected, where


def test_what_lists_and_single_answers_hold(api: Any) -> None:
    waited = api.post("skills", data=TEXT, wait=True, source_metadata={"repo": "knots"})
    assert set(waited["queue_status"]) == {"Semantic", "Embedding"}
    summary = {"type", "name", "uri", "root_uri", "skill_md_uri", "description", "tags", "allowed_tools"}
    [listed] = api.get("skills")["skills"]
    assert set(listed) == summary
    [found] = api.post("skills/find", query="tie a boat")["skills"]
    assert set(found) == summary | {"score", "match_reason", "level", "abstract"}
    whole = api.get("skills/tie", include_integrity=True, include_source=True)
    assert set(whole) == summary | {"abstract", "overview", "content", "files", "content_sha256", "revision", "source"}
    assert whole["source"] == {"repo": "knots"}
    assert [set(one) for one in whole["files"] if one["kind"] == "definition"] == [
        {"name", "uri", "path", "is_dir", "kind", "size", "sha256"}
    ]
    assert set(api.get("skills/tie", level=0, include_files=False)) == summary | {"abstract"}
    body = api.post("skills", data=TOOL) and api.get("skills/weather-now")["content"]
    assert "- **city** (string, required): Where" in body
