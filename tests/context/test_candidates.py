"""From hits to candidates: addresses, categories, origins, packages, and what is never one (contract/retrieval.md §5.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from openviking.context.candidates import (
    candidate_of,
    category_of,
    origin_of,
    with_abstracts,
    with_events,
)
from openviking.model.hit import Hit
from openviking.model.identity import Identity

ANN = Identity("acme", "ann", "user", actor_peer="bob")
HOME = "viking://user/ann"
ARCHIVE = f"{HOME}/sessions/s1/history/archive_002"
SKILL = f"{HOME}/skills/pdf"


def hit(uri: str, level: int = 2, score: float = 0.5, **more: Any) -> Hit:
    kind = "memory" if "/memories" in uri else "skill" if "/skills" in uri else "resource"
    fields: dict[str, Any] = {"uri": uri, "context_type": kind, "level": level, "score": score, "abstract": "about it"}
    return Hit(**(fields | more))


@pytest.mark.parametrize(
    ("uri", "category"),
    [
        (f"{HOME}/memories/events/2026/01/02/x.md", "events"),
        (f"{HOME}/memories/entities/software/x.md", "entities"),
        (f"{HOME}/memories/preferences/x.md", "preferences"),
        (f"{HOME}/memories/experiences/x.md", "experiences"),
        (f"{HOME}/memories/events", "events"),
        (f"{HOME}/memories/cases/x.md", "memories"),
        (f"{HOME}/memories/tools/x.md", "memories"),
        (f"{HOME}/memories/identity.md", "memories"),
        (f"{HOME}/peers/bob/memories/events/x.md", "events"),
        (f"{HOME}/peers/bob/memories/patterns/x.md", "memories"),
        (f"{HOME}/peers/memories/memories/events/x.md", "events"),
        ("viking://user/memories/memories/entities/x.md", "entities"),
        ("viking://agent/coder/memories/experiences/x.md", "experiences"),
        (f"{HOME}/peers/bob/resources/memories/events/x.md", "resources"),
        ("viking://resources/memories/events/x.md", "resources"),
        (f"{HOME}/resources/x.md", "resources"),
        ("viking://agent/skills/x/SKILL.md", "skills"),
        (f"{SKILL}/SKILL.md", "skills"),
        (f"{ARCHIVE}/messages.jsonl", "events"),
        (f"{HOME}/sessions/s1/messages.jsonl", "resources"),
    ],
)
def test_categories(uri: str, category: str) -> None:
    assert category_of(uri) == category
    found = candidate_of(ANN, hit(uri))
    assert found is not None
    assert found.category == category


def test_the_bucket_that_found_it_is_the_category() -> None:
    found = candidate_of(ANN, hit(f"{HOME}/peers/bob/resources/x.md"), "resources")
    assert found is not None
    assert found.category == "resources"


@pytest.mark.parametrize(
    ("uri", "origin"),
    [
        (f"{HOME}/peers/bob/memories/events/x.md", "actor_peer"),
        (f"{HOME}/peers/bobby/memories/events/x.md", "other_peer"),
        (f"{HOME}/peers/eve/resources/x.md", "other_peer"),
        (f"{HOME}/memories/events/x.md", "self"),
        (f"{HOME}/peers", "self"),
        ("viking://resources/user/ann/peers/eve/x.md", "self"),
        ("viking://agent/skills/x/SKILL.md", "self"),
    ],
)
def test_origins(uri: str, origin: str) -> None:
    assert origin_of(ANN, uri) == origin


def test_without_an_actor_every_peer_is_another() -> None:
    assert origin_of(replace(ANN, actor_peer=None), f"{HOME}/peers/bob/memories/events/x.md") == "other_peer"


@pytest.mark.parametrize(
    "uri",
    [
        f"{HOME}/memories/profile.md",
        f"{HOME}/peers/bob/memories/profile.md",
        *(
            f"{place}/{name}"
            for name in (".abstract.md", ".overview.md")
            for place in (
                "viking://resources", "viking://agent", "viking://agent/skills", "viking://agent/endpoints",
                "viking://agent/tools", "viking://agent/payments", HOME, f"{HOME}/memories", f"{HOME}/resources",
                f"{HOME}/privacy", f"{HOME}/peers", f"{HOME}/skills", f"{HOME}/sessions", "viking://user",
            )
        ),
        f"{HOME}/skills/.cache/x.md",
        "viking://agent/skills/.hidden/.abstract.md",
        "viking://agent/coder/skills/.abstract.md",
    ],
)  # fmt: skip
def test_profiles_and_preset_directories_are_never_candidates(uri: str) -> None:
    level = 0 if uri.endswith(".abstract.md") else 1 if uri.endswith(".overview.md") else 2
    assert candidate_of(ANN, hit(uri, level, score=0.99)) is None


@pytest.mark.parametrize(
    "uri",
    [
        "viking://resources/profile.md",
        f"{HOME}/memories/entities/profile.md",
        f"{HOME}/resources/people/profile.md",
        "viking://resources/docs/.overview.md",
        f"{HOME}/memories/events/.abstract.md",
    ],
)
def test_what_only_looks_like_them_is_one(uri: str) -> None:
    assert candidate_of(ANN, hit(uri, 2 if "profile" in uri else 1)) is not None


@pytest.mark.parametrize(("name", "level"), [(".abstract.md", 0), (".overview.md", 1)])
def test_a_directory_is_spelled_without_its_sidecar(name: str, level: int) -> None:
    found = candidate_of(ANN, hit(f"viking://resources/docs/{name}", level, lines=None))
    assert found is not None
    assert (found.uri, found.directory) == ("viking://resources/docs", True)
    assert found.hit_uri == f"viking://resources/docs/{name}"
    # An overview's own text is no abstract of the directory.
    assert found.abstract == ("about it" if level == 0 else None)


@pytest.mark.parametrize(
    ("uri", "level", "known"),
    [
        (f"{SKILL}/.abstract.md", 0, True),
        (f"{SKILL}/.overview.md", 1, False),
        (f"{SKILL}/SKILL.md", 2, False),
        (f"{SKILL}/references/a.md", 2, False),
        (f"{SKILL}/references/.abstract.md", 0, False),
    ],
)
def test_every_record_of_a_package_is_its_skill_file(uri: str, level: int, known: bool) -> None:
    found = candidate_of(ANN, hit(uri, level, lines=(3, 9)))
    assert found is not None
    assert (found.uri, found.package, found.category) == (f"{SKILL}/SKILL.md", SKILL, "skills")
    assert not found.directory
    assert found.abstract == ("about it" if known else None)
    assert found.lines == ((3, 9) if uri.endswith("SKILL.md") else None)


@pytest.mark.parametrize(
    "uri", [f"{HOME}/skills/readme.md", "viking://resources/skills/pdf/SKILL.md", f"{HOME}/memories/skills/pdf.md"]
)
def test_what_is_in_no_package(uri: str) -> None:
    found = candidate_of(ANN, hit(uri))
    assert found is not None
    assert (found.uri, found.package) == (uri, "")


def test_abstracts_that_no_hit_brought_are_read_once_for_each_package() -> None:
    found = [candidate_of(ANN, hit(f"{SKILL}/{name}.md")) for name in "ab"]
    other = candidate_of(ANN, hit("viking://agent/skills/csv/SKILL.md"))
    known = candidate_of(ANN, hit("viking://resources/a.md"))
    asked: list[list[str]] = []

    def read(uris: Any) -> dict[str, str]:
        asked.append(list(uris))
        return {SKILL: "pdf: reads them"}

    candidates = [one for one in (*found, other, known) if one is not None]
    told = with_abstracts(candidates, read)
    assert asked == [[SKILL, "viking://agent/skills/csv"]]
    assert [one.abstract for one in told] == ["pdf: reads them", "pdf: reads them", "", "about it"]
    assert with_abstracts(told, read) == told
    assert len(asked) == 1


def test_an_archive_is_its_event_where_there_is_one() -> None:
    event = f"{HOME}/memories/events/2026/01/02/talk-1-2.md"
    uris = [f"{ARCHIVE}/messages.jsonl", f"{ARCHIVE[:-1]}3/messages.jsonl"]
    candidates = [one for uri in uris if (one := candidate_of(ANN, hit(uri, lines=(4, 5)))) is not None]
    told = with_events(candidates, {ARCHIVE: event})
    assert [one.uri for one in told] == [event, uris[1]]
    assert (told[0].context_type, told[0].abstract, told[0].lines, told[0].hit_uri) == ("memory", None, None, uris[0])
    assert told[1] == candidates[1]
