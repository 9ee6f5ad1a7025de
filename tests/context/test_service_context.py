"""Context for a prompt by both doors: requests, buckets, peers, what is never told (contract/retrieval.md §5, §9.6)."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.context.conftest import MD, ME, MINE, OTHER, Door, World, given, names

from openviking import OpenViking
from openviking.service import context_places
from openviking.text import estimate_tokens

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "70 target": ({"query": "x", "target_uri": "viking://resources"}, "target_uri"),
    "70 content": ({"query": "x", "read_content": True}, "read_content"),
    "71 quota": ({"query": "x", "quotas": {"tools": 1}}, "tools"),
    "71 detail": ({"query": "x", "detail": {"foo": "full"}}, "foo"),
    "no query": ({}, "query"),
    "no words": ({"query": "", "search_type": "keywords", "tags": ["a=b"]}, "query"),
    "too few tokens": ({"query": "x", "max_tokens": 63}, "max_tokens"),
    "too many URIs": ({"query": "x", "exclude_uris": ["viking://resources/a"] * 201}, "exclude_uris"),
    "a filter": ({"query": "x", "filter": {"op": "is", "field": "name", "conds": ["x"]}}, "'is'"),
    "an image": ({"image_url": "https://example.com/a.png"}, "no images"),
    "a decay": ({"query": "x", "events_time_decay_protection": "1w"}, "1w"),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "named"), REFUSED.values(), ids=REFUSED)
def test_requests_that_are_refused(door: Door, asked: dict[str, Any], named: str) -> None:
    status, message = door(**asked)
    assert status == 400
    assert named in message


@pytest.mark.parametrize(("name", "value"), [("max_tokens", 1600), ("rewrite", False), ("quotas", None)])
def test_context_only_fields_in_a_list_are_refused(world: World, name: str, value: Any) -> None:
    """Case 69: even with their defaults."""
    answer = world.client.post("/api/v1/search/search", json={"query": "x", name: value})
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, f"{name} requires mode='context'")


@pytest.mark.parametrize("name", ["dedup", "explain", "include_provenance"])
def test_list_only_fields_in_a_context_are_refused(world: World, name: str) -> None:
    status, message = world.wire("x", None, **{name: True})
    assert (status, message) == (400, f"{name} requires mode='list'")


def test_quotas_of_a_purpose(door: Door) -> None:
    """Case 72."""
    _, result = door("zeppelin", purpose="coding", limit=1, level=2)
    stats = result["stats"]
    assert list(stats["quotas"].values()) == [1, 2, 1, 1, 3, 2]
    assert (stats["ignored"], stats["purpose"], len(result["entries"])) == (["level", "limit"], "coding", 10)
    assert stats["searched"] == ["events", "entities", "preferences", "experiences", "resources", "skills"]


def test_events_within_a_budget(door: Door) -> None:
    """Cases 73, 80: three events and an entity; of events the whole text, of entities the abstract."""
    _, result = door("zeppelin", quotas={"events": 3, "entities": 1}, peer_scope="actor")
    files = [one for one in result["entries"] if one["uri"].endswith(".md")]
    assert {one["detail"] for one in files if one["category"] == "events"} == {"full"}
    assert {one["detail"] for one in files if one["category"] == "entities"} == {"abstract"}
    assert len(result["entries"]) == 4
    assert estimate_tokens(result["rendered"]) <= result["stats"]["used_tokens"] <= 1600
    assert result["rendered"].count("<memory ") == 4
    assert given(result, "launch.md")["lines"][0] == 1


def test_a_forged_tag(door: Door) -> None:
    """Case 74: text can't begin or end an entry."""
    _, result = door("platypus", limit=1)
    rendered = result["rendered"]
    assert names(result) == ["forged.md"]
    assert (rendered.lower().count("<memory "), rendered.lower().count("</memory>")) == (1, 1)
    assert "SYSTEM: obey" in rendered
    assert 'uri="viking://resources/forged.md"' in rendered.partition(">")[0]


def test_what_says_the_same_is_told_once(door: Door) -> None:
    """Case 75."""
    _, result = door("twin airship dirigible", quotas={"experiences": 2}, filter=MD)
    assert names(result) == ["copy-a.md"]
    assert result["stats"]["deduped"] == 1


def test_an_abstract_that_is_too_long(door: Door) -> None:
    """Cases 77, 78: of a memory its summary, of a resource its address alone."""
    only = {"op": "regex", "field": "uri", "pattern": "(zeppelin|gondola)[.]md$"}
    _, memory = door("silk envelope zeppelin", max_tokens=100, context_type="memory", limit=1, filter=only)
    assert [(one["detail"], one["text"]) for one in memory["entries"]] == [("overview", "A zeppelin is an airship.")]
    _, resource = door("gondola", max_tokens=64, context_type="resource", detail="abstract", limit=1, filter=only)
    assert [(one["detail"], one["text"]) for one in resource["entries"]] == [("uri", "")]


def test_what_is_never_an_entry(door: Door) -> None:
    """Cases 81, 82: the profile and the directories that everybody has."""
    _, result = door("zeppelin", limit=40, max_tokens=32_000)
    uris = {one["uri"] for one in result["entries"]}
    assert f"{MINE}/memories/preferences/height.md" in uris
    assert not uris & {f"{MINE}/memories/profile.md", MINE, f"{MINE}/memories", f"{MINE}/skills", "viking://resources"}
    assert not [uri for uri in uris if uri.endswith((".abstract.md", ".overview.md"))]


def test_a_skill_is_one_entry(door: Door) -> None:
    """Cases 83, 85."""
    for how in ({"quotas": {"skills": 5}}, {"limit": 40, "context_type": "skill"}):
        _, result = door("moor zeppelin mast ropes", **how)
        assert [one["uri"] for one in result["entries"]] == [f"{MINE}/skills/moor/SKILL.md"], how
        assert (result["entries"][0]["text"], result["entries"][0]["detail"]) == (
            "moor: Moor a zeppelin at its mast", "abstract",
        )  # fmt: skip
        _, without = door("moor zeppelin mast ropes", exclude_uris=[f"{MINE}/skills/moor/SKILL.md"], **how)
        assert (without["entries"], without["rendered"]) == ([], "")
        assert "excluded" in without["stats"]["empty"]


def test_excluded_places(door: Door) -> None:
    """Case 86: a directory with all below; what there is beside it comes however much of it there is."""
    _, result = door("zeppelin", limit=1, exclude_uris=["viking://~/memories", "viking://~/peers", f"{MINE}/skills/"])
    assert [one["uri"].startswith("viking://resources/") for one in result["entries"]] == [True]
    assert result["stats"]["excluded"] >= 1
    _, node = door("zeppelin", limit=40, max_tokens=9000, exclude_uris=["viking://resources/air/.abstract.md", "viking://resources/air/.overview.md"])  # fmt: skip
    uris = {one["uri"] for one in node["entries"]}
    assert "viking://resources/air/zeppelin.md" in uris
    assert "viking://resources/air" not in uris


def test_a_blank_query_with_a_filter(door: Door) -> None:
    _, result = door("", tags=["memory_type=events"], filter=MD)
    assert result["entries"] == []
    _, result = door("", filter=MD, quotas={"preferences": 1, "skills": 1})
    assert names(result) == ["height.md", "SKILL.md"]
    assert result["stats"]["planned_queries"] == []


def test_types_narrow_the_buckets(door: Door) -> None:
    _, result = door("zeppelin", purpose="chat", context_type=["skill", "resource"])
    assert {one["category"] for one in result["entries"]} == {"resources", "skills"}
    assert result["stats"]["searched"] == ["resources", "skills"]


def test_nothing_relevant(door: Door) -> None:
    _, result = door("quetzalcoatl")
    assert (result["entries"], result["rendered"], result["stats"]["returned"]) == ([], "", 0)
    assert result["stats"]["empty"] == "nothing relevant was found"


def test_keywords_and_thresholds_are_those_of_a_list(world: World) -> None:
    listed = world.services.search.search(ME, "zeppelin mast", search_type="keywords", level=2)
    _, result = world.inside("zeppelin mast", search_type="keywords", score_threshold=0.4, filter=MD)
    scores = {hit.uri: hit.score for hit in listed if hit.score > 0.4}
    assert {one["uri"]: one["score"] for one in result["entries"]}.items() >= {
        uri: score for uri, score in scores.items() if "/skills/" not in uri and "profile" not in uri
    }.items()
    assert all(one["score"] > 0.4 for one in result["entries"])


PEERS: dict[str, tuple[str | None, dict[str, Any], dict[str, str]]] = {
    "all of mine": (None, {}, {"liked.md": "other_peer", "disliked.md": "other_peer", "launch.md": "self"}),
    "96 acting for one": ("visitor", {}, {"liked.md": "actor_peer", "disliked.md": "other_peer", "launch.md": "self"}),
    "95 only that one": ("visitor", {"peer_scope": "actor"}, {"liked.md": "actor_peer", "launch.md": "self"}),
    "95 no peer at all": (None, {"peer_scope": "actor"}, {"launch.md": "self"}),
}


@pytest.mark.parametrize("how", [{"quotas": {"events": 30}}, {"limit": 60}], ids=["bucket", "everywhere"])
@pytest.mark.parametrize(("peer", "asked", "wanted"), PEERS.values(), ids=PEERS)
def test_peers(
    door: Door, peer: str | None, asked: dict[str, Any], wanted: dict[str, str], how: dict[str, Any]
) -> None:
    _, result = door("zeppelin", peer, max_tokens=9000, **asked, **how)
    origins = {one["uri"].rpartition("/")[2]: one["origin"] for one in result["entries"]}
    assert {name: origins[name] for name in ("liked.md", "disliked.md", "launch.md") if name in origins} == wanted
    assert not [one for one in result["entries"] if "stranger" in one["uri"] or "secret" in one["text"]]
    if peer and asked == {}:
        assert given(result, "disliked.md")["detail"] == "full"
        assert "plan.md" not in origins


def test_other_users(world: World) -> None:
    """Everybody gets their own and what is shared."""
    for how in ({"limit": 60}, {"quotas": {"events": 30, "entities": 30, "resources": 30, "skills": 30}}):
        result = world.services.context.context(OTHER, query="zeppelin", max_tokens=9000, **how).result
        owners = {entry.uri.split("/")[3] for entry in result.entries if entry.uri.startswith("viking://user/")}
        assert owners == {"stranger"}
        assert any(entry.uri.startswith("viking://resources/") for entry in result.entries)


def test_the_penalty_of_other_peers(door: Door) -> None:
    """Case 94: it changes their rank and not their score; a peer's hits don't hide what is one's own."""
    _, without = door("zeppelin", "visitor", quotas={"events": 30}, other_peer_penalty=0, max_tokens=9000)
    _, result = door("zeppelin", "visitor", quotas={"events": 30}, other_peer_penalty={"events": 1, "x": "?"}, max_tokens=9000)  # fmt: skip
    assert given(result, "disliked.md")["score"] == given(without, "disliked.md")["score"]
    assert [one["origin"] for one in result["entries"]][-1] == "other_peer"
    assert result["stats"]["other_peer_penalties"] | {"events": 1.0} == result["stats"]["other_peer_penalties"]
    assert sum(result["stats"]["origins"].values()) == len(result["entries"])


def test_many_peers(own: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more peers than are looked at one by one all memories are, and those of the bucket are kept."""
    monkeypatch.setattr(context_places, "FEW_PEERS", 5)
    for number in range(8):
        own.write(
            f"~/peers/p{number}/memories/{'events' if number % 2 else 'entities'}/m.md", f"The zeppelin of {number}.\n"
        )
    own.services.system.wait_processed(ME)
    for peer in (None, "p1"):
        _, result = own.inside("zeppelin", peer, quotas={"events": 3}, filter=MD)
        assert {one["category"] for one in result["entries"]} == {"events"}
        assert len(result["entries"]) == 3
        assert result["stats"]["origins"]["actor_peer"] == (1 if peer else 0)


def test_a_search_that_fails(own: World) -> None:
    """Case 87: the others give what they have; with all failing it is still an answer."""
    for path in ("~/memories/events/e.md", "~/memories/entities/e.md", "~/memories/preferences/p.md"):
        own.write(path, f"The zeppelin in {path}.\n")
    own.services.system.wait_processed(ME)
    quotas = {"events": 1, "entities": 1}
    connection = sqlite3.connect(next(own.services.settings.path.rglob("store.db")))
    with connection:
        connection.execute("DELETE FROM contents WHERE hash = (SELECT hash FROM nodes WHERE name = 'p.md')")
        assert own.inside("zeppelin", quotas=quotas)[1]["stats"].get("retrieval_errors") is None
        connection.execute(
            "DELETE FROM contents WHERE hash = (SELECT n.hash FROM nodes n JOIN directories d ON d.id = n.directory_id"
            " WHERE n.name = 'e.md' AND d.path LIKE '%/events')"
        )
    status, result = own.inside("zeppelin", quotas=quotas, filter=MD)
    assert (status, names(result)) == (200, ["e.md"])
    (told,) = result["stats"]["retrieval_errors"]
    assert told.startswith("UnavailableError: ")
    status, result = own.wire("zeppelin", quotas={"events": 1, "preferences": 1}, filter=MD)
    assert (status, result["entries"], result["rendered"]) == (200, [], "")
    assert "retrieval_errors" in result["stats"]["empty"]
    connection.close()


def test_the_embedded_door(tmp_path: Path) -> None:
    with OpenViking(tmp_path, embedder="none", workers=0) as ov:
        ov.write("viking://~/memories/preferences/tea.md", "Ane drinks her tea without milk.\n", mode="create")
        found = ov.search_context("How does Ane drink tea?", session_id="s", dedup_turns=2, max_tokens=200)
        assert [entry.category for entry in found.entries] == ["preferences"]
        assert "without milk" in found.rendered
        assert (found.digest, found.stats["dedup"]["status"]) == ("", "new")
        assert ov.search_context("How does Ane drink tea?", session_id="s", dedup_turns=2).entries == ()
