"""The JSON in a chat model's answer, whatever prose, thoughts and code fences stand around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

MAX_ANSWER_CHARS: Final = 200_000
MAX_STARTS: Final = 100
"""Braces that are tried as the beginning of an object in an answer with prose around it."""

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[A-Za-z0-9_+-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)


def said(answer: str) -> str:
    """The beginning of an answer without what the model thought aloud."""
    return _THOUGHT.sub("", answer[:MAX_ANSWER_CHARS]).strip()


def values(text: str) -> Iterator[Any]:
    """What may be the answer: the whole text or fenced blocks; without any of them, the objects in the prose."""
    seen = False
    for piece in (text, *_FENCED.findall(text)):
        try:
            value = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            seen = True
            yield value
    if not seen:
        yield from _objects(text)


def _objects(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    place = text.find("{")
    for _ in range(MAX_STARTS):
        if place < 0:
            return
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
        else:
            yield value
            place = text.find("{", end)
