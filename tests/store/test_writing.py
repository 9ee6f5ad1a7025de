"""What each operation of a batch does, and what it refuses."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stubs.queries import words

from openviking.errors import (
    AlreadyExistsError,
    ConflictError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpenVikingError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.store.batch import Applied, MakeDirectory, Move, PutFile, Remove, SetTags
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.purge import KEPT_CHANGES
from openviking.uri import MAX_DEPTH

Put = Callable[..., PutFile]
Find = Callable[[str], Node]
Listed = Callable[..., list[str]]


def kinds(applied: Applied) -> tuple[str, ...]:
    return tuple(outcome.kind for outcome in applied.outcomes)


def text_of(store: AccountStore, path: str) -> str | None:
    with store.read() as view:
        there = view.get(path)
        return None if there is None else view.text(there)


def found(store: AccountStore, *terms: str) -> list[str]:
    with store.read() as view:
        return [candidate.node.path for candidate in view.search(words(*terms), Scope(), 100)]


# --- put -----------------------------------------------------------------------------------------------------------


def test_a_file_is_made_with_its_parents_and_changed_in_place(store: AccountStore, put: Put, node: Find) -> None:
    assert kinds(store.apply([put("resources/a/b/c.md", "one")])) == ("created",)
    before = node("resources/a/b/c.md")
    assert [node(path).is_dir for path in ("resources", "resources/a", "resources/a/b")] == [True] * 3
    assert kinds(store.apply([put("resources/a/b/c.md", "two")])) == ("updated",)
    after = node("resources/a/b/c.md")
    assert (after.id, after.created_at, after.size) == (before.id, before.created_at, 3)
    assert after.updated_at >= before.updated_at
    assert text_of(store, "resources/a/b/c.md") == "two"


def test_the_same_bytes_again_change_nothing(store: AccountStore, put: Put, node: Find) -> None:
    store.apply([put("resources/a.md", "same")])
    before = node("resources/a.md")
    assert kinds(store.apply([put("resources/a.md", "same")])) == ("unchanged",)
    assert node("resources/a.md") == before


@pytest.mark.parametrize(
    ("mode", "present", "error"),
    [
        ("create", True, AlreadyExistsError),
        ("create", False, None),
        ("replace", True, None),
        ("replace", False, NotFoundError),
        ("put", True, None),
        ("put", False, None),
    ],
)
def test_modes_of_put(
    store: AccountStore, put: Put, mode: str, present: bool, error: type[OpenVikingError] | None
) -> None:
    if present:
        store.apply([put("resources/a.md", "old")])
    if error is None:
        store.apply([put("resources/a.md", "new", mode=mode)])
        assert text_of(store, "resources/a.md") == "new"
    else:
        with pytest.raises(error):
            store.apply([put("resources/a.md", "new", mode=mode)])
        assert text_of(store, "resources/a.md") == ("old" if present else None)


def test_a_base_that_is_no_longer_there_is_a_conflict(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/a.md", "one")])
    base = hashlib.sha256(b"one").digest()
    store.apply([put("resources/a.md", "two", base=base)])
    with pytest.raises(ConflictError) as caught:
        store.apply([put("resources/a.md", "three", base=base)])
    assert caught.value.details["retryable"] is True
    with pytest.raises(ConflictError):
        store.apply([put("resources/missing.md", "three", base=base)])
    assert text_of(store, "resources/a.md") == "two"


def test_a_file_and_a_directory_never_share_a_path(store: AccountStore, put: Put, listed: Listed) -> None:
    store.apply([put("resources/a/b.md", "x")])
    with pytest.raises(InvalidArgumentError) as caught:
        store.apply([put("resources/a", "x")])
    assert caught.value.details["actual"] == "directory"
    for below in ("resources/a/b.md/c.md", "resources/a/b.md/c/d/e.md"):
        with pytest.raises(ConflictError):
            store.apply([put(below, "x")])
        with pytest.raises(ConflictError):
            store.apply([MakeDirectory(below)])
    assert listed() == ["resources", "resources/a", "resources/a/b.md"]
    assert store.check() == []


def test_text_and_bytes_are_both_kept_where_they_differ(store: AccountStore, put: Put, node: Find) -> None:
    data = "héllo wörld, déjà vu".encode("utf-16")
    store.apply([put("resources/a.txt", data), put("resources/b.bin", bytes(range(256)) * 3)])
    with store.read() as view:
        assert view.data(node("resources/a.txt")) == data
        assert view.text(node("resources/a.txt")) == "héllo wörld, déjà vu"
        assert view.text(node("resources/b.bin")) is None
        assert view.data(node("resources/b.bin")) == bytes(range(256)) * 3
    store.apply([put("resources/a.txt", "now plain")])
    store.apply([Remove("resources/b.bin")])
    while store.purge(100):
        pass
    assert store.check() == []


def test_a_change_of_the_preparing_code_makes_terms_anew(store: AccountStore, put: Put) -> None:
    """Also passages that look the same: their terms may have come from another analyser."""
    lead = "The lead paragraph says zorblax. " * 60
    old = put("resources/a.md", f"{lead}\n\nend")
    stale = [
        type(one)(**{name: getattr(one, name) for name in one.__slots__} | {"body_terms": "obsolete"})
        for one in old.content.passages
    ]
    content = type(old.content)(
        **{name: getattr(old.content, name) for name in old.content.__slots__}
        | {"passages": tuple(stale), "prepared": 1}
    )
    store.apply([PutFile("resources/a.md", content)])
    assert found(store, "obsolet", "obsolete")
    store.apply([put("resources/a.md", f"{lead}\n\nend and more")])
    assert not found(store, "obsolete")
    assert found(store, "zorblax")


# --- batches -------------------------------------------------------------------------------------------------------


def test_the_first_error_undoes_the_whole_batch(store: AccountStore, put: Put, listed: Listed) -> None:
    store.apply([put("resources/keep.md", "kept")])
    with store.read() as view:
        change = view.change
    with pytest.raises(NotFoundError):
        store.apply(
            [
                put("resources/new/a.md", "a"),
                Remove("resources/keep.md"),
                Move("resources/nowhere", "resources/x"),
            ],
            jobs=[NewJob("import", "k", {})],
        )
    assert listed() == ["resources", "resources/keep.md"]
    assert not found(store, "a")
    assert "import" not in store.jobs.waiting()
    with store.read() as view:
        assert view.change == change


def test_a_tolerant_batch_undoes_only_what_failed(store: AccountStore, put: Put, listed: Listed) -> None:
    applied = store.apply(
        [
            put("resources/a.md", "alpha"),
            put("resources/a.md/below/b.md", "beta"),
            put("resources/dir/c.md", "gamma"),
            Move("resources/dir", "resources/dir/inner"),
            Remove("resources/dir"),
            MakeDirectory("resources/dir"),
            put("resources/dir/d.md", "delta"),
        ],
        tolerant=True,
    )
    assert kinds(applied) == ("created", "failed", "created", "failed", "failed", "failed", "created")
    errors = [outcome.error for outcome in applied.outcomes]
    assert [type(error) for error in errors if error is not None] == [
        ConflictError,
        InvalidArgumentError,
        FailedPreconditionError,
        ConflictError,
    ]
    assert errors[1] is not None
    assert "resources/a.md" in errors[1].message
    assert listed() == ["resources", "resources/a.md", "resources/dir", "resources/dir/c.md", "resources/dir/d.md"]
    assert store.check() == []


def test_what_a_tolerant_batch_undid_is_not_remembered(store: AccountStore, put: Put, listed: Listed) -> None:
    """A directory that was made by an operation that failed later does not exist for the next one."""
    store.apply([put("resources/x.md", "x")])
    applied = store.apply(
        [put("resources/new/deep/y.md", "y", base=b"other"), put("resources/new/z.md", "z")], tolerant=True
    )
    assert kinds(applied)[1] == "created"
    assert listed() == ["resources", "resources/new", "resources/new/z.md", "resources/x.md"]
    assert store.check() == []


def test_change_numbers_rise_and_the_log_tells_what_happened(store: AccountStore, put: Put, node: Find) -> None:
    first = store.apply([put("resources/a.md", "one")]).change
    file = node("resources/a.md").id
    store.apply([SetTags("resources/a.md", ("k=v",))])
    store.apply([Move("resources/a.md", "resources/b.md")])
    last = store.apply([Remove("resources/b.md")]).change
    with store.read() as view:
        assert view.change == last == first + 3
        changes = view.changes(first, 100)
        assert [(one.op, one.node_id) for one in changes] == [("tags", file), ("move", file), ("remove", file)]
        assert [one.change for one in view.changes(0, 2)] == [1, 1]


@pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)
def test_a_log_that_no_longer_reaches_back_is_an_error(store: AccountStore, tmp_path: Path, put: Put) -> None:
    first = store.apply([put("resources/a.md", "one")]).change
    with contextlib.closing(sqlite3.connect(tmp_path / "store" / "store.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'change'", (first + KEPT_CHANGES - 1,))
    connection.close()
    last = store.apply([put("resources/a.md", "two")]).change
    with store.read() as view:
        assert {one.change for one in view.changes(first, 100)} == {last}
        with pytest.raises(FailedPreconditionError) as caught:
            view.changes(first - 1, 100)
    assert caught.value.details == {"since": first - 1, "forgotten": first}


class Outage:
    """An analyser that meets an outage at one name, as a writer does whose disk fills up."""

    version = 1

    def __init__(self, error: OpenVikingError) -> None:
        self._error = error

    def name_terms(self, name: str) -> tuple[str, ...]:
        if name == "outage.md":
            raise self._error
        return (name,)


@pytest.mark.parametrize(
    "error",
    [UnavailableError("gone", service="store", reason="gone"), ResourceExhaustedError("full", resource="store")],
)
def test_an_outage_is_not_tolerated(tmp_path: Path, put: Put, error: OpenVikingError) -> None:
    store = SqliteStore(tmp_path / "store", Outage(error))
    with pytest.raises(type(error)):
        store.apply([put("resources/a.md", "x"), put("resources/outage.md", "x")], tolerant=True)
    with store.read() as view:
        assert view.get("resources/a.md") is None
    store.close()


# --- directories ---------------------------------------------------------------------------------------------------


def test_making_a_directory(store: AccountStore, put: Put) -> None:
    assert kinds(store.apply([MakeDirectory("resources/a/b", description="Why it is here")])) == ("created",)
    with pytest.raises(ConflictError):
        store.apply([MakeDirectory("resources/a")])
    assert kinds(store.apply([MakeDirectory("resources/a", exist_ok=True)])) == ("unchanged",)
    store.apply([put("resources/f.md", "x")])
    with pytest.raises(ConflictError):
        store.apply([MakeDirectory("resources/f.md", exist_ok=True)])
    with store.read() as view:
        assert view.description("resources/a/b") == "Why it is here"
        assert view.description("resources/a") == ""


# --- remove --------------------------------------------------------------------------------------------------------


def test_removing(store: AccountStore, put: Put, listed: Listed) -> None:
    store.apply([put("resources/d/a.md", "zorblax"), put("resources/d/e/b.md", "zorblax"), put("resources/k.md", "k")])
    with pytest.raises(FailedPreconditionError) as caught:
        store.apply([Remove("resources/d")])
    assert caught.value.details["expected_flag"] == "recursive"
    applied = store.apply([Remove("resources/d", recursive=True), Remove("resources/none"), Remove("resources/k.md")])
    assert kinds(applied) == ("removed", "missing", "removed")
    assert [outcome.count for outcome in applied.outcomes] == [4, 0, 1]
    assert listed() == ["resources"]
    assert not found(store, "zorblax")
    assert store.check() == []


def test_removing_with_a_base(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/a.md", "one")])
    with pytest.raises(ConflictError):
        store.apply([Remove("resources/a.md", base=hashlib.sha256(b"other").digest())])
    store.apply([Remove("resources/a.md", base=hashlib.sha256(b"one").digest())])
    assert text_of(store, "resources/a.md") is None


def test_a_name_can_be_used_again_after_removal(store: AccountStore, put: Put, listed: Listed) -> None:
    for number in range(3):
        store.apply([put("resources/d/a.md", f"generation{number}")])
        assert found(store, f"generation{number}") == ["resources/d/a.md"]
        store.apply([Remove("resources/d", recursive=True)])
    store.apply([put("resources/d", "a file now")])
    assert listed() == ["resources", "resources/d"]
    while store.purge(2):
        pass
    assert listed() == ["resources", "resources/d"]
    assert store.check() == []


def test_the_root_can_be_neither_removed_nor_moved(store: AccountStore, put: Put, listed: Listed) -> None:
    store.apply([put("resources/a.md", "x")])
    with pytest.raises(PermissionDeniedError):
        store.apply([Remove("", recursive=True)])
    with pytest.raises(OpenVikingError):
        store.apply([Move("", "resources/all")])
    assert listed() == ["resources", "resources/a.md"]


# --- move ----------------------------------------------------------------------------------------------------------


def test_moving_keeps_everything_but_the_path(store: AccountStore, put: Put, node: Find, listed: Listed) -> None:
    store.apply([put("resources/d/a.md", "zorblax"), put("resources/d/e/b.md", "b"), MakeDirectory("resources/to")])
    store.apply([SetTags("resources/d", ("k=v",), recursive=True)])
    before = node("resources/d/a.md")
    with store.read() as view:
        passages = view.passages(before)
    applied = store.apply([Move("resources/d", "resources/to/f")])
    assert kinds(applied) == ("moved",)
    assert listed() == [
        "resources", "resources/to", "resources/to/f", "resources/to/f/a.md", "resources/to/f/e",
        "resources/to/f/e/b.md",
    ]  # fmt: skip
    after = node("resources/to/f/a.md")
    assert (after.id, after.created_at, after.updated_at) == (before.id, before.created_at, before.updated_at)
    with store.read() as view:
        assert view.tags([after.id]) == {after.id: ("k=v",)}
        assert view.passages(after) == passages
    assert found(store, "zorblax") == ["resources/to/f/a.md"]
    assert store.check() == []


def test_moves_that_are_refused(store: AccountStore, put: Put, listed: Listed) -> None:
    store.apply([put("resources/d/a.md", "a"), put("resources/f.md", "f")])
    before = listed()
    refused: list[tuple[str, str, type[OpenVikingError]]] = [
        ("resources/none", "resources/x", NotFoundError),
        ("resources/d", "resources/d/below", InvalidArgumentError),
        ("resources/d", "resources/f.md", AlreadyExistsError),
        ("resources/f.md", "resources/d", AlreadyExistsError),
        ("resources/f.md", "resources/d/a.md", AlreadyExistsError),
        ("resources/f.md", "resources/nowhere/f.md", NotFoundError),
        ("resources/f.md", "resources/f.md/g.md", NotFoundError),
        ("resources/f.md", "resources/d/a.md/g.md", NotFoundError),
    ]
    for source, target, error in refused:
        with pytest.raises(error):
            store.apply([Move(source, target)])
    assert kinds(store.apply([Move("resources/d", "resources/d")])) == ("unchanged",)
    assert listed() == before


def test_a_directory_whose_name_begins_alike_stays(store: AccountStore, put: Put, listed: Listed) -> None:
    names = ["doc", "doc.bak", "doc-2", "doc2", "doc 3", "doc/e", "docé"]
    store.apply([put(f"resources/{name}/a.md", "x") for name in names])
    store.apply([Move("resources/doc", "resources/moved")])
    store.apply([Remove("resources/doc2", recursive=True)])
    assert sorted(listed(files_only=True)) == sorted(
        ["resources/moved/a.md", "resources/moved/e/a.md"]
        + [f"resources/{name}/a.md" for name in ("doc.bak", "doc-2", "doc 3", "docé")]
    )


def test_no_move_makes_what_is_too_deep(store: AccountStore, put: Put) -> None:
    below = "/".join("a" * (MAX_DEPTH - 4))
    store.apply([put(f"resources/s/{below}/f.md", "x"), put("resources/g.md", "y"), MakeDirectory("resources/t/u")])
    with pytest.raises(InvalidArgumentError, match=f"would have {MAX_DEPTH + 1} segments, at most {MAX_DEPTH} "):
        store.apply([Move("resources/s", "resources/t/u/s")])
    store.apply([Move("resources/s", "resources/t/s"), MakeDirectory(f"resources/t/s/{below}/g")])
    with pytest.raises(InvalidArgumentError, match="segments"):
        store.apply([Move("resources/g.md", f"resources/t/s/{below}/g/h.md")])


def test_no_move_makes_a_uri_that_cannot_be_spelled(store: AccountStore, put: Put, listed: Listed) -> None:
    deep = "/".join(["d" * 200] * 20)
    store.apply([put(f"resources/a/{deep}/f.md", "x"), MakeDirectory("resources/" + "t" * 250)])
    with pytest.raises(InvalidArgumentError, match="4096"):
        store.apply([Move("resources/a", "resources/" + "t" * 250 + "/a")])
    assert "resources/a" in listed()


def test_a_renamed_file_is_prepared_anew(store: AccountStore, put: Put, node: Find) -> None:
    """How a file is parsed, and what its abstract says, depends on its name."""
    content = put("resources/notes.txt", "def main(): pass\n")
    store.apply([content])
    with store.read() as view:
        assert view.outdated(content.content.prepared, 10) == []
    store.apply([Move("resources/notes.txt", "resources/main.py")])
    with store.read() as view:
        assert [one.path for one in view.outdated(content.content.prepared, 10)] == ["resources/main.py"]
    assert "prepare" in store.jobs.waiting()
    store.apply([put("resources/main.py", "def main(): pass\n")])
    with store.read() as view:
        assert view.outdated(content.content.prepared, 10) == []
        assert view.passages(node("resources/main.py"))[0].symbol == "main"


# --- tags ----------------------------------------------------------------------------------------------------------


def test_tags_replace_append_and_clear(store: AccountStore, put: Put, node: Find) -> None:
    store.apply([put("resources/a.md", "x")])
    file = node("resources/a.md").id

    def after(*tags: str, mode: str = "replace") -> tuple[str, ...]:
        store.apply([SetTags("resources/a.md", tags, mode)])  # type: ignore[arg-type]
        with store.read() as view:
            return view.tags([file]).get(file, ())

    assert after("team=search", "env=prod") == ("env=prod", "team=search")
    assert after("env=dev", "a=b", mode="append") == ("a=b", "env=dev", "team=search")
    assert after("x=y") == ("x=y",)
    assert after("ignored=yes", mode="clear") == ()
    with pytest.raises(NotFoundError):
        store.apply([SetTags("resources/none.md", ("k=v",))])


def test_tags_of_a_subtree(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/d/a.md", "a"), put("resources/d/e/b.md", "b"), put("resources/d2.md", "c")])
    applied = store.apply([SetTags("resources/d", ("k=v",), recursive=True)])
    assert applied.outcomes[0].touched == ("resources/d", "resources/d/a.md", "resources/d/e", "resources/d/e/b.md")
    assert store.apply([SetTags("resources/d", ("k=w",))]).outcomes[0].touched == ("resources/d",)
