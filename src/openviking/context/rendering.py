"""Writes entries as the block that goes into a prompt: one element each, which no text can forge (§5.8)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from openviking.context.candidates import Candidate
from openviking.context.tiers import Tier

SEPARATOR: Final = "\n"
SEPARATOR_TOKENS: Final = 1

_ATTRIBUTE: Final = str.maketrans({"&": "&amp;", '"': "&quot;", "<": "&lt;"})
# A text may end within a tag: what follows it is a line end.
_TAG = re.compile(r"<(?=/?memory(?:[\s/>]|\Z))", re.IGNORECASE)


def element(candidate: Candidate, tier: Tier, text: str = "") -> str:
    """One entry: ``<memory uri="…" type="…" score="0.50" detail="…">``, its text, and the closing tag.

    Without a text it closes itself. In the text, what looks like such a tag gets a backslash after its ``<``.
    """
    head = (
        f'<memory uri="{attribute(candidate.uri)}" type="{attribute(candidate.category)}"'
        f' score="{candidate.score:.2f}" detail="{tier}"'
    )
    return f"{head}>\n{defused(text)}\n</memory>" if text else f"{head} />"


def block(elements: Iterable[str]) -> str:
    """Elements one below the other."""
    return SEPARATOR.join(elements)


def attribute(value: str) -> str:
    """``value`` as it stands between the quotes of an attribute."""
    return value.translate(_ATTRIBUTE)


def defused(text: str) -> str:
    """``text`` with a backslash in every tag ``memory``, so that it begins and ends no entry."""
    return _TAG.sub(lambda found: found[0] + "\\", text)
