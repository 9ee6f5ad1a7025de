"""Which candidates are chosen and in which order: quotas, back-fill, penalties, exclusions (contract/retrieval.md §5.4, §5.12)."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openviking.context.candidates import Candidate, candidate_of, with_events
from openviking.context.categories import BUCKETS, CATEGORIES
from openviking.context.exclusion import Exclusion, excluded
from openviking.context.parameters import ContextRequest, checked_context
from openviking.context.selection import overfetch, peer_width_of, select, width_of
from openviking.model.hit import Hit
from openviking.model.identity import Identity

ANN = Identity("acme", "ann", "user", actor_peer="bob")
HOME = "viking://user/ann"
TODAY = date(2026, 3, 15)


def some(category: str, *scores: float, origin: Any = "self") -> list[Candidate]:
    return [
        Candidate(f"viking://x/{category}/{number}.md", category, score, origin) for number, score in enumerate(scores)
    ]


def scores(request: ContextRequest, found: list[Candidate], exclusion: Exclusion = Exclusion()) -> list[float]:  # noqa: B008
    return [one.score for one in select(request, found, exclusion).candidates]


def found_by(uri: str, score: float = 0.5, level: int = 2, **more: Any) -> Candidate:
    kind = "memory" if "/memories" in uri else "skill" if "/skills" in uri else "resource"
    candidate = candidate_of(ANN, Hit(uri, kind, level, score, "about it", **more))
    assert candidate is not None
    return candidate


def test_the_coding_example() -> None:
    found = [
        *some("events", 0.90, 0.80, 0.70, 0.60), *some("entities", 0.50),
        *some("resources", 0.85, 0.75, 0.65, 0.55, 0.45), *some("skills", 0.40),
    ]  # fmt: skip
    chosen = scores(checked_context(query="a", purpose="coding"), found)
    assert chosen == [0.90, 0.85, 0.80, 0.75, 0.70, 0.65, 0.60, 0.55, 0.50, 0.40]


def test_each_bucket_takes_its_own_first_however_good_the_others_are() -> None:
    request = checked_context(query="a", quotas={"events": 2, "skills": 1})
    assert scores(request, [*some("events", 0.9, 0.8, 0.7, 0.6), *some("skills", 0.1, 0.05)]) == [0.9, 0.8, 0.1]
    assert scores(request, some("events", 0.9, 0.8, 0.7, 0.6)) == [0.9, 0.8, 0.7]


def test_a_bucket_without_quota_gets_no_spare_slot() -> None:
    request = checked_context(query="a", quotas={"events": 3, "entities": 0})
    found = [*some("events", 0.5), *some("entities", 0.9), *some("resources", 0.8), *some("memories", 0.7)]
    assert scores(request, found) == [0.5]
    assert scores(checked_context(query="a", quotas={"events": 0}), found) == []


def test_without_quotas_the_best_of_all_are_taken() -> None:
    found = [*some("events", 0.5, 0.4), *some("memories", 0.7), *some("resources", 0.6)]
    assert scores(checked_context(query="a", limit=3), found) == [0.7, 0.6, 0.5]


def test_what_two_searches_found_is_one_candidate_with_the_better_score() -> None:
    uri = "viking://resources/a.md"
    twice = [found_by(uri, 0.4, lines=(1, 2)), found_by(uri, 0.6, lines=(5, 9)), found_by(uri, 0.5)]
    (one,) = select(checked_context(query="a"), twice).candidates
    assert (one.score, one.lines) == (0.6, (5, 9))


def test_a_directory_found_by_both_sidecars_is_one() -> None:
    found = [
        found_by("viking://resources/d/.overview.md", 0.6, 1),
        found_by("viking://resources/d/.abstract.md", 0.5, 0),
    ]
    (one,) = select(checked_context(query="a"), found).candidates
    assert (one.uri, one.score) == ("viking://resources/d", 0.6)


def test_five_files_of_a_package_take_one_slot() -> None:
    package = f"{HOME}/skills/pdf"
    found = [found_by(f"{package}/{number}.md", 0.9 - number / 100) for number in range(5)]
    found += [found_by(f"{package}/.abstract.md", 0.2, 0), found_by("viking://agent/skills/csv/SKILL.md", 0.1)]
    chosen = select(checked_context(query="a", quotas={"skills": 2}), found).candidates
    assert [(one.uri, one.score) for one in chosen] == [
        (f"{package}/SKILL.md", 0.9), ("viking://agent/skills/csv/SKILL.md", 0.1)
    ]  # fmt: skip
    assert chosen[0].abstract == "about it"


def test_an_archive_and_its_event_take_one_slot_with_the_better_score() -> None:
    archive, event = f"{HOME}/sessions/s/history/archive_001", f"{HOME}/memories/events/2026/03/15/talk.md"
    found = [found_by(f"{archive}/messages.jsonl", 0.8, lines=(7, 7)), found_by(event, 0.6, lines=(3, 4))]
    (one,) = select(checked_context(query="a", quotas={"events": 3}), with_events(found, {archive: event})).candidates
    assert (one.uri, one.score, one.abstract, one.lines, one.archive) == (event, 0.8, "about it", (3, 4), archive)


def test_another_peers_score_loses_its_penalty_in_rank_alone() -> None:
    actor = found_by(f"{HOME}/peers/bob/memories/events/a.md", 0.55)
    other = found_by(f"{HOME}/peers/eve/memories/events/b.md", 0.60)
    assert scores(checked_context(query="a"), [other, actor]) == [0.55, 0.60]
    assert scores(checked_context(query="a", other_peer_penalty=0), [other, actor]) == [0.60, 0.55]
    assert scores(checked_context(query="a", other_peer_penalty={"entities": 0.0}), [other, actor]) == [0.55, 0.60]


def test_actor_self_and_another_peer() -> None:
    found = [
        found_by(f"{HOME}/memories/events/c.md", 0.80),
        found_by(f"{HOME}/peers/eve/memories/events/b.md", 0.89),
        found_by(f"{HOME}/peers/bob/memories/events/a.md", 0.91),
    ]
    assert scores(checked_context(query="a", other_peer_penalty=0.1), found) == [0.91, 0.80, 0.89]


@pytest.mark.parametrize(("score", "penalty"), [(0.6, 0.1), (0.7, 0.1), (0.3, 0.1), (0.9, 0.3)])
def test_equal_ranks_go_to_the_actor_then_to_oneself(score: float, penalty: float) -> None:
    rank = round(score - penalty, 6)
    found = [
        found_by(f"{HOME}/peers/eve/memories/events/0.md", score),
        found_by(f"{HOME}/memories/events/1.md", rank),
        found_by(f"{HOME}/peers/bob/memories/events/3.md", rank),
        found_by(f"{HOME}/peers/bob/memories/events/2.md", rank),
    ]
    chosen = select(checked_context(query="a", other_peer_penalty=penalty), found).candidates
    assert [one.uri[-4] for one in chosen] == ["2", "3", "1", "0"]


def test_what_is_excluded_leaves_its_slot_to_others() -> None:
    found = [*some("events", 0.9, 0.8, 0.7), *some("entities", 0.6)]
    request = checked_context(query="a", quotas={"events": 1, "entities": 1})
    selection = select(request, [*found, *found], Exclusion(frozenset({"viking://x/events/0.md"})))
    assert [one.score for one in selection.candidates] == [0.8, 0.6]
    assert selection.excluded == 1


def test_a_context_type_narrows_the_buckets() -> None:
    found = [found_by(f"{HOME}/memories/events/a.md"), found_by("viking://resources/a.md", 0.9)]
    chosen = select(checked_context(query="a", purpose="chat", context_type="memory"), found).candidates
    assert [one.category for one in chosen] == ["events"]


@pytest.mark.parametrize(
    ("width", "left_out", "asked"), [(10, 3, 13), (10, 200, 30), (10, 0, 10), (10, 20, 30), (1, 1, 2), (0, 9, 0)]
)
def test_overfetch(width: int, left_out: int, asked: int) -> None:
    assert overfetch(width, left_out) == asked


def test_widths_of_searches() -> None:
    three = Exclusion(frozenset({"viking://a", "viking://b"}), frozenset({"viking://b", "viking://c"}))
    free, coding = checked_context(query="a", limit=5), checked_context(query="a", purpose="coding")
    assert width_of(free, three) == 8
    assert peer_width_of(free, three) == 23
    assert width_of(coding, three) == 13
    assert peer_width_of(coding, three, "events") == 13
    assert peer_width_of(checked_context(query="a", quotas={"events": 4, "entities": 1}), three, "events") == 19


# --- exclusion -----------------------------------------------------------------------------------------------------

DOCS = "viking://resources/docs"
PDF = f"{HOME}/skills/pdf"


@pytest.mark.parametrize(
    ("named", "uri", "level", "drops"),
    [
        (DOCS, f"{DOCS}/a.md", 2, True),
        (DOCS, f"{DOCS}/deep/er/a.md", 2, True),
        (f"{DOCS}/", f"{DOCS}/.overview.md", 1, True),
        (DOCS, "viking://resources/docs2/a.md", 2, False),
        (f"{DOCS}/a.md", f"{DOCS}/a.md", 2, True),
        (f"{DOCS}/a.md#L3-L9", f"{DOCS}/a.md", 2, True),
        (f"{DOCS}/a.md", f"{DOCS}/a.md.bak", 2, False),
        (f"{DOCS}/.abstract.md", f"{DOCS}/.abstract.md", 0, True),
        (f"{DOCS}/.abstract.md", f"{DOCS}/.overview.md", 1, False),
        (f"{DOCS}/.abstract.md", f"{DOCS}/a.md", 2, False),
        (f"{PDF}/SKILL.md", f"{PDF}/references/a.md", 2, True),
        (f"{PDF}/SKILL.md", f"{PDF}/.abstract.md", 0, True),
        (PDF, f"{PDF}/references/a.md", 2, True),
        (f"{PDF}/references/a.md", f"{PDF}/references/a.md", 2, True),
        (f"{PDF}/references/a.md", f"{PDF}/b.md", 2, False),
        ("viking://~/memories/events", f"{HOME}/memories/events/2026/a.md", 2, True),
        ("viking://~/memories/events/{calendar:today}", f"{HOME}/memories/events/2026/03/15/a.md", 2, True),
        ("viking://", f"{DOCS}/a.md", 2, True),
        ("viking://resources/../user", f"{HOME}/memories/events/a.md", 2, False),
        ("docs", f"{DOCS}/a.md", 2, False),
        (f"{DOCS}/a.md#top", f"{DOCS}/a.md", 2, False),
    ],
)
def test_named_uris_exclude_themselves_and_what_is_below(named: str, uri: str, level: int, drops: bool) -> None:
    assert excluded([named], user="ann", today=TODAY).drops(found_by(uri, level=level)) is drops


def test_cooled_uris_exclude_exactly() -> None:
    exclusion = excluded([], user="ann", today=TODAY, cooled=[DOCS, f"{PDF}/SKILL.md"])
    assert exclusion.drops(found_by(f"{DOCS}/.overview.md", level=1))
    assert not exclusion.drops(found_by(f"{DOCS}/a.md"))
    assert exclusion.drops(found_by(f"{PDF}/references/a.md"))
    assert exclusion.count == 2


def test_a_package_stays_where_one_of_its_files_is_excluded() -> None:
    found = [found_by(f"{PDF}/a.md", 0.9), found_by(f"{PDF}/b.md", 0.5)]
    selection = select(checked_context(query="a"), found, excluded([f"{PDF}/a.md"], user="ann", today=TODAY))
    assert [one.score for one in selection.candidates] == [0.5]
    assert selection.excluded == 0


# --- whatever was found --------------------------------------------------------------------------------------------

CANDIDATES = st.lists(
    st.builds(
        lambda number, category, score, origin: Candidate(f"viking://x/{number}", category, score, origin),
        st.integers(0, 30), st.sampled_from(CATEGORIES), st.integers(0, 20).map(lambda tenth: tenth / 20),
        st.sampled_from(["self", "actor_peer", "other_peer"]),
    ),
    max_size=40, unique_by=lambda one: one.uri,
)  # fmt: skip
REQUESTS = st.one_of(
    st.builds(lambda limit: checked_context(query="a", limit=limit), st.integers(1, 12)),
    st.dictionaries(st.sampled_from(BUCKETS), st.integers(0, 4), min_size=1).map(
        lambda quotas: checked_context(query="a", quotas=quotas)
    ),
)


@given(CANDIDATES, REQUESTS, st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_any_selection_keeps_to_its_quotas_and_to_no_order_of_searches(
    found: list[Candidate], request: ContextRequest, random: Any
) -> None:
    chosen = select(request, found).candidates
    shuffled = list(found)
    random.shuffle(shuffled)
    assert select(request, [*shuffled, *found]).candidates == chosen
    taken = [one for one in found if request.quotas is None or one.category in request.active]
    assert len(chosen) == min(request.total, len(taken))
    for bucket in request.active:
        there = sum(one.category == bucket for one in taken)
        assert request.quotas is not None
        assert sum(one.category == bucket for one in chosen) >= min(there, request.quotas[bucket])


def test_a_better_record_brings_what_only_the_other_knows() -> None:
    one = Candidate("viking://x/a", "events", 0.4, abstract="known", lines=(1, 2))
    two = replace(one, score=0.8, abstract=None, lines=None, archive="viking://x/archive")
    (joined,) = select(checked_context(query="a"), [one, two]).candidates
    assert joined == replace(two, abstract="known", lines=(1, 2))
