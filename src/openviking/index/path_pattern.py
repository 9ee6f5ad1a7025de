"""Paths that match a glob pattern (contract/retrieval.md §6.2), in time linear in the path for all practical ends."""

from __future__ import annotations

import re
from typing import Final

from openviking.errors import InvalidArgumentError
from openviking.text import quoted

MAX_PATTERN_CHARS: Final = 4_096

_ANY_NAME: Final = "[^/]"
_GLOBSTAR: Final = "**"


class PathPattern:
    """A compiled glob pattern, matched against a whole path relative to where the search began.

    ``*`` is any run of characters and ``?`` one, both inside of one name; ``[ab]``, ``[a-z]`` one of these, ``[!a]`` or
    ``[^a]`` one other; ``\\`` takes the next character as it is; a segment ``**`` is zero or more directories, and at
    the end everything below. Case counts, and a wildcard also matches a leading dot: whether a hidden file is shown
    is `is_hidden_name`'s to say. A pattern with an empty segment, ``.`` or ``..`` (``./b.md``, ``/``) matches nothing.

    Raises `InvalidArgumentError` for a pattern that is blank, too long or does not compile.
    """

    def __init__(self, pattern: object) -> None:
        if not isinstance(pattern, str):
            raise InvalidArgumentError(f"pattern must be a string, not {type(pattern).__name__}", field="pattern")
        if not pattern.strip():
            raise InvalidArgumentError("pattern must not be blank", field="pattern")
        if len(pattern) > MAX_PATTERN_CHARS:
            raise InvalidArgumentError(
                f"pattern has {len(pattern)} characters, at most {MAX_PATTERN_CHARS} are allowed", field="pattern"
            )
        self.pattern = pattern
        segments = [_GLOBSTAR if part == _GLOBSTAR else _Segment(part, pattern) for part in pattern.split("/")]
        names = [segment for segment in segments if isinstance(segment, _Segment)]
        self.matches_nothing: Final = any(name.literal in {"", ".", ".."} for name in names)
        """Whether no path can match, so that there is nothing to walk."""
        self.max_depth: Final = len(segments) if len(names) == len(segments) else None
        """The number of names in every path that matches; None where ``**`` allows any number."""
        self.literal_prefix: Final = _literal_prefix(segments)
        """The directory below which all matches lie, relative to where the search begins; ``""`` for all of it."""
        self._path = re.compile(_path_expression(segments), re.DOTALL)

    def matches(self, relative_path: str) -> bool:
        """Whether the path (names joined by ``/``, no ``/`` at either end) matches as a whole."""
        return bool(relative_path) and not self.matches_nothing and self._path.fullmatch(relative_path) is not None


def is_hidden_name(name: str) -> bool:
    """Whether a file of this name is kept out of glob and grep; directories are not, nor is what is in them."""
    return name.startswith(".")


class _Segment:
    """The pattern of one name: its expression, and the name itself where there is no wildcard."""

    def __init__(self, segment: str, pattern: str) -> None:
        # A piece is what stands between two stars; each of its parts matches exactly one character.
        pieces: list[list[str]] = [[]]
        literal: list[str] | None = []
        position = 0
        while position < len(segment):
            char = segment[position]
            position += 1
            if char == "*":
                pieces.append([])
                literal = None
            elif char == "?":
                pieces[-1].append(_ANY_NAME)
                literal = None
            elif char == "[":
                end = segment.find("]", position + (2 if segment[position : position + 1] in {"!", "^"} else 1))
                if end < 0:
                    raise _not_compiled(pattern, "a '[' has no ']' in the same segment")
                pieces[-1].append(_one_of(segment[position:end], pattern))
                position = end + 1
                literal = None
            else:
                if char == "\\":
                    char = segment[position : position + 1]
                    position += 1
                    if not char:
                        raise _not_compiled(pattern, "a '\\' has nothing behind it")
                pieces[-1].append(re.escape(char))
                if literal is not None:
                    literal.append(char)
        self.literal = None if literal is None else "".join(literal)
        self.expression = _name_expression(["".join(piece) for piece in pieces])


def _name_expression(pieces: list[str]) -> str:
    if len(pieces) == 1:
        return pieces[0]
    # Between stars the first place where a piece fits is as good as any later one, so nothing is tried twice: without
    # the atomic groups a pattern with n stars would cost the n-th power of the length.
    middle = "".join(f"(?>{_ANY_NAME}*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{middle}{_ANY_NAME}*{pieces[-1]}"


def _path_expression(segments: list[_Segment | str]) -> str:
    groups: list[list[str]] = [[]]
    for segment in segments:
        if isinstance(segment, _Segment):
            groups[-1].append(segment.expression)
        elif groups[-1] or len(groups) == 1:
            groups.append([])
    if len(groups) == 1:
        return "/".join(groups[0])
    first = "".join(f"{name}/" for name in groups[0])
    # As with stars in a name: the first directory from which a run of names fits is as good as any later one.
    middle = "".join(f"(?>(?:[^/]+/)*?{''.join(f'{name}/' for name in group)})" for group in groups[1:-1])
    last = "(?:[^/]+/)*" + "/".join(groups[-1]) if groups[-1] else ".+"
    return first + middle + last


def _literal_prefix(segments: list[_Segment | str]) -> str:
    names: list[str] = []
    for segment in segments[:-1]:
        if not isinstance(segment, _Segment) or segment.literal is None:
            break
        names.append(segment.literal)
    return "/".join(names)


def _one_of(inside: str, pattern: str) -> str:
    negated = inside[0] in "!^"
    members = inside[1:] if negated else inside
    parts: list[str] = []
    position = 0
    while position < len(members):
        low = high = members[position]
        position += 1
        if members[position : position + 1] == "-" and position + 1 < len(members):
            high = members[position + 1]
            position += 2
            if high < low:
                raise _not_compiled(pattern, f"the range {low}-{high} runs backwards")
        parts.append(re.escape(low) if low == high else f"{re.escape(low)}-{re.escape(high)}")
    # A range such as [+-9] has the slash inside of it, which no wildcard may cross.
    return f"(?!/)[{'^' if negated else ''}{''.join(parts)}]"


def _not_compiled(pattern: str, fault: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"pattern {quoted(pattern)} does not compile: {fault}", field="pattern")
