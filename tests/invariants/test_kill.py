"""Invariant 1, second half: what was acknowledged survives ``kill -9``, and nothing is half there."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openviking import OpenViking

ROOT = "viking://resources"
LARGE_LINES = 30_000

Files = dict[str, tuple[str, int]]
"""Texts by path, as what is repeated and how often."""

Step = tuple[Files, tuple[Any, ...]]
"""The files that there are after a call, and the call."""


def plan(seed: random.Random, files: Files, count: int, start: int) -> list[Step]:
    """Calls that all succeed one after the other, each with a word of its own, and what they lead to."""
    steps: list[Step] = []
    for number in range(start, start + count):
        word = "q" + "".join(chr(ord("a") + int(digit)) for digit in str(number)) + "x"
        kind = seed.choice(["create", "create", "create", "replace", "append", "move", "remove", "directory"])
        if not files:
            kind = "create"
        files = dict(files)
        path = seed.choice(sorted(files)) if files else ""
        if kind == "create":
            path = f"d{seed.randrange(4)}/{seed.choice('abc')}{number}.md"
            files[path] = (f"{word} \n", LARGE_LINES if seed.random() < 0.04 else seed.randrange(1, 200))
            call: tuple[Any, ...] = ("write", f"{ROOT}/{path}", {"repeat": files[path]}, "create")
        elif kind == "replace":
            files[path] = (f"{word}\n", seed.randrange(1, 200))
            call = ("write", f"{ROOT}/{path}", {"repeat": files[path]}, "replace")
        elif kind == "append":
            line, times = files[path]
            files[path] = (line, times + 7)
            call = ("write", f"{ROOT}/{path}", {"repeat": (line, 7)}, "append")
        elif kind == "move":
            target = f"{path.partition('/')[0]}/m{number}.md"
            files[target] = files.pop(path)
            call = ("mv", f"{ROOT}/{path}", f"{ROOT}/{target}")
        elif kind == "remove":
            del files[path]
            call = ("rm", f"{ROOT}/{path}")
        else:
            top = path.partition("/")[0]
            for moved in [one for one in files if one.startswith(f"{top}/")]:
                files[f"e{number}{moved.removeprefix(top)}"] = files.pop(moved)
            call = ("mv", f"{ROOT}/{top}", f"{ROOT}/e{number}")
        steps.append((files, call))
    return steps


def stored(ov: OpenViking) -> dict[str, str]:
    uris = ov.glob("**", ROOT, node_limit=None).matches
    return {str(uri).removeprefix(f"{ROOT}/"): ov.read(str(uri)) for uri in uris if not str(uri).endswith("/")}


def busy(seconds: float) -> None:
    """Let a moment pass that is shorter than any sleep."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def kill_repeatedly(place: Path, start: Callable[..., Any], kills: int, seed: int) -> None:
    chance = random.Random(seed)
    files: Files = {}
    number = 0
    for _ in range(kills):
        writer = start(workers=1)
        steps = plan(chance, files, 40, number)
        number += len(steps)
        for _, call in steps:
            writer.send(*call)
        acknowledged = 0
        for _ in range(chance.randrange(35)):
            answered = writer.answer()
            assert answered is not None
            assert "ok" in answered, answered
            acknowledged += 1
        busy(chance.random() * 0.006)
        writer.kill()
        while (answered := writer.answer()) is not None:
            assert "ok" in answered, answered
            acknowledged += 1
        possible = [after for after, _ in [(files, ()), *steps][acknowledged : acknowledged + 2]]
        with OpenViking(place, workers=0) as ov:
            assert ov.check() == []
            found = stored(ov)
            texts = [{path: line * times for path, (line, times) in each.items()} for each in possible]
            assert found in texts, (set(found) ^ set(texts[0]), acknowledged)
            files = possible[texts.index(found)]
            for path in chance.sample(sorted(files), min(len(files), 8)):
                hits = ov.find(files[path][0].strip(), ROOT, level=2, limit=50)
                assert f"{ROOT}/{path}" in [hit.uri for hit in hits]
            assert sum(len(text.encode()) for text in found.values()) == sum(
                entry["size"] for entry in ov.tree(ROOT, level_limit=9)
            )


@pytest.mark.slow
@pytest.mark.cpu_budget(10)
def test_what_was_acknowledged_survives_a_kill(place: Path, start: Callable[..., Any]) -> None:
    kill_repeatedly(place, start, kills=8, seed=20_260)


@pytest.mark.slow
def test_what_was_acknowledged_survives_fifty_kills(place: Path, start: Callable[..., Any]) -> None:
    kill_repeatedly(place, start, kills=50, seed=50)


def test_a_killed_opening_does_no_harm(place: Path, start: Callable[..., Any]) -> None:
    for number in range(6):
        process = start(wait=False)
        busy(0.04 * number)
        process.kill()
        while process.answer() is not None:
            pass
    with OpenViking(place, workers=0) as ov:
        ov.write(f"{ROOT}/a.md", "zorblax", "create")
        assert len(ov.find("zorblax")) == 1
        assert ov.check() == []


def test_work_of_a_killed_process_is_done_by_another(place: Path, start: Callable[..., Any]) -> None:
    """Jobs are written with what causes them, so nothing that follows a write is forgotten with its writer."""
    writer = start(workers=0)
    assert writer.call("write", f"{ROOT}/d/a.md", "zorblax is here", "create") != "CONFLICT"
    writer.kill()
    while writer.answer() is not None:
        pass
    with OpenViking(place, workers=0) as ov:
        assert ov.status()["waiting"] == {"sidecars": 1}
        assert ov.wait_processed(30)["waiting"] == {}
        assert "zorblax" in ov.overview(f"{ROOT}/d")
        assert [hit.level for hit in ov.find("zorblax", level=[0, 1])]
