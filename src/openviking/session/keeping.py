"""Decides how many of the newest messages a commit leaves in the session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from openviking.model.message import Message
from openviking.model.session import Retention
from openviking.store.sessions import Live


@dataclass(frozen=True, slots=True)
class Kept:
    """``count`` of the newest messages stay, with so many ``tokens``; ``exceeded``: more than the budget allows."""

    count: int
    tokens: int
    exceeded: bool


def kept(live: Sequence[Live], wanted: Retention) -> Kept:
    """What stays of ``live``.

    With a turn budget first whole turns are given up, the oldest first, then the oldest messages of the last turn, as
    long as the tail stays. A turn begins with each message of another ``turn_id``, or where there is none with each
    message of the user.
    """
    count = min(wanted.count, len(live))
    if wanted.turn_budget:
        count = max(count, _of_turns(live, wanted))
    tokens = sum(one.tokens for one in live[len(live) - count :])
    return Kept(count, tokens, wanted.turn_budget and tokens > wanted.tokens)


def _of_turns(live: Sequence[Live], wanted: Retention) -> int:
    begins = [
        place for place in range(len(live)) if place == 0 or _begins(live[place - 1].message, live[place].message)
    ]
    chosen = begins[max(len(begins) - wanted.turns, 0) :]
    tail = max(len(live) - wanted.tail, 0)
    sums = list(accumulate((one.tokens for one in reversed(live)), initial=0))
    rest = range(chosen[-1] + 1, tail) if chosen else ()
    fitting = (place for place in (*chosen, *rest) if sums[len(live) - place] <= wanted.tokens)
    return len(live) - min(next(fitting, tail), tail)


def _begins(before: Message, message: Message) -> bool:
    if message.turn or before.turn:
        return message.turn != before.turn
    if message.kind:
        return message.kind == "user_query"
    return message.role == "user"
