"""Invariant 6: "cannot answer" is an error or a stated degradation, never an empty result; nothing is cut silently."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from openviking import OpenViking
from openviking.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpenVikingError,
    UnavailableError,
)

ROOT = "viking://resources"

Fill = Callable[[OpenViking, Mapping[str, str]], None]


def questions(ov: OpenViking) -> dict[str, Callable[[], object]]:
    return {
        "find": lambda: ov.find("zorblax"),
        "filter": lambda: ov.find("", since="1d"),
        "grep": lambda: ov.grep(ROOT, "zorblax"),
        "glob": lambda: ov.glob("**", ROOT),
        "ls": lambda: ov.ls(ROOT),
        "tree": lambda: ov.tree(ROOT),
        "stat": lambda: ov.stat(f"{ROOT}/1.md"),
        "attrs": lambda: ov.attrs(f"{ROOT}/1.md"),
        "read": lambda: ov.read(f"{ROOT}/1.md"),
        "download": lambda: ov.download(f"{ROOT}/1.md"),
        "abstract": lambda: ov.abstract(ROOT),
        "overview": lambda: ov.overview(ROOT),
        "status": ov.status,
        "wait": lambda: ov.wait_processed(5),
    }


@pytest.mark.parametrize("how", ["directory removed", "file removed", "file emptied and replaced"])
def test_a_store_that_is_gone_is_an_error_at_every_door(place: Path, fill: Fill, how: str) -> None:
    with OpenViking(place, workers=1) as ov:
        fill(ov, {f"resources/{number}.md": "zorblax" for number in range(5)})
        database = place / "accounts" / "default" / "store.db"
        if how == "directory removed":
            shutil.rmtree(place)
        else:
            database.unlink()
        if how == "file emptied and replaced":
            database.write_bytes(b"")
        for name, ask in questions(ov).items():
            with pytest.raises(UnavailableError) as caught:
                ask()
            assert caught.value.details["service"] == "store", name
        with pytest.raises(UnavailableError):
            ov.write(f"{ROOT}/new.md", "lost", "create")


def test_a_damaged_store_is_an_error_when_it_is_opened_or_asked(place: Path, fill: Fill) -> None:
    with OpenViking(place, workers=0) as ov:
        fill(ov, {f"resources/{number}.md": f"zorblax {number} " * 400 for number in range(40)})
    database = place / "accounts" / "default" / "store.db"
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xa5" * (size - 8192))

    def asked() -> None:
        with OpenViking(place, workers=0) as ov:
            for name, ask in questions(ov).items():
                if name not in {"wait", "status"}:
                    with pytest.raises(UnavailableError):
                        ask()
            raise UnavailableError("all were refused", service="store", reason="damaged")

    with pytest.raises(UnavailableError):
        asked()


def test_a_lost_content_file_is_an_error_for_all_that_need_it(place: Path, ov: OpenViking) -> None:
    ov.write(f"{ROOT}/1.md", "zorblax line\n" * 30_000, "create")
    shutil.rmtree(place / "accounts" / "default" / "contents")
    for name in ("read", "download", "grep", "find"):
        with pytest.raises(UnavailableError):
            questions(ov)[name]()
    assert [sentence for sentence in ov.check() if "missing" in sentence]


def test_a_closed_door_says_so(ov: OpenViking) -> None:
    ov.close()
    for ask in questions(ov).values():
        with pytest.raises(FailedPreconditionError, match="closed"):
            ask()


def test_a_query_without_words_says_that_it_has_none(ov: OpenViking) -> None:
    ov.write(f"{ROOT}/a.md", "text", "create")
    result = ov.find("?!… ---")
    assert result.total == 0
    assert [one.stage for one in result.degraded] == ["words"]
    assert result.to_dict()["retrieval"]["degraded"]


def test_a_wait_that_runs_out_says_what_is_missing(ov: OpenViking) -> None:
    ov.write(f"{ROOT}/a.md", "text", "create")
    with pytest.raises(DeadlineExceededError) as caught:
        ov.wait_processed(0)
    assert caught.value.details["missing"] == {"sidecars": 1}
    assert ov.read(f"{ROOT}/a.md") == "text"


@pytest.mark.cpu_budget(12)
def test_hostile_patterns_are_answered_soon_while_others_are_served(ov: OpenViking, fill: Fill) -> None:
    fill(ov, {"resources/a.md": "a" * 40 + "!\n", "resources/b.md": "foobar\n#foobar\n"})
    done = threading.Event()
    served: list[tuple[int, float]] = []

    def serve() -> None:
        while not done.is_set():
            began = time.perf_counter()
            try:
                total = ov.find("foobar", level=2).total
            except OpenVikingError:
                total = -1
            served.append((total, time.perf_counter() - began))

    server = threading.Thread(target=serve)
    server.start()
    answers: dict[str, Any] = {}
    for pattern in ("(a+)+$", "(a|aa)+$", "(a*)*c", "(", "[", "*", "(?<!#)foobar", "", "a" * 20_000, "(?P<x>", "\\"):
        began = time.thread_time()
        try:
            answers[pattern] = [(match.uri, match.line) for match in ov.grep(ROOT, pattern)]
        except (InvalidArgumentError, DeadlineExceededError) as error:
            answers[pattern] = error
        assert time.thread_time() - began < 2, pattern
    done.set()
    server.join()
    assert len(served) > 3
    assert {total for total, _ in served} == {1}
    assert max(seconds for _, seconds in served) < 5
    for pattern in ("(", "[", "*", "", "a" * 20_000, "(?P<x>", "\\"):
        assert isinstance(answers[pattern], InvalidArgumentError), pattern
    for pattern in ("(a+)+$", "(a|aa)+$", "(a*)*c"):
        assert isinstance(answers[pattern], DeadlineExceededError) or answers[pattern] == [], pattern
    assert answers["(?<!#)foobar"] == [(f"{ROOT}/b.md", 1)]


@pytest.mark.parametrize("value", [0, -1, 2.5, "x", True])
def test_nonsense_limits_are_refused(ov: OpenViking, value: Any) -> None:
    for call in (
        lambda: ov.find("x", limit=value),
        lambda: ov.find("x", node_limit=value),
        lambda: ov.grep(ROOT, "x", node_limit=value),
        lambda: ov.grep(ROOT, "x", level_limit=value),
        lambda: ov.ls(ROOT, node_limit=value),
        lambda: ov.tree(ROOT, node_limit=value),
        lambda: ov.tree(ROOT, level_limit=value),
    ):
        with pytest.raises(InvalidArgumentError):
            call()
    assert ov.ls(ROOT, node_limit=10**9).total == 0
    assert ov.find("x", limit=10**9).total == 0
