"""The file of a directory's links: both spellings, and whatever else may stand in it (contract/retrieval.md §8.8)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openviking.index.relations import MAX_BYTES, MAX_URIS, Link, count, parse_links, to_bytes, with_link, without

A, B, C = (f"viking://resources/{name}" for name in "abc")
ENTRY = {"id": "link_1", "uris": [A, B], "reason": "why", "created_at": "2026-01-01T00:00:00Z"}
READ = Link("link_1", (A, B), "why", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ([ENTRY], [READ]),
        ({"resources": {"alice": [ENTRY]}}, [READ]),
        ({"resources": {"alice": [ENTRY], "bob": [{"uris": [C]}]}, "user": "x"}, [READ, Link("", (C,))]),
        ([{"uris": C}], [Link("", (C,))]),
        ([{"uris": [A, A, 3, None, "", "\ud800", B], "id": 7, "reason": ["x"]}], [Link("", (A, B))]),
        ([{"uris": []}, {"uri": A}, 5, None, [], "x"], []),
        ([{**ENTRY, "nodes": {A: 4, B: "5", C: True, "x": 2**70}}], [Link("link_1", (A, B), "why", READ.created_at, {A: 4})]),
        ("text", []), (None, []), (3, []), ({}, []), ({"a": []}, []), ({"a": {"b": 1}}, []),
    ],
)  # fmt: skip
def test_what_is_read(told: Any, read: list[Link]) -> None:
    assert parse_links(json.dumps(told).encode()) == read


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"[NaN, Infinity]", b'[{"uris": ["x"]}]' + b" " * MAX_BYTES]
)
def test_nonsense_is_no_link(data: bytes) -> None:
    assert parse_links(data) == []


@settings(max_examples=40)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["uris", "reason", "nodes", "id", "x"]), inner), max_leaves=20))  # fmt: skip
def test_what_was_read_can_be_written(told: Any) -> None:
    # Hypothesis makes NaN too, which json writes and reads.
    links = parse_links(json.dumps(told).encode())
    again = parse_links(to_bytes(links))
    assert [(one.id, one.uris, one.reason) for one in again] == [(one.id, one.uris, one.reason) for one in links]


def test_too_many_are_cut() -> None:
    data = json.dumps([{"uris": [f"{A}/{number}" for number in range(700)]}] * 3).encode()
    assert count(parse_links(data)) == MAX_URIS


def test_the_smallest_free_number() -> None:
    links = [Link(name, (f"{A}/{name}",)) for name in ("link_1", "link_3", "other")]
    links = with_link(links, {B: 9}, "r", "t")
    assert links[-1] == Link("link_2", (B,), "r", "t", {B: 9})
    assert with_link(links, {C: 8}, "", "")[-1].id == "link_4"


def test_an_entry_without_uris_goes() -> None:
    links = [READ, Link("link_2", (B,))]
    assert without(links, [B]) == [Link("link_1", (A,), "why", READ.created_at)]
    assert without(links, ["viking://x"]) == links
