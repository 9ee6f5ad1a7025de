"""What a view shows: listings, walks, counts, records and words, and that it never changes while it is open."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stubs.queries import words

from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.store.batch import MakeDirectory, Move, PutFile, PutSidecars, Remove, SetTags
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore

Put = Callable[..., PutFile]
Find = Callable[[str], Node]
Listed = Callable[..., list[str]]

FILES = ["b.md", "a.md", ".hidden.md", "d/x.md", "d/.y.md", "d/e/z.md", "d.md", "d-1/w.md", ".dot/v.md", "é.md"]


@pytest.fixture
def tree(store: AccountStore, put: Put) -> AccountStore:
    store.apply([put(f"resources/{name}", f"content of {name}") for name in FILES])
    return store


def names(nodes: list[Node]) -> list[str]:
    return [node.name for node in nodes]


def test_children_in_every_order(tree: AccountStore) -> None:
    with tree.read() as view:
        assert names(view.children("resources", hidden=False)) == [
            ".dot", "a.md", "b.md", "d", "d-1", "d.md", "é.md",
        ]  # fmt: skip
        assert names(view.children("resources", hidden=True, order="kind")) == [
            ".dot", "d", "d-1", ".hidden.md", "a.md", "b.md", "d.md", "é.md",
        ]  # fmt: skip
        assert names(view.children("resources", hidden=True, order="kind", descending=True)) == [
            "d-1", "d", ".dot", "é.md", "d.md", "b.md", "a.md", ".hidden.md",
        ]  # fmt: skip
        assert names(view.children("resources", hidden=False, limit=2, offset=3)) == ["d", "d-1"]
        assert view.children("resources", hidden=False, offset=99) == []
        assert view.count_children("resources", hidden=False) == 7
        assert view.count_children("resources", hidden=True) == 8
        assert view.children("resources/a.md", hidden=True) == []
        assert view.children("resources/none", hidden=True) == []
        by_time = view.children("resources", hidden=True, order="mtime")
        assert [node.is_dir for node in by_time] == [True] * 3 + [False] * 5


def test_a_walk_is_in_pre_order_by_path_components(tree: AccountStore, listed: Listed) -> None:
    below = [path.removeprefix("resources/") for path in listed("resources")]
    assert below == [
        ".dot", ".dot/v.md", ".hidden.md", "a.md", "b.md", "d", "d/.y.md", "d/e", "d/e/z.md", "d/x.md", "d-1",
        "d-1/w.md", "d.md", "é.md",
    ]  # fmt: skip
    with tree.read() as view:
        assert [entry.depth for entry in view.walk("resources/d")] == [1, 1, 2, 1]


@pytest.mark.parametrize("depth", [1, 2, 3, None])
@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("path", ["", "resources", "resources/d", "resources/a.md", "resources/none"])
def test_counting_agrees_with_walking(tree: AccountStore, path: str, depth: int | None, hidden: bool) -> None:
    with tree.read() as view:
        entries = list(view.walk(path, depth=depth, hidden_files=hidden))
        assert view.count_below(path, depth=depth, hidden_files=hidden) == len(entries)
        if depth is not None:
            assert all(entry.depth <= depth for entry in entries)
        if not hidden:
            assert not any(entry.node.name.startswith(".") and not entry.node.is_dir for entry in entries)


def test_walks_that_are_narrowed(tree: AccountStore, listed: Listed) -> None:
    assert listed("resources/a.md") == ["resources/a.md"]
    assert listed("resources", files_only=True, excluded=["resources/d", "resources/a.md", "resources/.dot"]) == [
        "resources/.hidden.md", "resources/b.md", "resources/d-1/w.md", "resources/d.md", "resources/é.md",
    ]  # fmt: skip
    assert listed("resources", under="d/e") == ["resources/d/e", "resources/d/e/z.md"]
    assert listed("resources", under="nowhere") == []
    tree.apply([SetTags("resources/d", ("k=v",), recursive=True), SetTags("resources/d/x.md", ("j=w",), "append")])
    assert listed("resources", tags=["k=v"], files_only=True) == [
        "resources/d/.y.md", "resources/d/e/z.md", "resources/d/x.md",
    ]  # fmt: skip
    assert listed("resources", tags=["k=v", "j=w"]) == ["resources/d/x.md"]


def test_records_are_text_files_that_are_not_hidden_and_two_sidecars(tree: AccountStore, put: Put) -> None:
    tree.apply([put("resources/bytes.bin", bytes(range(256)) * 4), put("resources/empty.md", "")])
    with tree.read() as view:
        assert view.count_records("resources") == 9
        assert view.count_records("resources/d") == 2
        assert view.count_records("resources/d/x.md") == 1
        assert view.count_records("resources/.hidden.md") == 0
        assert view.count_records("resources/none") == 0
        assert {node.path for node, level in view.records(Scope(levels=(2,)), 100)} == {
            f"resources/{name}" for name in (*FILES, "empty.md") if not name.rpartition("/")[2].startswith(".")
        }
        assert view.search(words("hidden"), Scope(), 10) == []
        seen = next(one.seen for one in view.dirty(10) if one.path == "resources/d/e")
    passages = put("resources/s.md", "short").content.passages
    tree.apply([PutSidecars("resources/d/e", seen, "short", "short", "extractive", passages, passages)])
    with tree.read() as view:
        assert view.count_records("resources/d") == 4
        assert [(node.path, level) for node, level in view.records(Scope(("resources/d/e",)), 100)] == [
            ("resources/d/e", 0), ("resources/d/e", 1), ("resources/d/e/z.md", 2),
        ]  # fmt: skip


def test_the_records_of_a_stale_directory_are_not_given(tree: AccountStore, put: Put) -> None:
    with tree.read() as view:
        seen = next(one.seen for one in view.dirty(10) if one.path == "resources/d/e")
    passages = put("resources/s.md", "mentions zorblax").content.passages
    tree.apply([PutSidecars("resources/d/e", seen, "zorblax", "zorblax", "extractive", passages, passages)])

    def given() -> tuple[int, int]:
        with tree.read() as view:
            scope = Scope(("resources/d/e",), levels=(0, 1))
            return len(view.records(scope, 10)), len(view.search(words("zorblax"), scope, 10))

    assert given() == (2, 2)
    tree.apply([Remove("resources/d/e/z.md")])
    assert given() == (0, 0)


def test_scopes(tree: AccountStore, put: Put, node: Find) -> None:
    tree.apply([put("user/u/memories/m.md", "content memory"), put("user/u/skills/s/SKILL.md", "content skill")])
    tree.apply([SetTags("resources/d/x.md", ("k=v",))])
    moment = node("resources/a.md").updated_at

    def search(**fields: object) -> list[str]:
        with tree.read() as view:
            return sorted(
                candidate.node.path
                for candidate in view.search(words("content"), Scope(**fields), 100)  # type: ignore[arg-type]
            )

    everything = search()
    assert len(everything) == 10
    assert search(roots=("resources/d", "resources/a.md")) == [
        "resources/a.md",
        "resources/d/e/z.md",
        "resources/d/x.md",
    ]
    assert search(roots=()) == []
    assert search(roots=("",)) == everything
    assert search(roots=("resources/none",)) == []
    assert search(roots=("resources/d",), excluded=("resources/d/e",)) == ["resources/d/x.md"]
    assert search(context_types=("memory",)) == ["user/u/memories/m.md"]
    assert search(context_types=("memory", "skill")) == ["user/u/memories/m.md", "user/u/skills/s/SKILL.md"]
    assert search(tags=("k=v",)) == ["resources/d/x.md"]
    assert search(tags=("k=v", "k=w")) == []
    assert search(levels=(0, 1)) == []
    assert search(levels=(2,)) == everything
    assert "resources/a.md" in search(since=moment)
    assert "resources/a.md" in search(until=moment, time_field="created_at")
    assert "resources/a.md" not in search(since=moment + 1, roots=("resources/a.md",))
    assert search(until=moment - 1_000_000) == []
    tree.apply([Move("resources/d", "user/u/memories/d")])
    assert "user/u/memories/d/x.md" in search(context_types=("memory",))


@pytest.mark.parametrize("text", ["", "\n", " \t\n" * 500, "x", "a\nb", "é" * 3000, "字" * 2000, "x" * 300_000])
def test_passages_cover_a_text_and_slices_give_it_back(store: AccountStore, put: Put, node: Find, text: str) -> None:
    store.apply([put("resources/a.md", text)])
    file = node("resources/a.md")
    with store.read() as view:
        rows = view.passages(file)
        assert "".join(view.slice(file, row.start, row.end) for row in rows) == text
        position = 0
        for row in rows:
            assert row.start == position
            assert row.level == 2
            position = row.end
        assert position == len(text.encode())
    assert store.check() == []


def test_stats_add_up(tree: AccountStore, put: Put) -> None:
    tree.apply([put("resources/bytes.bin", bytes(range(256)) * 4), Remove("resources/d", recursive=True)])
    with tree.read() as view:
        stats = view.stats(0)
        prepared = put("x.md", "x").content.prepared
        assert view.stats(prepared).outdated == 0
    assert (stats.files, stats.directories) == (len(FILES) - 3 + 1, 3)
    assert stats.records == 6
    assert stats.outdated == len(FILES) - 3
    assert stats.dirty == 3
    assert tree.check() == []


# --- one state -----------------------------------------------------------------------------------------------------


def test_a_view_keeps_its_state_while_others_write(tree: AccountStore, put: Put) -> None:
    with tree.read() as view:
        before = [entry.node for entry in view.walk("")]
        writing = threading.Thread(
            target=lambda: tree.apply([Remove("resources/d", recursive=True), put("resources/a.md", "other")])
        )
        writing.start()
        writing.join()
        assert [entry.node for entry in view.walk("")] == before
        assert view.text(before[1]) is None
        with tree.read() as inner:
            assert inner.get("resources/d") is not None
    with tree.read() as view:
        assert view.get("resources/d") is None


def test_two_stores_on_one_place_see_each_other_at_once(
    open_store: Callable[[Path], AccountStore], tmp_path: Path, put: Put
) -> None:
    one, two = open_store(tmp_path / "both"), open_store(tmp_path / "both")
    for number in range(20):
        writer, reader = (one, two) if number % 2 else (two, one)
        writer.apply([put(f"resources/{number}.md", f"word{number}"), MakeDirectory("resources/d", exist_ok=True)])
        with reader.read() as view:
            assert view.get(f"resources/{number}.md") is not None
            assert len(view.search(words(f"word{number}"), Scope(), 10)) == 1
    assert one.check() == []


def test_what_was_stored_is_there_after_opening_again(
    open_store: Callable[[Path], AccountStore], tmp_path: Path, put: Put
) -> None:
    first = open_store(tmp_path / "again")
    first.apply([put("resources/a.md", "zorblax"), SetTags("resources/a.md", ("k=v",))])
    with first.read() as view:
        before = [entry.node for entry in view.walk("")], view.change, view.search(words("zorblax"), Scope(), 10)
    first.close()
    with open_store(tmp_path / "again").read() as view:
        assert (
            [entry.node for entry in view.walk("")],
            view.change,
            view.search(words("zorblax"), Scope(), 10),
        ) == before


class _Backwards:
    """An analyser of another version: the terms of names are not what they were."""

    version = 4711

    def name_terms(self, name: str) -> tuple[str, ...]:
        return (name[::-1],)


def test_another_version_of_the_analyser_makes_names_and_summaries_anew(
    open_store: Callable[[Path], AccountStore], tmp_path: Path, put: Put
) -> None:
    place = tmp_path / "names"
    first = open_store(place)
    first.apply([put("resources/zorblax/a.md", "text"), SetTags("resources/zorblax", ("k=v",))])
    with first.read() as view:
        seen = next(one.seen for one in view.dirty(10) if one.path == "resources/zorblax")
    first.apply(
        [PutSidecars("resources/zorblax", seen, "x", "y", "extractive", put("s.md", "old").content.passages, ())]
    )
    first.close()
    second = SqliteStore(place, _Backwards())
    with second.read() as view:
        assert [one.path for one in view.dirty(10)] == ["resources/zorblax", "resources"]
        assert {one.node.path for one in view.search(words("xalbroz"), Scope(), 10)} == {"resources/zorblax/a.md"}
        assert view.search(words("zorblax"), Scope(), 10) == []
        assert view.search(words("old"), Scope(), 10) == []
        change = view.change
    assert "sidecars" in second.jobs.waiting()
    assert second.check() == []
    second.close()
    with contextlib.closing(SqliteStore(place, _Backwards())) as third, third.read() as view:
        assert view.change == change
