"""What the answers to the parts of a conversation want together: a later part sees, and may correct, what earlier ones want."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from openviking.errors import OpenVikingError
from openviking.model.memory import Draft
from openviking.providers.chat import Completion
from openviking.session.memories.answer import SAID, Reading
from openviking.session.memories.asking import Known
from openviking.session.memories.changes import EVENTS, Wish
from openviking.session.memories.wording import holds, spoken

MAX_DELETES: Final = 5
"""Memories that one conversation may delete."""

MAX_WANTED: Final = 16
"""Memories that earlier parts want and a later part is shown, the latest ones."""

_WANTED: Final = "wanted:"
"""Begins the path of a note that is no memory yet: the number of its wish follows."""


@dataclass(slots=True)
class Answered:
    """The answers so far: what they want, what they say is noted already, and why they say nothing."""

    kept: list[Draft] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    understood: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: OpenVikingError | None = None
    _wishes: list[Wish | None] = field(default_factory=list)

    @property
    def wishes(self) -> list[Wish]:
        """What is to be done, in the order of the conversation."""
        return [one for one in self._wishes if one is not None]

    def cost(self, answer: Completion) -> None:
        """Count the tokens of an answer."""
        self.prompt_tokens += answer.input_tokens
        self.completion_tokens += answer.output_tokens

    def read(self, reading: Reading) -> None:
        """Take over what one answer says."""
        self.understood += 1
        self.kept += reading.kept
        self.refused += reading.refused
        self.summaries += [reading.summary] if reading.summary else []
        for wish in reading.wishes:
            self._want(wish)

    def noted(self, known: Sequence[Known], peers: Sequence[str]) -> list[Known]:
        """``known`` as it will be, and what is wanted of the user or one of ``peers`` beside it, with keys of their own."""
        changed = {one.path: one for one in self.wishes if one.way != "tell"}
        there = [
            replace(one, body=changed[one.path].draft.body) if one.path in changed else one
            for one in known
            if one.path not in changed or changed[one.path].way == "rewrite"
        ]
        wanted = [
            Known("", f"{_WANTED}{number}", None, one.draft.type, one.draft.peer, one.draft.topic, one.draft.body)
            for number, one in enumerate(self._wishes)
            if one is not None and one.way == "tell" and one.draft.peer in ("", *peers)
        ]
        return [replace(one, key=f"n{n}") for n, one in enumerate((*there, *wanted[-MAX_WANTED:]), start=1)]

    def covers(self, draft: Draft) -> bool:
        """Whether the same was said of the same words of the same messages as ``draft`` does, or that it is noted already."""
        words = spoken(draft.quote)
        if draft.type == EVENTS or not words:
            return False
        told = [one.draft for one in self.wishes] + self.kept
        return any(set(draft.sources) & set(one.sources) and _tells(one, words) for one in told)

    def _want(self, wish: Wish) -> None:
        if not wish.path.startswith(_WANTED):
            if wish.way == "forget" and sum(one.way == "forget" for one in self.wishes) >= MAX_DELETES:
                self.refused.append(f"more than {MAX_DELETES} memories are to be deleted")
            else:
                self._wishes.append(wish)
            return
        number = int(wish.path.removeprefix(_WANTED))
        before = self._wishes[number]
        if before is None:
            return
        sources = tuple(dict.fromkeys((*before.draft.sources, *wish.draft.sources)))
        place = {"name": before.draft.name, "topic": before.draft.topic, "category": before.draft.category}
        told = Wish(replace(wish.draft, **place, sources=sources))
        self._wishes[number] = told if wish.way == "rewrite" else None


def _tells(told: Draft, words: str) -> bool:
    """Whether ``told`` says ``words``: it quotes about as much, or quotes less or more and says half of them itself."""
    quote = spoken(told.quote)
    if not holds(words, quote) and not holds(quote, words):
        return False
    shorter, longer = sorted((len(quote), len(words)))
    own = set(words.split())
    return shorter >= SAID * longer or 2 * len(own & set(spoken(told.body).split())) >= len(own)
