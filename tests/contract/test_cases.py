"""The numbered cases of contract/retrieval.md §9, by both doors; the tables at the end say where the others are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.contract.conftest import ME, PEER, Answer, Door, Inside, Opened, Wire, fill

from openviking.config.settings import EmbeddingSettings, RetrievalSettings, Settings
from openviking.model.identity import Identity
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services
from openviking.store.batch import SetTags

DOCS = "viking://resources/docs"
AUTH = f"{DOCS}/auth"
HOME = "viking://user/default"
BAD = (400, "INVALID_ARGUMENT")
DENIED = (403, "PERMISSION_DENIED")
PROD = {"op": "must", "field": "search_tags", "conds": ["env=prod"]}


def refused(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.code


def names(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.message
    return sorted(uri.rpartition("/")[2] for uri in answer.uris)


# --- 9.1 requests --------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, dict[str, Any], tuple[int, str], str]] = {
    "1 blank find": ("find", {"query": "  \t"}, BAD, "must not be empty"),
    "1 blank search": ("search", {"query": ""}, BAD, "must not be empty"),
    "3 search without words": ("search", {"query": "", "filter": PROD}, BAD, "must not be empty"),
    "4 decay without words": (
        "find",
        {"query": "", "filter": PROD, "events_time_decay_protection": "1d"},
        BAD,
        "events_time_decay_protection",
    ),
    "6 context type": ("find", {"query": "x", "context_type": "documents"}, BAD, "memory, resource, skill"),
    "8 time field": ("find", {"query": "x", "time_field": "deleted_at"}, BAD, "time_field"),
    "9 since": ("find", {"query": "x", "since": "yesterday-ish"}, BAD, "since"),
    "10 since after until": ("find", {"query": "x", "since": "2h", "until": "2001-01-01"}, BAD, "earlier than"),
    "12 tag without value": ("find", {"query": "x", "tags": ["default"]}, BAD, "'default'"),
    "12 tag twice": ("search", {"query": "x", "tags": ["a=b=c"]}, BAD, "a=b=c"),
    "12 tag without key": ("find", {"query": "x", "tags": ["=x"]}, BAD, "=x"),
    "12 tag with nothing": ("search", {"query": "x", "tags": ["x="]}, BAD, "x="),
    "17 limit 0": ("find", {"query": "x", "limit": 0}, BAD, "limit"),
    "17 limit below": ("search", {"query": "x", "limit": -1, "node_limit": 5}, BAD, "limit"),
    "17 node_limit 0": ("find", {"query": "x", "node_limit": 0}, BAD, "node_limit"),
    "26 another user": ("find", {"query": "x", "target": "viking://user/bob"}, (0, ""), ""),
    "28 uid-less": ("find", {"query": "x", "target": "viking://user/memories"}, (400, "INVALID_URI"), "viking://~/memories"),
    "30 no scope": ("find", {"query": "x", "target": "viking://skills/"}, (400, "INVALID_URI"), "skills"),
    "31 dots": ("find", {"query": "x", "target": "viking://resources/../user/x"}, DENIED, ".."),
    "36 area of a peer": (
        "find",
        {"query": "x", "target": f"viking://~/peers/{PEER}/sessions"},
        (400, "INVALID_URI"),
        "memories and resources",
    ),
    "56 below zero": ("find", {"query": "x", "events_time_decay_protection": "-1d"}, BAD, "-1d"),
    "56 weeks": ("find", {"query": "x", "events_time_decay_protection": "1w"}, BAD, "1w"),
    "56 parts": ("search", {"query": "x", "events_time_decay_protection": "1.5h"}, BAD, "1.5h"),
    "56 no unit": ("find", {"query": "x", "events_time_decay_protection": "7"}, BAD, "7"),
    "56 number": ("find", {"query": "x", "events_time_decay_protection": 7}, BAD, ""),
    "105 blank pattern": ("glob", {"pattern": " "}, BAD, "pattern"),
    "97 grep of nothing": ("grep", {"uri": f"{DOCS}/none", "pattern": "x"}, (404, "NOT_FOUND"), "none"),
    "110 pattern": ("find", {"query": "x", "filter": {"op": "regex", "field": "name", "pattern": "("}}, BAD, "compile"),
    "111 operator": ("find", {"query": "x", "filter": {"op": "is", "field": "name", "conds": ["x"]}}, BAD, "'is'"),
    "a list has two modes": ("search", {"query": "x", "search_type": "words"}, BAD, ""),
    "an image has a form": ("find", {"query": "", "image_url": "ftp://host/a.png"}, BAD, "image_url"),
    "no image is embedded": ("find", {"query": "", "image_url": ["https://host/a.png"]}, BAD, "no images"),
    "limits are numbers": ("find", {"query": "x", "limit": "ten"}, BAD, ""),
    "scores are numbers": ("find", {"query": "x", "score_threshold": "0.5"}, BAD, ""),
}  # fmt: skip
del REFUSED["26 another user"]  # needs a caller who is not ROOT: test_the_trees_of_others


@pytest.mark.parametrize(("call", "asked", "wanted", "named"), REFUSED.values(), ids=REFUSED)
def test_requests_that_are_refused(
    door: Door, call: str, asked: dict[str, Any], wanted: tuple[int, str], named: str
) -> None:
    answer = getattr(door, call)(**asked)
    assert refused(answer) == wanted
    assert named in answer.message


FOUND: dict[str, tuple[dict[str, Any], list[str]]] = {
    "2 filter": ({"filter": PROD}, ["basic.md", "oauth.md"]),
    "2 tags": ({"tags": ["env=prod", "team=infra"]}, ["oauth.md"]),
    "2 since": ({"since": "1h", "target": AUTH, "level": 2}, ["basic.md", "oauth.md"]),
    "2 context type": ({"context_type": "memory", "target": "viking://~/memories", "level": 2}, ["launch.md", "zeppelin.md"]),
    "7 several types": (
        {"query": "zeppelin", "context_type": "memory, Resource,memory", "level": 2, "target": ["viking://~/memories", "viking://~/resources"]},
        ["launch.md", "own.md", "zeppelin.md"],
    ),
    "11 nothing on that day": ({"query": "oauth", "since": "2026-03-15", "until": "2026-03-15"}, []),
    "13 tags": ({"query": "oauth", "tags": [" Team=INFRA ", "env=dev", "env=prod"]}, ["oauth.md"]),
    "14 level 5": ({"query": "oauth", "level": [5]}, []),
    "15 levels": ({"query": "oauth", "level": "0,2", "target": AUTH}, [".abstract.md", "basic.md", "oauth.md"]),
    "16 level and filter": ({"query": "oauth", "level": [2], "filter": {"op": "must_not", "field": "search_tags", "conds": ["team=infra"]}}, ["basic.md"]),
    "18 limit": ({"query": "quetzal", "limit": 100_000, "level": 2}, ["b.md", "bc.md", "c.md"]),
    "19 node_limit": ({"query": "quetzal", "limit": 5, "node_limit": 1, "level": 2}, ["b.md"]),
    "32 targets": ({"query": "heron", "target": ["viking://resources", "viking://resources", ""], "level": 2}, ["lagoon.md", "yaml.md"]),
    "33 root": ({"query": "heron", "target": "viking://", "level": 2}, ["lagoon.md", "yaml.md"]),
    "33 slash": ({"query": "zeppelin notes", "target": "/", "level": 2, "limit": 1}, ["own.md"]),
    "106 sidecars": ({"query": "oauth", "target": f"{AUTH}/.abstract.md", "level": 2}, ["basic.md", "oauth.md"]),
    "109 without the field": ({"query": "zeppelin", "filter": {"op": "must_not", "field": "name", "conds": ["x"]}, "target": "viking://~/resources", "level": 2}, ["own.md"]),
    "112 nested": (
        {"query": "quetzal", "level": 2, "filter": {"op": "or", "conds": [
            {"op": "and", "conds": [{"op": "contains", "field": "uri", "substring": "/a/"}, {"op": "or", "conds": [{"op": "regex", "field": "uri", "pattern": "c[.]md$"}, PROD]}]},
            {"op": "must_not", "field": "uri", "conds": ["viking://resources/a"]},
        ]}},
        ["bc.md", "c.md"],
    ),
    "113 path": ({"query": "quetzal", "level": 2, "filter": {"op": "must", "field": "uri", "conds": ["/resources/a/b"]}}, ["c.md"]),
    "113 depth": ({"query": "quetzal", "level": 2, "filter": {"op": "must", "field": "uri", "conds": ["viking://resources/a"], "para": "-d=1"}}, ["b.md", "bc.md"]),
    "a deep target": ({"query": "heron", "target": f"{DOCS}/deep", "level": [2]}, ["lagoon.md"]),
    "a target that is not there": ({"query": "heron", "target": f"{DOCS}/none"}, []),
    "a file as target": ({"query": "oauth", "target": f"{AUTH}/basic.md"}, ["basic.md"]),
    "no hidden words": ({"query": "vesuvius"}, []),
    "no filter at all": ({"query": "oauth", "filter": {}, "tags": [], "context_type": "", "level": 2}, ["basic.md", "oauth.md"]),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "wanted"), FOUND.values(), ids=FOUND)
def test_what_a_request_finds(door: Door, asked: dict[str, Any], wanted: list[str]) -> None:
    answer = door.find(**asked)
    assert names(answer) == wanted
    assert answer.result["total"] == len(wanted)
    if not asked.get("query"):
        assert {(hit["score"], hit["match_reason"]) for hit in answer.hits} == {(0.0, "filter")}


def test_2_the_order_of_what_a_filter_lets_through(door: Door) -> None:
    """The newest first, equal times by address; a directory once, by its own address."""
    listed = door.find(filter={"op": "must", "field": "uri", "conds": [DOCS]}).uris
    assert [uri for uri in listed if not uri.endswith(".md")] == list(
        dict.fromkeys(uri for uri in listed if not uri.endswith(".md"))
    )
    assert {DOCS, AUTH} <= set(listed)
    files = [uri for uri in listed if uri.endswith(".md")]
    assert files == [f"{DOCS}/deep/er/lagoon.md", f"{DOCS}/yaml.md", f"{AUTH}/basic.md", f"{AUTH}/oauth.md"]


def test_5_21_22_23_what_only_the_wire_has(client: Any) -> None:
    wire = Wire(client, {})
    for body in ({"unexpected": 1}, {"telemetry": {"summary": False, "events": True}}, {"search_type": "keywords"}):
        answer = wire.find("oauth", **body)
        assert refused(answer) == BAD
        assert next(iter(body)) in str(answer.result["validation_errors"])
    assert "events" in wire.find("oauth", telemetry={"summary": False, "events": True}).message
    plain = client.post("/api/v1/search/find", json={"query": "oauth"}).json()
    assert set(plain) == {"status", "result"}
    assert "provenance" not in plain["result"]
    assert refused(wire.search("oauth", max_tokens=1600, rewrite=False)) == BAD
    assert "max_tokens, rewrite" in wire.search("oauth", max_tokens=1600, rewrite=False).message
    assert refused(wire.search("oauth", image_url="https://host/a.png", search_type="keywords")) == BAD
    told = client.post("/api/v1/search/search", json={"query": "oauth", "telemetry": {"summary": True}}).json()[
        "telemetry"
    ]
    assert re.fullmatch("tm_[0-9a-f]{32}", told["id"])
    summary = told["summary"]
    assert (summary["operation"], summary["status"]) == ("search.search", "ok")
    assert summary["vector"]["returned"] == plain["result"]["total"]
    assert summary["search"]["vector_retrieval"]["duration_ms"] <= summary["duration_ms"]
    assert set(
        client.post("/api/v1/search/find", json={"query": "x", "telemetry": {"summary": False}}).json()["telemetry"]
    ) == {"id"}


def test_provenance_says_where_hits_come_from(door: Door) -> None:
    told = door.find("oauth login", AUTH, include_provenance=True)
    (one,) = told.result["provenance"]
    assert (one["query"], one["searched_directories"]) == ("oauth login", [AUTH])
    assert [(match["uri"], match["tier"], match["score"]) for match in one["matched_contexts"]] == [
        (hit["uri"], f"L{hit['level']}", hit["score"]) for hit in told.hits
    ]
    assert not any(one["thinking_trace"]["statistics"].values())
    without = door.find("oauth login", AUTH)
    assert told.uris == without.uris
    everywhere = door.search("x", include_provenance=True).result["provenance"][0]["searched_directories"]
    assert everywhere == [HOME, "viking://resources"]
    skills = door.search("x", include_provenance=True, context_type="skill").result["provenance"][0]
    assert skills["searched_directories"] == [f"{HOME}/skills"]


def test_20_long_and_odd_queries(door: Door) -> None:
    odd = "oauth \U0001f680 e\u0301 \u202e\u05e9\u05dc\u05d5\u05dd\u202c a\u200bb "
    assert "oauth.md" in names(door.find(odd * 400))
    assert refused(door.search("oauth \U0001f680", limit=3)) == (200, "")


# --- 9.2 targets and permissions -----------------------------------------------------------------------------------


def test_34_35_37_the_collection_of_peers(door: Door) -> None:
    as_peer = door.acting_as(PEER)
    for target in ("viking://~/peers/other/memories", ["viking://resources", "viking://~/peers/other"]):
        answer = as_peer.find("zeppelin", target)
        assert refused(answer) == DENIED
        assert "another peer" in answer.message
    assert names(as_peer.find("zeppelin", "viking://~/peers", level=2)) == ["liked.md", "sent.md"]
    assert names(as_peer.find("zeppelin", "viking://~", level=2)) == [
        "launch.md", "liked.md", "own.md", "sent.md", "zeppelin.md",
    ]  # fmt: skip
    assert refused(door.acting_as(f"{PEER}.").find("zeppelin", f"viking://~/peers/{PEER}")) == DENIED
    assert names(door.find("zeppelin", "viking://~/peers", level=2)) == ["liked.md", "liked.md", "sent.md"]
    order = as_peer.find("x", include_provenance=True).result["provenance"][0]["searched_directories"]
    peer = f"{HOME}/peers/{PEER}"
    assert order == [
        "viking://resources", f"{HOME}/memories", f"{HOME}/resources", f"{HOME}/skills", f"{peer}/memories", f"{peer}/resources",
    ]  # fmt: skip


def test_26_27_29_40_the_trees_of_others(services: Services, client: Any) -> None:
    del client
    user = Inside(services, Identity(account="default", user="bob", role="user"))
    for target in (HOME, ["viking://resources", f"{HOME}/memories"]):
        answer = user.find("zeppelin", target)
        assert refused(answer) == DENIED
        assert "denied" in answer.message
    assert names(user.find("zeppelin")) == []
    every_user = {"op": "prefix", "field": "uri", "prefix": HOME}
    assert names(user.find("zeppelin", filter=every_user)) == []
    named = Inside(services, Identity(account="default", user="memories", role="user"))
    assert names(named.find("zeppelin", "viking://user/memories")) == []
    stranger = Inside(services, Identity(account="stranger", user="default", role="user"))
    assert names(stranger.find("oauth")) == []
    assert names(stranger.find(filter={"op": "must", "field": "account_id", "conds": ["default"]})) == []


def test_24_38_39_what_is_not_there(opened: Opened) -> None:
    services, door = opened.services, opened.door
    for answer in (door.find("anything"), door.search("anything"), door.find(since="1d", level=2)):
        assert answer.result["total"] == 0
        assert [answer.result[name] for name in ("memories", "resources", "skills")] == [[], [], []]
    for name in ("a", "b/c"):
        services.content.write(ME, f"viking://resources/gone/{name}.md", f"ibis {name}\n", "create")
    hit = door.find("ibis", level=2, limit=1).hits[0]
    services.fs.rm(ME, "viking://resources/gone", recursive=True)
    assert names(door.find("ibis")) == []
    assert names(door.find(since="1h", level=2)) == []
    assert refused(door.read(hit["uri"])) == (404, "NOT_FOUND")


# --- 9.3 ranking ---------------------------------------------------------------------------------------------------


def test_41_a_threshold_is_exclusive(door: Door) -> None:
    first, second = (hit["score"] for hit in door.find("oauth login", AUTH, level=2).hits)
    assert first > second
    assert names(door.find("oauth login", AUTH, level=2, score_threshold=second)) == ["oauth.md"]
    assert names(door.find("oauth login", AUTH, level=2, score_threshold=first)) == []


def test_42_43_levels_and_suffixes(door: Door) -> None:
    hits = door.find("oauth login", AUTH).hits
    directories = [hit for hit in hits if hit["level"] < 2]
    assert len(directories) == 1
    for level, suffix in ((0, "/.abstract.md"), (1, "/.overview.md")):
        (hit,) = door.find("oauth", AUTH, level=level).hits
        assert (hit["uri"], hit["level"]) == (f"{AUTH}{suffix}", level)
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all({"category", "match_reason", "overview", "relations"} <= set(hit) for hit in hits)


def test_51_numbers_of_the_walk_change_nothing_in_a_global_search(door: Door, tmp_path: Path) -> None:
    numbers = RetrievalSettings(score_propagation_alpha=0.1, hotness_alpha=0.5)
    settings = Settings(path=tmp_path, workers=0, embedding=EmbeddingSettings(provider="none"), retrieval=numbers)
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services)) as client:
        fill(services)
        other: Door = Inside(services) if isinstance(door, Inside) else Wire(client, {})
        for query in ("heron lagoon", "oauth login", "zeppelin"):
            scores = [[(hit["uri"], hit["score"]) for hit in one.find(query).hits] for one in (door, other)]
            assert scores[0] == scores[1], query
            assert scores[0], query
        walked = other.find("oauth login", strategy="hierarchical").hits
        assert [hit["score"] for hit in walked] != [hit["score"] for hit in other.find("oauth login").hits]


def test_53_54_front_matter(door: Door) -> None:
    (hit,) = door.find("wades", f"{DOCS}/yaml.md", read_content=True).hits
    assert hit["content"] == "---\ntitle: heron\n---\n\nThe heron wades.\n"
    (directory,) = door.find("oauth", AUTH, level=0).hits
    assert "---" not in directory["abstract"]


def test_61_the_type_of_a_memory_is_not_the_callers(opened: Opened) -> None:
    services, door = opened.services, opened.door
    entity, note = f"{HOME}/memories/entities/kea.md", "viking://resources/kea.md"
    for uri in (entity, note):
        services.content.write(ME, uri, "The kea.", "create", tags=["memory_type=events", "a=b"])
    store = services.tenancy.accounts.store(ME)
    store.apply([SetTags(entity.removeprefix("viking://"), ("memory_type=entities",), "append")])

    def tags(uri: str) -> list[str]:
        (hit,) = door.find("kea", uri, level=2).hits
        return sorted(hit["tags"])

    assert (tags(entity), tags(note)) == (["a=b", "memory_type=entities"], ["a=b", "memory_type=events"])
    for mode, left in {"append": ["a=b", "c=d"], "replace": ["c=d"], "clear": []}.items():
        told = services.fs.set_tags(ME, entity, ["memory_type=events", "c=d"], mode=mode)
        assert (told["tags"], told["skipped_count"]) == (["c=d"], 1)
        assert tags(entity) == [*left, "memory_type=entities"]
    services.fs.set_tags(ME, f"{HOME}/memories", ["memory_type=events"], recursive=True)
    services.fs.set_tags(ME, HOME, ["memory_type=events", "e=f"], recursive=True)
    services.content.write(ME, entity, "A kea.", "replace", tags=["memory_type=events"])
    assert tags(entity) == ["memory_type=entities"]


# --- 9.7 grep and glob ---------------------------------------------------------------------------------------------


def test_98_99_where_grep_looks(door: Door) -> None:
    def found(**options: Any) -> list[str]:
        return [match["uri"] for match in door.grep("viking://resources", "heron|quetzal", **options).result["matches"]]

    assert f"{DOCS}/yaml.md" in found(level_limit=2)
    assert f"{DOCS}/deep/er/lagoon.md" not in found(level_limit=2)
    assert f"{DOCS}/deep/er/lagoon.md" in found()
    without = found(exclude_uri="viking://resources/a/b")
    assert not any("/a/b/" in uri for uri in without)
    assert {"viking://resources/a/bc.md", "viking://resources/a/b.md"} <= set(without)


def test_100_101_102_103_what_a_match_shows(door: Door) -> None:
    first = door.grep(f"{DOCS}/auth/oauth.md", "^# OAuth", before_context=2, after_context=1).result["matches"][0]
    assert (first["line"], first["before_context"]) == (1, [])
    assert first["after_context"] == [{"line": 2, "content": ""}]
    tagged = door.grep(DOCS, "oauth", case_insensitive=True, tags=["env=prod", "team=infra", "no tag"]).result[
        "matches"
    ]
    assert {match["uri"] for match in tagged} == {f"{AUTH}/oauth.md"}
    assert tagged[0]["tags"] == ["env=prod", "team=infra"]
    shown = door.grep(f"{DOCS}/yaml.md", "wades", include_tags=True).result["matches"]
    assert shown[0]["tags"] == []
    hidden = door.grep("viking://~/memories/events", "vesuvius|MEMORY_FIELDS").result
    assert (hidden["count"], hidden["files_scanned"]) == (0, 1)


def test_104_106_what_a_pattern_matches(door: Door) -> None:
    assert door.glob("*.md", AUTH).result["matches"] == [f"{AUTH}/basic.md", f"{AUTH}/oauth.md"]
    assert door.glob("*.md", DOCS).result["matches"] == [f"{DOCS}/yaml.md"]
    assert door.glob("**/.abstract.md").result["matches"] == []
    (one,) = door.glob("yaml.md", DOCS, extra_fields=["id", "type", "nonsense"]).result["matches"]
    assert set(one) == {"uri", "isDir", "id", "type"}
    assert door.read(one["id"]).result.endswith("The heron wades.\n")


def test_107_lists_that_are_cut(opened: Opened) -> None:
    services, door = opened.services, opened.door
    services.content.write(ME, "viking://resources/long.md", "rail\n" * 300, "create")
    cut = door.grep("viking://resources", "rail").result
    assert (len(cut["matches"]), cut["count"], cut["total"], cut["truncated"]) == (256, 256, 300, True)


# --- 9.8 filters ---------------------------------------------------------------------------------------------------


def test_injections_are_values(door: Door) -> None:
    for text in ("' OR 1=1 --", "x') OR ('1'='1", "\x00", '"; DROP TABLE nodes; --'):
        for tree in (
            {"op": "must", "field": "search_tags", "conds": [text]},
            {"op": "contains", "field": "uri", "substring": text},
            {"op": "prefix", "field": "owner_user_id", "prefix": text},
            {"op": "must", "field": "uri", "conds": [f"/{text}"]},
        ):
            assert names(door.find("oauth", filter=tree)) == []
            assert names(door.find(filter=tree)) == []
        assert refused(door.find("oauth", filter={"op": "must", "field": text, "conds": ["x"]})) == BAD
    assert "oauth.md" in names(door.find("oauth"))


# --- of ours -------------------------------------------------------------------------------------------------------


def test_why_a_record_is_not_among_the_hits(door: Door) -> None:
    asked = [f"{AUTH}/oauth.md", f"{AUTH}/basic.md#L1-L3", f"{DOCS}/none.md", f"{HOME}/resources/own.md"]
    for call in (door.find, door.search):
        result = call("oauth", AUTH, level=2, limit=1, explain_missing=asked).result
        assert [(one["uri"], one["reason"]) for one in result["missing"]] == [
            (asked[0], "found"), (asked[1], "below_cut"), (asked[2], "not_found"), (asked[3], "outside_target")
        ]  # fmt: skip
        assert (result["missing"][1]["rank"], result["missing"][1]["of"], result["missing"][1]["cut"]) == (2, 2, 1)
        assert "missing" not in call("oauth", AUTH).result
    assert refused(door.find("oauth", explain_missing=[f"{DOCS}/{number}" for number in range(21)])) == BAD
    assert refused(door.find("oauth", explain_missing="oauth.md")) == (400, "INVALID_URI")


# --- where the other cases are -------------------------------------------------------------------------------------

HERE = set(map(int, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24".split())) | {
    *range(26, 44), 51, 53, 54, 55, 56, 57, 59, 61, *range(97, 114), 114, 116,
}  # fmt: skip
ELSEWHERE = {
    44: "tests/rerank/test_search.py::test_find_does_not_ask",
    45: "tests/rerank/test_search.py::test_twice_the_limit_in_one_batch",
    46: "tests/rerank/test_reranking.py::test_without_a_usable_answer_all_keep_their_scores",
    47: "tests/rerank/test_reranking.py::test_blank_documents_are_not_sent_and_keep_their_score",
    48: "tests/rerank/test_services.py::test_the_window_is_checked",
    49: "tests/rerank/test_scores.py::test_a_long_document_keeps_both_ends",
    50: "tests/rerank/test_over_http.py::test_others_are_served_while_a_model_is_asked",
    52: "tests/service/test_odd_embedders.py",
    58: "tests/index/test_filter.py",
    60: "tests/rerank/test_over_http.py::test_a_score_of_an_event_is_the_models",
    62: "tests/planner/test_planning.py::test_the_planner_is_query_planner_or_else_vlm",
    63: "tests/planner/test_intent.py::test_reasoning_is_text",
    64: "tests/planner/test_search.py::test_the_callers_types_rule",
    65: "tests/planner/test_search.py::test_the_callers_types_rule",
    66: "tests/planner/test_search.py::test_no_queries_are_an_answer",
    67: "tests/planner/test_planning.py::test_nothing_is_planned_without_a_model_or_when_it_may_not",
    68: "tests/service/test_pictures.py::test_no_plan_and_no_reranking",
    115: "tests/service/test_odd_embedders.py",
}
"""Cases of models: what a vector may be that one gives, reranking, planning; and a time that is none."""


def test_each_numbered_case_is_somewhere_once() -> None:
    assert sorted([*HERE, *ELSEWHERE]) == [*range(1, 25), *range(26, 69), *range(97, 117)]
    root = Path(__file__).parents[2]
    for number, place in ELSEWHERE.items():
        path, _, test = place.partition("::")
        text = (root / path).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in text, place
        said = re.search(rf"def {test}\(.*?(?=\ndef |\Z)", text, re.DOTALL) if test else None
        assert said is None or re.search(rf"[Cc]ases? [0-9, and]*\b{number}\b", said[0]), (number, place)
    own = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    named = {int(number) for name in [*REFUSED, *FOUND] for number in re.findall(r"^\d+", name)}
    named |= {int(number) for name in re.findall(r"def (test_\d[\d_]*)", own) for number in re.findall(r"\d+", name)}
    assert named == HERE
