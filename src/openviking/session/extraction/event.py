"""The event that a commit becomes without any model: what was most telling in the conversation, then who said what."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from openviking.index.analyse import STOP_WORDS, analyse, count_unspaced, words_asked
from openviking.model.memory import Draft
from openviking.model.message import Message
from openviking.names import root_name
from openviking.parse.telling import sentences, telling, weight
from openviking.session.extraction.transcript import Turn, in_line, turns_of
from openviking.session.summary import fitting, share
from openviking.text import shorten

SUMMARY_CHARS: Final = 600
SUMMARY_SHARE: Final = 0.25
"""The part of what was said that a summary has room for; of a short conversation it would else be all once more."""

MAX_BODY_BYTES: Final = 48_000
"""A hit of a memory shows no more of it (contract/retrieval.md §2.3); the archive keeps every word."""

_LOOK: Final = 1_500
_LOG_LOOK: Final = 20_000
_LOG_LEAST: Final = 4_000
_LEAST_TERMS: Final = 3
_LEAST_CHARS: Final = 16
_LEAST_UNSPACED: Final = 6
_LEAST_BEGAN: Final = 120
_AGAIN: Final = 0.4
_TITLE_WORDS: Final = 6
_FILLERS: Final = frozenset("yeah yes yep no well oh ah haha also ok okay just actually really".split())
_TITLE_CHARS: Final = 40
_CANDIDATES: Final = 60
_TOOLS_CHARS: Final = 240
_TOOLS: Final = 8
_NAME: Final = re.compile(r"[A-Z][a-z]+")
_OWN: Final = re.compile(r"\b(?:I|I['’](?:m|ve|d|ll)|[Mm]y|[Ww]e|[Oo]ur)\b|我")
_DECIDED: Final = re.compile(
    r"\b(?:decid\w+|agreed?|plan(?:s|ned|ning)?|going to|will|chose|chosen|booked|bought|moved|started"
    r"|finished|passed|won|got (?:a|the|my)"
    r"|(?:next|last) (?:week|month|year|night|weekend|summer|winter|fall|spring|[A-Z]\w+)|yesterday|tomorrow"
    r"|deadline|fixed|solved|because)\b"
    r"|决定|決定|打算|计划|計劃|已经|已經|明天|昨天|下周|下週|解决|解決"
)
_SMALL_TALK: Final = re.compile(
    r"(?i)(?:thanks?|thank you|hey|hi|hello|wow|great|cool|nice|awesome|sure|ok|okay|bye|take care|see you"
    r"|good (?:morning|night|luck|for you)"
    r"|congrat\w*|sounds?|no problem|you|your|you['’](?:re|ve|ll)|keep|glad|so glad|happy (?:for|to)|totally"
    r"|absolutely|definitely|wishing|hope"
    r"|that['’]?s|that (?:is|must|sounds)|it['’]?s|let me know|what an?)\b|谢谢|謝謝|你好|您好|再见|再見|好的|没问题"
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    turn: int
    place: int
    text: str
    terms: frozenset[str]
    value: float


def event_of(messages: Sequence[Message], session_id: str, archive_number: int) -> Draft | None:
    """The event of an archive, None if nobody said or did anything in it (`event_in`)."""
    return event_in(turns_of(messages), session_id, archive_number)


def event_in(turns: Sequence[Turn], session_id: str, archive_number: int, stated: Collection[str] = ()) -> Draft | None:
    """A draft of type ``events`` whose body is ``# Summary``, then ``# ChatLog: YYYY-MM-DD`` for each day.

    The summary holds at most 600 characters, and a quarter of the log, of sentences that hold names, numbers, decisions,
    answers, what ``stated`` says word for word, and words that are rare in this conversation, one at least; in order, each
    with its speaker, the last of each day with the day. The log has a line for each message, shortened where all
    together have more than 48,000 bytes. The name is the same whenever the event of this archive is made anew, and no
    other's.
    """
    words = [turn.words for turn in turns]
    spoken = [turn for turn, said in zip(turns, words, strict=True) if said or turn.tools]
    words = [said for turn, said in zip(turns, words, strict=True) if said or turn.tools]
    if not spoken:
        return None
    room = min(SUMMARY_CHARS, int(SUMMARY_SHARE * sum(len(turn.speaker) + 3 + len(_told(turn)) for turn in spoken)))
    chosen = _most_telling(spoken, words, stated, room)
    best = max(chosen, key=lambda one: one.value).text if chosen else next(filter(None, words), "")
    summary = "# Summary\n\n" + (_summary(spoken, chosen) or _began(spoken, room)) + "\n\n"
    return Draft(
        "events",
        f"{_title(best)}-{_mark(session_id)}-{archive_number}",
        summary + _chat_log(spoken, MAX_BODY_BYTES - len(summary.encode())),
        tuple(turn.id for turn in turns),
        topic=f"{session_id} {archive_number}",
        day=spoken[0].day,
    )


def _most_telling(turns: Sequence[Turn], words: Sequence[str], stated: Collection[str], room: int) -> list[_Sentence]:
    """The sentences of the summary, in order."""
    untold = STOP_WORDS.union(*(analyse(name).joined.split() for name in {turn.speaker for turn in turns}))
    parts = [(number, place, text, frozenset(analyse(text).joined.split()) - untold)
             for number, said in enumerate(words)
             for place, text in enumerate(sentences(said[:_LOOK]))
             if len(text) >= _LEAST_CHARS or not text.isascii()]  # fmt: skip
    common = Counter(term for _, _, _, terms in parts for term in terms)
    rarity = {term: math.log(len(parts) / count) for term, count in common.items()}
    vocative = _vocative(turns)
    rated: list[_Sentence] = []
    for number, place, text, terms in parts:
        if not _is_told(text, terms):
            continue
        rare = sum(map(rarity.__getitem__, terms)) / (6 + len(terms))
        value = 2 * rare + 10 * weight(vocative.sub("", text)) + 3.0 * (text in stated)
        value += 1.5 * bool(_OWN.search(text)) + 1.0 * bool(_DECIDED.search(text)) - 2.0 * bool(_SMALL_TALK.match(text))
        # Room is short: of two sentences that tell the same, the shorter one leaves more of it.
        value *= 10 / math.sqrt(40 + len(text))
        value += 0.7 * (number == 0) + 0.5 * (number > 0 and place < 2 and _asks(words[number - 1])) - 1.5 * _asks(text)
        if value > 0:
            rated.append(_Sentence(number, place, text, terms, value * (1.0 if turns[number].is_persons else 0.7)))
    return _fitting_best(sorted(rated, key=lambda one: (-one.value, one.turn, one.place))[:_CANDIDATES], turns, room)


def _vocative(turns: Sequence[Turn]) -> re.Pattern[str]:
    """The names of those who talk and what they call each other for short, which tell nothing in what is said."""
    names = {name for turn in turns[:_LOOK] for name in _NAME.findall(turn.speaker.title())}
    shorts = {name[:end] for name in names for end in range(min(3, len(name)), len(name) + 1)}
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(shorts)[:200]))})\b" if shorts else r"(?!)")


def _fitting_best(left: list[_Sentence], turns: Sequence[Turn], room: int) -> list[_Sentence]:
    """The best sentence, and others that have room beside it: new ones, and rather of many messages than of one."""
    chosen: list[_Sentence] = []
    told: set[str] = set()
    heard: set[int] = set()

    def worth(one: _Sentence) -> float:
        new = 1 - 0.7 * len(one.terms & told) / max(len(one.terms), 1)
        return one.value * new * (_AGAIN if one.turn in heard else 1.0)

    while left:
        best = max(left, key=worth)
        left.remove(best)
        cost = len(best.text) + len(turns[best.turn].speaker) + 3
        if not chosen or (cost <= room and not best.terms <= told):
            chosen.append(best)
            told |= best.terms
            heard.add(best.turn)
            room -= cost
    return sorted(chosen, key=lambda one: (one.turn, one.place))


def _is_told(text: str, terms: frozenset[str]) -> bool:
    unspaced = count_unspaced(text)
    is_long = unspaced >= _LEAST_UNSPACED if 2 * unspaced > len(text) else len(terms) >= _LEAST_TERMS
    return is_long and len(text) <= SUMMARY_CHARS // 2


def _asks(text: str) -> bool:
    return text.endswith(("?", "？"))


def _summary(turns: Sequence[Turn], chosen: Sequence[_Sentence]) -> str:
    lines: list[str] = []
    for number, one in enumerate(chosen):
        turn, before = turns[one.turn], turns[chosen[number - 1].turn]
        if number and (before.speaker, before.day) == (turn.speaker, turn.day):
            lines[-1] += f" {one.text}"
            continue
        if number and before.day != turn.day:
            lines[-1] += _dated(before)
        lines.append(f"{turn.speaker}: {one.text}")
    # A day stands last: the first words are those by which an event is found and named.
    return "\n".join(lines) + (_dated(turns[chosen[-1].turn]) if chosen else "")


def _dated(turn: Turn) -> str:
    return f" ({turn.day})"


def _began(turns: Sequence[Turn], room: int) -> str:
    """How a conversation began in which nothing is telling."""
    each = max(room, _LEAST_BEGAN) // 2
    return "\n".join(f"{turn.speaker}: {telling(_told(turn), each)}" for turn in turns[:2]) + _dated(turns[0])


def _told(turn: Turn) -> str:
    """A message on one line, and the tools that it used with what they gave."""
    text = turn.text[:_LOG_LOOK].strip()
    if "\n" in text or not text.isprintable():
        text = in_line(text)
    if len(turn.text) > _LOG_LOOK:
        text = shorten(text, len(text) - 1)
    return " ".join(filter(None, (text, _used(turn))))


def _used(turn: Turn) -> str:
    """The tools of a message, marked so that nothing of it passes for what somebody said."""
    told = [f"(used {one})" for one in turn.outputs[:_TOOLS]]
    silent = [one for one in turn.tools if not any(each.startswith(f"{one or 'a tool'} → ") for each in turn.outputs)]
    if silent:
        told.append(shorten(f"(used {', '.join(one or 'a tool' for one in silent)})", _TOOLS_CHARS))
    return " ".join(told)


def _chat_log(turns: Sequence[Turn], room: int) -> str:
    """A line for each message below a heading for each day, in ``room`` bytes at most."""
    said = [(f"{turn.speaker}: ", _told(turn)) for turn in turns]
    # Shares are of characters, which have up to 4 bytes each.
    wide = max(1.0, sum(len(text.encode()) for _, text in said) / max(sum(len(text) for _, text in said), 1))
    days = [turn.day if number == 0 or turn.day != turns[number - 1].day else "" for number, turn in enumerate(turns)]
    frame = sum(len(who.encode()) + 1 for who, _ in said) + 28 * sum(bool(day) for day in days) + 40
    while True:
        each = share([len(text) for _, text in said], int((room - frame) / wide))
        lines = [
            _heading(day) + who + (text if len(text) <= each else telling(text[: max(_LOG_LEAST, 4 * each)], each))
            for day, (who, text) in zip(days, said, strict=True)
        ]
        log = "\n".join(fitting(lines, int(room / wide) - 40)) + "\n"
        if len(log.encode()) <= room:
            return log.lstrip("\n")
        wide *= 1.2


def _heading(day: str) -> str:
    return f"\n# ChatLog: {day}\n\n" if day else ""


def _title(text: str) -> str:
    """A few words of a sentence as the beginning of a name."""
    if count_unspaced(text) * 2 > len(text):
        words = text[: _TITLE_CHARS // 2]
    else:
        told = [word for word in words_asked(text) if word.lower() not in _FILLERS]
        words = "-".join(told[:_TITLE_WORDS]).lower()
    return root_name(words).replace("_", "-")[:_TITLE_CHARS].strip("-.") or "conversation"


def _mark(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
