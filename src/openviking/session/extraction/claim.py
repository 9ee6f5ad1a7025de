"""What one sentence says for keeping, and the topic by which a later sentence takes its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from openviking.names import root_name
from openviking.text import shorten

MAX_TOPIC: Final = 80

_SPELLINGS: Final = {
    "favorite": "favourite", "color": "colour", "colors": "colours", "mom": "mother", "mum": "mother", "mommy": "mother",
    "dad": "father", "daddy": "father", "e-mail": "email", "bday": "birthday", "cell": "phone", "mobile": "phone",
    "neighbor": "neighbour", "hubby": "husband",
}  # fmt: skip
_FILLERS: Final = frozenset(("a", "an", "the", "my", "our", "some", "any", "really", "just", "current", "full", "own"))
_TOKEN: Final = re.compile(r"[\w+#]+(?:['’.-][\w+#]+)*")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement: ``said`` is it in one sentence without its subject, ``category`` is of entities only.

    ``topic`` is normalised: the same for all ways to speak of the same thing. ``ends`` is what a claim that something is over
    takes back, "" for others.
    """

    type: str
    topic: str
    said: str
    category: str = ""
    ends: str = ""

    @property
    def name(self) -> str:
        """The stem of the file: the topic, fit for a name; letters of every script are kept."""
        return (
            root_name(self.topic.replace("’", "'").replace("'s ", " ").replace("'", "")).replace("_", "-").strip("-.")
            or "note"
        )


Maker = Callable[[re.Match[str]], Claim | None]
"""Makes the claim of a sentence that has a form; None if it says nothing for keeping after all."""

Rules = tuple[tuple[re.Pattern[str], Maker], ...]


def rules(*given: tuple[str, Maker]) -> Rules:
    """The forms that statements have, by patterns that ignore case, and what makes the claim of each."""
    return tuple((re.compile(f"(?i:{pattern})"), make) for pattern, make in given)


def first_claim(forms: Iterable[tuple[re.Pattern[str], Maker]], clause: str) -> Claim | None:
    """What a clause claims by the first of the ``forms`` that it has as a whole and that makes something of it."""
    for pattern, make in forms:
        found = pattern.fullmatch(clause)
        if found is not None and (claim := make(found)) is not None:
            return claim
    return None


def preference(topic: str, said: str) -> Claim:
    """How somebody wants or likes something."""
    return Claim("preferences", topic_of(topic), said)


def entity(category: str, topic: str, said: str) -> Claim:
    """A fact about a person or a thing."""
    return Claim("entities", topic_of(topic), said, category)


def fact_of(category: str, topic: str, said: str) -> Maker:
    """Makes the claim ``said`` of an entity; both it and the ``topic`` may hold groups of the match in braces."""

    def make(found: re.Match[str]) -> Claim:
        groups = {name: (text or "").strip(" ,.") for name, text in found.groupdict().items()}
        return entity(category, topic.format_map(groups), said.format_map(groups))

    return make


def topic_of(text: str) -> str:
    """``text`` folded, in one spelling, without articles and marks; at most 80 characters."""
    words = [_SPELLINGS.get(word, word) for word in _TOKEN.findall(text.casefold().replace("’", "'"))]
    kept = [word for word in words if word not in _FILLERS] or words
    return shorten(" ".join(kept), MAX_TOPIC).rstrip("…")
