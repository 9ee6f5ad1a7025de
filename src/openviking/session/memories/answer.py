"""Reading a chat model's answer about a part of a conversation: only what has the right form, and a source, is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from openviking.model.memory import ALONE, Draft
from openviking.names import root_name
from openviking.providers.chat_values import said, values
from openviking.session.memories.asking import Known, Line
from openviking.session.memories.changes import Wish
from openviking.session.memories.wording import holds, plain, spoken, storable
from openviking.text import quoted, shorten

MAX_MEMORIES: Final = 40
MAX_BODY_CHARS: Final = 4_000
MAX_TOPIC_CHARS: Final = 80
MAX_QUOTE_CHARS: Final = 500
MAX_SUMMARY_CHARS: Final = 2_000
MAX_SOURCES: Final = 20
SAID: Final = 0.6
"""The share of a memory's words by which a conversation says it anew that had it recalled."""

LONG: Final = 20
"""More characters of a recalled text or a note are no accident in what a model says."""

SHOWN: Final = 20
"""Characters of an answer that a reason repeats: reasons are kept, and what was said may be redacted."""

MAX_REFUSED: Final = 20
"""Reasons that are kept, none of which repeats what a memory says."""

OF_THE_USER: Final = frozenset({"profile", "preferences", "identity", "soul"})
"""Types that only a person's own words can give: no assistant, which may have read a document, speaks for them."""


class NoAnswer(Exception):  # noqa: N818
    """The answer holds nothing that can be used; the message says what it holds instead."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says: what is to be done, what is noted already (``kept``), and why the rest was refused.

    ``kept`` are drafts of what notes say that a message says, too, with its quote.
    """

    wishes: tuple[Wish, ...] = ()
    kept: tuple[Draft, ...] = ()
    summary: str = ""
    refused: tuple[str, ...] = ()


class _Refused(Exception):  # noqa: N818
    """Why one memory of an answer is not taken."""


def read_answer(
    answer: str, part: Sequence[Line], known: Sequence[Known], types: Sequence[str], recalled: Sequence[str] = ()
) -> Reading:
    """What in ``answer`` may be done, with the numbers and keys of ``part`` and ``known``.

    A memory needs an operation, a type among ``types``, sources in ``part``, and a quote that one of them really says:
    the one by which it is known whose memory it is, and whether a person says so. An update or a delete needs a note
    that was shown, of no other partner. What only repeats a text that was ``recalled`` (its words, as `spoken` gives
    them), and what is added although a note says so, is refused. Raises `NoAnswer` for what is no such JSON, and where nothing of it
    can be taken.
    """
    text = said(answer)
    found: Mapping[str, Any] | None = None
    for value in values(text):
        told = {"memories": value} if isinstance(value, list) else value
        if isinstance(told, dict) and isinstance(told.get("memories"), list):
            # The last one: models that think aloud give their answer at the end.
            found = told
    if found is None:
        raise NoAnswer("the answer is no list of memories" if text else "the answer is empty")
    reader = _Reader(part, known, types, recalled)
    given = found["memories"]
    for one in given[:MAX_MEMORIES]:
        reader.take(one)
    if len(given) > MAX_MEMORIES:
        reader.refused.append(f"{len(given) - MAX_MEMORIES} memories are more than {MAX_MEMORIES}")
    if given and not reader.wishes and not reader.kept:
        raise NoAnswer(f"none of its {len(given)} memories can be used: {reader.refused[0]}")
    summary = found.get("summary")
    summary = shorten(plain(summary), MAX_SUMMARY_CHARS) if isinstance(summary, str) else ""
    return Reading(
        tuple(reader.wishes), tuple(reader.kept), "" if reader.repeats(summary) else summary,
        tuple(reader.refused[:MAX_REFUSED]),
    )  # fmt: skip


class _Reader:
    """Takes one memory of an answer after the other."""

    def __init__(
        self, part: Sequence[Line], known: Sequence[Known], types: Sequence[str], recalled: Sequence[str]
    ) -> None:
        self._lines = {line.number: line for line in part}
        self._by_id = {line.id: line for line in part}
        self._known = {one.key: one for one in known}
        self._types = frozenset(types) - {"events"}
        self._recalled = list(recalled)
        self._noted = [words for one in known if (words := spoken(one.body))]
        self.wishes: list[Wish] = []
        self.kept: list[Draft] = []
        self.refused: list[str] = []
        self._said: dict[int, str] = {}

    def take(self, given: Any) -> None:
        """Note what ``given`` wants, or why it is refused."""
        try:
            self._take(given)
        except _Refused as error:
            self.refused.append(str(error))

    def repeats(self, text: str) -> bool:
        """Whether a summary says not much but what was recalled or is noted."""
        words = spoken(text)
        return any(_repeated(words, *texts) for texts in ((self._recalled,), (self._noted, MAX_SUMMARY_CHARS)))

    def _take(self, given: Any) -> None:
        if not isinstance(given, dict):
            raise _Refused("one is no object")
        op = _word(given, "op")
        if op not in {"add", "update", "delete", "keep"}:
            raise _Refused(f"op {quoted(given.get('op'), SHOWN)} is not known")
        lines = self._sources(given.get("sources"))
        quote, speaker = self._quote(given.get("quote"), lines)
        if op == "add":
            self.wishes.append(Wish(self._draft(given, _word(given, "type"), lines, quote, speaker)))
            return
        note = self._known.get(_word(given, "note"))
        if note is None:
            raise _Refused(f"note {quoted(given.get('note'), SHOWN)} was not shown")
        sources = _ids(lines)
        if op == "keep":
            self.kept.append(Draft(note.type, "", note.body, sources, peer=note.peer, quote=quote))
            return
        if note.peer != speaker.peer:
            raise _Refused(f"note {note.key} is not of who says it")
        _check_speaker(note.type, speaker)
        if op == "update":
            self.wishes.append(
                Wish(self._draft(given, note.type, lines, quote, speaker, note), "rewrite", note.path, note.base)
            )
            return
        gone = Draft(note.type, "", "", sources, topic=note.topic, peer=note.peer, quote=quote, day=lines[-1].day)
        self.wishes.append(Wish(gone, "forget", note.path, note.base))

    def _draft(
        self,
        given: Mapping[str, Any],
        kind: str,
        lines: Sequence[Line],
        quote: str,
        speaker: Line,
        note: Known | None = None,
    ) -> Draft:
        if kind not in self._types:
            raise _Refused(f"type {quoted(kind, SHOWN)} is not wanted")
        _check_speaker(kind, speaker)
        body = given.get("body")
        if not isinstance(body, str) or not body.strip() or len(body) > MAX_BODY_CHARS:
            raise _Refused(f"body must be a text of 1 to {MAX_BODY_CHARS} characters")
        body = storable(body).strip()
        self._check_new(body, lines, self._recalled if note is not None else self._recalled + self._noted)
        topic = given.get("topic")
        topic = shorten(plain(topic), MAX_TOPIC_CHARS) if isinstance(topic, str) else ""
        # An updated memory stays where it is: what is told of its topic later is to find it there.
        topic = topic if note is None else note.topic or topic
        if not topic and kind not in ALONE:
            raise _Refused("topic is missing")
        category = given.get("category")
        return Draft(
            kind, "" if kind in ALONE else root_name(topic.lower()).replace("_", "-"), body, _ids(lines),
            category=root_name(plain(category).lower()) if isinstance(category, str) and category.strip() else "",
            topic=topic, peer=speaker.peer, quote=quote, day=lines[-1].day,
        )  # fmt: skip

    def _sources(self, given: Any) -> list[Line]:
        if not isinstance(given, list) or not given:
            raise _Refused("sources are missing")
        found = []
        for one in given[:MAX_SOURCES]:
            line = self._by_id.get(one) if isinstance(one, str) else None
            number = int(one) if isinstance(one, str) and one.isascii() and one.isdigit() and len(one) < 9 else one
            if line is None and isinstance(number, int) and not isinstance(number, bool):
                line = self._lines.get(number)
            if line is None:
                raise _Refused(f"source {quoted(one, SHOWN)} is no message of this part")
            found.append(line)
        return sorted(found, key=lambda line: line.number)

    def _quote(self, given: Any, lines: Sequence[Line]) -> tuple[str, Line]:
        """The words that one of ``lines`` says, and which: a person's rather than a model's."""
        words = spoken(given) if isinstance(given, str) else ""
        if not words:
            raise _Refused("quote is missing")
        saying = [line for line in lines if holds(self._words(line), words)]
        if not saying:
            raise _Refused("quote is not what its sources say")
        return shorten(plain(given), MAX_QUOTE_CHARS), max(saying, key=lambda line: line.is_persons)

    def _check_new(self, body: str, lines: Sequence[Line], texts: Sequence[str]) -> None:
        """Refuse what repeats one of ``texts``, unless somebody says it anew or most of what it says beyond that."""
        words = spoken(body)
        there = _repeated(words, texts)
        if there is None:
            return
        told = set(words.split())
        own = {word for line in lines for word in self._words(line).split()}
        more = told - set(there.split())
        if len(told & own) >= SAID * len(told) or (more and 2 * len(more & own) >= len(more)):
            return
        raise _Refused("body repeats what was recalled" if there in self._recalled else "body repeats a note")

    def _words(self, line: Line) -> str:
        if line.number not in self._said:
            self._said[line.number] = spoken(line.text)
        return self._said[line.number]


def _repeated(words: str, texts: Sequence[str], long: int = LONG) -> str | None:
    """The one of ``texts`` that ``words`` are within, or have within: more than ``long`` characters, or half of theirs."""
    for one in texts:
        if words and (holds(one, words) or (holds(words, one) and (len(one) > long or 2 * len(one) >= len(words)))):
            return one
    return None


def _check_speaker(kind: str, speaker: Line) -> None:
    if kind in OF_THE_USER and not speaker.is_persons:
        raise _Refused(f"{kind} needs words of the user")


def _ids(lines: Sequence[Line]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.id for line in lines))


def _word(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value.strip().lower() if isinstance(value, str) else ""
