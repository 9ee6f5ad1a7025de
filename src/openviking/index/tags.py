"""Retrieval tags: ``key=value`` labels that a caller puts on nodes and filters by (contract/retrieval.md §3.6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from openviking.errors import InvalidArgumentError
from openviking.text import quoted

MAX_TAG_CHARS: Final = 512
MAX_TAGS: Final = 100

MEMORY_TYPE: Final = "memory_type"
"""The key of the tag that says what kind of memory a record is; only what makes memories sets it."""

_UNSTORABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def required_tags(values: object) -> tuple[str, ...]:
    """The tags that a filter of ``find`` or ``search`` asks for, all of which a record must carry; none for None.

    Trimmed, lower-cased, one per key, of which the last wins. Raises `InvalidArgumentError` for a value that is no
    list, an element that is no tag, and more than 100 tags.
    """
    found: dict[str, str] = {}
    for value in _elements(values):
        pair = _pair(value)
        if pair is None:
            raise InvalidArgumentError(
                f"tags: {quoted(value)} is not key=value with exactly one '=', both sides non-empty, "
                f"at most {MAX_TAG_CHARS} characters",
                field="tags",
                value=quoted(value),
            )
        found[pair[0]] = pair[1]
    return _spelled(found)


def accepted_tags(values: object) -> tuple[tuple[str, ...], int]:
    """The tags among ``values`` as `required_tags` would give them, and how many elements were no tag and are skipped.

    For ``set_tags``, whose answer counts the skipped, and for ``grep`` and ``glob``, which drop them. Raises
    `InvalidArgumentError` for a value that is no list and for more than 100 tags.
    """
    found: dict[str, str] = {}
    skipped = 0
    for value in _elements(values):
        pair = _pair(value)
        if pair is None:
            skipped += 1
        else:
            found[pair[0]] = pair[1]
    return _spelled(found), skipped


def visible_tags(stored: Iterable[str]) -> tuple[str, ...]:
    """The tags of a record as an answer shows them: what is stored and is no tag stays hidden."""
    pairs = (_pair(value) for value in stored)
    return _spelled(dict(pair for pair in pairs if pair))


def merged_tags(stored: Iterable[str], added: Iterable[str]) -> tuple[str, ...]:
    """``stored`` with ``added`` put over it, key by key; raises `InvalidArgumentError` for more than 100 tags."""
    merged = visible_tags([*stored, *added])
    if len(merged) > MAX_TAGS:
        raise InvalidArgumentError(f"tags: {len(merged)} on one node, at most {MAX_TAGS} are allowed", field="tags")
    return merged


def _elements(values: object) -> Sequence[object]:
    if values is None:
        return ()
    if not isinstance(values, (list, tuple)):
        raise InvalidArgumentError(
            f"tags must be a list of key=value strings, not {quoted(values)}", field="tags", value=quoted(values)
        )
    if len(values) > MAX_TAGS:
        raise InvalidArgumentError(f"tags: {len(values)} given, at most {MAX_TAGS} are allowed", field="tags")
    return values


def _pair(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str) or len(value) > MAX_TAG_CHARS or value.count("=") != 1 or _UNSTORABLE.search(value):
        return None
    key, _, content = value.lower().partition("=")
    key, content = key.strip(), content.strip()
    # Lower-casing can lengthen a text; a tag that is stored must be accepted when it is read again.
    return (key, content) if key and content and len(key) + len(content) < MAX_TAG_CHARS else None


def _spelled(pairs: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in pairs.items())
