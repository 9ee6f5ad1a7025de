from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING

import pytest

from openviking.errors import ProcessingError
from openviking.ingest import walk
from openviking.ingest.delivery import Scan, UnreadableError
from openviking.ingest.ignore import SkipRules
from openviking.ingest.walk import FolderDelivery
from openviking.model.imports import ImportOptions

if TYPE_CHECKING:
    from pathlib import Path


def scan(folder: Path, **options: str) -> Scan:
    return FolderDelivery(folder).scan(SkipRules(ImportOptions.of(**options)), lambda: False)  # type: ignore[arg-type]


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def test_files_come_in_one_order_and_the_rest_is_reported(folder: Path, tmp_path: Path) -> None:
    put(
        folder,
        "b.md",
        "a/z.md",
        "a/b/c.md",
        ".hidden",
        ".git/config",
        "node_modules/x.js",
        "sub/build/out.txt",
        "sub/build/deep/more.txt",
        "sub/x.log",
    )
    (folder / "sub/.gitignore").write_text("*.log\n")
    (tmp_path / "outside.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket"))
    found = scan(folder)
    assert found.files == ["a/b/c.md", "a/z.md", "b.md"]
    assert {entry.name: entry.reason for entry in found.skipped} == {
        ".git/": "a directory of tools or build results, 1 file",
        ".hidden": "hidden",
        "dangling": "symbolic link",
        "link.txt": "symbolic link",
        "loop": "symbolic link",
        "node_modules/": "a directory of tools or build results, 1 file; include it with node_modules/",
        "pipe": "neither a file nor a directory",
        "socket": "neither a file nor a directory",
        "sub/.gitignore": "hidden",
        "sub/build/": "a directory of tools or build results, 2 files; include it with build/",
        "sub/x.log": "ignored by .gitignore",
    }
    assert found.failed == []


def test_looking_into_skipped_directories_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, *(f"{name}/build/{number}.txt" for name in "abcd" for number in range(8)))
    monkeypatch.setattr(walk, "LOOK_AT_ONE", 5)
    monkeypatch.setattr(walk, "LOOK_AT_ALL", 12)
    rule = "a directory of tools or build results"
    assert [entry.reason.partition(";")[0] for entry in scan(folder).skipped] == [
        f"{rule}, at least 5 files", f"{rule}, at least 5 files", f"{rule}, at least 2 files", rule,
    ]  # fmt: skip


def test_an_include_takes_a_directory_in_spite_of_its_name(folder: Path) -> None:
    put(
        folder,
        "a.md",
        "build/x.md",
        "doc/build/y.rst",
        "doc/build/obj/z.md",
        ".github/workflows/ci.yml",
        ".github/w.md",
    )
    put(folder, "bin/tool.md", "bin/keep/k.md", "bin/keep/deep/l.md", "ignored/build/n.md", ".github/.secret")
    (folder / ".gitignore").write_text("ignored/build/\n")
    assert scan(folder).files == ["a.md"]
    for include, more in {
        "build/": ["build/x.md", "doc/build/y.rst"],
        "doc/build/": ["doc/build/y.rst"],
        "./doc/build/,obj/": ["doc/build/obj/z.md", "doc/build/y.rst"],
        ".github/": [".github/w.md", ".github/workflows/ci.yml"],
        ".github/workflows/": [".github/workflows/ci.yml"],
        "bin/keep/": ["bin/keep/deep/l.md", "bin/keep/k.md"],
        "keep/": [],
    }.items():
        assert sorted(scan(folder, include=include).files) == sorted(["a.md", *more]), include
    assert sorted(scan(folder, include="build/,*.rst").files) == ["doc/build/y.rst"]
    assert scan(folder, include="build/", ignore_dirs="doc", exclude="build/").files == ["a.md"]
    reasons = {entry.name: entry.reason for entry in scan(folder, include="build/").skipped}
    assert reasons["ignored/build/"] == "ignored by .gitignore, 1 file"
    assert reasons[".github/"] == "hidden, 3 files; include it with .github/"
    assert reasons["doc/build/obj/"].endswith("include it with obj/")


def test_a_link_or_pipe_that_takes_a_files_place_is_not_read(folder: Path) -> None:
    put(folder, "a.txt", "b.txt", "secret")
    delivery = FolderDelivery(folder)
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(folder / "secret")
    (folder / "b.txt").unlink()
    os.mkfifo(folder / "b.txt")
    for name in ("a.txt", "b.txt", "never-there"):
        with pytest.raises(UnreadableError):
            delivery.read(name, 100)
    with pytest.raises(UnreadableError, match="6 bytes, at most 5"):
        delivery.read("secret", 5)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_directories_are_reported(folder: Path) -> None:
    put(folder, "a/x.md", "b/y.md")
    (folder / "a").chmod(0)
    found = scan(folder)
    (folder / "a").chmod(0o700)
    assert found.files == ["b/y.md"]
    assert [entry.name for entry in found.failed] == ["a"]
    assert found.may_hold("a/x.md")
    assert not found.may_hold("ab")


def test_a_folder_that_vanished_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProcessingError, match="No such file"):
        scan(tmp_path / "gone")


def test_a_directory_that_vanishes_during_the_walk_is_reported(folder: Path) -> None:
    put(folder, "a/x.md", "b/y.md", "c.md")
    calls = iter(range(100))

    def cancelled() -> bool:
        if next(calls) == 1:
            (folder / "b/y.md").unlink()
            (folder / "b").rmdir()
        return False

    found = FolderDelivery(folder).scan(SkipRules(ImportOptions()), cancelled)
    assert found.files == ["a/x.md", "c.md"]
    assert [(entry.name, entry.error) for entry in found.failed] == [("b", "No such file or directory")]


def test_a_tree_deeper_than_any_path_is_walked_as_far_as_it_goes(folder: Path) -> None:
    put(folder, "top.md")
    names = ["d"] * 1100 + ["e" * 200] * 12
    here = os.open(folder, os.O_RDONLY)
    for level, name in enumerate(names):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        if level in {3, 1099}:
            os.close(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=below))
        os.close(here)
        here = below
    try:
        found = scan(folder)
    finally:
        _remove_upwards(here, names)
    assert sorted(map(len, found.files)) == [len("top.md"), len("d/" * 4 + "deep.md"), len("d/" * 1100 + "deep.md")]
    assert [entry.error for entry in found.failed] == ["File name too long"]


def _remove_upwards(here: int, names: list[str]) -> None:
    """Take the tree apart from its bottom: no path leads there."""
    for name in reversed(names):
        with contextlib.suppress(FileNotFoundError):
            os.unlink("deep.md", dir_fd=here)
        above = os.open("..", os.O_RDONLY, dir_fd=here)
        os.close(here)
        os.rmdir(name, dir_fd=above)
        here = above
    os.close(here)


def test_a_name_of_undecodable_bytes_is_kept_apart(folder: Path) -> None:
    (folder / "caf\udce9.txt").write_bytes(b"x")
    found = scan(folder)
    assert found.files == ["caf\udce9.txt"]
    assert FolderDelivery(folder).read(found.files[0], 10) == b"x"
