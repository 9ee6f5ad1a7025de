"""Invariant 7: identity has no default below the doors; no account names another; a scope can only be narrowed."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from openviking.errors import InvalidArgumentError, NotFoundError, OpenVikingError, PermissionDeniedError
from openviking.model.identity import Identity
from openviking.service.admin import Admin
from openviking.service.batch_writing import BatchWriting
from openviking.service.content import Content
from openviking.service.context_search import ContextSearch
from openviking.service.fs import FileSystem
from openviking.service.imports import Imports
from openviking.service.observer import Observer
from openviking.service.reindex import Reindexing
from openviking.service.resources import Resources
from openviking.service.search import Search
from openviking.service.sessions import Sessions
from openviking.service.skills import Skills
from openviking.service.stats import Stats
from openviking.service.system import System
from openviking.service.tasks import Tasks
from openviking.service.watches import Watches

ALICE = Identity(account="acme", user="alice", role="user")
BOB = Identity(account="acme", user="bob", role="user")
ADMIN = Identity(account="acme", user="boss", role="admin")
ROOT = Identity(account="acme", user="root", role="root")
EVE = Identity(account="evil", user="alice", role="root")
WITH_PEER = dataclasses.replace(ALICE, actor_peer="carol")


@pytest.fixture
def world(services: Any) -> Any:
    """Two users of one account with a secret each, a peer view, and another account."""
    write = services.content.write
    write(ALICE, "viking://~/memories/m.md", "alicesecret", "create")
    write(ALICE, "viking://~/peers/carol/memories/c.md", "carolfact", "create")
    write(ALICE, "viking://~/peers/dave/memories/d.md", "davefact", "create")
    write(BOB, "viking://~/memories/m.md", "bobsecret", "create")
    write(BOB, "viking://resources/shared.md", "sharedword", "create")
    write(EVE, "viking://~/memories/m.md", "evesecret", "create")
    services.worker.drain(services.accounts.store(ALICE), 30)
    return services


def test_identity_has_no_defaults_but_the_peer() -> None:
    required = [field for field in dataclasses.fields(Identity) if field.default is dataclasses.MISSING]
    assert [field.name for field in required] == ["account", "user", "role"]


@pytest.mark.parametrize(
    "service",
    [
        FileSystem,
        Content,
        Search,
        ContextSearch,
        Sessions,
        Skills,
        Stats,
        Resources,
        System,
        Admin,
        Tasks,
        Watches,
        Observer,
        Imports,
        Reindexing,
        BatchWriting,
    ],
)
def test_every_use_case_takes_the_identity_first(service: type) -> None:
    public = [
        value
        for name, value in vars(service).items()
        if not name.startswith("_") and callable(value) and not isinstance(value, staticmethod)
    ]
    assert public
    for use_case in public:
        first = list(inspect.signature(use_case).parameters.values())[1]
        assert (first.name, first.default) == ("identity", inspect.Parameter.empty), use_case


def operations(services: Any, who: Identity, uri: str) -> dict[str, Callable[[], object]]:
    """Everything that takes a URI, applied to ``uri``."""
    fs, content, search = services.fs, services.content, services.search
    return {
        "read": lambda: content.read(who, uri),
        "download": lambda: content.download(who, uri),
        "abstract": lambda: content.abstract(who, uri),
        "overview": lambda: content.overview(who, uri),
        "create": lambda: content.write(who, uri, "intruded", "create"),
        "replace": lambda: content.write(who, uri, "intruded"),
        "append": lambda: content.write(who, uri, "intruded", "append"),
        "ls": lambda: fs.ls(who, uri),
        "tree": lambda: fs.tree(who, uri),
        "stat": lambda: fs.stat(who, uri),
        "attrs": lambda: fs.attrs(who, uri),
        "set_tags": lambda: fs.set_tags(who, uri, ["k=v"], recursive=True),
        "mkdir": lambda: fs.mkdir(who, uri),
        "rm": lambda: fs.rm(who, uri, recursive=True),
        "mv from": lambda: fs.mv(who, uri, "viking://resources/taken"),
        "cp from": lambda: fs.cp(who, uri, "viking://resources/taken", recursive=True),
        "cp to": lambda: fs.cp(who, "viking://resources/shared.md", uri),
        "mv to": lambda: fs.mv(who, "viking://resources/shared.md", uri),
        "grep": lambda: search.grep(who, uri, "."),
        "grep without": lambda: search.grep(who, "viking://resources", ".", exclude_uri=uri),
        "glob": lambda: search.glob(who, "**", uri),
        "find": lambda: search.find(who, "secret", uri),
        "find in both": lambda: search.find(who, "secret", ["viking://resources", uri]),
    }


def everything(services: Any) -> list[tuple[Any, ...]]:
    """All nodes of both accounts with their tags and bytes."""
    found: list[tuple[Any, ...]] = []
    for who in (ROOT, EVE):
        with services.accounts.store(who).read() as view:
            for entry in view.walk(""):
                node = entry.node
                found.append((who.account, node.path, node.hash, node.updated_at, view.tags([node.id])))
    return found


@pytest.mark.parametrize("who", [ALICE, ADMIN], ids=["user", "admin"])
@pytest.mark.parametrize("uri", ["viking://user/bob", "viking://user/bob/memories", "viking://user/bob/memories/m.md",
                                 "viking://user/bob/none", "viking://user/nobody/x.md"])  # fmt: skip
def test_another_users_tree_is_refused_whether_it_exists_or_not(world: Any, who: Identity, uri: str) -> None:
    world.accounts.store(who)
    before = everything(world)
    for name, ask in operations(world, who, uri).items():
        with pytest.raises(PermissionDeniedError) as caught:
            ask()
        assert caught.value.status == 403, name
    assert everything(world) == before


TRICKS = [
    "viking://resources/../user/bob/memories/m.md", "viking://resources/./x", "viking://resources/%2e%2e/user/bob",
    "viking://resources/%252e%252e/user/bob", "viking://resources/..\\user\\bob", "viking://resources\\..\\user\\bob",
    "viking://resources/../../_system/users.json", "viking://resources/a\x00b", "viking://resources/\n",
    "viking://temp/x", "viking://queue/x", "viking://upload/x", "viking://_system/users.json", "viking://foo/x",
    "file:///etc/passwd", "/etc/passwd", "http://example.org/x", "VIKING://resources/x", " viking://resources/x",
    "viking://resources/．．/user/bob", "viking://resources/。。/x/‥", "viking://resources/C:/x", "viking://c:/x",
    "viking://user/memories/m.md", "viking://user/../bob/memories/m.md", "viking://user/~/x", "viking://user/a b/x",
    "viking://~/../bob/memories/m.md", "viking://~/peers/../../bob/m.md", "viking://resources/" + "x" * 10_000,
    "viking://resources/\ud800", "viking://resources/{calendar:nonsense}/x", "", " ", "viking:/resources", "resources/x",
]  # fmt: skip


@pytest.mark.cpu_budget(8)
def test_uri_tricks_reach_nothing(world: Any) -> None:
    world.accounts.store(ROOT)
    before = everything(world)
    for who in (ALICE, ROOT, WITH_PEER):
        for uri in TRICKS:
            for name, ask in operations(world, who, uri).items():
                if (name, uri) in {("find", ""), ("grep without", ""), ("find in both", "")}:
                    continue
                with pytest.raises(OpenVikingError) as caught:
                    ask()
                assert caught.value.status in {400, 403, 404}, (name, uri)
                assert "/accounts/" not in caught.value.message
    assert everything(world) == before


@pytest.mark.parametrize(
    "uri", ["viking:///resources//shared.md", "viking://resources/shared.md/", "viking://resources/shared.md?x"]
)
def test_doubled_and_trailing_slashes_mean_the_same_node(world: Any, uri: str) -> None:
    assert world.content.read(ALICE, uri) == "sharedword"


@pytest.mark.parametrize(
    "uri", ["viking://resources/new.md?x=1", "viking://resources/n#ew.md", "viking://resources/a?/b.md"]
)
def test_nothing_new_has_a_question_mark_or_hash(world: Any, uri: str) -> None:
    for ask in (
        partial(world.content.write, ALICE, uri, "x", "create"),
        partial(world.fs.mkdir, ALICE, uri),
        partial(world.fs.mv, ALICE, "viking://resources/shared.md", uri),
    ):
        with pytest.raises(InvalidArgumentError):
            ask()
    assert world.fs.ls(ALICE, "viking://resources", simple=True) == ["viking://resources/shared.md"]


def test_searches_and_listings_from_above_show_only_ones_own(world: Any) -> None:
    for who in (ALICE, ADMIN, dataclasses.replace(ALICE, user="newcomer")):
        world.accounts.store(who)
        for uri in ("viking://", "viking://user", "viking://user/" + who.user, "viking://resources"):
            said = [
                world.search.grep(who, uri, "secret|fact", node_limit=None).to_dict(),
                world.search.glob(who, "**", uri, node_limit=None).to_dict(),
                list(world.fs.tree(who, uri, level_limit=9)),
                list(world.fs.ls(who, uri)),
                world.content.abstract(who, uri),
                world.content.overview(who, uri),
                world.search.find(who, "bobsecret evesecret", uri, limit=100).to_dict(),
            ]
            assert "bob" not in str(said).replace("bobsecret", "") or who.user == "bob"
            assert "bobsecret" not in str(said)
            assert "evesecret" not in str(said)
    assert world.search.grep(ALICE, "viking://user", "secret").total == 1
    assert world.search.grep(ROOT, "viking://user", "secret").total == 2
    assert world.fs.stat(ALICE, "viking://user")["count"] == world.fs.stat(ALICE, "viking://~")["count"]
    assert world.search.grep(ALICE, "viking://user", "secret", level_limit=3).total == 1
    assert world.search.grep(ALICE, "viking://user", "secret", level_limit=2).total == 0
    assert world.search.grep(ALICE, "viking://~", "secret", level_limit=2).total == 1


def test_default_targets_are_ones_own_tree_and_the_shared_resources(world: Any) -> None:
    found = world.search.find(ALICE, "alicesecret bobsecret evesecret sharedword", level=2, limit=50)
    assert {hit.uri for hit in found} == {"viking://user/alice/memories/m.md", "viking://resources/shared.md"}
    found = world.search.find(EVE, "alicesecret bobsecret evesecret sharedword", level=2, limit=50)
    assert {hit.uri for hit in found} == {"viking://user/alice/memories/m.md"}


def test_an_actor_peer_narrows_every_view(world: Any) -> None:
    for uri in ("viking://", "viking://user", "viking://~", "viking://~/peers"):
        said = [
            world.search.grep(WITH_PEER, uri, "fact", node_limit=None).to_dict(),
            world.search.glob(WITH_PEER, "**", uri, node_limit=None).to_dict(),
            list(world.fs.tree(WITH_PEER, uri, level_limit=9)),
            list(world.fs.ls(WITH_PEER, uri)),
            world.content.abstract(WITH_PEER, uri),
            world.content.overview(WITH_PEER, uri),
            world.search.find(WITH_PEER, "davefact", uri, limit=100).to_dict(),
            world.fs.stat(WITH_PEER, uri),
        ]
        assert "dave" not in str(said)
        assert "count" not in said[-1]
        assert world.search.grep(WITH_PEER, uri, "carolfact").total == 1
    listing = world.fs.ls(WITH_PEER, "viking://~/peers", simple=True)
    assert (list(listing), listing.total) == (["viking://user/alice/peers/carol"], 1)
    assert [hit.uri for hit in world.search.find(WITH_PEER, "alicesecret", level=2)] == [
        "viking://user/alice/memories/m.md"
    ]
    for name, ask in operations(world, WITH_PEER, "viking://~/peers/dave").items():
        with pytest.raises(PermissionDeniedError):
            ask()
        assert name
    for uri in ("viking://~", "viking://~/peers"):
        for destructive in (
            partial(world.fs.rm, WITH_PEER, uri, recursive=True),
            partial(world.fs.mv, WITH_PEER, uri, "viking://resources/taken"),
            partial(world.fs.set_tags, WITH_PEER, uri, ["k=v"], recursive=True),
        ):
            with pytest.raises(PermissionDeniedError):
                destructive()
    assert world.search.grep(ALICE, "viking://~", "davefact").total == 1


def test_nobody_can_lock_another_out_with_a_file_in_place_of_a_directory(world: Any) -> None:
    for uri in ("viking://user/zoe", "viking://user/zoe/memories", "viking://agent/skills"):
        for ask in (
            partial(world.content.write, ROOT, uri, "x", "create"),
            partial(world.fs.mv, ROOT, "viking://resources/shared.md", uri),
        ):
            with pytest.raises((InvalidArgumentError, PermissionDeniedError, NotFoundError)):
                ask()
    zoe = dataclasses.replace(ALICE, user="zoe")
    world.content.write(zoe, "viking://~/memories/m.md", "mine", "create")
    assert world.content.read(zoe, "viking://~/memories/m.md") == "mine"


@pytest.mark.parametrize("account", ["..", ".", "", "a/b", "_system", "a\x00", "a b", "ü", "a\\b"])
def test_no_account_names_another_place(services: Any, account: str) -> None:
    with pytest.raises(InvalidArgumentError):
        services.fs.ls(dataclasses.replace(ROOT, account=account), "viking://")


@pytest.mark.parametrize("user", ["..", "", "a/b", "memories/..", "a\x00", "a b"])
def test_no_user_names_another_place(services: Any, user: str) -> None:
    with pytest.raises(InvalidArgumentError):
        services.fs.ls(dataclasses.replace(ALICE, user=user), "viking://~")


def test_targets_that_are_no_uris_are_refused(world: Any) -> None:
    for target in (5, [5], [["viking://resources"]], {"a": 1}, [f"viking://resources/{n}" for n in range(5000)]):
        with pytest.raises(InvalidArgumentError):
            world.search.find(ALICE, "x", target)


def test_the_wrong_kind_of_node_is_told_apart(world: Any) -> None:
    file, directory, none = "viking://resources/shared.md", "viking://resources", "viking://resources/none.md"
    for ask in (partial(world.content.read, ALICE, directory), partial(world.content.download, ALICE, directory)):
        with pytest.raises(InvalidArgumentError) as caught:
            ask()
        assert (caught.value.details["expected"], caught.value.details["actual"]) == ("file", "directory")
    world.fs.mkdir(ALICE, "viking://resources/d")
    statuses: dict[str, tuple[Callable[[], object], int]] = {
        "abstract of a file": (lambda: world.content.abstract(ALICE, file), 200),
        "ls on a file": (lambda: world.fs.ls(ALICE, file), 412),
        "tree on a file": (lambda: world.fs.tree(ALICE, file), 412),
        "stat of nothing": (lambda: world.fs.stat(ALICE, none), 404),
        "read of nothing": (lambda: world.content.read(ALICE, none), 404),
        "write to a directory": (lambda: world.content.write(ALICE, "viking://resources/d", "x", "create"), 400),
        "replace a directory": (lambda: world.content.write(ALICE, "viking://resources/d", "x"), 400),
        "mkdir over a file": (lambda: world.fs.mkdir(ALICE, file), 409),
        "mkdir over a directory": (lambda: world.fs.mkdir(ALICE, "viking://resources/d"), 409),
        "rm without recursive": (lambda: world.fs.rm(ALICE, "viking://resources/d"), 412),
        "create what is there": (lambda: world.content.write(ALICE, file, "x", "create"), 409),
        "replace what is not there": (lambda: world.content.write(ALICE, none, "x"), 404),
        "rm of nothing": (lambda: world.fs.rm(ALICE, none), 200),
    }
    for name, (call, status) in statuses.items():
        try:
            call()
            answered = 200
        except OpenVikingError as error:
            answered = error.status
        assert answered == status, name
