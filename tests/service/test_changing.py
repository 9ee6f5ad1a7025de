"""Moving and tagging: one error for one fault, whoever notices it, and a greatest number of tags on a node."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from openviking import OpenViking
from openviking.errors import AlreadyExistsError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from openviking.model.identity import Identity
from openviking.store.batch import MakeDirectory

ROOT = "viking://resources"
ALICE = Identity(account="acme", user="alice", role="user")


def test_a_move_onto_what_exists(ov: OpenViking) -> None:
    ov.write(f"{ROOT}/a.md", "one", "create")
    ov.write(f"{ROOT}/b.md", "two", "create")
    ov.mkdir(f"{ROOT}/d")
    for source in (f"{ROOT}/a.md", f"{ROOT}/d"):
        with pytest.raises(AlreadyExistsError) as caught:
            ov.mv(source, f"{ROOT}/b.md")
        assert caught.value.status == 409
    with pytest.raises(InvalidArgumentError, match="existing directory") as refused:
        ov.mv(f"{ROOT}/a.md", f"{ROOT}/d")
    assert refused.value.status == 400
    with pytest.raises(InvalidArgumentError, match="names a directory"):
        ov.mv(f"{ROOT}/a.md", f"{ROOT}/new/")
    with pytest.raises(NotFoundError):
        ov.mv(f"{ROOT}/none.md", f"{ROOT}/c.md")
    assert ov.mv(f"{ROOT}/a.md", f"{ROOT}/a.md")["to"] == f"{ROOT}/a.md"
    assert ov.read(f"{ROOT}/a.md") == "one"


def test_a_copy_leaves_the_source(ov: OpenViking) -> None:
    ov.write(f"{ROOT}/d/a.md", "one", "create")
    ov.set_tags(f"{ROOT}/d/a.md", ["k=v"])
    assert ov.cp(f"{ROOT}/d/a.md", f"{ROOT}/d/b.md") == {"from": f"{ROOT}/d/a.md", "to": f"{ROOT}/d/b.md"}
    assert (ov.read(f"{ROOT}/d/b.md"), ov.attrs(f"{ROOT}/d/b.md")["attrs"]["tags"]) == ("one", ["k=v"])
    with pytest.raises(FailedPreconditionError, match="is a directory"):
        ov.cp(f"{ROOT}/d", f"{ROOT}/e")
    ov.cp(f"{ROOT}/d", f"{ROOT}/e", recursive=True)
    assert ov.read(f"{ROOT}/e/b.md") == ov.read(f"{ROOT}/d/a.md") == "one"
    with pytest.raises(AlreadyExistsError):
        ov.cp(f"{ROOT}/d/a.md", f"{ROOT}/d/b.md")


def test_a_directory_that_appears_meanwhile_gives_the_same_error(
    ov: OpenViking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the source and the move another writer makes the target."""
    ov.write(f"{ROOT}/a.md", "one", "create")
    store = ov._accounts.store(ov._identity)
    apply = type(store).apply

    def overtaken(self: Any, operations: Any, **how: Any) -> Any:
        monkeypatch.undo()
        apply(self, [MakeDirectory("resources/d")])
        return apply(self, operations, **how)

    monkeypatch.setattr(type(store), "apply", overtaken)
    with pytest.raises(InvalidArgumentError, match="existing directory"):
        ov.mv(f"{ROOT}/a.md", f"{ROOT}/d")


def test_writing_needs_or_refuses_what_exists(ov: OpenViking) -> None:
    with pytest.raises(NotFoundError):
        ov.write(f"{ROOT}/a.md", "x")
    with pytest.raises(NotFoundError):
        ov.write(f"{ROOT}/a.md", "x", "append")
    ov.write(f"{ROOT}/a.md", "x", "create")
    with pytest.raises(AlreadyExistsError):
        ov.write(f"{ROOT}/a.md", "x", "create")
    ov.mkdir(f"{ROOT}/d")
    for mode in ("replace", "append", "create"):
        with pytest.raises(InvalidArgumentError, match="is a directory"):
            ov.write(f"{ROOT}/d", "x", mode)


def test_tags_that_are_added_have_a_greatest_number(ov: OpenViking) -> None:
    ov.write(f"{ROOT}/d/a.md", "x", "create")
    first, second = [f"a{number}=1" for number in range(60)], [f"b{number}=1" for number in range(60)]
    ov.set_tags(f"{ROOT}/d/a.md", first, mode="append")
    for uri, recursive in ((f"{ROOT}/d/a.md", False), (ROOT, True)):
        with pytest.raises(InvalidArgumentError, match="120 on one node, at most 100"):
            ov.set_tags(uri, second, mode="append", recursive=recursive)
    assert len(ov.attrs(f"{ROOT}/d/a.md")["attrs"]["tags"]) == 60
    assert ov.attrs(ROOT)["attrs"]["tags"] == []
    ov.set_tags(f"{ROOT}/d/a.md", [*first, *second[:40]], mode="append")
    assert len(ov.attrs(f"{ROOT}/d/a.md")["attrs"]["tags"]) == 100
    ov.set_tags(f"{ROOT}/d/a.md", second, mode="replace")
    assert len(ov.attrs(f"{ROOT}/d/a.md")["attrs"]["tags"]) == 60


def test_a_peer_view_searches_files_at_the_users_root(services: Any) -> None:
    peer = dataclasses.replace(ALICE, actor_peer="carol")
    write = services.content.write
    write(ALICE, "viking://~/notes.md", "rootword", "create")
    write(ALICE, "viking://~/memories/m.md", "rootword", "create")
    write(ALICE, "viking://~/peers/carol/memories/c.md", "rootword", "create")
    write(ALICE, "viking://~/peers/dave/memories/d.md", "rootword davefact", "create")
    home = "viking://user/alice"
    seen = [f"{home}/memories/m.md", f"{home}/notes.md", f"{home}/peers/carol/memories/c.md"]
    for uri in (home, "viking://user", "viking://"):
        assert [match.uri for match in services.search.grep(peer, uri, "rootword")] == seen
        assert list(services.search.glob(peer, "**/*.md", uri)) == seen
    assert [match.uri for match in services.search.grep(peer, home, "rootword", level_limit=1)] == seen[1:2]
    assert services.search.grep(ALICE, home, "rootword", level_limit=1).total == 1
