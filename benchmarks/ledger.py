"""What a server acknowledged, so that it can be held to it: files with the contents they may have, messages, tasks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

ABSENT = None
"""The content of a file that is not there."""


@dataclass(slots=True)
class Ledger:
    """Of one user. A call whose answer never came may have been carried out or not: both are right, half is not."""

    files: dict[str, set[str | None]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, dict[str, str]] = field(default_factory=dict)
    """What is in place once a task is completed, by its id."""
    messages: dict[str, dict[str, bool]] = field(default_factory=dict)
    """By session and text: whether it was acknowledged."""

    def sure(self, uri: str, content: str | None) -> None:
        """It was acknowledged."""
        self.files[uri] = {content}

    def unsure(self, uri: str, content: str | None) -> None:
        """The answer never came: it is as before, or so."""
        self.files.setdefault(uri, {ABSENT}).add(content)

    def known(self, chance: random.Random) -> str | None:
        """The URI of a file whose content is certain, None while there is none."""
        for _ in range(20):
            if not self.files:
                return None
            uri = chance.choice(list(self.files))
            if len(self.files[uri]) == 1 and self.content(uri) is not ABSENT:
                return uri
        return None

    def content(self, uri: str) -> str | None:
        """The only content that a file may have."""
        (content,) = self.files[uri]
        return content


@dataclass(slots=True)
class Tally:
    """What was done, what was cut off by a kill, what was found wrong."""

    done: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[str]:
        """A table of Markdown."""
        yield "| | acknowledged | cut off by a kill | refused |"
        yield "| --- | --: | --: | --: |"
        for name in sorted(self.done | self.cut | self.refused):
            yield f"| {name} | {self.done[name]:,} | {self.cut[name]:,} | {self.refused[name]:,} |"
        yield ""
        yield "| checked | times |"
        yield "| --- | --: |"
        for name in sorted(self.checked):
            yield f"| {name} | {self.checked[name]:,} |"
        yield f"| **wrong or lost** | **{len(self.lost):,}** |"
