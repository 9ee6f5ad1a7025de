"""Invariant 1, first half, between processes and threads: each sees the others' writes at once, and no mixtures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from openviking import OpenViking

ROOT = "viking://resources"


def test_two_processes_see_each_other_at_once(ov: OpenViking, start: Callable[..., Any]) -> None:
    other = start(workers=1)
    for number, letter in enumerate("abcdefgh"):
        mine, theirs = f"{ROOT}/mine{number}.md", f"{ROOT}/d/theirs{number}.md"
        ov.write(mine, f"minew{letter}\n", "create")
        assert other.call("read", mine) == f"minew{letter}\n"
        assert [hit["uri"] for hit in other.call("find", f"minew{letter}")["resources"]] == [mine]
        assert other.call("write", theirs, f"theirw{letter}\n", "create")["mode"] == "create"
        assert ov.read(theirs) == f"theirw{letter}\n"
        assert [hit.uri for hit in ov.find(f"theirw{letter}", level=2)] == [theirs]
        assert other.call("grep", ROOT, f"w{letter}$")["total"] == ov.grep(ROOT, f"w{letter}$").total == 2
    other.call("mv", f"{ROOT}/d", f"{ROOT}/e")
    assert ov.ls(f"{ROOT}/e", simple=True).total == 8
    ov.rm(f"{ROOT}/e", recursive=True)
    assert other.call("ls", f"{ROOT}/e") == "NOT_FOUND"
    assert other.call("find", "theirwc")["total"] == 0
    assert ov.check() == other.call("check") == []


def test_appends_of_several_processes_lose_none(ov: OpenViking, start: Callable[..., Any]) -> None:
    ov.write(f"{ROOT}/log.md", "", "create")
    others = [start() for _ in range(3)]
    for number in range(12):
        for index, other in enumerate(others):
            other.send("write", f"{ROOT}/log.md", f"line {index} {number}\n", "append")
        ov.write(f"{ROOT}/log.md", f"line own {number}\n", "append")
    for other in others:
        for _ in range(12):
            answered = other.answer()
            assert answered is not None
            assert "ok" in answered, answered
    lines = ov.read(f"{ROOT}/log.md").splitlines()
    assert sorted(lines) == sorted(f"line {who} {number}" for who in ("0", "1", "2", "own") for number in range(12))
    for who in ("0", "1", "2", "own"):
        assert [line for line in lines if line.startswith(f"line {who} ")] == [f"line {who} {n}" for n in range(12)]


def test_processes_that_open_a_new_place_together(place: Path, start: Callable[..., Any]) -> None:
    processes = [start(wait=False) for _ in range(4)]
    for process in processes:
        assert process.answer() == {"ok": "open"}
    for index, process in enumerate(processes):
        process.send("write", f"{ROOT}/p{index}.md", f"word{index}", "create")
    for process in processes:
        answered = process.answer()
        assert answered is not None
        assert "ok" in answered, answered
    with OpenViking(place, workers=0) as ov:
        assert ov.ls(ROOT).total == 4
        assert ov.check() == []


@pytest.mark.cpu_budget(12)
def test_a_reader_sees_old_or_new_and_never_a_mixture(
    ov: OpenViking, fill: Callable[[OpenViking, Mapping[str, str]], None]
) -> None:
    count = 120
    files = {f"resources/{{}}/{number % 7}/{number}.md": "zorblax common" for number in range(count)}
    fill(ov, {path.format("big"): text for path, text in files.items()})
    done = threading.Event()
    wrong: list[object] = []

    def tops(uris: list[str]) -> set[str]:
        return {uri.removeprefix(f"{ROOT}/").partition("/")[0] for uri in uris}

    def watch(ask: Callable[[], tuple[int, set[str]]]) -> None:
        while not done.is_set():
            total, where = ask()
            if total not in {0, count} or len(where) != (total > 0):
                wrong.append((total, where))
                return

    def grepped() -> tuple[int, set[str]]:
        result = ov.grep(ROOT, "zorblax", node_limit=None)
        return result.total, tops([match.uri for match in result])

    def globbed() -> tuple[int, set[str]]:
        result = ov.glob("**/*.md", ROOT, node_limit=None)
        return result.total, tops(list(result))

    def walked() -> tuple[int, set[str]]:
        files = [entry for entry in ov.tree(ROOT, output="original", level_limit=9) if not entry["isDir"]]
        return len(files), tops([entry["uri"] for entry in files])

    def found() -> tuple[int, set[str]]:
        result = ov.find("zorblax", ROOT, level=2, limit=500)
        return result.total, tops([hit.uri for hit in result])

    threads = [threading.Thread(target=watch, args=(ask,)) for ask in (grepped, globbed, walked, found)]
    for thread in threads:
        thread.start()
    for turn in range(8):
        ov.mv(f"{ROOT}/big", f"{ROOT}/other")
        if turn % 3 == 2:
            ov.rm(f"{ROOT}/other", recursive=True)
            fill(ov, {path.format("big"): text for path, text in files.items()})
        else:
            ov.mv(f"{ROOT}/other", f"{ROOT}/big")
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert ov.check() == []
