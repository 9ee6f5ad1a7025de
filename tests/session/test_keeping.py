"""Which messages a commit leaves in the session."""

from __future__ import annotations

import pytest

from openviking.errors import InvalidArgumentError
from openviking.model.message import messages_of
from openviking.model.session import retention
from openviking.session.keeping import Kept, kept
from openviking.store.sessions import Live


def conversation(*said: str, **fields: str) -> list[Live]:
    """Messages of four characters a token: ``u:`` of the user, ``a:`` of the assistant, with as many tokens as ``x`` follow."""
    live = []
    for number, one in enumerate(said):
        role, _, text = one.partition(":")
        _, (message,) = messages_of(
            {"role": {"u": "user", "a": "assistant"}[role], "content": "word" * len(text), **fields}, 0
        )
        live.append(Live(number, message, message.tokens))
    return live


TALK = conversation("u:x", "a:xx", "a:xxx", "u:x", "a:xxxx", "u:xx", "a:x", "a:xxx")


@pytest.mark.parametrize(("count", "stay"), [(0, 0), (3, 3), (8, 8), (9, 8)])
def test_a_count_keeps_the_newest(count: int, stay: int) -> None:
    assert kept(TALK, retention(count)).count == stay


@pytest.mark.parametrize(
    ("turns", "tokens", "tail", "stay"),
    [
        (1, 100, 1, Kept(3, 6, exceeded=False)),
        (2, 100, 1, Kept(5, 11, exceeded=False)),
        (9, 100, 1, Kept(8, 17, exceeded=False)),
        # The turn before the last does not fit: it goes whole.
        (2, 10, 1, Kept(3, 6, exceeded=False)),
        # The last turn does not fit: its end stays.
        (2, 5, 1, Kept(2, 4, exceeded=False)),
        (2, 3, 1, Kept(1, 3, exceeded=False)),
        # The tail stays whatever it has.
        (2, 2, 1, Kept(1, 3, exceeded=True)),
        (2, 2, 4, Kept(4, 10, exceeded=True)),
        (0, 2, 0, Kept(0, 0, exceeded=False)),
        (0, 100, 2, Kept(2, 4, exceeded=False)),
        (1, 1, 50, Kept(8, 17, exceeded=True)),
    ],
)
def test_a_budget_of_turns(turns: int, tokens: int, tail: int, stay: Kept) -> None:
    assert kept(TALK, retention(None, "turn_budget", turns, tokens, tail)) == stay


def test_turns_are_told_apart_by_their_id_where_there_is_one() -> None:
    talk = [
        *conversation("u:x", "u:x", "a:x", turn_id="one"),
        *conversation("a:x", "u:x", turn_id="two"),
    ]
    assert kept(talk, retention(None, "turn_budget", 1, 100)).count == 2
    kinds = [*conversation("u:x", message_kind="user_query"), *conversation("u:x", message_kind="tool_transport")]
    assert kept(kinds, retention(None, "turn_budget", 1, 100)).count == 2


def test_nothing_is_kept_of_nothing() -> None:
    assert kept([], retention(5, "turn_budget")) == Kept(0, 0, exceeded=False)


@pytest.mark.parametrize(
    "given",
    [
        {"keep_recent_count": -1}, {"keep_recent_count": 10_001}, {"keep_recent_count": True},
        {"keep_recent_count": "1"}, {"retention_mode": "other"}, {"keep_recent_turn_count": 3},
        {"retained_message_token_budget": 5}, {"min_raw_tail_steps": 1},
        {"retention_mode": "turn_budget", "retained_message_token_budget": 0},
    ],
)  # fmt: skip
def test_what_is_no_retention_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        retention(**given)
    assert caught.value.details["field"] in {*given, "keep_recent_turn_count"}
