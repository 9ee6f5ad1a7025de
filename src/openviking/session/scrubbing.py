"""Masks secrets in what is said before it is stored: texts, what context says, inputs and outputs of tools."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from openviking.errors import InvalidArgumentError
from openviking.model.message import Message, Part
from openviking.session.extraction.masking import masked

_HIDDEN: Final = "[masked: password]"
"""Stands for an argument that only the option before it tells to be a secret."""


_BLOCK: Final = "-----BEGIN"
_APART: Final = (_BLOCK, '"-')
"""Signs of secrets that can't be seen in JSON as a whole: of several lines, and what follows an option in a list."""

_TOLD: Final = "(?i)(?:passw(?:or)?d|passphrase|passcode|pwd|secret|token|credential|key)s?"
_TELLING: Final = re.compile(rf"{_TOLD}\Z")
_TELLING_IN_JSON: Final = re.compile(rf'{_TOLD}": ["{{\[]')
"""A name of a member that says that it is a secret, where the whole value is known."""

_LONGEST: Final = 256
_MOST_WORDS: Final = 3
"""Texts of more characters or words are no passwords, whatever their name says."""

_FILLED_IN: Final = ("$", "<", "{", "%")
"""What begins a reference or a blank to be filled in."""

_BREAKING: Final = re.compile(r"[^\w!#$%^&*+~@./-]+")
"""What ends a secret in a text, but not in a value that is known as a whole."""

_NAME_CHARS: Final = 32
_MARK: Final = re.compile(r"\[masked: [a-z ]+\]")
_BARE: Final = re.compile(r"(?<=[:,\[] )\[masked: [A-Za-z ]+\](?=[,}\]])")
"""A mark in the place of a number."""


def scrubbed(messages: Sequence[Message]) -> tuple[tuple[Message, ...], int]:
    """The messages with their secrets masked, and how many there were.

    Whose, when and what for stay as they are, and so do addresses, but for those of pictures. Raises
    `InvalidArgumentError` for an input of a tool that is nested too deeply to be looked through.
    """
    found = 0
    made = []
    for message in messages:
        parts = []
        for part in message.parts:
            shown, count = _part(part)
            parts.append(shown)
            found += count
        made.append(replace(message, parts=tuple(parts)))
    return (tuple(made), found) if found else (tuple(messages), 0)


def scrubbed_value(value: Any) -> tuple[Any, int]:
    """A JSON value with the secrets in its texts masked, and those that the name of their member tells; and how many.

    It is looked through as a whole, so that the time is linear whatever it holds. Raises `InvalidArgumentError` for one
    that is nested too deeply.
    """
    if isinstance(value, str):
        return masked(value)
    if not isinstance(value, dict | list):
        return value, 0
    try:
        told = json.dumps(value, ensure_ascii=False)
        hidden, found = masked(told)
        if found:
            value = _read(hidden)
        if any(sign in told for sign in _APART) or _TELLING_IN_JSON.search(told):
            value, more = _apart(value, _told_by_names(value))
            found += more
    except RecursionError as error:
        raise InvalidArgumentError("The JSON value is nested too deeply", field="tool_input") from error
    return value, found


def _read(hidden: str) -> Any:
    """The value that its masked JSON tells; where a mark has broken that, the JSON as a text."""
    for text in (hidden, _BARE.sub(r'"\g<0>"', hidden)):
        with contextlib.suppress(ValueError):
            return json.loads(text)
    return hidden


def _part(part: Part) -> tuple[Part, int]:
    made: Part = dict(part)
    found = 0
    for name in ("text", "abstract", "tool_output"):
        if isinstance(made.get(name), str):
            made[name], count = masked(made[name])
            found += count
    if "tool_input" in made:
        made["tool_input"], count = scrubbed_value(made["tool_input"])
        found += count
    image = made.get("image_url")
    if image is not None and not image["url"].startswith("data:"):
        url, count = masked(image["url"])
        made["image_url"] = {**image, "url": url}
        found += count
    return (made, found) if found else (part, 0)


def _apart(value: Any, told: Mapping[tuple[str, str], str], name: str = "") -> tuple[Any, int]:
    """Masks what can't be seen in the JSON of the whole; ``name`` is that of the member, if it tells a secret."""
    if isinstance(value, str):
        if (name, value) in told:
            return told[name, value], 1
        return masked(value) if _BLOCK in value else (value, 0)
    if isinstance(value, dict):
        named = {one: _apart(held, told, _telling(one) or name) for one, held in value.items()}
        return {one: shown for one, (shown, _) in named.items()}, sum(count for _, count in named.values())
    if not isinstance(value, list):
        return value, 0
    members = [_apart(held, told, name) for held in value]
    options = _told_by_options(value)
    made = [_HIDDEN if place in options else shown for place, (shown, _) in enumerate(members)]
    return made, sum(count for _, count in members) + len(options)


def _telling(name: str) -> str:
    """The end of a member's name that says that it is a secret, "" of others."""
    return _BREAKING.sub("_", name[-_NAME_CHARS:]) if _TELLING.search(name) else ""


def _told_by_names(value: Any) -> dict[tuple[str, str], str]:
    """What stands for values that would be secrets if nothing in them ended one: quotes, blanks, brackets."""
    pairs = list(dict.fromkeys(_named(value, "")))
    # All at once: there may be a million of them.
    shown = masked("\n".join(f'"{name}": "{_BREAKING.sub("_", held)}"' for name, held in pairs))[0].split("\n")
    marks = ((pair, _MARK.search(line)) for pair, line in zip(pairs, shown, strict=False))
    return {pair: mark[0] for pair, mark in marks if mark}


def _named(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """The texts that may be passwords, each with the telling name of the member that it is in."""
    if isinstance(value, dict):
        for one, held in value.items():
            yield from _named(held, _telling(one) or name)
    elif isinstance(value, list):
        for held in value:
            yield from _named(held, name)
    elif isinstance(value, str) and name and _may_be_password(value):
        yield name, value


def _may_be_password(value: str) -> bool:
    short = len(value) <= _LONGEST and len(value.split()) <= _MOST_WORDS
    return short and not value.startswith(_FILLED_IN) and "[masked: " not in value


def _told_by_options(arguments: list[Any]) -> set[int]:
    """The places of arguments that the option before them tells to be a secret: ``["--password", "…"]``."""
    pairs = [
        (place, f"{before} {held}".replace("\n", " "))
        for place, (before, held) in enumerate(pairwise(arguments), start=1)
        if isinstance(before, str) and before.startswith("-") and isinstance(held, str)
    ]
    if not pairs:
        return set()
    # All at once: a list may have a million of them.
    shown = masked("\n".join(text for _, text in pairs))[0].split("\n")
    return {place for (place, text), line in zip(pairs, shown, strict=False) if line != text}
