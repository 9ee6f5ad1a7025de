"""After any sequence of messages and commits every message is in exactly one place, in order."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openviking.errors import ConflictError

from .conftest import ALICE, Desk

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 4)),
        st.tuples(st.just("again"), st.integers(0, 30)),
        st.tuples(st.just("commit"), st.integers(0, 5)),
        st.tuples(st.just("turns"), st.integers(0, 4), st.integers(1, 20), st.integers(0, 3)),
        st.tuples(st.just("work")),
    ),
    max_size=14,
)


@pytest.mark.cpu_budget(20)
@settings(max_examples=25)
@given(steps=STEPS)
def test_every_message_is_in_exactly_one_place_in_order(steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        desk = Desk(Path(directory))
        try:
            run(desk, steps)
        finally:
            desk.close()


def run(desk: Desk, steps: list[tuple[object, ...]]) -> None:
    desk.sessions.create(ALICE, "s")
    sent: list[str] = []
    for kind, *values in steps:
        numbers = [value for value in values if isinstance(value, int)]
        if kind == "say":
            new = [f"text {len(sent) + place}" for place in range(numbers[0])]
            batch = [{"role": "user", "content": text, "id": text} for text in new]
            assert desk.sessions.add(ALICE, "s", batch)["added"] == len(new)
            sent += new
        elif kind == "again" and numbers[0] < len(sent):
            text = sent[numbers[0]]
            answer = desk.sessions.add(ALICE, "s", [{"role": "user", "content": "another", "id": text}])
            assert (answer["added"], answer["message_ids"]) == (0, [text])
        elif kind == "commit":
            before = desk.texts_live("s")
            answer = desk.sessions.commit(ALICE, "s", keep_recent_count=numbers[0])
            assert answer["archived"] == (len(before) > numbers[0])
        elif kind == "turns":
            desk.sessions.commit(
                ALICE, "s", retention_mode="turn_budget", keep_recent_turn_count=numbers[0],
                retained_message_token_budget=numbers[1], min_raw_tail_steps=numbers[2],
            )  # fmt: skip
        elif kind == "work":
            desk.work()
    state = desk.sessions.get(ALICE, "s")
    archived = [text for number in range(1, state["commit_count"] + 1) for text in desk.archived("s", number)]
    live = desk.texts_live("s")
    assert archived + live == sent
    assert (state["message_count"], state["total_message_count"]) == (len(live), len(sent))
    assert desk.store.check() == []


def test_commits_at_once_share_nothing_and_lose_nothing(desk: Desk) -> None:
    desk.say("s", *(f"text {number}" for number in range(30)))
    answers: list[str] = []

    def talk() -> None:
        for number in range(5):
            desk.say("s", f"{threading.current_thread().name} {number}")

    def commit() -> None:
        for _ in range(5):
            try:
                answers.append(desk.sessions.commit(ALICE, "s")["status"])
            except ConflictError as error:
                answers.append(error.code)

    threads = [threading.Thread(target=work) for work in (talk, commit, commit, talk)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = desk.sessions.get(ALICE, "s")
    places = [desk.archived("s", number) for number in range(1, state["commit_count"] + 1)] + [desk.texts_live("s")]
    found = [text for texts in places for text in texts]
    assert len(found) == len(set(found)) == state["total_message_count"] == 40
    assert found[:30] == [f"text {number}" for number in range(30)]
    assert answers.count("accepted") == state["commit_count"]
    assert set(answers) <= {"accepted", "skipped"}


def test_who_redacts_what_a_commit_left_takes_nothing_from_what_is_pending(desk: Desk) -> None:
    desk.say("s", "w" * 400, id="left")
    desk.say("s", "word" * 5, id="pending")
    desk.sessions.commit(ALICE, "s", keep_recent_count=2)
    desk.sessions.commit(ALICE, "s", keep_recent_count=1)
    desk.say("s", "word" * 7, id="new")
    for message, tokens in (("pending", 7), ("new", 0)):
        desk.sessions.redact(ALICE, "s", message)
        assert desk.sessions.get(ALICE, "s")["pending_tokens"] == tokens
