"""Why a record is not among the hits: every reason, with the values that it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.embedders import HashEmbedder
from tests.stubs.scripted import Script, Scripted

from openviking import OpenViking
from openviking.config.settings import EmbeddingSettings, RerankSettings, Settings
from openviking.errors import InvalidArgumentError, InvalidURIError
from openviking.index.unmet import spelled, unmet
from openviking.model.condition import AllOf, AnyOf, Below, Between, Condition, Constant, Not, OneOf, TextMatch
from openviking.model.hit import FindResult, Hit
from openviking.model.identity import Identity
from openviking.model.missing import Missing
from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.retrieve.missing import Wanted, across
from openviking.service.authentication import Rules
from openviking.service.services import Services
from openviking.store.sqlite.view import SqliteView

ME = Identity(account="default", user="default", role="user")
ROOT = Identity(account="default", user="default", role="root")
PLACE = "viking://resources"
HERONS = 30
EVENT = "viking://user/default/memories/events/old.md"

FILES = {
    **{f"herons/{number:02}.md": "heron " * (HERONS - number) + "sand " * (3 * number) for number in range(HERONS)},
    "copy/of.md": "heron " * HERONS,
    ".hidden.md": "heron",
    "blank.md": "  \n",
    "other.md": "A gull, and nothing else.\n",
    "best/nest.md": "heron nest",
    "best/far.md": "a crane",
    "dunlin/n.md": "report " + " ".join(f"w{number}" for number in range(60)) + " dunlin",
}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    settings = Settings(
        path=tmp_path_factory.mktemp("missing") / "data", workers=0, embedding=EmbeddingSettings(provider="none")
    )
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    for path, text in FILES.items():
        services.content.write(ROOT, f"{PLACE}/{path}", text, "create")
    services.content.write(ROOT, EVENT, "heron heron heron", "create")
    services.content.write(ROOT, "viking://user/bob/memories/a.md", "heron", "create")
    services.fs.set_tags(ROOT, f"{PLACE}/herons/00.md", ["env=prod"])
    store = services.tenancy.accounts.of("default")
    with store._connections.writing() as sql:  # type: ignore[attr-defined]
        sql.execute("UPDATE nodes SET updated_at = 1000000000000 WHERE name IN ('29.md', 'old.md')")
        sql.execute("INSERT INTO tags SELECT id, 'memory_type=events' FROM nodes WHERE name = 'old.md'")
    services.system.wait_processed(ROOT)
    services.content.write(ROOT, f"{PLACE}/stale/x.md", "heron", "create")
    yield services
    services.close()


def asked(services: Services, uri: str, query: str = "heron", call: str = "find", **options: Any) -> Missing:
    options.setdefault("limit", 3)
    method = getattr(services.search, call)
    found: FindResult = method(ME, query, explain_missing=[uri], **options)
    (one,) = found.missing or ()
    assert one.uri == uri
    assert one.message
    return one


LEAF = {"op": "contains", "field": "uri", "substring": "/best/"}
ANY = {"op": "or", "conds": [LEAF, {"op": "must", "field": "name", "conds": ["x"]}]}
SIX = f"{PLACE}/herons/06.md"

REASONS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any] | None]] = {
    "found": (f"{PLACE}/herons/00.md#L1-L1", {"level": 2}, "found", {"rank": 1}),
    "absent": (f"{PLACE}/none.md", {}, "not_found", {}),
    "of somebody else": ("viking://user/bob/memories/a.md", {}, "not_found", {}),
    "not there, of somebody else": ("viking://user/bob/memories/none.md", {}, "not_found", {}),
    "hidden": (f"{PLACE}/.hidden.md", {}, "hidden_file", {}),
    "blank": (f"{PLACE}/blank.md", {}, "empty", {}),
    "stale directory": (f"{PLACE}/stale", {}, "not_prepared", {}),
    "elsewhere": (SIX, {"target_uri": f"{PLACE}/best"}, "outside_target", {}),
    "type": (SIX, {"context_type": "memory"}, "context_type", {"value": "resource"}),
    "level": (SIX, {"level": [0, 1]}, "level", {"value": [2]}),
    "no level": (SIX, {"level": [5]}, "level", {"value": [2]}),
    "level of a directory": (f"{PLACE}/best/.abstract.md", {"level": 2}, "level", {"value": [0, 1]}),
    "tag": (SIX, {"tags": ["env=prod"]}, "tag", {"value": "env=prod"}),
    "since": (f"{PLACE}/herons/29.md", {"since": "1d"}, "since", {"value": "2001-09-09T01:46:40.000Z"}),
    "until": (SIX, {"until": "2001-09-10"}, "until", None),
    "leaf": (SIX, {"filter": {"op": "and", "conds": [{"op": "must", "field": "level", "conds": [2]}, LEAF]}}, "filter", {"filter": LEAF}),
    "alternatives": (SIX, {"filter": {"op": "and", "conds": [ANY]}}, "filter", {"filter": ANY}),
    "no word": (f"{PLACE}/other.md", {}, "no_match", {}),
    "threshold": (SIX, {"score_threshold": 0.99}, "below_threshold", {"threshold": 0.99}),
    "copy": (f"{PLACE}/copy/of.md", {"level": 2}, "duplicate", {"duplicate_of": "viking://resources/herons/00.md"}),
    "behind its file": (f"{PLACE}/dunlin", {"query": "dunlin", "limit": 1}, "behind_files", None),
    "time": (EVENT, {"events_time_decay_protection": "1d", "target_uri": [EVENT, f"{PLACE}/herons"]}, "faded", None),
    "rank": (SIX, {"level": 2, "target_uri": f"{PLACE}/herons"}, "below_cut", {"rank": 7, "of": HERONS, "cut": 3}),
    "newest": (f"{PLACE}/herons/29.md", {"query": "", "context_type": "resource", "level": 2, "target_uri": f"{PLACE}/herons"}, "below_cut", {"rank": HERONS, "of": HERONS, "cut": 3}),
    "walk": (SIX, {"strategy": "hierarchical", "level": 2, "limit": 1}, "below_cut", {"of": 21, "cut": 1}),
    "keywords": (f"{PLACE}/other.md", {"call": "search", "search_type": "keywords"}, "no_match", {}),
}  # fmt: skip


@pytest.mark.parametrize(("uri", "options", "reason", "details"), REASONS.values(), ids=REASONS)
def test_a_reason(
    services: Services, uri: str, options: dict[str, Any], reason: str, details: dict[str, Any] | None
) -> None:
    one = asked(services, uri, **options)
    assert (one.reason, one.message) == (reason, one.message)
    if details is not None:
        assert {name: one.details[name] for name in details} == details


def test_what_may_not_be_seen_is_told_like_what_is_not_there(services: Services) -> None:
    there = asked(services, "viking://user/bob/memories/a.md")
    absent = asked(services, "viking://user/bob/memories/b.md")
    assert (there.message, there.details) == (absent.message, absent.details)


def test_a_rank_and_a_score_are_those_of_a_longer_list(services: Services) -> None:
    whole = services.search.find(ME, "heron", limit=1000).hits
    for rank, hit in enumerate(whole, 1):
        one = asked(services, hit.uri)
        if one.reason == "found":
            assert rank <= 3
        else:
            assert (one.details["rank"], one.details["of"]) == (rank, len(whole))
            assert one.details["score"] == pytest.approx(hit.score, abs=1e-6)


def test_the_newest_are_read_once_for_all_that_are_asked_for(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, limits = SqliteView.records, []

    def counted(view: SqliteView, scope: Scope, limit: int) -> list[tuple[Node, int]]:
        limits.append(limit)
        return read(view, scope, limit)

    monkeypatch.setattr(SqliteView, "records", counted)
    uris = [f"{PLACE}/herons/{number:02}.md" for number in range(10, 29)]
    found = services.search.find(
        ME, "", f"{PLACE}/herons", context_type="resource", level=2, limit=3, explain_missing=uris
    )
    assert [one.reason for one in found.missing or ()].count("below_cut") > 10
    assert sum(limit > 1_000 for limit in limits) == 1


def test_one_search_answers_for_many(services: Services) -> None:
    uris = [f"{PLACE}/herons/{number:02}.md" for number in range(20)]
    result = services.search.find(ME, "heron", explain_missing=uris, limit=5, level=2, target_uri=f"{PLACE}/herons")
    told = result.to_dict()["missing"]
    assert [one["uri"] for one in told] == uris
    assert [one["rank"] for one in told] == [*range(1, 21)]
    assert [one["reason"] for one in told] == ["found"] * 5 + ["below_cut"] * 15
    assert "missing" not in services.search.find(ME, "heron", explain_missing=[]).to_dict()


@pytest.mark.parametrize("value", [["x"] * 3 + [f"{PLACE}/{n}" for n in range(20)], 7, [7], {"uri": PLACE}])
def test_what_is_no_list_of_uris(services: Services, value: Any) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        services.search.find(ME, "heron", explain_missing=value)
    assert error.value.details["field"] == "explain_missing"
    with pytest.raises(InvalidURIError):
        services.search.find(ME, "heron", explain_missing="viking://nothing/x")


def test_vectors_that_are_to_come(tmp_path: Path) -> None:
    settings = Settings(path=tmp_path / "data", workers=0)
    embedder = HashEmbedder()
    with_vectors = Services(settings, Rules.of(None, None, "127.0.0.1"), embedder=embedder)
    try:
        write = with_vectors.content.write
        write(ROOT, f"{PLACE}/a.md", "heron sand", "create")
        with_vectors.system.wait_processed(ROOT)
        write(ROOT, f"{PLACE}/b.md", "gull", "create")
        write(ROOT, f"{PLACE}/c.md", "heron", "create")
        assert asked(with_vectors, f"{PLACE}/b.md").reason == "vector_pending"
        words = asked(with_vectors, f"{PLACE}/c.md", score_threshold=0.9)
        assert (words.reason, words.details["vector"]) == ("below_threshold", "pending")
        with_vectors.system.wait_processed(ROOT)
        assert "too far" in asked(with_vectors, f"{PLACE}/b.md").message
        assert "vector" not in asked(with_vectors, f"{PLACE}/c.md", score_threshold=0.99).details
    finally:
        with_vectors.close()


def test_a_file_without_text(tmp_path: Path) -> None:
    (tmp_path / "p.bin").write_bytes(b"\x00\xff\xfe\x00")
    with OpenViking(tmp_path / "data", workers=0) as ov:
        report = ov.add_resource(tmp_path / "p.bin", wait=True)
        (one,) = ov.find("p", explain_missing=f"{report.root_uri}/p.bin").missing or ()
    assert one.reason == "no_text"


def test_several_queries_are_accounted_for_together() -> None:
    hits = (Hit("viking://resources/a.md", "resource", 2, 0.9, ""),)
    asked = [Wanted("viking://resources/a.md", "resources/a.md"), Wanted("b", "resources/b.md"), Wanted("c", None)]
    absent = Missing("c", "not_found", "…")
    told = across(
        asked,
        [
            ("one", [Missing("a", "below_cut", "…", {"score": 0.5}), Missing("b", "found", "…", {"rank": 4}), absent]),
            ("two", [Missing("a", "found", "…", {"rank": 2}), Missing("b", "no_match", "…"), absent]),
        ],
        hits,
    )
    assert [(one.reason, one.details) for one in told] == [
        ("found", {"rank": 1, "query": "two"}),
        ("below_cut", {"cut": 1, "query": "one"}),
        ("not_found", {"query": "one"}),
    ]


CONDITIONS: dict[str, tuple[Condition, dict[str, Any]]] = {
    "all": (AllOf((Constant(True), Constant(False))), {"op": "and", "conds": [{"op": "always"}, {"op": "never"}]}),
    "must_not": (Not(OneOf("name", ("x",))), {"op": "must_not", "field": "name", "conds": ["x"]}),
    "must_not of two fields": (
        Not(AnyOf((OneOf("name", ("x",)), Below(("a/b",), 1)))),
        {"op": "and", "conds": [
            {"op": "must_not", "field": "name", "conds": ["x"]},
            {"op": "must_not", "field": "uri", "conds": ["viking://a/b"], "para": "-d=1"},
        ]},
    ),
    "below": (Below(("a",)), {"op": "must", "field": "uri", "conds": ["viking://a"]}),
    "range": (Between("level", 1, 2, above=True), {"op": "range", "field": "level", "gt": 1, "lte": 2}),
    "range_out": (Between("level", None, 2, outside=True, below=True), {"op": "range_out", "field": "level", "lt": 2}),
    "regex": (TextMatch("uri", "regex", "a+"), {"op": "regex", "field": "uri", "pattern": "a+"}),
    "not": (Not(Constant(True)), {"op": "not", "conds": [{"op": "always"}]}),
}  # fmt: skip


@pytest.mark.parametrize(("condition", "told"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_is_spelled_as_a_filter(condition: Condition, told: dict[str, Any]) -> None:
    assert spelled(condition) == told


def test_the_part_that_does_not_hold() -> None:
    first, second, third = (OneOf("name", (name,)) for name in "abc")
    tree = AllOf((first, AllOf((second, third))))
    assert unmet(tree, lambda part: part in (first, second)) == third
    assert unmet(AnyOf((first, second)), lambda _: False) == AnyOf((first, second))
    assert unmet(tree, lambda _: True) == tree


def test_what_a_rerank_model_does(tmp_path: Path) -> None:
    with Scripted() as stub:
        rerank = RerankSettings(api_base=stub.rerank_url, api_key="k", timeout=5.0, threshold=0.1)
        settings = Settings(
            path=tmp_path / "data", workers=0, embedding=EmbeddingSettings(provider="none"), rerank=rerank
        )
        own = Services(settings, Rules.of(None, None, "127.0.0.1"))
        try:
            for path in [path for path in FILES if path.startswith("herons/")]:
                own.content.write(ROOT, f"{PLACE}/{path}", FILES[path], "create")
            stub.behave(Script(scores=[0.05, 0.5, 0.6, 0.7]))

            def told(number: int, **options: Any) -> Missing:
                return asked(
                    own, f"{PLACE}/herons/{number:02}.md", call="search", limit=2, level=2, target_uri=PLACE, **options
                )

            assert (told(3).reason, told(3).details["rank"]) == ("found", 1)
            displaced = told(1)
            assert (displaced.reason, displaced.details["rank"], displaced.details["score"]) == ("reranked", 3, 0.5)
            low = told(0)
            assert (low.reason, low.details["threshold"], low.details["score"]) == ("below_threshold", 0.1, 0.05)
            far = told(6)
            assert (far.reason, far.details["rank"], far.details["cut"]) == ("below_cut", 7, 4)
            assert told(1, rerank=False).reason == "found"
        finally:
            own.close()
