"""Writing many files at once, sending files, indexing anew, copying, and what listings tell."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

D = "viking://resources/d"


@pytest.fixture
def d(api: Any) -> Any:
    """A caller with a directory that holds three files."""
    for name in ("a", "b", "c"):
        api.write(f"{D}/{name}.md", f"# {name}\n\nword{name} text\n", tags=[f"name={name}", "kind=note"])
    return api


def batch(api: Any, *operations: dict[str, Any], root: str = D, **body: Any) -> Any:
    return api.call("POST", "content/batch-write", json={"root_uri": root, "operations": list(operations), **body})


def test_a_batch_is_written_as_a_whole(d: Any) -> None:
    done = batch(
        d,
        {"uri": f"{D}/new.md", "content": "zebra", "mode": "create"},
        {"uri": f"{D}/sub/bin.dat", "content_base64": base64.b64encode(bytes(range(256))).decode(), "mode": "upsert"},
        {"uri": f"{D}/a.md", "content": "giraffe\n", "mode": "append"},
        {"uri": f"{D}/b.md", "content": "# b\n\nwordb text\n"},
    ).json()["result"]
    assert done["created"] == [f"{D}/new.md", f"{D}/sub/bin.dat"]
    assert (done["updated"], done["unchanged"]) == ([f"{D}/a.md"], [f"{D}/b.md"])
    assert (done["semantic_status"], set(done["queue_status"])) == ("complete", {"Semantic", "Embedding"})
    assert d.get("content/read", uri=f"{D}/a.md").endswith("text\ngiraffe\n")
    assert d.call("GET", "content/download", params={"uri": f"{D}/sub/bin.dat"}).content == bytes(range(256))
    queued = batch(d, {"uri": f"{D}/new.md", "content": "lion"}, wait=False).json()["result"]
    assert (queued["semantic_status"], queued["queue_status"]) == ("queued", None)


def test_one_fault_leaves_everything_as_it_was(d: Any) -> None:
    for fault, status, code in (
        ({"uri": f"{D}/a.md", "content": "x", "mode": "create"}, 409, "ALREADY_EXISTS"),
        ({"uri": f"{D}/none.md", "content": "x", "mode": "replace"}, 404, "NOT_FOUND"),
        ({"uri": f"{D}/none.md", "content": "x", "mode": "append"}, 404, "NOT_FOUND"),
        ({"uri": f"{D}/x.md", "content": "x", "mode": "sideways"}, 400, "INVALID_ARGUMENT"),
        ({"uri": f"{D}/x.md", "mode": "create"}, 400, "INVALID_ARGUMENT"),
        ({"uri": f"{D}/x.md", "content": "x", "content_base64": "eA=="}, 400, "INVALID_ARGUMENT"),
        ({"uri": f"{D}/x.md", "content_base64": "no base64!", "mode": "create"}, 400, "INVALID_ARGUMENT"),
        ({"uri": "viking://resources/elsewhere.md", "content": "x", "mode": "create"}, 400, "INVALID_ARGUMENT"),
        ({"uri": D, "content": "x", "mode": "upsert"}, 400, "INVALID_ARGUMENT"),
        ({"uri": f"{D}/first.md", "content": "x", "mode": "create"}, 400, "INVALID_ARGUMENT"),
        ({"uri": f"{D}/../x.md", "content": "x", "mode": "create"}, 403, "PERMISSION_DENIED"),
        ({"uri": f"{D}/big.md", "content": "x" * (8 * 1024 * 1024 + 1), "mode": "create"}, 429, "RESOURCE_EXHAUSTED"),
        ({"uri": f"{D}/.abstract.md", "content": "x", "mode": "create"}, 400, "INVALID_ARGUMENT"),
    ):
        answer = batch(d, {"uri": f"{D}/first.md", "content": "x", "mode": "create"}, fault)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), fault
    assert len(d.get("fs/ls", uri=D)) == 3


def test_the_limits_of_a_batch(d: Any) -> None:
    many = [{"uri": f"{D}/f{n}.md", "content": "x", "mode": "create"} for n in range(257)]
    assert batch(d, *many).status_code == 429
    assert len(batch(d, *many[1:]).json()["result"]["created"]) == 256
    assert batch(d).status_code == 400
    for root, status in (
        ("viking://resources", 400), ("viking://user/default", 400), ("viking://resources/none", 404),
        (f"{D}/a.md", 400), ("viking://agent/skills", 400),
    ):  # fmt: skip
        answer = batch(d, {"uri": f"{root}/x.md", "content": "x", "mode": "create"}, root=root)
        assert answer.status_code == status, root
    own = batch(d, {"uri": "viking://~/memories/x.md", "content": "x", "mode": "create"}, root="viking://~/memories")
    assert own.json()["result"]["created"] == ["viking://user/default/memories/x.md"]


def test_conflicts_can_be_skipped(d: Any) -> None:
    done = batch(
        d,
        {"uri": f"{D}/a.md", "content": "x", "mode": "create"},
        {"uri": f"{D}/none.md", "content": "x", "mode": "append"},
        {"uri": f"{D}/new.md", "content": "x", "mode": "create"},
        skip_conflicts=True,
    ).json()["result"]
    assert (done["created"], done["skipped"]) == ([f"{D}/new.md"], [f"{D}/a.md", f"{D}/none.md"])


def test_write_with_tags_and_upsert(api: Any) -> None:
    uri = f"{D}/t.md"
    assert api.write(uri, "one", "upsert", tags=["a=1", "nonsense"])["mode"] == "upsert"
    assert api.get("fs/attrs", uri=uri)["attrs"]["tags"] == ["a=1"]
    api.write(uri, "two", "upsert", tags=["b=2"], tag_mode="append", processing_mode="vectors_only")
    api.write(uri, " three", "append", tags=["c=3"], tag_mode="append")
    assert api.get("fs/attrs", uri=uri)["attrs"]["tags"] == ["a=1", "b=2", "c=3"]
    assert api.get("content/read", uri=uri) == "two three"
    assert api.refused("content/write", uri=uri, content="x", acl=[{"principal": "user:bob"}]) == (501, "UNIMPLEMENTED")
    cleared = api.post("content/set_tags", uri=uri, mode="clear")
    assert (cleared["tags"], api.get("fs/attrs", uri=uri)["attrs"]["tags"]) == ([], [])


@pytest.mark.parametrize("name", ["plain.md", 'q"uo"te.md', "new line.md", "项目.md", "a%20b;c.md", "e\u0301.md"])
def test_a_download_has_its_name_its_length_and_its_bytes(api: Any, name: str) -> None:
    api.write(f"{D}/{name}", "text\r\n")
    answer = api.call("GET", "content/download", params={"uri": f"{D}/{name}"})
    assert answer.content == b"text\r\n"
    assert answer.headers["content-type"] == "application/octet-stream"
    kind, _, told = answer.headers["content-disposition"].partition("; filename*=UTF-8''")
    assert (kind, unquote(told)) == ("attachment", name)
    assert answer.headers["content-length"] == "6"


def test_a_large_download_is_whole_and_a_damaged_one_is_cut_off(api: Any, place: Path) -> None:
    data = bytes(range(256)) * 4_000
    done = api.add(data, "large.bin")
    uri = f"{done['root_uri']}/large.bin"
    assert api.call("GET", "content/download", params={"uri": uri}).content == data
    stored = max(place.glob("accounts/*/contents/*/*"), key=lambda path: path.stat().st_size)
    damaged = b"\0" * len(data)
    stored.write_bytes(damaged)
    with pytest.raises(Exception, match="already started"):
        api.call("GET", "content/download", params={"uri": uri})
    stored.unlink()
    assert api.call("GET", "content/download", params={"uri": uri}).status_code == 503
    audit = api.post("system/consistency", uri=done["root_uri"])
    assert (audit["ok"], audit["missing_record_count"]) == (False, 1)
    assert (audit["missing_records"][0]["uri"], audit["missing_records"][0]["level"]) == (uri, 2)
    tried = api.post("content/reindex", uri=done["root_uri"], mode="prune_orphans", dry_run=True)
    assert (tried["would_delete_records"], tried["deleted_records"]) == (1, 0)
    assert api.post("content/reindex", uri=done["root_uri"], mode="prune_orphans")["deleted_records"] == 1
    assert api.post("system/consistency", uri="viking://")["ok"]


def test_a_record_is_read_by_its_id(d: Any) -> None:
    told = d.get("fs/stat", uri=f"{D}/a.md")
    assert told["uri"] == f"{D}/a.md"
    d.post("fs/mv", from_uri=f"{D}/a.md", to_uri=f"{D}/moved.md")
    assert d.get("content/read", uri=told["id"]).startswith("# a")
    for unknown in ("f" * 32, "0" * 32):
        answer = d.call("GET", "content/read", params={"uri": unknown})
        assert answer.status_code in {400, 404}, answer.text


def test_an_id_of_somebody_else_is_not_there(tenants: Callable[[str, str], Any]) -> None:
    alice, bob = tenants("acme", "alice"), tenants("acme", "bob")
    alice.write("viking://~/memories/m.md", "secret")
    told = alice.get("fs/stat", uri="viking://~/memories/m.md")
    assert alice.get("content/read", uri=told["id"]) == "secret"
    answer = bob.call("GET", "content/read", params={"uri": told["id"]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_reindex(d: Any) -> None:
    done = d.post("content/reindex", uri=D)
    assert (done["status"], done["mode"], done["object_type"], done["failed_records"]) == (
        "completed", "vectors_only", "directory", 0,
    )  # fmt: skip
    again = d.post("content/reindex", uri=D, mode="semantic_and_vectors", tags=["seen=yes"], tag_mode="append")
    assert (again["rebuilt_records"], again["failed_records"]) == (3, 0)
    assert d.get("fs/attrs", uri=f"{D}/a.md")["attrs"]["tags"] == ["kind=note", "name=a", "seen=yes"]
    assert d.post("search/find", query="wordb", target_uri=D, level=2)["total"] == 1
    assert d.post("content/reindex", uri=f"{D}/a.md", mode="semantic_and_vectors")["rebuilt_records"] == 1
    assert d.post("system/consistency", uri="viking://")["ok"]
    for body, answer in (
        ({"uri": D, "mode": "full"}, (400, "INVALID_ARGUMENT")),
        ({"uri": D, "dry_run": True}, (400, "INVALID_ARGUMENT")),
        ({"uri": f"{D}/none"}, (404, "NOT_FOUND")),
        ({"uri": "viking://~/sessions/s"}, (400, "UNSUPPORTED_URI")),
    ):
        assert d.refused("content/reindex", **body) == answer


def test_reindex_as_a_task_runs_once_at_a_time(idle: Any) -> None:
    api, services = idle
    api.write(f"{D}/a.md", "words")
    accepted = api.post("content/reindex", uri=D, wait=False)
    assert accepted["status"] == "accepted"
    assert api.refused("content/reindex", uri=D) == (409, "CONFLICT")
    services.tenancy.worker.drain(services.tenancy.accounts.of("default"), 30)
    assert api.post("content/reindex", uri=D)["status"] == "completed"


def test_reindex_of_what_is_not_ones_own(tenants: Callable[[str, str], Any]) -> None:
    alice, bob = tenants("acme", "alice"), tenants("acme", "bob")
    alice.write("viking://~/memories/m.md", "x")
    alice.write(f"{D}/a.md", "x")
    assert alice.post("content/reindex", uri=D)["status"] == "completed"
    assert bob.refused("content/reindex", uri=D) == (403, "PERMISSION_DENIED")
    assert bob.post("content/reindex", uri="viking://~")["status"] == "completed"
    assert bob.refused("content/reindex", uri="viking://user/alice/memories") == (403, "PERMISSION_DENIED")
    assert alice.refused("content/reindex", uri="viking://user/bob/memories") == (403, "PERMISSION_DENIED")


def test_cp(d: Any) -> None:
    assert d.post("fs/cp", from_uri=f"{D}/a.md", to_uri=f"{D}/copy.txt") == {"from": f"{D}/a.md", "to": f"{D}/copy.txt"}
    assert d.get("content/read", uri=f"{D}/copy.txt") == d.get("content/read", uri=f"{D}/a.md")
    d.post("fs/mkdir", uri="viking://resources/e", description="all about e")
    d.post("fs/cp", from_uri=D, to_uri="viking://resources/e/d", recursive=True)
    d.post("fs/cp", from_uri="viking://resources/e", to_uri="viking://resources/f", recursive=True)
    assert d.get("content/abstract", uri="viking://resources/f").startswith("all about e")
    assert d.get("fs/attrs", uri="viking://resources/f/d/b.md")["attrs"]["tags"] == ["kind=note", "name=b"]
    assert d.post("search/find", query="wordb", target_uri="viking://resources/f", level=2)["total"] == 1
    d.delete(D, recursive=True, wait=True)
    assert d.get("content/read", uri="viking://resources/f/d/a.md").startswith("# a")
    assert d.post("search/grep", uri="viking://resources", pattern="wordc")["count"] == 2
    assert d.post("system/consistency", uri="viking://")["ok"]


def test_what_can_not_be_copied(d: Any) -> None:
    for source, target, recursive, answer in (
        (D, "viking://resources/e", False, (412, "FAILED_PRECONDITION")),
        (f"{D}/none.md", f"{D}/x.md", False, (404, "NOT_FOUND")),
        (f"{D}/a.md", f"{D}/b.md", False, (409, "ALREADY_EXISTS")),
        (f"{D}/a.md", f"{D}/a.md", False, (400, "INVALID_ARGUMENT")),
        (f"{D}/a.md", "viking://resources/none/a.md", False, (404, "NOT_FOUND")),
        (f"{D}/a.md", f"{D}/x/", False, (400, "INVALID_ARGUMENT")),
        (D, f"{D}/below", True, (400, "INVALID_ARGUMENT")),
        ("viking://resources", "viking://resources/all", True, (400, "INVALID_ARGUMENT")),
        ("viking://user", "viking://resources/all", True, (403, "PERMISSION_DENIED")),
        (f"{D}/a.md", "viking://~/skills/a.md", False, (400, "INVALID_ARGUMENT")),
        (f"{D}/a.md", f"{D}/.abstract.md", False, (400, "INVALID_ARGUMENT")),
    ):
        refused = d.refused("fs/cp", from_uri=source, to_uri=target, recursive=recursive)
        assert refused == answer, (source, target)
    assert len(d.get("fs/ls", uri=D)) == 3


def test_another_users_file_can_not_be_copied(tenants: Callable[[str, str], Any]) -> None:
    alice, bob = tenants("acme", "alice"), tenants("acme", "bob")
    alice.write("viking://~/memories/m.md", "secret")
    for source in ("viking://user/alice/memories/m.md", "viking://user"):
        assert bob.refused("fs/cp", from_uri=source, to_uri="viking://~/memories/m.md", recursive=True) == (
            403,
            "PERMISSION_DENIED",
        )


def test_what_listings_tell(d: Any) -> None:
    d.post("fs/mkdir", uri=f"{D}/sub", description="about subs")

    def ls(**params: Any) -> dict[str, Any]:
        found: list[Any] = d.get("fs/ls", uri=D, **params)
        return {entry["uri"].rpartition("/")[2]: entry for entry in found}

    assert ls(output="original", include_tags=True)["a.md"]["tags"] == ["kind=note", "name=a"]
    assert list(ls(tags="name=b")) == ["b.md"]
    assert list(ls(tags=["kind=note", "name=b"])) == list(ls(tags="kind=note,name=b")) == ["b.md"]
    assert len(ls(tags="nonsense")) == 4
    assert ls(output="original", include_abstract=True)["sub"]["abstract"] == "about subs"
    assert "worda" in ls(include_abstract=True)["a.md"]["abstract"]
    assert "abstract" not in ls(include_abstract=False)["sub"]
    told = ls(include_overview=True, overview_limit=10)
    assert all(0 < len(entry["overview"]) <= 10 for entry in told.values())
    extra = ls(extra_fields=["name", "id", "type", "nonsense"])["a.md"]
    assert (extra["name"], extra["type"], extra["id"]) == ("a.md", "file", d.get("fs/stat", uri=f"{D}/a.md")["id"])
    assert list(ls(show_all_hidden=True))[:2] == [".abstract.md", ".overview.md"]
    paged = [name for offset in range(6) for name in ls(show_all_hidden=True, limit=1, offset=offset)]
    assert paged == list(ls(show_all_hidden=True))
    assert d.get("content/read", uri=f"{D}/.abstract.md")
    only = d.call("GET", "fs/tree", params={"uri": "viking://resources", "directories_only": True, "limit": 1}).json()
    assert [one["rel_path"] for one in only["result"]] == ["d"]
    assert (only["total"], only["has_more"]) == (2, True)
    assert [one["rel_path"] for one in d.get("fs/tree", uri=D, tags="name=c", include_tags=True)] == ["c.md"]
    assert d.call("GET", "fs/ls", params={"uri": D, "overview_limit": -1}).status_code == 400
    assert d.refused("fs/mkdir", uri=f"{D}/m", acl={"a": 1}) == (501, "UNIMPLEMENTED")


def test_consistency_of_what_is_not_there_or_not_ones_own(d: Any) -> None:
    assert d.refused("system/consistency", uri=f"{D}/none") == (404, "NOT_FOUND")
    audit = d.post("system/consistency", uri=D)
    assert (audit["ok"], audit["missing_records"], audit["problems"]) == (True, [], [])
    d.post("content/reindex", uri=D)
    assert d.post("system/consistency", uri=D)["expected_count"] >= 3
