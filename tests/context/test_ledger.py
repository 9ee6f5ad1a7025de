"""The ledger of what a session was served: cooling, writing, and what cannot be read (contract/retrieval.md §5.11)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openviking.context.assembly import Entry
from openviking.context.ledger import FILE, MOST_RECORDS, Ledger, Served, read_ledger, turn_of
from openviking.context.tiers import TIERS

A, B = "viking://resources/a.md", "viking://resources/b.md"


def entry(uri: str, detail: Any = "abstract") -> Entry:
    return Entry(uri, "resources", 0.5, detail, "text")


def test_the_example_of_five_turns() -> None:
    ledger = Ledger().after([entry(A)], 30, 5)
    assert [turn for turn in range(25, 45) if A in ledger.cooled(turn, 5)] == [30, 31, 32, 33, 34]


def test_a_bare_uri_is_never_cooled() -> None:
    ledger = Ledger().after([entry(A, "uri"), entry(B, "full")], 30, 5)
    assert ledger.cooled(30, 5) == {B}


def test_a_package_is_cooled_by_its_skill_file() -> None:
    ledger = Ledger().after([entry("viking://agent/skills/pdf/SKILL.md")], 1, 3)
    assert ledger.cooled(2, 3) == {"viking://agent/skills/pdf/SKILL.md"}


def test_records_of_the_future_and_old_ones_are_not_kept() -> None:
    turns = {"ahead": 31, "now": 30, "four windows": 10, "before that": 9}
    ledger = Ledger({f"viking://resources/{name}": Served(turn, "full") for name, turn in turns.items()})
    assert "viking://resources/ahead" not in ledger.cooled(30, 5)
    assert {uri.rpartition("/")[2] for uri in ledger.after([entry(A)], 30, 5).entries} == {
        "now",
        "four windows",
        "a.md",
    }


def test_the_newest_500_are_kept() -> None:
    ledger = Ledger({f"viking://resources/{number}": Served(number // 10, "full") for number in range(600)})
    kept = ledger.after([entry(A)], 60, 100).entries
    assert len(kept) == MOST_RECORDS
    assert A in kept
    assert min(one.turn for one in kept.values()) == 10


def test_what_is_served_again_counts_from_then() -> None:
    ledger = Ledger().after([entry(A)], 3, 5).after([entry(A, "overview")], 9, 5)
    assert ledger.entries == {A: Served(9, "overview")}
    assert ledger.updated_turn == 9


def test_what_is_stored() -> None:
    told = json.loads(Ledger().after([entry(A), entry(B, "uri")], 7, 5).to_json())
    assert told == {
        "version": 1,
        "updated_turn": 7,
        "entries": {A: {"turn": 7, "detail": "abstract"}, B: {"turn": 7, "detail": "uri"}},
    }
    assert FILE == ".recall_log.json"


@pytest.mark.parametrize(
    "text",
    [
        None, "", "{", "[]", "null", "7", '"x"', '{"version": 1}', '{"version": 2, "entries": {}}', "[" * 100_000,
        '{"version": 1, "entries": []}', '{"entries": {}}', "\0", '{"version": 1, "entries": {}' + " " * (5 << 20) + "}",
    ],
    ids=range(14),
)  # fmt: skip
def test_what_cannot_be_read_is_no_ledger(text: str | None) -> None:
    assert read_ledger(text) is None


def test_records_that_make_no_sense_are_left_out() -> None:
    records: dict[str, Any] = {
        A: {"turn": 3, "detail": "full", "more": 1},
        "b": {"turn": "3", "detail": "full"},
        "c": {"turn": True, "detail": "full"},
        "d": {"turn": -1, "detail": "full"},
        "e": {"turn": 3.0, "detail": "full"},
        "f": {"turn": 3, "detail": "all"},
        "g": {"turn": 3, "detail": ["full"]},
        "h": [3, "full"],
        "i": {"turn": 10**400, "detail": "full"},
    }
    told = {"version": 1, "updated_turn": "x", "entries": records}
    assert read_ledger(json.dumps(told)) == Ledger({A: Served(3, "full")}, 0)


def test_any_ledger_that_was_read_can_be_written() -> None:
    ledger = read_ledger('{"version": 1, "entries": {"\\ud800": {"turn": 1, "detail": "full"}}}')
    assert ledger is not None
    assert read_ledger(ledger.after([entry(A)], 1, 5).to_json().encode().decode()) is not None


def test_turns() -> None:
    assert turn_of(30, 4) == 30
    assert turn_of(0, 4) == 4


SERVED = st.dictionaries(st.text(max_size=8), st.sampled_from(TIERS), max_size=8)


@given(st.lists(st.tuples(st.integers(0, 60), SERVED), max_size=6), st.integers(1, 10), st.integers(0, 12))
@settings(max_examples=30)
def test_what_is_written_is_read_again_and_cools_what_was_told_lately(
    story: list[tuple[int, dict[str, Any]]], window: int, later: int
) -> None:
    ledger = Ledger()
    last: dict[str, tuple[int, str]] = {}
    for turn, served in sorted(story, key=lambda one: one[0]):
        ledger = ledger.after([entry(uri, detail) for uri, detail in served.items()], turn, window)
        last |= {uri: (turn, detail) for uri, detail in served.items()}
    again, now = read_ledger(ledger.to_json()), ledger.updated_turn + later
    assert again == ledger
    assert again is not None
    assert again.cooled(now, window) == {
        uri for uri, (turn, detail) in last.items() if detail != "uri" and now < turn + window
    }
