"""What becomes of a memory that is told anew: the newest statement first, and what it was before in a line each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from openviking.model.memory import ALONE, Draft
from openviking.session.extraction.transcript import in_line
from openviking.session.memories.fields import MAX_HISTORY, MAX_SOURCES, Fields, harmless
from openviking.session.memories.wording import holds, spoken
from openviking.text import shorten

MAX_BEFORE: Final = 5
"""Older statements that a memory shows."""

MAX_BEFORE_CHARS: Final = 240
MAX_PROOF_CHARS: Final = 1_000
MAX_BODY_BYTES: Final = 48_000
"""A hit of a memory shows no more of it (contract/retrieval.md §2.3)."""

MIN_QUOTE_CHARS: Final = 15
"""A shorter quote, such as "I moved", is said of different things."""

_PROOF: Final = re.compile(r" \"[^\n]*\" \([^()\n]{1,300}\)\s*\Z")
_BEFORE: Final = re.compile(r"^Before \([^()\n]{0,40}\): .*$", re.MULTILINE)
_BEFORE_DAY: Final = re.compile(r"Before \((?:earlier|([^()]*))\).*")

EARLIER: Final = "earlier"
"""The day of what nobody knows the day of."""


@dataclass(frozen=True, slots=True)
class Page:
    """A memory: what readers see, and its fields; those are None for a file that somebody else wrote."""

    body: str
    fields: Fields | None

    @property
    def edited(self) -> bool:
        """Whether somebody changed what readers see since a commit left it."""
        return self.fields is None or (bool(self.fields.digest) and self.fields.digest != digest_of(self.body))

    @property
    def own(self) -> str:
        """The words in it that are somebody's own, which no commit changes: all of a page that was edited, else its end."""
        body = self.body.rstrip()
        if self.fields is None or self.edited:
            return body
        return body[max(len(body) - self.fields.own, 0) :]

    @property
    def made(self) -> str:
        """What commits made of it: all before somebody's own words."""
        body = self.body.rstrip()
        return body[: len(body) - len(self.own)].rstrip()

    @property
    def statement(self) -> str:
        """What it says now, without the lines of what it said before."""
        return _BEFORE.sub("", self.made).rstrip() or self.own


@dataclass(frozen=True, slots=True)
class Origin:
    """Which archive a memory comes from, the moment of the extraction, and when each message was sent (ISO 8601)."""

    archive_uri: str
    now: str
    sent: Mapping[str, str] = field(default_factory=dict)

    def said_at(self, draft: Draft) -> str:
        """When the newest of the messages was sent that say ``draft``, now at the latest; "" if that is not known."""
        # A client whose clock is wrong must not have the last word for ever.
        return min(max((self.sent.get(one, "") for one in draft.sources), default=""), self.now)


def fresh(draft: Draft, origin: Origin) -> Page:
    """The page of a memory that was not there."""
    return _noted(draft.body, draft, Fields(draft.type, created_at=origin.now), origin)


def says(page: Page, draft: Draft) -> bool:
    """Whether ``page`` says now what ``draft`` does, as a whole, in one of its lines or by its quote, whatever case, marks and line breaks they have."""
    lines = {spoken(line) for line in (page.body if draft.type in ALONE else page.statement).splitlines()}
    if draft.type in ALONE:
        return all(spoken(line) in lines for line in draft.body.splitlines() if spoken(line))
    there = {spoken(page.statement), spoken(_claim(page.statement)), *lines}
    told = {spoken(draft.body), spoken(_claim(draft.body))}
    if page.fields is not None and page.made:
        quote, same = spoken(page.fields.quote), set(draft.sources) & set(page.fields.sources)
        told |= {spoken(draft.quote)} if same or len(quote) >= MIN_QUOTE_CHARS else set()
        there.add(quote)
    return bool((there & told) - {""})


def is_about(page: Page, draft: Draft) -> bool:
    """Whether ``page`` is of the topic of ``draft``; one that names none is, as far as its place tells."""
    topic = "" if page.fields is None else spoken(page.fields.topic)
    return not topic or not draft.topic or topic == spoken(draft.topic)


def is_over_already(page: Page, draft: Draft) -> bool:
    """Whether ``draft`` only takes back what ``page`` does not say now."""
    return bool(draft.ends) and not holds(spoken(_claim(page.statement)), spoken(draft.ends))


def is_older(page: Page, draft: Draft, origin: Origin) -> bool:
    """Whether ``draft`` was said before what ``page`` says; commits are not always finished in their order."""
    return page.fields is not None and origin.said_at(draft) < min(page.fields.said_at, origin.now)


def repeated(page: Page, draft: Draft, origin: Origin) -> Page:
    """``page``, which says what ``draft`` does, as of when that was said again; what was said between is older then."""
    said_at = origin.said_at(draft)
    if page.fields is None or page.edited or said_at <= page.fields.said_at:
        return page
    sources = tuple(dict.fromkeys((*page.fields.sources, *draft.sources)))[-MAX_SOURCES:]
    return Page(page.body, replace(page.fields, said_at=said_at, sources=sources))


def merged(page: Page, draft: Draft, origin: Origin) -> Page | None:
    """``page`` with what ``draft`` says on top; None if there is no room for it.

    Every word that is somebody's own is kept below. A type that is one file gets the lines that it does not have yet.
    Else what commits said before becomes a line ``Before (date): …``, of which there are 5 at most, the newest first; so
    does the draft if it is the older.
    """
    fields = page.fields or Fields(draft.type, created_at=origin.now)
    own = page.own
    if draft.type in ALONE:
        there = {spoken(line) for line in page.body.splitlines()}
        more = [line for line in draft.body.splitlines() if spoken(line) not in there or not line.strip()]
        body = f"{page.body.rstrip()}\n" + "\n".join(more).strip()
        own = body if own else ""
    elif not page.made:
        if is_older(page, draft, origin):
            return page
        body = _in_order(draft.body, (), own)
    elif is_older(page, draft, origin):
        return _with_older(page, draft, origin)
    else:
        fields = _remembering(fields, page)
        line = _line(_day(fields), page.statement)
        body = _in_order(draft.body, _sorted([line, *_BEFORE.findall(page.made)], fields), own)
    if len(body.encode("utf-8", "replace")) > MAX_BODY_BYTES:
        return None
    return _noted(body, draft, replace(fields, own=len(own)), origin)


def _with_older(page: Page, draft: Draft, origin: Origin) -> Page:
    lines = _BEFORE.findall(page.made)
    said_at = origin.said_at(draft)
    day = draft.day or said_at[:10] or EARLIER
    line = _line(day, draft.body)
    if page.fields is None:
        return page
    fields = _with_history(page.fields, day, draft.body, said_at)
    body = harmless(_in_order(page.statement, _sorted([*lines, line], fields), page.own))
    if fields.history == page.fields.history and body == page.body.rstrip():
        return page
    sources = tuple(dict.fromkeys((*draft.sources, *fields.sources)))[-MAX_SOURCES:]
    return Page(body, replace(fields, sources=sources, updated_at=origin.now, digest=digest_of(body)))


def _in_order(statement: str, lines: Sequence[str], own: str) -> str:
    return "\n\n".join(filter(None, (statement.rstrip(), "\n".join(lines[:MAX_BEFORE]), own)))


def _line(day: str, statement: str) -> str:
    return f"Before ({day}): {_short(statement)}"


def _short(statement: str) -> str:
    return shorten(in_line(_claim(statement)), MAX_BEFORE_CHARS)


def _sorted(lines: Sequence[str], fields: Fields) -> list[str]:
    """``lines`` of what was said before, each once, the newest first: by the moments that ``fields`` know, else by their days."""
    moments = {f"Before ({one['day']}): {one['text']}": _moment(one) for one in fields.history}
    # Of one day and moment the line that comes first stays the first.
    once = dict.fromkeys(lines)
    return sorted(once, key=lambda line: moments.get(line) or _BEFORE_DAY.sub(r"\1", line), reverse=True)


def _moment(one: Mapping[str, str]) -> str:
    return one.get("said_at") or one["day"].replace(EARLIER, "")


def rewritten(page: Page, draft: Draft, origin: Origin) -> Page:
    """``page`` with the body of ``draft`` in place of its own, which is noted in its history."""
    fields = page.fields or Fields(draft.type, created_at=origin.now)
    return _noted(draft.body, draft, _remembering(fields, page), origin)


def _claim(statement: str) -> str:
    """``statement`` without the quote, speaker and day at its end."""
    found = _PROOF.search(statement, max(len(statement) - MAX_PROOF_CHARS, 0))
    return statement[: found.start()].rstrip() if found else statement


def digest_of(body: str) -> str:
    """The digest by which `Page.edited` knows a body."""
    return hashlib.sha256(body.strip().encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _day(fields: Fields) -> str:
    return fields.day or fields.updated_at[:10] or fields.created_at[:10] or EARLIER


def _remembering(fields: Fields, page: Page) -> Fields:
    return _with_history(fields, _day(fields), page.statement, fields.said_at)


def _with_history(fields: Fields, day: str, statement: str, said_at: str) -> Fields:
    was = {"day": day, "text": _short(statement), "said_at": said_at}
    newest_last = sorted((*fields.history[::-1], was), key=_moment)
    once = {(one["day"], one["text"]): one for one in newest_last}
    history = sorted(once.values(), key=_moment, reverse=True)
    return replace(fields, history=tuple(history[:MAX_HISTORY]))


def _noted(body: str, draft: Draft, fields: Fields, origin: Origin) -> Page:
    sources = tuple(dict.fromkeys((*fields.sources, *draft.sources)))[-MAX_SOURCES:]
    body = harmless(body)
    noted = replace(
        fields,
        memory_type=draft.type,
        topic=draft.topic or fields.topic,
        archive_uri=origin.archive_uri,
        sources=sources,
        quote=draft.quote,
        day=draft.day,
        said_at=max(origin.said_at(draft), min(fields.said_at, origin.now)),
        updated_at=origin.now,
        digest=digest_of(body),
    )
    return Page(body, noted)
