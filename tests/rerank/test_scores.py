"""What becomes of scores and documents when a model has read them (contract/retrieval.md §4.6, §9.3)."""

from __future__ import annotations

from math import inf

import pytest

from openviking.retrieve.reranking import ELLIPSIS, MAX_DOCUMENT_CHARS, ends, fitted, rescored
from openviking.text import estimate_tokens

OWN = [0.71, 0.69, 0.66, 0.60]


@pytest.mark.parametrize(
    ("given", "scores", "notes"),
    [
        # The worked example: C has no number and keeps its own.
        ([0.05, 0.92, None, 0.31], [0.05, 0.92, 0.66, 0.31], 1),
        ([0.0, 1.0, 0.5, 0.5], [0.0, 1.0, 0.5, 0.5], 0),
        ([None, None, None, None], OWN, 1),
        # The same for all says nothing, and must not cut everything off.
        ([0.0, 0.0, 0.0, 0.0], OWN, 1),
        ([0.7, None, 0.7, None], OWN, 2),
        # Logits tell an order; the set of hits above any threshold is as large as without.
        ([-9.0, 6.0, -2.5, 0.5], [0.60, 0.71, 0.66, 0.69], 1),
        ([-9.0, 6.0, None, -9.0], [0.69, 0.71, 0.66, 0.60], 2),
        # Only the top two came back: the others follow in the order of the search.
        ([-inf, 0.3, -inf, 0.4], [0.66, 0.69, 0.60, 0.71], 1),
        ([None, 0.3, -inf, 0.4], [0.71, 0.66, 0.60, 0.69], 2),
        ([-inf, -inf, None, -inf], OWN, 1),
        ([1.0000001, 0.2, 0.1, 0.3], [1.0, 0.2, 0.1, 0.3], 0),
    ],
)
def test_scores(given: list[float | None], scores: list[float], notes: int) -> None:
    found = rescored(OWN, given)
    assert found.scores == pytest.approx(scores)
    assert len(found.notes) == notes


def test_one_document_is_scored_and_none_is_left_alone() -> None:
    assert rescored([0.5], [0.2]).scores == (0.2,)
    assert rescored([], []).scores == ()


def test_a_share_of_the_score() -> None:
    assert rescored([0.5, 0.4], [0.0, 1.0], 0.3).scores == pytest.approx((0.35, 0.58))


def test_logits_that_are_equal_keep_the_order_of_the_search() -> None:
    assert rescored([0.4, 0.5, 0.3], [7.0, 7.0, 8.0]).scores == (0.3, 0.4, 0.5)


def test_an_order_counts_among_equals_too() -> None:
    """What has every word of the query often scores the same: dealing out equal scores would leave the order to paths."""
    found = rescored([0.7, 0.7, 0.7, 0.7, 0.2], [-3.0, -1.0, 4.0, -1.0, -8.0]).scores
    assert found == pytest.approx((0.7, 0.7, 0.7, 0.7, 0.2))
    assert found[2] == 0.7 > found[1] == found[3] > found[0] > 0.699999
    assert rescored([0.0, 0.0], [-1.0, 3.0]).scores == (0.0, 0.0)


def test_a_long_document_keeps_both_ends() -> None:
    """Case 49."""
    document = "begin " + "middle " * 9_000 + "end"
    query, (cut,) = fitted("short question", [document], 128)
    assert estimate_tokens(query) + estimate_tokens(cut) <= 128
    assert cut.startswith("begin middle")
    assert cut.endswith("middle end")
    head, tail = cut.split(ELLIPSIS)
    assert 2.5 < len(head) / len(tail) < 3.5


def test_a_long_query_leaves_room_for_the_document() -> None:
    query, (cut,) = fitted("ask " * 2_000, ["word " * 2_000], 400)
    assert estimate_tokens(query) <= 300
    assert 90 <= estimate_tokens(cut) <= 400 - estimate_tokens(query)


@pytest.mark.parametrize("text", ["北极星" * 900, "🚢" * 900, "a" * 5_000, "é\n" * 3_000, "x 北🚢" * 500])
@pytest.mark.parametrize("tokens", [32, 100, 257])
def test_estimates_of_every_script_fit(text: str, tokens: int) -> None:
    cut = ends(text, tokens)
    assert tokens * 0.9 - 3 <= estimate_tokens(cut) <= tokens


def test_what_fits_is_left_as_it_is() -> None:
    assert fitted("a question", ["one", "", "x" * 900], 0) == ("a question", ["one", "", "x" * 900])
    assert fitted("a question", ["one", "two"], 128) == ("a question", ["one", "two"])


def test_no_document_is_longer_than_the_cap() -> None:
    (cut,) = fitted("q", ["begin" + "x" * 50_000 + "end"], 0)[1]
    assert len(cut) == MAX_DOCUMENT_CHARS
    assert cut.startswith("begin")
    assert cut.endswith("end")
