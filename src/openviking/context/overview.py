"""Extracts the overview of a file or directory for a context, by rules alone (contract/retrieval.md §5.9)."""

from __future__ import annotations

import re
from typing import Final

from openviking.context.candidates import Candidate
from openviking.index.hidden_fields import FIELDS, visible
from openviking.parse import heading_outline, parse

MOST_CHARS: Final = 512_000
"""Characters of a file that are looked at: its outline has no more than 24 headings anyway."""

_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(?:.*?\n)?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_HEADING = re.compile(r" {0,3}#{1,3}(?:[ \t]+(.*))?")
_CLOSING = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INLINE = re.compile(r"\s*Summary:", re.IGNORECASE)
_CHAT_LOG = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?chat[ \t_]?log\b|(?:#{1,6}[ \t]*)?\bchat[ \t_]?log[ \t]*:", re.IGNORECASE | re.MULTILINE
)


def overview_of(candidate: Candidate, body: str) -> str:
    """The overview of a candidate, "" for an empty one; ``body`` is a file's text or a directory's overview.

    A directory's is that without its front matter. A memory's is its section named Summary, or what its first words
    ``Summary:`` introduce. Of all others, and of memories without a summary: the signatures of a program's classes and
    functions, else up to 24 headings and the first paragraph.
    """
    if candidate.directory:
        return without_front_matter(body)
    text = body[:MOST_CHARS]
    if candidate.is_memory:
        text = visible(body)[:MOST_CHARS]
        summary = summary_of(text)
        if summary:
            return summary
    return heading_outline(parse(candidate.uri.rpartition("/")[2], text), text)


def without_front_matter(text: str) -> str:
    """``text`` without the YAML block between two lines of ``---`` at its beginning."""
    found = _FRONT.match(text)
    return text[found.end() :] if found else text


def summary_of(text: str) -> str:
    """What a memory says in its summary, "" if it has none.

    That is the section below a heading of depth 1–3 named Summary, up to the next heading of such a depth; else, in one
    line, what follows ``Summary:`` at its beginning, up to its chat log.
    """
    section = _section(text).strip()
    if section:
        return section
    prefix = _INLINE.match(text)
    if prefix is None:
        return ""
    rest = text[prefix.end() :].partition(FIELDS)[0]
    log = _CHAT_LOG.search(rest)
    return " ".join((rest[: log.start()] if log else rest).split())


def _section(text: str) -> str:
    """The first section named Summary that says something. Lines inside of fences are no headings."""
    kept: list[str] | None = None
    fence = ""
    for line in text.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            if opened and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif opened:
            fence = opened[1]
        elif heading := _HEADING.fullmatch(line.rstrip("\r")):
            if kept is not None and any(one.strip() for one in kept):
                break
            named = _CLOSING.sub("", heading[1] or "").strip().rstrip(":").rstrip()
            kept = [] if named.casefold() == "summary" else None
            continue
        if kept is not None:
            kept.append(line)
    return "\n".join(kept or ())
