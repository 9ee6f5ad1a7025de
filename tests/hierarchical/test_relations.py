"""Links between directories and what belongs to them, over both doors and on hits (contract/retrieval.md §8.8)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.hierarchical.conftest import World

from openviking import AsyncOpenViking, OpenViking
from openviking.errors import (
    InvalidArgumentError,
    NotFoundError,
    OpenVikingError,
    PermissionDeniedError,
    ResourceExhaustedError,
)
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.store.batch import PutFile

DOCS = "viking://resources/docs"
API, GUIDE, NOTE = f"{DOCS}/api", f"{DOCS}/guide", f"{DOCS}/guide/note.md"
MEMORY = "viking://user/default/memories/lapwing.md"
FILE = "resources/docs/api/.relations.json"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenViking]:
    with OpenViking(tmp_path_factory.mktemp("linked"), embedder="none", workers=0) as ov:
        ov.write(f"{API}/calls.md", "# Calls\n\nThe lapwing calls.\n", "create")
        ov.write(NOTE, "# Guide\n\nHow to watch a lapwing.\n", "create")
        ov.write(MEMORY, "He likes lapwings.\n<!-- MEMORY_FIELDS\nsecret: 1\n-->", "create")
        ov.wait_processed()
        yield ov


@pytest.fixture
def ov(shared: OpenViking) -> Iterator[OpenViking]:
    yield shared
    write(shared, b"[]")


def write(ov: OpenViking, data: bytes) -> None:
    ov._accounts.store(ov._identity).apply([PutFile(FILE, prepare(".relations.json", data))])


def stored(ov: OpenViking) -> Any:
    with ov._accounts.store(ov._identity).read() as view:
        node = view.get(FILE)
        return None if node is None else json.loads(view.data(node))


def test_link_and_unlink(ov: OpenViking) -> None:
    assert ov.link(API, [GUIDE, "viking://~/memories/lapwing.md"], "for users") == {"from": API, "to": [GUIDE, MEMORY]}
    assert ov.link(f"{API}/.overview.md", NOTE) == {"from": API, "to": [NOTE]}
    told = [{"uri": GUIDE, "reason": "for users"}, {"uri": MEMORY, "reason": "for users"}, {"uri": NOTE, "reason": ""}]
    assert ov.relations(API) == told
    assert [(one["id"], one["uris"], one["reason"]) for one in stored(ov)] == [
        ("link_1", [GUIDE, MEMORY], "for users"),
        ("link_2", [NOTE], ""),
    ]
    assert stored(ov)[0]["created_at"].endswith("Z")
    assert ov.unlink(API, NOTE) == {"from": API, "to": NOTE}
    assert ov.unlink(API, f"{DOCS}/none.md") == {"from": API, "to": f"{DOCS}/none.md"}
    assert [one["id"] for one in stored(ov)] == ["link_1"]
    ov.unlink(API, GUIDE)
    ov.unlink(API, MEMORY)
    assert (ov.relations(API), stored(ov)) == ([], None)


def test_a_second_link_has_the_new_reason(ov: OpenViking) -> None:
    ov.link(API, [GUIDE, NOTE], "old")
    ov.link(API, GUIDE, "new")
    assert ov.relations(API) == [{"uri": NOTE, "reason": "old"}, {"uri": GUIDE, "reason": "new"}]


def test_files_and_unlinked_directories_have_none(ov: OpenViking) -> None:
    assert [ov.relations(uri) for uri in (NOTE, GUIDE, MEMORY)] == [[], [], []]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda ov: ov.relations(f"{DOCS}/none"), NotFoundError),
        (lambda ov: ov.link(f"{DOCS}/none", NOTE), NotFoundError),
        (lambda ov: ov.link(API, f"{DOCS}/none"), NotFoundError),
        (lambda ov: ov.link(NOTE, API), InvalidArgumentError),
        (lambda ov: ov.unlink(NOTE, API), InvalidArgumentError),
        (lambda ov: ov.link(API, []), InvalidArgumentError),
        (lambda ov: ov.link(API, [3]), InvalidArgumentError),
        (lambda ov: ov.link(API, NOTE, "x" * 2001), InvalidArgumentError),
        (lambda ov: ov.link(API, NOTE, "\ud800"), InvalidArgumentError),
        (lambda ov: ov.link(API, "no uri"), OpenVikingError),
        (lambda ov: ov.write(f"{API}/.relations.json", "[]", "create"), InvalidArgumentError),
    ],
)
def test_what_is_refused(ov: OpenViking, call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(ov)
    assert ov.relations(API) == []


def test_a_full_file_takes_no_more(ov: OpenViking) -> None:
    write(ov, json.dumps([{"uris": [f"{DOCS}/x{number}" for number in range(1000)]}]).encode())
    with pytest.raises(ResourceExhaustedError):
        ov.link(API, NOTE)


def hit(ov: OpenViking, **strategy: Any) -> Any:
    # As after any write in a directory its abstract is made anew first.
    ov.wait_processed()
    found = ov.find("lapwing calls", API, level=[0, 1], limit=1, strategy={"name": "hierarchical", **strategy})
    (one,) = found.hits
    assert one.uri.startswith(f"{API}/.")
    return one


def test_hits_tell_what_they_are_linked_to(ov: OpenViking) -> None:
    """Five at most, those of a file and those of the flat search none; hidden fields of a memory stay hidden."""
    ov.link(API, [GUIDE, MEMORY, NOTE], "for users")
    told = hit(ov).relations
    assert [(one["uri"], one["reason"]) for one in told] == [(uri, "for users") for uri in (GUIDE, MEMORY, NOTE)]
    assert told == hit(ov).to_dict()["relations"]
    assert (told[0]["abstract"], told[1]["abstract"]) == (ov.abstract(GUIDE), "He likes lapwings.\n")
    assert "lapwing" in told[2]["abstract"]
    assert len(hit(ov, max_relations=2).relations) == 2
    assert hit(ov, preset="late").relations == []
    assert ov.find("lapwing calls", API, level=[0, 1], limit=1).hits[0].relations == []
    for one in ov.find("lapwing", DOCS, level=2, strategy="classic"):
        assert one.relations == []


def test_links_follow_what_moves_and_forget_what_goes(ov: OpenViking) -> None:
    there, away = f"{DOCS}/guide/perch.md", f"{DOCS}/perch2.md"
    ov.write(there, "A perch.\n", "create")
    ov.link(API, [there, GUIDE], "seat")
    ov.mv(there, away)
    assert [one["uri"] for one in ov.relations(API)] == [away, GUIDE]
    ov.write(there, "Another perch.\n", "create")
    assert [one["uri"] for one in ov.relations(API)] == [away, GUIDE]
    ov.mv(API, f"{DOCS}/api2")
    assert [one["uri"] for one in ov.relations(f"{DOCS}/api2")] == [away, GUIDE]
    ov.mv(f"{DOCS}/api2", API)
    ov.rm(away)
    ov.rm(there)
    assert [one["uri"] for one in ov.relations(API)] == [GUIDE]
    ov.wait_processed()
    assert [one["uri"] for one in hit(ov).relations] == [GUIDE]
    ov.unlink(API, away)
    ov.unlink(API, there)
    assert stored(ov)[0]["uris"] == [GUIDE]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"resources": {"default": [{"id": "link_7", "uris": [NOTE], "reason": "old form"}]}}, [NOTE]),
        ([{"uris": [NOTE, "viking://user/someone/memories/x.md", "viking://resources/../etc", "http://x", "x" * 9999]}], [NOTE]),
        ([{"uris": [NOTE], "nodes": {NOTE: 10**18}}], [NOTE]),
        ([{"uris": [NOTE], "nodes": {NOTE: "7"}}, [[]], None], [NOTE]),
        ([{"uris": ["viking://", "viking://resources/docs/none"]}], []),
    ],
)  # fmt: skip
def test_whatever_the_file_holds(ov: OpenViking, told: Any, expected: list[str]) -> None:
    write(ov, json.dumps(told).encode())
    assert [one["uri"] for one in ov.relations(API)] == expected
    assert [one["uri"] for one in hit(ov).relations] == expected


@pytest.mark.parametrize("data", [b"{", b"\xff\x00\xfe", b"[" * 50_000, b"null", b"\x00"])
def test_nonsense_breaks_nothing(ov: OpenViking, data: bytes) -> None:
    write(ov, data)
    assert (ov.relations(API), hit(ov).relations) == ([], [])
    ov.link(API, NOTE, "anew")
    assert ov.relations(API) == [{"uri": NOTE, "reason": "anew"}]


def test_the_file_is_not_seen(ov: OpenViking) -> None:
    ov.link(API, NOTE, "quokka reason")
    ov.wait_processed()
    assert not [one for one in ov.ls(API) if "relations" in one["uri"]]
    assert not ov.find("quokka reason relations", API, level=2).hits or all(
        "relations" not in one.uri for one in ov.find("quokka reason", API)
    )
    assert not ov.grep(API, "quokka").matches
    assert "quokka" not in ov.overview(API)


def test_a_caller_sees_what_it_may_read(world: World) -> None:
    """Links to what is another's are neither told nor made, and nobody links what is not theirs."""
    services = world.services
    bob, root = Identity("default", "bob", "user"), Identity("default", "default", "root")
    harbour, orchard = "viking://resources/harbour", "viking://resources/orchard"
    likes = "viking://user/default/memories/likes.md"
    services.relations.link(root, harbour, [likes, orchard], "mixed")
    assert [one["uri"] for one in services.relations.relations(bob, harbour)] == [orchard]
    world.settle()
    found = services.search.find(bob, "harbour north", harbour, level=[0, 1], strategy="classic", limit=20)
    assert [[r["uri"] for r in hit.relations] for hit in found if hit.uri.startswith(f"{harbour}/.")] == [[orchard]]
    refused: tuple[Callable[[], object], ...] = (
        lambda: services.relations.link(bob, harbour, likes),
        lambda: services.relations.link(bob, "viking://user/default/memories", harbour),
        lambda: services.relations.relations(bob, "viking://user/default/memories"),
    )
    for call in refused:
        with pytest.raises(PermissionDeniedError):
            call()
    file = f"{harbour}/.relations.json"
    touches: tuple[Callable[[], object], ...] = (
        lambda: services.content.read(bob, file),
        lambda: services.content.download(bob, file),
        lambda: services.fs.stat(bob, file),
        lambda: services.fs.mv(bob, file, f"{harbour}/told.md"),
        lambda: services.fs.rm(bob, file),
    )
    for touch in touches:
        with pytest.raises(PermissionDeniedError, match="relations"):
            touch()
    assert likes in services.content.read(root, file)
    services.relations.unlink(root, harbour, likes)
    services.relations.unlink(root, harbour, orchard)


def test_over_http(world: World) -> None:
    base, link = "/api/v1/relations", "/api/v1/relations/link"
    orchard, north = "viking://resources/orchard", "viking://resources/harbour/north"
    sent = {"from_uri": orchard, "to_uris": north, "reason": "near"}
    assert world.posted("relations/link", **sent) == {"from": orchard, "to": [north]}
    got = world.client.get(base, params={"uri": orchard}).json()
    assert got["result"] == [{"uri": north, "reason": "near"}]
    gone = world.client.request("DELETE", link, json={"from_uri": orchard, "to_uri": north})
    assert gone.json()["result"] == {"from": orchard, "to": north}
    assert world.client.get(base, params={"uri": orchard}).json()["result"] == []
    statuses = [
        world.client.get(base).status_code,
        world.client.post(link, json={**sent, "more": 1}).status_code,
        world.client.post(link, json={**sent, "to_uris": "viking://resources/none"}).status_code,
        world.client.request("DELETE", link, json={"from_uri": orchard}).status_code,
    ]
    assert statuses == [400, 400, 404, 400]


def test_awaited(tmp_path: Path) -> None:
    async def call() -> list[dict[str, str]]:
        async with AsyncOpenViking(tmp_path, embedder="none", workers=0) as ov:
            await ov.write(f"{API}/a.md", "a", "create")
            await ov.link(API, f"{API}/a.md", "in it")
            found = await ov.find("a", strategy="late")
            assert found.total
            return await ov.relations(API)

    assert asyncio.run(call()) == [{"uri": f"{API}/a.md", "reason": "in it"}]


def test_what_moved_out_of_sight_is_not_told(world: World) -> None:
    """A link leads to where its target is now, which may be somebody's own place."""
    services = world.services
    bob, root = Identity("default", "bob", "user"), Identity("default", "default", "root")
    foundry, shared, own = (
        "viking://resources/foundry",
        "viking://resources/orchard/plan.md",
        "viking://user/default/resources/plan.md",
    )
    services.content.write(root, shared, "The plan of the orchard.\n", "create")
    services.relations.link(root, foundry, shared, "planned")
    assert [one["uri"] for one in services.relations.relations(bob, foundry)] == [shared]
    services.fs.mv(root, shared, own)
    assert [one["uri"] for one in services.relations.relations(root, foundry)] == [own]
    assert services.relations.relations(bob, foundry) == []
    services.relations.unlink(root, foundry, own)
    services.fs.rm(root, own)
    assert services.relations.relations(root, foundry) == []


def test_of_a_home_nothing_is_told_to_one_peer_alone(world: World) -> None:
    """Its abstract tells of the other peers, too."""
    services, root = world.services, Identity("default", "default", "root")
    harbour, home = "viking://resources/harbour", "viking://user/default"
    services.relations.link(root, harbour, home, "works here")
    world.settle()
    for who, tells in ((root, True), (Identity("default", "default", "root", actor_peer="p"), False)):
        found = services.search.find(who, "harbour north", harbour, level=[0, 1], strategy="classic", limit=20)
        abstracts = [one["abstract"] for hit in found for one in hit.relations if one["uri"] == home]
        assert [bool(one) for one in abstracts] == [tells]
    services.relations.unlink(root, harbour, home)
