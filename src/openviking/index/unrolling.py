"""How large a regular expression becomes when it is compiled: `regex` writes out what is counted, again and again.

``(?:(?:(?:ab|cd){100}){100}){100}`` has 33 characters and takes gigabytes, before any timeout of a search counts.
"""

from __future__ import annotations

import re
from typing import Final

MAX_PARTS: Final = 10_000
"""Parts that a pattern may become; each takes up to some kilobytes."""

MAX_NESTED: Final = 100
"""Groups within groups: `regex` parses each with some calls more."""

_PART: Final = re.compile(
    r"""
    \\(?:[pPNgLkQ]\{[^}]*\}|.)                   # an escape, with its name
    | \[\^?\]?(?:\\.|\[:[^\]]*:\]|[^\]\\])*\]?   # a character class
    | \{([0-9]+)(?:,[0-9]*)?\}                   # so many times
    | \(\?\#[^)]*\)?                             # a comment
    | \(\?(?:P?<[^>=!]+>|[=!:>|]|<[=!]|[a-zA-Z0-9-]+:)  # the beginning of a group
    | .
    """,
    re.DOTALL | re.VERBOSE,
)


def parts(pattern: str) -> int:
    """About how many parts ``pattern`` has once every ``{n}`` is written out; only the least count matters.

    The count ends a little above `MAX_PARTS`: what is larger is too large.
    """
    sums, last = [0], 0
    for found in _PART.finditer(pattern):
        text = found[0]
        if found[1] is not None:
            least = int(found[1][:6])
            sums[-1] += last * max(least - 1, 0)
            last *= max(least, 1)
        elif text[0] == "(" and not text.startswith("(?#"):
            sums.append(0)
            last = 0
        elif text == ")" and len(sums) > 1:
            last = sums.pop() + 1
            sums[-1] += last
        elif text not in {"*", "+", "?"}:
            sums[-1] += 1
            last = 1
        if sums[-1] > MAX_PARTS:
            break
    return sum(sums)


def fault_of_size(pattern: str) -> str:
    """Why ``pattern`` may not be compiled, "" if it may: what it would take is not bounded by any timeout."""
    if parts(pattern) > MAX_PARTS:
        return f"its counted repetitions make more than {MAX_PARTS:,} parts of it"
    return f"its groups are nested more than {MAX_NESTED} deep" if _nested(pattern) > MAX_NESTED else ""


def _nested(pattern: str) -> int:
    """How deep the groups of ``pattern`` are nested."""
    depth = deepest = 0
    for found in _PART.finditer(pattern):
        if found[0][0] == "(" and not found[0].startswith("(?#"):
            depth += 1
            deepest = max(deepest, depth)
        elif found[0] == ")":
            depth = max(0, depth - 1)
    return deepest
