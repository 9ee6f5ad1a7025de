"""A seeded corpus of Markdown files whose word frequencies follow Zipf's law, of any size."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

VOCABULARY = 60_000
EXPONENT = 1.07
WORDS_PER_SECTION = 115
SECTIONS_PER_FILE = 5
FILES_PER_DIRECTORY = 50
DIRECTORIES_PER_AREA = 20

_SYLLABLES = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is", "ol")]


def vocabulary(seed: int = 7) -> list[str]:
    """Distinct pseudo-words, most frequent first."""
    chance = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(chance.choices(_SYLLABLES, k=chance.choice((2, 3, 3, 4))))] = None
    return list(words)


def files(passages: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Paths and texts of files that together give about ``passages`` passages; one section is one passage."""
    words = vocabulary(seed)
    cumulative = list(itertools.accumulate(1 / (rank + 1) ** EXPONENT for rank in range(len(words))))
    chance = random.Random(seed)
    for number in range(passages // SECTIONS_PER_FILE):
        directory = number // FILES_PER_DIRECTORY
        path = f"area{directory // DIRECTORIES_PER_AREA:03d}/topic{directory:05d}/note{number:07d}.md"
        yield path, _text(number, words, cumulative, chance)


def _text(number: int, words: list[str], cumulative: list[float], chance: random.Random) -> str:
    lines = [f"# Note {number} on {' '.join(chance.choices(words[100:5000], k=3))}", ""]
    for section in range(SECTIONS_PER_FILE):
        drawn = chance.choices(words, cum_weights=cumulative, k=WORDS_PER_SECTION)
        lines += [f"## Part {section} about {' '.join(chance.choices(words[100:20000], k=2))}", ""]
        for start in range(0, len(drawn), 12):
            lines.append(" ".join(drawn[start : start + 12]).capitalize() + ".")
        lines.append("")
    return "\n".join(lines)
