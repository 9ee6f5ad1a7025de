"""Answers of several queries made one (contract/retrieval.md §4.4)."""

from __future__ import annotations

from openviking.model.hit import Hit
from openviking.retrieve.across import appended, fused


def hit(name: str, score: float, duplicate_of: str | None = None) -> Hit:
    uri = f"viking://resources/{name}"
    other = None if duplicate_of is None else f"viking://resources/{duplicate_of}"
    return Hit(uri, "resource", 2, score, "", duplicate_of=other)


def told(hits: tuple[Hit, ...]) -> list[tuple[str, float]]:
    return [(one.uri.removeprefix("viking://resources/"), one.score) for one in hits]


def test_ten_and_seven_are_seventeen() -> None:
    first = [hit(f"{number}", 1 - number / 100) for number in range(10)]
    second = [hit(f"{number}", 0.95 - number / 100) for number in range(3, 10)]
    assert len(appended([first, second])) == 17
    assert appended([first, second])[10] == second[0]
    assert appended([]) == ()


def test_the_best_score_counts() -> None:
    assert told(fused([[hit("a", 0.5), hit("b", 0.4)], [hit("b", 0.6), hit("a", 0.3)]], 10)) == [("b", 0.6), ("a", 0.5)]
    assert told(fused([[hit("b", 0.5)], [hit("a", 0.5)]], 10)) == [("a", 0.5), ("b", 0.5)]
    assert told(fused([[hit("a", 0.5), hit("b", 0.4)], [hit("c", 0.6)]], 2)) == [("c", 0.6), ("a", 0.5)]
    assert fused([], 10) == ()


def test_a_directory_counts_once() -> None:
    first, second = hit("d/.abstract.md", 0.5), hit("d/.overview.md", 0.6)
    assert told(fused([[first], [second, hit("d", 0.1)]], 10)) == [("d/.overview.md", 0.6), ("d", 0.1)]


def test_copies_come_last_whichever_query_calls_them_so() -> None:
    answers = [
        [hit("a", 0.9), hit("c", 0.3), hit("b", 0.8, "a")],
        [hit("b", 0.7), hit("x", 0.6), hit("a", 0.5, "b")],
        [hit("e", 0.2), hit("b", 0.1, "e")],
    ]
    found = fused(answers, 10)
    assert told(found) == [("a", 0.9), ("x", 0.6), ("c", 0.3), ("b", 0.8), ("e", 0.2)]
    assert [one.duplicate_of for one in found] == [None, None, None, *2 * ["viking://resources/a"]]
    assert told(fused(answers, 4)) == [("a", 0.9), ("x", 0.6), ("c", 0.3), ("b", 0.8)]
    (alone,) = fused([[hit("b", 0.7, "a")]], 10)
    assert alone.duplicate_of is None
