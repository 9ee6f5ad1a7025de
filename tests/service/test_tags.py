"""Tags: they narrow every search, belong to the node, and survive what happens to it."""

from __future__ import annotations

import pytest

from openviking import OpenViking
from openviking.errors import InvalidArgumentError

R = "viking://resources/tagged"
FILES = [f"{R}/a.md", f"{R}/b.md", *(f"{R}/d/{number}.md" for number in range(3)), f"{R}/other.md"]


@pytest.fixture
def tagged(ov: OpenViking) -> OpenViking:
    for uri in FILES:
        ov.write(uri, f"A note on krill, kept at {uri.rpartition('/')[2]}.\n", mode="create")
    ov.set_tags(f"{R}/a.md", ["team=search", "env=prod"])
    ov.set_tags(f"{R}/b.md", ["team=search"])
    ov.set_tags(f"{R}/d", ["env=prod"], recursive=True)
    return ov


def found(ov: OpenViking, *tags: str) -> set[str]:
    by_find = {hit.uri for hit in ov.find("krill", R, tags=tags, level=2, limit=50)}
    by_grep = {match.uri for match in ov.grep(R, "krill", tags=tags)}
    by_glob = {match["uri"] for match in ov.glob("**/*.md", R, tags=tags)}
    assert by_find == by_grep == by_glob
    return {uri.removeprefix(f"{R}/") for uri in by_find}


def test_all_tags_must_be_carried(tagged: OpenViking) -> None:
    assert found(tagged, "team=search") == {"a.md", "b.md"}
    assert found(tagged, "team=search", "env=prod") == {"a.md"}
    assert found(tagged, "env=prod") == {"a.md", "d/0.md", "d/1.md", "d/2.md"}
    assert found(tagged, " ENV=Prod ") == {"a.md", "d/0.md", "d/1.md", "d/2.md"}
    assert found(tagged, "nope=1") == set()


def test_tags_survive_a_rewrite_and_a_move(tagged: OpenViking) -> None:
    tagged.write(f"{R}/a.md", "Rewritten, still on krill.\n")
    tagged.mv(f"{R}/a.md", f"{R}/moved.md")
    tagged.mv(f"{R}/d", f"{R}/e")
    tagged.wait_processed(30)
    assert found(tagged, "team=search", "env=prod") == {"moved.md"}
    assert found(tagged, "env=prod") == {"moved.md", "e/0.md", "e/1.md", "e/2.md"}


def test_modes(tagged: OpenViking) -> None:
    tagged.set_tags(f"{R}/b.md", ["env=test"], mode="append")
    assert tagged.attrs(f"{R}/b.md")["attrs"]["tags"] == ["env=test", "team=search"]
    tagged.set_tags(f"{R}/b.md", ["env=prod"], mode="append")
    assert tagged.attrs(f"{R}/b.md")["attrs"]["tags"] == ["env=prod", "team=search"]
    tagged.set_tags(f"{R}/b.md", [])
    assert tagged.attrs(f"{R}/b.md")["attrs"]["tags"] == []
    tagged.set_tags(f"{R}/a.md", [], mode="clear")
    assert found(tagged, "team=search") == set()


def test_what_is_no_tag_is_counted_and_changes_nothing(tagged: OpenViking) -> None:
    bad = ["x", "a=b=c", "k=" + "v" * 5000]
    answer = tagged.set_tags(f"{R}/a.md", bad)
    assert (answer["skipped_count"], answer["tags_updated"]) == (3, False)
    assert tagged.attrs(f"{R}/a.md")["attrs"]["tags"] == ["env=prod", "team=search"]
    with pytest.raises(InvalidArgumentError, match="x"):
        tagged.find("krill", R, tags=["x"])
    # grep and glob drop what is no tag, as documented.
    assert tagged.grep(R, "krill", tags=["x"]).total == len(FILES)


def test_tags_are_no_files(tagged: OpenViking) -> None:
    listed = {entry["uri"] for entry in tagged.tree(R, show_all_hidden=True)}
    assert listed == {*FILES, f"{R}/d"}
    assert tagged.grep(R, "team=search").total == 0
