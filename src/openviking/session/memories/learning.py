"""What a conversation teaches: by a chat model where there is one, and always by its own explicit statements.

Without a model, and where its answer is empty or rubbish, these and the event of the conversation are all. A model that
answers well does not take them away: they are left out only where it says the same of the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from openviking.errors import OpenVikingError
from openviking.model.memory import Draft
from openviking.model.message import Message
from openviking.providers.chat import Completion
from openviking.session.memories.answer import MAX_REFUSED, NoAnswer, read_answer
from openviking.session.memories.answered import Answered
from openviking.session.memories.asking import Line, messages_for, parts_of
from openviking.session.memories.changes import EVENTS, Wish
from openviking.session.memories.conversation import Recalled, lines_of, recalled_in, with_summary
from openviking.session.memories.policy import Policy
from openviking.session.memories.related import related
from openviking.store.port import AccountStore
from openviking.uri import URI

MODEL: Final = "model"
STATEMENTS: Final = "statements"
OFF: Final = "off"

NO_MODEL: Final = "no chat model is configured"
NOTHING_SAID: Final = "the conversation has no words of its own"


@dataclass(frozen=True, slots=True)
class Talk:
    """Messages of a session that are learned from; ``number`` is that of their archive, 0 for live ones."""

    session: URI
    number: int
    messages: Sequence[Message]

    @property
    def user(self) -> str:
        """Whose session it is."""
        return self.session.parts[1]

    @property
    def sent(self) -> dict[str, str]:
        """When each message was sent, by its id."""
        return {one.id: one.created_at for one in self.messages}


@dataclass(frozen=True, slots=True)
class Learned:
    """What is to be done, and how it was found: ``way`` is ``model``, ``statements`` or ``off``, ``reason`` why not by a model.

    ``failed`` is the error of a model that may answer another time. ``parts`` were understood by the model, ``of`` were
    asked about; ``refused`` says what of its answers was not taken. Tokens are as the service counted them.
    """

    wishes: tuple[Wish, ...] = ()
    way: Literal["model", "statements", "off"] = "statements"
    reason: str = ""
    failed: OpenVikingError | None = None
    parts: int = 0
    of: int = 0
    refused: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def told(self) -> dict[str, Any]:
        """How it was found, as the result of a commit and its diff tell it."""
        told: dict[str, Any] = {"way": self.way, "reason": self.reason or None}
        if self.of:
            told |= {"parts": {"understood": self.parts, "of": self.of}, "refused": list(self.refused)}
        return told


Ask = Callable[[Sequence[Mapping[str, str]]], Completion]
"""Asks the chat model, within its deadline; raises an `OpenVikingError`."""


class Learner(Protocol):
    """Finds what a talk teaches, with or without a model."""

    def policy(self, told: Mapping[str, Any] | None) -> Policy:
        """The policy of a session that says ``told``."""
        ...

    def learned(self, store: AccountStore, talk: Talk, policy: Policy, stopped: Callable[[], bool]) -> Learned:
        """What is to be done; never raises for a model that fails. ``stopped`` says that nobody waits any more."""
        ...


def by_itself(talk: Talk, policy: Policy, reason: str = "") -> Learned:
    """What the conversation says by itself."""
    return Learned(tuple(Wish(one) for one in _own(talk, policy)), STATEMENTS, reason)


def by_model(
    store: AccountStore, talk: Talk, policy: Policy, ask: Ask, shown: int, stopped: Callable[[], bool]
) -> Learned:
    """What a model makes of the talk, part by part, beside what it says by itself.

    For each part up to ``shown`` memories that may say it already are looked for. A part without a usable answer is
    left to its own statements; after an error no further part is asked about.
    """
    lines = lines_of(talk.messages)
    parts = parts_of(lines)
    if not parts:
        return by_itself(talk, policy, NOTHING_SAID)
    answered, recalled = Answered(), recalled_in(talk.messages, talk.user)
    for part in parts:
        if stopped():
            break
        _ask_about(store, talk, policy, part, ask, shown, recalled, answered)
        if answered.failed is not None:
            break
    own = [
        with_summary(one, answered.summaries) if one.type == EVENTS and not one.peer else one
        for one in _own(talk, policy)
    ]
    told = [wish for wish in answered.wishes if policy.allows(wish.draft)]
    # What was said last is carried out last, so that it comes first in its memory.
    wishes = (*(Wish(one) for one in own if not answered.covers(one)), *told)
    return Learned(
        wishes,
        MODEL if answered.understood else STATEMENTS,
        answered.reasons[0] if answered.reasons else "",
        answered.failed,
        answered.understood,
        len(parts),
        tuple(answered.refused[:MAX_REFUSED]),
        answered.prompt_tokens,
        answered.completion_tokens,
    )


def _own(talk: Talk, policy: Policy) -> list[Draft]:
    """What the conversation says by itself; live messages have no event before they are archived."""
    types = [one for one in policy.types if talk.number or one != EVENTS]
    # The patterns of statements take long to compile, and most processes commit nothing.
    from openviking.session.extraction.drafts import drafts_of  # noqa: PLC0415

    drafts = drafts_of(talk.messages, session_id=talk.session.name, archive=talk.number, types=types)
    return [one for one in drafts if policy.allows(one)]


def _ask_about(
    store: AccountStore,
    talk: Talk,
    policy: Policy,
    part: Sequence[Line],
    ask: Ask,
    shown: int,
    recalled: Recalled,
    answered: Answered,
) -> None:
    peers = tuple(dict.fromkeys(line.peer for line in part if line.peer))
    with store.read() as view:
        known = answered.noted(related(view, talk.user, part, policy.types, shown, recalled.paths), peers)
    try:
        # No view is open while a model is asked.
        answer = ask(messages_for(part, known, policy.types))
    except OpenVikingError as error:
        answered.reasons.append(error.message)
        answered.failed = error
        return
    answered.cost(answer)
    try:
        reading = read_answer(answer.text, part, known, policy.types, recalled.texts)
    except NoAnswer as error:
        answered.reasons.append(str(error))
    else:
        answered.read(reading)
