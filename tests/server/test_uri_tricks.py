"""Addresses that try to leave where they may go: refused alike by every route that takes one, and nothing is told or written."""

from __future__ import annotations

from typing import Any

import pytest

TRICKS = (
    "viking://resources/../user/other/x.md",
    "viking://resources/./x.md",
    "viking://resources/%2e%2e/user/other/x.md",
    "viking://resources/%252e%252e/x.md",
    "viking://resources/..\\x.md",
    "viking://resources/a\x00b.md",
    "viking://resources/../../_system/users.json",
    "viking://temp/x.md",
    "viking://queue/x.md",
    "viking://upload/x.md",
    "file:///etc/passwd",
    "/etc/passwd",
    "viking://resources/．．/x.md",
    "viking://resources/" + "x" * 10_000,
    "viking://user/other/memories/x.md",
)
BODY = {"content": "evil", "mode": "create", "pattern": "root", "query": "root", "tags": ["a=b"], "operations": []}


def calls(uri: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Each route that takes an address, with this one."""
    reading = [("GET", path, {"params": {"uri": uri}}) for path in (
        "content/read", "content/abstract", "content/overview", "content/download", "fs/ls", "fs/tree", "fs/stat",
        "fs/attrs", "debug/vector/count",
    )]  # fmt: skip
    writing = [("POST", path, {"json": {"uri": uri, **{name: BODY[name] for name in names}}}) for path, names in (
        ("content/write", ("content", "mode")), ("content/set_tags", ("tags",)), ("content/reindex", ()),
        ("fs/mkdir", ()), ("search/grep", ("pattern",)), ("search/glob", ("pattern",)), ("system/consistency", ()),
    )]  # fmt: skip
    return [
        *reading,
        *writing,
        ("DELETE", "fs", {"params": {"uri": uri, "recursive": True}}),
        ("POST", "fs/mv", {"json": {"from_uri": uri, "to_uri": "viking://resources/taken.md"}}),
        ("POST", "fs/mv", {"json": {"from_uri": "viking://resources/there.md", "to_uri": uri}}),
        ("POST", "fs/cp", {"json": {"from_uri": uri, "to_uri": "viking://resources/taken.md"}}),
        ("POST", "search/find", {"json": {"query": "root", "target_uri": uri}}),
        ("POST", "content/batch-write", {"json": {"root_uri": uri, "operations": [{"uri": uri, "content": "x"}]}}),
        ("POST", "skills/find", {"json": {"query": "root", "target_uri": uri}}),
    ]


@pytest.mark.cpu_budget(8)
def test_no_trick_reaches_anything(tenants: Any) -> None:
    other, caller = tenants("acme", "other"), tenants("acme", "caller")
    other.write("viking://~/memories/x.md", "root of all secrets")
    caller.write("viking://resources/there.md", "here")
    for uri in TRICKS:
        for method, path, sent in calls(uri):
            answer = caller.call(method, path, **sent)
            where = (path, uri[:60], answer.status_code, answer.text[:200])
            # What does not exist, and is removed, is no error; what is a name like any other finds nothing.
            if answer.status_code == 200:
                assert "%" in uri or "．" in uri, where
                if path in {"content/write", "fs/mkdir"}:
                    caller.delete(uri, recursive=True)
                    continue
            else:
                assert answer.status_code in {400, 403, 404, 412}, where
                assert answer.json()["error"]["code"] in {
                    "INVALID_URI", "INVALID_ARGUMENT", "PERMISSION_DENIED", "NOT_FOUND", "FAILED_PRECONDITION",
                    "UNSUPPORTED_URI",
                }, where  # fmt: skip
            assert "secrets" not in answer.text, where
            assert "root:" not in answer.text, where
            assert "/accounts/" not in answer.text, where
    assert other.get("content/read", uri="viking://~/memories/x.md") == "root of all secrets"
    assert caller.get("content/read", uri="viking://resources/there.md") == "here"
    assert [one["uri"] for one in caller.get("fs/ls", uri="viking://resources")] == ["viking://resources/there.md"]
