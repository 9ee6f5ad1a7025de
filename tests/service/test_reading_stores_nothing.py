"""Who reads gets a directory's L0 and L1 as they are now, and neither stores anything nor waits for a writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from openviking import OpenViking
from openviking.ingest.sidecars import CurrentSidecars

ROOT = "viking://resources"

Fill = Callable[[OpenViking, Mapping[str, str | bytes]], None]


def test_a_listing_shows_what_is_listed_however_much_is_stale_below(ov: OpenViking, fill: Fill) -> None:
    """The listed directories come first, not the deepest ones."""
    fill(ov, {f"resources/d{number:03}/e/f/a.md": f"# Zorblax{number}\n\nAbout it." for number in range(300)})
    for entry in ov.ls(ROOT):
        assert "not ready" not in entry["abstract"]
        assert "e/" in entry["abstract"]
    for entry in ov.tree(ROOT, level_limit=4, node_limit=5000):
        assert entry["isDir"] is False or "not ready" not in entry["abstract"]
    assert "Zorblax7" in ov.abstract(f"{ROOT}/d007/e/f")
    assert "d299/" in ov.read(f"{ROOT}/.overview.md") or "more" in ov.overview(ROOT)


def test_reading_changes_nothing_in_the_store(ov: OpenViking, fill: Fill) -> None:
    fill(ov, {f"resources/d{number}/a.md": f"# Zorblax{number}" for number in range(5)})
    store = ov._accounts.store(ov._identity)
    before = ov.status()
    for read in (ov.ls, ov.tree, ov.abstract, ov.overview, ov.stat, ov.attrs):
        read(ROOT)
    ov.read(f"{ROOT}/.abstract.md")
    ov.download(f"{ROOT}/.overview.md")
    assert ov.status() == before
    with store.read() as view:
        assert view.dirty(100)


def test_reading_does_not_wait_for_a_writer(ov: OpenViking, fill: Fill, place: Path) -> None:
    fill(ov, {"resources/d/a.md": "# Zorblax"})
    other = sqlite3.connect(place / "accounts" / "default" / "store.db", timeout=0)
    try:
        other.execute("BEGIN IMMEDIATE")
        [entry] = ov.ls(ROOT)
        assert "a.md" in entry["abstract"]
        assert "a.md" in ov.overview(f"{ROOT}/d")
    finally:
        other.close()


def test_what_is_read_is_what_the_job_stores(ov: OpenViking, fill: Fill) -> None:
    fill(
        ov,
        {
            "resources/docs/guide/README.md": "# Guide\n\nHow to release a version.",
            "resources/docs/guide/steps/a.md": "# Step one",
            "resources/docs/api/x.py": '"""The API."""\n\ndef call(): ...\n',
        },
    )
    uris = [ROOT, f"{ROOT}/docs", f"{ROOT}/docs/guide", f"{ROOT}/docs/guide/steps"]
    now = [(ov.abstract(uri), ov.overview(uri)) for uri in uris]
    assert "How to release" in now[1][1]
    ov.wait_processed(60)
    assert [(ov.abstract(uri), ov.overview(uri)) for uri in uris] == now


def test_what_is_made_for_one_reader_is_bounded(ov: OpenViking, fill: Fill) -> None:
    """Beyond the bound a text names directories without saying what they are about; a wanted one is always made."""
    fill(ov, {f"resources/d{number}/README.md": f"# About{number}\n\nIt is about {number}." for number in range(6)})
    store = ov._accounts.store(ov._identity)
    with store.read() as view:
        sidecars = CurrentSidecars(view, below=2)
        overview = sidecars.of("resources").overview
        assert [f"It is about {number}" in overview for number in range(6)] == [True, True, *[False] * 4]
        assert all(f"d{number}/" in overview for number in range(6))
        assert "It is about 5" in sidecars.of("resources/d5").abstract


@pytest.mark.parametrize("abs_limit", [0, 2, 40])
def test_an_abstract_is_cut_where_it_was_asked_to(ov: OpenViking, fill: Fill, abs_limit: int) -> None:
    fill(ov, {"resources/d/README.md": "# Title\n\n" + "long sentence " * 30})
    [entry] = ov.ls(ROOT, abs_limit=abs_limit)
    assert len(entry["abstract"]) <= max(abs_limit, 3)
