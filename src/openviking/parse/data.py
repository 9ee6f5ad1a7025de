"""Parses data files (JSON, YAML, TOML, INI, CSV, XML): sections are keys, tables are cut between rows.

Broken files are read as far as they make sense; what is left is text.
"""

from __future__ import annotations

import json
import re
from json import decoder as json_decoder

from openviking.parse.document import Document, Entry, Section
from openviking.parse.passages import MOST
from openviking.parse.plain import leading_comment, parse_plain
from openviking.parse.prose import LEAD, informative, lines_of, one_line
from openviking.text import shorten, token_weight

_DEEPEST = 4
_KEY = 120
_HEADER = 240
_ENTRIES = 2_000
_ITEMS = 200_000
_ROW = 20_000
_SHORT = 100
_JSON_SPACE = re.compile(r"[ \t\n\r]*")
_YAML_KEY = re.compile(
    r" *(?:- )?(\"[^\"\n]{1,120}\"|'[^'\n]{1,120}'|[^\s#:\-\[\]{},\"'&*!|>%@`][^:\n#]{0,120}?)[ \t]*:(?:[ \t]|\r?$)"
)
_TABLE = re.compile(r"\s*\[\[?([^\[\]\n]{1,200})\]\]?\s*(?:[#;].*)?")
_PAIR = re.compile(r"\s*([A-Za-z_\"'][\w.\-\"' ]{0,100}?)\s*[=:]")
_COMMENT = re.compile(r"\s*(?:#|;|//)")
_TITLE_KEYS = ("title", "name", "displayName", "label")
_DESCRIPTION_KEYS = ("description", "summary", "abstract", "about")
_SCALAR = re.compile(r"\s*(?:\"((?:[^\"\\\n]|\\.){1,600})\"|'([^'\n]{1,600})'|([^\s\[\]{}\"'#|>&*][^\n#]{0,600}))")
_TAG = re.compile(r"<[^!?/>\s]")
_Keyed = tuple[int, int, tuple[str, ...]]


def parse_data(text: str, language: str) -> Document:
    """The document of a data file in one of ``languages.DATA``."""
    breaks: tuple[int, ...] = ()
    if language in ("csv", "tsv"):
        return _table(text, language)
    if language in ("json", "jsonc"):
        keyed = _json_sections(text)
    elif language == "yaml":
        keyed = _yaml_sections(text)
    elif language in ("toml", "ini"):
        keyed = _table_sections(text, language)
    else:
        keyed = []
        pattern = _TAG if language == "xml" else re.compile(r"\n")
        breaks = tuple(_bounded_breaks(text, pattern))
    sections = tuple(
        Section(start, end, path, depth=max(0, len(path) - 1)) for start, end, path in _covering(text, keyed)
    )
    entries = _outline(text, keyed)
    title = _value_of(text, keyed, _TITLE_KEYS)
    lead = _value_of(text, keyed, _DESCRIPTION_KEYS)
    if not informative(lead):
        comment = leading_comment(text)
        lead = comment if informative(comment) else lead
    return Document("data", language, title[:200], lead[:LEAD], sections, breaks=breaks, outline=entries)


def _bounded_breaks(text: str, pattern: re.Pattern[str]) -> list[int]:
    found: list[int] = []
    for match in pattern.finditer(text):
        place = match.start() if match[0] != "\n" else match.end()
        if 0 < place < len(text):
            found.append(place)
    return found


def _covering(text: str, keyed: list[_Keyed]) -> list[_Keyed]:
    """``keyed`` with the stretches between, so that nothing is left out."""
    covering: list[_Keyed] = []
    at = 0
    for start, end, path in keyed:
        if at < start:
            if covering and not text[at:start].strip(" \t\r\n,{}[]"):
                covering[-1] = (covering[-1][0], start, covering[-1][2])
            elif covering or text[at:start].strip(" \t\r\n{["):
                covering.append((at, start, ()))
            else:
                start = at
        covering.append((start, end, path))
        at = end
    if at < len(text):
        if covering and not text[at:].strip(" \t\r\n,{}[]"):
            covering[-1] = (covering[-1][0], len(text), covering[-1][2])
        else:
            covering.append((at, len(text), ()))
    return covering


def _outline(text: str, keyed: list[_Keyed]) -> tuple[Entry, ...]:
    """The keys, each once and after the key it is in; scalar values of one line stand with their key."""
    entries: list[Entry] = []
    seen: set[tuple[str, ...]] = set()
    for start, end, path in keyed:
        for depth in range(len(path)):
            if path[: depth + 1] not in seen and len(entries) < _ENTRIES:
                seen.add(path[: depth + 1])
                own = _value(text[start : min(end, start + 400)], path[depth]) if depth == len(path) - 1 else ""
                entries.append(Entry(depth, path[depth], f"{path[depth]}: {own}" if own else path[depth]))
    return tuple(entries)


def _value(stretch: str, key: str) -> str:
    """The scalar behind a key on its one line, "" for anything longer or structured."""
    stretch = stretch.strip(" \t\r\n,{}")
    if "\n" in stretch or "[" in stretch or "{" in stretch or not stretch.lstrip("\"'").startswith(key):
        return ""
    behind = stretch.lstrip("\"'")[len(key) :].lstrip("\"' \t")
    line = one_line(behind[1:]).strip("\"'") if behind[:1] in (":", "=") else ""
    return line if len(line) <= _SHORT else ""


def _value_of(text: str, keyed: list[_Keyed], names: tuple[str, ...]) -> str:
    """The scalar that one of the outermost keys in ``names`` has, or the same key within the first table."""
    for depth in (1, 2):
        for name in names:
            for start, end, path in keyed[:500]:
                if len(path) == depth and path[-1] == name:
                    stretch = text[start : min(end, start + 1_000)]
                    found = re.search(r"[:=]", stretch[len(name) :])
                    match = _SCALAR.match(stretch, len(name) + found.end()) if found else None
                    if match:
                        return one_line(match[1] or match[2] or (match[3] or "").strip(" \t,"))
    return ""


# JSON: the C scanner of the standard library finds where each value ends.


def _json_sections(text: str) -> list[_Keyed]:
    found: list[_Keyed] = []
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    _json_value(text, start, (), found)
    return found


def _skip(text: str, at: int) -> int:
    match = _JSON_SPACE.match(text, at)
    return match.end() if match else at


def _json_value(text: str, at: int, path: tuple[str, ...], found: list[_Keyed]) -> int:
    """Sections of the members of the object or array at ``at``, the large ones divided; where it ends, -1 if broken."""
    if text[at : at + 1] not in ("{", "["):
        return -1
    keyed = text[at] == "{"
    decoder = json.JSONDecoder()
    at = _skip(text, at + 1)
    number = 0
    while at < len(text) and text[at] not in "}]" and len(found) < _ITEMS:
        start = at
        name = ""
        try:
            if keyed:
                if text[at] != '"':
                    return -1
                name, at = json_decoder.scanstring(text, at + 1, False)  # type: ignore[attr-defined]
                at = _skip(text, at)
                if text[at : at + 1] != ":":
                    return -1
                at = _skip(text, at + 1)
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return -1
        own = (*path, shorten(one_line(name), _KEY)) if keyed and name.strip() else path
        following = _skip(text, end)
        if text[following : following + 1] == ",":
            following = _skip(text, following + 1)
        large = following - start > MOST and token_weight(text[start:following]) > MOST
        if (
            large
            and isinstance(value, dict | list)
            and value
            and len(own) < _DEEPEST
            and (keyed or isinstance(value, dict))
        ):
            before = len(found)
            if _json_value(text, at, own, found) < 0:
                del found[before:]
            if len(found) > before:
                first = found[before]
                found[before] = (start, first[1], first[2])
                last = found[-1]
                found[-1] = (last[0], following, last[2])
            else:
                found.append((start, following, own))
        else:
            found.append((start, following, own))
        at = following
        number += 1
    return at


# YAML, TOML, INI: keys and tables by their lines.


def _yaml_sections(text: str) -> list[_Keyed]:
    """The keys of a YAML text: the outermost ones, and those one level deeper in what is too long for a passage."""
    keys = _keys(text, _YAML_KEY)
    outer = [key for key in keys if key[1] == 0]
    found: list[_Keyed] = []
    index = 0
    for number, (start, _, name) in enumerate(outer):
        end = outer[number + 1][0] if number + 1 < len(outer) else len(text)
        while index < len(keys) and keys[index][0] <= start:
            index += 1
        first = index
        while index < len(keys) and keys[index][0] < end:
            index += 1
        inner = keys[first:index]
        if inner and end - start > MOST and token_weight(text[start:end]) > MOST:
            indent = min(key[1] for key in inner)
            parts = [key for key in inner if key[1] == indent]
            starts = [start, *(part[0] for part in parts[1:]), end]
            paths = [(name, part[2]) for part in parts]
            found.extend((begin, stop, path) for begin, stop, path in zip(starts, starts[1:], paths, strict=False))
        else:
            found.append((start, end, (name,)))
    return found


def _table_sections(text: str, language: str) -> list[_Keyed]:
    """The tables of a TOML or INI text, and in TOML the keys before the first of them."""
    keys = _keys(text, _TABLE)
    first = keys[0][0] if keys else len(text)
    if language == "toml":
        keys = [key for key in _keys(text[:first], _PAIR) if key[0] < first] + keys
    starts = [*(key[0] for key in keys), len(text)]
    return [(start, end, (key[2],)) for start, end, key in zip(starts, starts[1:], keys, strict=False)]


def _keys(text: str, pattern: re.Pattern[str]) -> list[tuple[int, int, str]]:
    """Lines that name something: where they start (with the comment before), their indentation, the name."""
    keys: list[tuple[int, int, str]] = []
    comment = -1
    for start, end in lines_of(text):
        line = text[start : min(end, start + 400)]
        if _COMMENT.match(line):
            comment = start if comment < 0 else comment
            continue
        match = pattern.match(line)
        if match and len(keys) < _ITEMS:
            name = shorten(one_line(match[1]).strip("\"' "), _KEY)
            indent = match.start(1) - (line[:1] == '"')
            if name:
                keys.append((comment if comment >= 0 else start, indent, name))
        comment = -1
    return keys


# CSV, TSV: every passage carries the header row.


def _table(text: str, language: str) -> Document:
    """One section whose heading is the header row, to be cut between rows (RFC 4180: a quoted line end is none)."""
    if not text.strip():
        return parse_plain(text, language)
    rows: list[int] = []
    quotes = 0
    opened = 0
    for start, end in lines_of(text):
        if quotes % 2 == 0 or start - opened > _ROW:
            rows.append(start)
            quotes, opened = 0, start
        quotes += text.count('"', start, end)
    stop = rows[1] if len(rows) > 1 else len(text)
    header = one_line(text[: min(stop, 4_000)])
    separator = max("\t;,|", key=text[: min(stop, 4_000)].count) if language == "csv" else "\t"
    columns = [one_line(cell).strip("\"' ") for cell in text[: min(stop, 4_000)].split(separator)]
    columns = [column for column in columns if column]
    named = bool(columns) and not any(re.fullmatch(r"[-+\d.,:/eE% ]+", column) for column in columns)
    heading = shorten(", ".join(columns) if columns else header, _HEADER) if named else ""
    sections = (Section(0, len(text), (heading,) if heading else ()),)
    entries = tuple(Entry(0, column, column) for column in columns[:200]) if named else ()
    lead = f"Table with {len(rows) - named} rows" + (f" and the columns {heading}" if heading else "")
    return Document("data", language, "", shorten(lead, LEAD), sections, breaks=tuple(rows[1:]), outline=entries)
