"""The answers of every call, member by member: clients read these names and values."""

from __future__ import annotations

import re
from typing import Any

import pytest

from openviking import OpenViking
from openviking.errors import ConflictError, InvalidArgumentError

R = "viking://resources/shapes"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def filled(ov: OpenViking) -> OpenViking:
    for name in ("b.md", "a.md", "d/deep/er/most/x.md", ".hidden.md"):
        ov.write(f"{R}/{name}", f"Krill in {name}.\n", mode="create")
    ov.set_tags(f"{R}/a.md", ["team=sea"])
    ov.wait_processed(30)
    return ov


def names(entries: list[Any]) -> list[str]:
    return [entry["uri"].removeprefix(f"{R}/") for entry in entries]


def test_ls(filled: OpenViking) -> None:
    entries = filled.ls(R)
    assert names(entries) == ["a.md", "b.md", "d"]
    assert set(entries[0]) == {"uri", "size", "isDir", "modTime", "abstract"}
    assert (entries[0]["size"], entries[0]["isDir"], entries[0]["abstract"]) == (15, False, "")
    assert (entries[2]["size"], entries[2]["isDir"]) == (0, True)
    assert entries[2]["abstract"].startswith("d (1 entry: deep/")
    assert all(TIME.fullmatch(entry["modTime"]) for entry in entries)
    assert (entries.total, entries.has_more) == (3, False)
    own = [".abstract.md", ".overview.md"]
    assert names(filled.ls(R, show_all_hidden=True)) == [*own, ".hidden.md", "a.md", "b.md", "d"]
    assert list(filled.ls(R, simple=True)) == [f"{R}/a.md", f"{R}/b.md", f"{R}/d"]
    page = filled.ls(R, node_limit=1, offset=1)
    assert (names(page), page.total, page.has_more) == (["b.md"], 3, True)


def test_ls_original(filled: OpenViking) -> None:
    entries = filled.ls(R, output="original")
    assert set(entries[0]) == {"name", "size", "mode", "modTime", "isDir", "meta", "uri"}
    assert [(entry["name"], entry["mode"]) for entry in entries] == [("a.md", 0o644), ("b.md", 0o644), ("d", 0o755)]
    assert set(filled.tree(R, output="original")[0]) == {"name", "size", "mode", "modTime", "isDir", "rel_path", "uri"}


def test_ls_order(filled: OpenViking) -> None:
    assert names(filled.ls(R, sort_by="name")) == ["d", "a.md", "b.md"]
    assert names(filled.ls(R, sort_by="name", sort_order="desc")) == ["d", "b.md", "a.md"]
    filled.write(f"{R}/b.md", "Newer krill.\n")
    by_time = names(filled.ls(R, sort_by="mtime"))
    assert by_time[0] == "d"
    assert by_time.index("a.md") < by_time.index("b.md")
    assert names(filled.ls(R, sort_by="mtime", sort_order="desc")) == ["d", "b.md", "a.md"]


def test_tree_and_recursive_ls(filled: OpenViking) -> None:
    three = ["a.md", "b.md", "d", "d/deep", "d/deep/er"]
    for entries in (filled.ls(R, recursive=True), filled.tree(R)):
        assert [entry["rel_path"] for entry in entries] == three == names(entries)
        assert set(entries[0]) == {"uri", "size", "isDir", "modTime", "abstract", "rel_path"}
    assert names(filled.tree(R, level_limit=9)) == [*three, "d/deep/er/most", "d/deep/er/most/x.md"]
    page = filled.tree(R, node_limit=2, offset=1)
    assert (names(page), page.total, page.has_more) == (["b.md", "d"], 5, True)
    with pytest.raises(InvalidArgumentError, match="sort_by"):
        filled.ls(R, recursive=True, sort_by="name")


def test_stat_and_attrs(filled: OpenViking) -> None:
    file = filled.stat(f"{R}/a.md")
    modified = file.pop("modTime")
    assert TIME.fullmatch(modified)
    assert filled.read(file.pop("id")) == filled.read(f"{R}/a.md")
    assert file == {
        "name": "a.md", "size": 15, "mode": 0o644, "isDir": False, "isLocked": False, "meta": {}, "uri": f"{R}/a.md"
    }  # fmt: skip
    directory = filled.stat(R)
    # Three files, the hidden one is no record, and two summaries of each of five directories.
    assert (directory["isDir"], directory["mode"], directory["count"]) == (True, 0o755, 13)
    assert filled.attrs(f"{R}/a.md") == {
        "uri": f"{R}/a.md",
        "context_type": "resource",
        "attrs": {"tags": ["team=sea"], "encoding": "utf-8", "origin": "extractive"},
    }
    assert filled.attrs(R)["attrs"] == {"tags": [], "origin": "extractive", "stored": True}
    filled.mkdir(f"{R}/new", "What is new.")
    assert filled.attrs(f"{R}/new")["attrs"] == {"tags": [], "origin": "description", "stored": False}


def test_changes(filled: OpenViking) -> None:
    written = filled.write(f"{R}/a.md", "More krill.\n")
    assert written == {
        "uri": f"{R}/a.md", "root_uri": R, "context_type": "resource", "mode": "replace", "written_bytes": 12,
        "content_updated": True, "semantic_status": "queued", "vector_status": "skipped", "queue_status": None,
    }  # fmt: skip
    again = filled.write(f"{R}/a.md", "More krill.\n", wait=True)
    assert (again["content_updated"], again["semantic_status"]) == (False, "complete")
    assert filled.mkdir(f"{R}/empty") == {"uri": f"{R}/empty"}
    for existing in (f"{R}/empty", "viking://resources"):
        with pytest.raises(ConflictError) as caught:
            filled.mkdir(existing)
        assert caught.value.code == "CONFLICT"
    assert filled.mv(f"{R}/a.md", f"{R}/c.md") == {"from": f"{R}/a.md", "to": f"{R}/c.md"}
    assert filled.rm(f"{R}/d", recursive=True) == {
        "uri": f"{R}/d", "estimated_deleted_count": 5, "semantic_root_uri": R, "semantic_status": "queued"
    }  # fmt: skip
    assert filled.rm(f"{R}/d")["estimated_deleted_count"] == 0
    assert filled.set_tags(f"{R}/c.md", ["x=1", "bad"]) == {
        "uri": f"{R}/c.md", "updated_uris": [f"{R}/c.md"], "root_uri": f"{R}/c.md", "context_type": "resource",
        "tags": ["x=1"], "mode": "replace", "success_count": 1, "skipped_count": 1, "failed_count": 0, "tags_updated": True,
    }  # fmt: skip


def test_find(filled: OpenViking) -> None:
    result = filled.find("krill a", R, level=2, limit=1, explain=True, read_content=True)
    wire = result.to_dict()
    assert set(wire) == {"memories", "resources", "skills", "total", "retrieval"}
    assert (wire["total"], wire["retrieval"]) == (1, {"vectors": {"have": 0, "of": 3}, "degraded": []})
    [hit] = wire["resources"]
    assert (hit.pop("score"), hit.pop("explain")) == (
        result.hits[0].score,
        [{"name": name, "value": value} for name, value in result.hits[0].explain or ()],
    )
    assert hit == {
        "context_type": "resource", "uri": f"{R}/a.md", "level": 2, "category": "", "match_reason": "", "relations": [],
        "abstract": result.hits[0].abstract, "overview": None, "tags": ["team=sea"], "lines": [1, 1],
        "snippet": "Krill in a.md.", "content": "Krill in a.md.\n",
    }  # fmt: skip
    assert result.hits[0].is_leaf
    assert result.hits[0].citation == f"{R}/a.md#L1-L1"


def test_grep(filled: OpenViking) -> None:
    wire = filled.grep(
        R, "krill in [ab]", case_insensitive=True, node_limit=1, before_context=2, include_tags=True
    ).to_dict()
    assert wire == {
        "matches": [{"uri": f"{R}/a.md", "line": 1, "content": "Krill in a.md.", "before_context": [], "tags": ["team=sea"]}],
        "count": 1, "match_count": 1, "files_scanned": 3, "truncated": True, "total": 2,
    }  # fmt: skip
    assert filled.grep(R, "Krill", level_limit=4).count == 2
    assert filled.grep(R, "Krill", level_limit=5).count == 3
    assert [match.uri for match in filled.grep(R, "Krill", exclude_uri=f"{R}/d")] == [f"{R}/a.md", f"{R}/b.md"]


def test_glob(filled: OpenViking) -> None:
    assert filled.glob("*", R).to_dict() == {
        "matches": [f"{R}/a.md", f"{R}/b.md", f"{R}/d/"], "count": 3, "truncated": False, "total": 3
    }  # fmt: skip
    cut = filled.glob("**/*.md", R, node_limit=1)
    assert (cut.count, cut.total, cut.truncated) == (1, 3, True)
    assert list(filled.glob("a.md", R, extra_fields=[])) == [{"uri": f"{R}/a.md", "isDir": False}]
    fields = ["name", "path", "type", "size", "mode", "mtime", "locked", "id", "unknown"]
    [one] = filled.glob("a.md", R, extra_fields=fields)
    assert set(one) == {"uri", "isDir", *fields} - {"unknown"}
    assert (one["name"], one["type"], one["size"], one["mode"], one["locked"]) == ("a.md", "file", 15, 0o644, False)
    assert 1_600_000_000 < one["mtime"] < 10_000_000_000
    assert [match["type"] for match in filled.glob("d", R, extra_fields=["type"])] == ["dir"]
    assert list(filled.glob("*.md", R, tags=["team=sea"])) == [{"uri": f"{R}/a.md", "tags": ["team=sea"]}]
    assert list(filled.glob("b.md", R, include_tags=True)) == [{"uri": f"{R}/b.md", "tags": []}]
