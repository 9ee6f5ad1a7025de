"""Globs as regular expressions that match in time linear in the name, whoever wrote the glob.

The dialect is that of gitignore lines: ``*`` and ``?`` stay inside of one path segment, ``**`` spans any number of
them, ``[a-z]`` and ``[!a-z]`` are classes, ``\\`` escapes, and a glob without ``/`` matches at any depth.
"""

from __future__ import annotations

import re
from typing import Final

_POSIX_CLASSES: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "space": "\\s", "xdigit": "0-9A-Fa-f", "punct": r"!-/:-@\[-`{-~",
}  # fmt: skip
_CLASS: Final = re.compile(r"\[(?P<negated>[!^]?)(?P<body>\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_CLASS_ITEM: Final = re.compile(r"\[:(?P<posix>[a-z]+):\]|(?P<first>\\.|.)(?:-(?P<last>\\.|.))?", re.DOTALL)


def glob_regex(glob: str, *, directories_only: bool = False) -> str | None:
    """A regular expression for a path that ends in ``/`` if it is a directory; None for a glob that can't match.

    Every star takes the shortest piece that lets the next literal follow and never gives it back (atomic groups),
    which loses no match and makes backtracking impossible.
    """
    anchored = "/" in glob
    segments = [part for part in glob.split("/") if part]
    if not segments:
        return None
    if not anchored:
        segments = ["**", *segments]
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment != "**":
            expression = _segment(segment)
            if expression is None:
                return None
            groups[-1].append(expression)
        elif len(groups) == 1 or groups[-1]:
            groups.append([])
    end = r"/\Z" if directories_only else r"/?\Z"
    regex = _joined(groups, end)
    try:
        re.compile(regex)
    except (re.error, OverflowError, RecursionError):
        return None
    return regex


def _joined(groups: list[list[str]], end: str) -> str:
    """Groups of segments with any number of directories between them."""
    start = "/".join(groups[0])
    if len(groups) == 1:
        return start + end
    between = "".join(f"(?>(?:[^/]++/)*?{'/'.join(group)}/)" for group in groups[1:-1])
    # A last "**" takes what is inside of a directory, not the directory itself.
    last = f"(?:[^/]++/)*{'/'.join(groups[-1])}" if groups[-1] else "[^/].*"
    return f"{start}{'/' if start else ''}{between}{last}{end}"


def _segment(glob: str) -> str | None:
    """One path segment; pieces between stars have a fixed number of characters each."""
    pieces: list[str] = [""]
    position = 0
    while position < len(glob):
        char = glob[position]
        found = _CLASS.match(glob, position) if char == "[" else None
        if found:
            body = _class_body(found["body"])
            if body is None:
                return None
            pieces[-1] += f"(?!/)[{'^' if found['negated'] else ''}{body}]"
            position = found.end()
            continue
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "\\":
            position += 1
            if position == len(glob):
                return None
            pieces[-1] += re.escape(glob[position])
        else:
            pieces[-1] += re.escape(char)
        position += 1
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{middle}[^/]*{pieces[-1]}"


def _class_body(body: str) -> str | None:
    out: list[str] = []
    for item in _CLASS_ITEM.finditer(body):
        if item["posix"]:
            if item["posix"] not in _POSIX_CLASSES:
                return None
            out.append(_POSIX_CLASSES[item["posix"]])
            continue
        first, last = item["first"][-1], (item["last"] or "")[-1:]
        if last and last < first:
            return None
        out.append(re.escape(first) + (f"-{re.escape(last)}" if last else ""))
    return "".join(out) or None
