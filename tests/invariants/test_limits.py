"""Invariant 9: limits on the output never limit what is scanned, moved, deleted or counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from openviking import OpenViking
from openviking.errors import NotFoundError

ROOT = "viking://resources"
COUNT = 1205

Fill = Callable[[OpenViking, Mapping[str, str]], None]


@pytest.mark.cpu_budget(15)
def test_1205_files_in_one_directory_are_moved_grepped_listed_and_removed(ov: OpenViking, fill: Fill) -> None:
    files = {f"resources/big/f{number:04}.md": f"common word\nnumber {number}" for number in range(1, COUNT + 1)}
    last = f"resources/big/f{COUNT:04}.md"
    files[last] += "\nneedleq"
    files["resources/big/sub/x.md"] = "below zorblax"
    fill(ov, files)
    big, moved = f"{ROOT}/big", f"{ROOT}/moved"
    ov.set_tags(f"{big}/f0001.md", ["k=v"])
    ov.wait_processed(60)
    created = ov.find("", big, tags=["k=v"], time_field="created_at", since="1h")
    assert [hit.uri for hit in created] == [f"{big}/f0001.md"]

    [match] = ov.grep(big, "needleq")
    assert (match.uri, match.line) == (f"viking://{last}", 3)
    common = ov.grep(big, "common")
    assert (common.count, common.total, common.truncated, common.files_scanned) == (256, COUNT, True, COUNT + 1)
    everything = ov.grep(big, "common", node_limit=None)
    assert (everything.count, everything.truncated) == (COUNT, False)
    globbed = ov.glob("*.md", big)
    assert (globbed.count, globbed.total, globbed.truncated) == (256, COUNT, True)
    assert ov.glob("**", big, node_limit=0).count == COUNT + 2

    listing = ov.ls(big, simple=True)
    assert (len(listing), listing.total, listing.has_more) == (1000, COUNT + 1, True)
    rest = ov.ls(big, simple=True, offset=1000)
    assert (len(rest), rest.has_more) == (COUNT + 1 - 1000, False)
    assert [*listing, *rest] == [*(f"{big}/f{number:04}.md" for number in range(1, COUNT + 1)), f"{big}/sub"]
    tree = ov.tree(big, simple=True, node_limit=7)
    assert (len(tree), tree.total, tree.has_more) == (7, COUNT + 2, True)
    assert str(COUNT + 1) in ov.abstract(big)

    ov.mv(big, moved)
    with pytest.raises(NotFoundError):
        ov.ls(big)
    for number in (1, 1000, 1001, 1050, COUNT):
        assert ov.read(f"{moved}/f{number:04}.md").splitlines()[1] == f"number {number}"
        with pytest.raises(NotFoundError):
            ov.read(f"{big}/f{number:04}.md")
    assert ov.ls(moved).total == COUNT + 1
    assert [hit.uri for hit in ov.find("needleq", level=2)] == [f"{moved}/f{COUNT:04}.md"]
    assert [hit.uri for hit in ov.find("zorblax", level=2)] == [f"{moved}/sub/x.md"]
    assert ov.find("needleq zorblax common", big, limit=50).total == 0
    assert {hit.uri.startswith(moved) for hit in ov.find("common", ROOT, level=2, limit=2000)} == {True}
    assert ov.find("common", ROOT, level=2, limit=2000).total == COUNT
    assert ov.grep(ROOT, "common").total == COUNT
    assert [hit.uri for hit in ov.find("", ROOT, tags=["k=v"])] == [f"{moved}/f0001.md"]
    assert ov.stat(moved)["count"] >= COUNT

    removed = ov.rm(moved, recursive=True)
    assert removed["estimated_deleted_count"] == COUNT + 3
    assert ov.find("common", ROOT, level=2).total == ov.grep(ROOT, "common").total == 0
    assert ov.wait_processed(60)["waiting"] == {}
    assert ov.status()["files"] == 0
    assert ov.check() == []


def test_what_is_removed_leaves_no_ghost_at_once(ov: OpenViking, fill: Fill) -> None:
    """Neither in its own records, nor in abstracts and overviews above that told of it."""
    files = {f"resources/top/l1/l2/l3/f{number}.md": f"# Zorblax {number}\n\nquuxify" for number in range(10)}
    files["resources/top/other.md"] = "# Something else\n\nentirely"
    fill(ov, files)
    ov.wait_processed(60)
    above = [f"{ROOT}/top/l1/l2/l3", f"{ROOT}/top/l1/l2", f"{ROOT}/top/l1", f"{ROOT}/top", ROOT]
    assert ov.find("zorblax", level=[0, 1]).total
    assert "Zorblax" in ov.overview(above[0])
    ov.rm(f"{ROOT}/top/l1", recursive=True)
    assert ov.find("zorblax quuxify").total == 0
    for uri in above[:3]:
        with pytest.raises(NotFoundError):
            ov.overview(uri)
    for uri in above[3:]:
        for text in (ov.abstract(uri), ov.overview(uri), ov.read(f"{uri}/.overview.md"), str(ov.ls(uri))):
            assert "orblax" not in text
            assert "l1" not in text
    ov.write(f"{ROOT}/top/l1/l2/l3/f1.md", "# New\n\nonly frobnicate", "create")
    assert ov.find("zorblax quuxify").total == 0
    assert [hit.uri for hit in ov.find("frobnicate", level=2)] == [f"{ROOT}/top/l1/l2/l3/f1.md"]
    ov.wait_processed(60)
    assert ov.find("zorblax quuxify").total == 0
    assert ov.find("frobnicate", level=[0, 1]).total
    assert ov.check() == []


def test_a_stale_summary_is_never_shown_however_many_there_are(ov: OpenViking, fill: Fill) -> None:
    """More directories than one reader makes anew for the texts above them: each of those listed is made all the same."""
    fill(ov, {f"resources/d{number:03}/e/a.md": f"# Zorblax{number}" for number in range(300)})
    ov.wait_processed(60)
    assert ov.grep(ROOT, "Zorblax").total == 300
    store = ov._accounts.store(ov._identity)
    fill(ov, {f"resources/d{number:03}/e/a.md": "# Else" for number in range(300)})
    for entry in ov.ls(ROOT):
        assert "orblax" not in entry["abstract"]
        assert "not ready" not in entry["abstract"]
    assert "orblax" not in ov.overview(ROOT)
    with store.read() as view:
        assert view.dirty(10)
    ov.wait_processed(60)
    assert "Else" in ov.overview(f"{ROOT}/d299/e")
    assert not any("not ready" in entry["abstract"] for entry in ov.ls(ROOT))
