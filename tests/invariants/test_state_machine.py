"""Invariant 2: no record without its file, no file without its records; find, grep, glob, ls, tree, read and stat agree.

A machine of random writes, appends, moves, removals, imports of a changing folder, tags and reopenings runs beside a dictionary, and
after every step each of the doors must say what the dictionary says.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from openviking import OpenViking
from openviking.errors import (
    AlreadyExistsError,
    ConflictError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpenVikingError,
)
from openviking.uri import SIDECAR_NAMES

ROOT = "viking://resources"
WORDS = ["zorblax", "quuxify", "Überfluß", "项目北极星", "ERR_TLS_0x8F"]

segments = st.sampled_from(["a", "b", "a.md", "b.py", "a b", "a-1", "é", ".dot"])
paths = st.lists(segments, min_size=1, max_size=3).map("/".join)
texts = st.lists(st.sampled_from([*WORDS, "plain", "# Title", ""]), max_size=6).map("\n".join)
changes = st.dictionaries(st.sampled_from(["x.md", "y.py", "d/z.md"]), st.none() | texts, min_size=1)
tags = st.sampled_from(["team=one", "team=two", "env=x"])


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def hidden(path: str) -> bool:
    return path.rpartition("/")[2].startswith(".")


class Machine(RuleBasedStateMachine):
    """The store beside ``files`` (texts), ``directories`` and ``tags``, all by path below the root."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.ov = OpenViking(Path(self.place.name) / "data", workers=0)
        self.folder = Path(self.place.name) / "folder"
        self.delivered: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.directories: set[str] = {""}
        self.tags: dict[str, dict[str, str]] = {}

    def teardown(self) -> None:
        assert self.ov.check() == []
        self.ov.close()
        self.place.cleanup()

    # --- what should happen ---

    def above(self, path: str) -> list[str]:
        parts = path.split("/")[:-1]
        return ["/".join(parts[:count]) for count in range(len(parts) + 1)]

    def below(self, path: str) -> list[str]:
        return [one for one in (*self.files, *self.directories) if one == path or one.startswith(path + "/")]

    def expect(self, error: type[OpenVikingError] | None, call: object, *args: object, **kwargs: object) -> bool:
        """Carries out a call that must raise ``error``, or succeed; whether it did."""
        assert callable(call)
        if error is None:
            call(*args, **kwargs)
            return True
        with pytest.raises(error):
            call(*args, **kwargs)
        return False

    # --- steps ---

    @rule(path=paths, text=texts)
    def create(self, path: str, text: str) -> None:
        error: type[OpenVikingError] | None = None
        if path in self.directories:
            error = InvalidArgumentError
        elif path in self.files:
            error = AlreadyExistsError
        elif any(one in self.files for one in self.above(path)):
            error = ConflictError
        if self.expect(error, self.ov.write, f"{ROOT}/{path}", text, "create"):
            self.files[path] = text
            self.directories.update(self.above(path))

    @rule(path=paths, text=texts, append=st.booleans())
    def change(self, path: str, text: str, append: bool) -> None:
        error = None if path in self.files else InvalidArgumentError if path in self.directories else NotFoundError
        if self.expect(error, self.ov.write, f"{ROOT}/{path}", text, "append" if append else "replace"):
            self.files[path] = self.files[path] + text if append else text

    @rule(changed=changes)
    def add_again(self, changed: dict[str, str | None]) -> None:
        """The folder's files become new, other or none; adding it again must do just that, below a root of its own."""
        before = dict(self.delivered)
        for name, text in changed.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                file.unlink(missing_ok=True)
                self.delivered.pop(name, None)
            else:
                file.write_text(text, "utf-8")
                self.delivered[name] = text
        report = self.ov.add_resource(self.folder, f"{ROOT}/added")
        now = self.delivered
        assert report.created == len(now.keys() - before.keys())
        assert report.removed == len(before.keys() - now.keys())
        assert report.updated == sum(before[name] != now[name] for name in before.keys() & now.keys())
        assert (report.files, report.failed, report.kept) == (len(now), (), ())
        for name in before:
            self.files.pop(f"added/{name}", None)
        self.files.update({f"added/{name}": text for name, text in now.items()})
        self.directories.discard("added/d")
        self.directories.update({"added"} | ({"added/d"} if "d/z.md" in now else set()))

    @rule(path=paths)
    def make_directory(self, path: str) -> None:
        taken = path in self.directories or path in self.files or any(one in self.files for one in self.above(path))
        if self.expect(ConflictError if taken else None, self.ov.mkdir, f"{ROOT}/{path}"):
            self.directories.update([path, *self.above(path)])

    @rule(path=paths, recursive=st.booleans())
    def remove(self, path: str, recursive: bool) -> None:
        error = FailedPreconditionError if path in self.directories and not recursive else None
        if self.expect(error, self.ov.rm, f"{ROOT}/{path}", recursive):
            for gone in self.below(path):
                self.files.pop(gone, None)
                self.directories.discard(gone)
                self.tags.pop(gone, None)

    @rule(source=paths, to=paths)
    def move(self, source: str, to: str) -> None:
        there = source in self.files or source in self.directories
        error: type[OpenVikingError] | None = None
        if not there:
            error = NotFoundError
        elif source == to:
            error = None
        elif to in self.directories or (source in self.directories and to.startswith(source + "/")):
            error = InvalidArgumentError
        elif to in self.files:
            error = AlreadyExistsError
        elif parent(to) not in self.directories:
            error = NotFoundError
        if self.expect(error, self.ov.mv, f"{ROOT}/{source}", f"{ROOT}/{to}") and source != to:
            for old in self.below(source):
                new = to + old[len(source) :]
                if old in self.files:
                    self.files[new] = self.files.pop(old)
                else:
                    self.directories.discard(old)
                    self.directories.add(new)
                if old in self.tags:
                    self.tags[new] = self.tags.pop(old)

    @rule(path=paths, tag=tags, recursive=st.booleans(), mode=st.sampled_from(["replace", "append", "clear"]))
    def tag(self, path: str, tag: str, recursive: bool, mode: str) -> None:
        there = path in self.files or path in self.directories
        if self.expect(
            None if there else NotFoundError, self.ov.set_tags, f"{ROOT}/{path}", [tag], mode=mode, recursive=recursive
        ):
            for one in self.below(path) if recursive else [path]:
                key, _, value = tag.partition("=")
                kept = self.tags.get(one, {}) if mode == "append" else {}
                self.tags[one] = kept | ({} if mode == "clear" else {key: value})

    @rule()
    def reopen(self) -> None:
        self.ov.close()
        self.ov = OpenViking(Path(self.place.name) / "data", workers=0)

    @rule()
    def settle(self) -> None:
        waiting = self.ov.wait_processed(60)
        assert (waiting["waiting"], waiting["failed"], waiting["stale_sidecars"]) == ({}, [], 0)
        shown = [path for path in self.files if not hidden(path)]
        for path in ("", *sorted(self.directories)[:3]):
            inside = [one for one in shown if not path or one.startswith(path + "/")]
            directories = [one for one in self.directories if one == path or not path or one.startswith(path + "/")]
            count = self.ov.stat(f"{ROOT}/{path}")["count"]
            assert count == len(inside) + 2 * len(directories)

    # --- what must hold ---

    @invariant()
    def the_tree_is_as_it_should_be(self) -> None:
        nodes = [*self.files, *(self.directories - {""})]
        listed = self.ov.tree(ROOT, simple=True, show_all_hidden=True, level_limit=10)
        wanted = sorted(nodes, key=lambda path: path.split("/"))
        assert listed == [f"{ROOT}/{path}" for path in wanted]
        assert listed.total == len(wanted)
        for directory in self.directories:
            children = self.ov.ls(f"{ROOT}/{directory}", output="original", show_all_hidden=True)
            # Summaries are listed too where all is, and are nobody's files.
            listed_here = {one["uri"]: one["isDir"] for one in children if one["name"] not in SIDECAR_NAMES}
            assert listed_here == {
                f"{ROOT}/{path}": path in self.directories for path in nodes if parent(path) == directory
            }
        matches = self.ov.glob("**", ROOT, node_limit=None).matches
        assert list(matches) == [
            f"{ROOT}/{path}" + "/" * (path in self.directories)
            for path in wanted
            if path in self.directories or not hidden(path)
        ]

    @invariant()
    def every_file_reads_as_it_was_written(self) -> None:
        for path, text in self.files.items():
            assert self.ov.read(f"{ROOT}/{path}") == text
            assert self.ov.stat(f"{ROOT}/{path}")["size"] == len(text.encode())

    @invariant()
    def words_and_lines_are_found_exactly_where_they_are(self) -> None:
        for word in WORDS:
            having = {
                f"{ROOT}/{path}" for path, text in self.files.items() if word in text.split() and not hidden(path)
            }
            found = self.ov.find(word, ROOT, level=2, limit=200)
            assert {hit.uri for hit in found if word in self.ov.read(hit.uri).split()} == having
            assert all(word in self.ov.read(hit.uri) for hit in found if word != "ERR_TLS_0x8F")
            lines = self.ov.grep(ROOT, word.replace("_", "[_]"), node_limit=None)
            assert [(match.uri, match.line) for match in lines] == [
                (f"{ROOT}/{path}", number)
                for path, text in sorted(self.files.items(), key=lambda file: file[0].split("/"))
                for number, line in enumerate(text.split("\n"), 1)
                if word in line and not hidden(path)
            ]

    @invariant()
    def no_summary_tells_of_what_is_gone(self) -> None:
        for word in WORDS[:2]:
            for hit in self.ov.find(word, ROOT, level=[0, 1], limit=200):
                directory = hit.uri.rpartition("/")[0].removeprefix(ROOT).removeprefix("/")
                assert directory in self.directories
                inside = [text for path, text in self.files.items() if path.startswith(f"{directory}/".lstrip("/"))]
                assert any(word in text for text in inside)

    @invariant()
    def tags_are_where_they_were_put(self) -> None:
        for tag in ("team=one", "env=x"):
            key, _, value = tag.partition("=")
            having = {
                f"{ROOT}/{path}"
                for path in self.files
                if self.tags.get(path, {}).get(key) == value and not hidden(path)
            }
            assert {hit.uri for hit in self.ov.find("", ROOT, tags=[tag], level=2, limit=200)} == having
            assert {match.uri for match in self.ov.grep(ROOT, ".*", tags=[tag], node_limit=None)} <= having


@pytest.mark.slow
@pytest.mark.cpu_budget(25)
def test_every_door_agrees_with_a_dictionary_after_every_step() -> None:
    run_state_machine_as_test(Machine, settings=settings(max_examples=15, stateful_step_count=25, deadline=None))


@pytest.mark.slow
def test_every_door_agrees_with_a_dictionary_for_a_long_time() -> None:
    run_state_machine_as_test(Machine, settings=settings(max_examples=100, stateful_step_count=50, deadline=None))
