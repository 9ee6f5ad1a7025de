"""Turns what people say explicitly about themselves and their wishes into drafts of memories, without any model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from openviking.model.memory import Draft
from openviking.session.extraction import chinese, english
from openviking.session.extraction.claim import Claim
from openviking.session.extraction.own_words import own_sentences
from openviking.session.extraction.transcript import Turn
from openviking.text import shorten

MAX_QUOTE: Final = 400
"""Characters of a quote; a statement is seldom longer, and a memory is no log."""

MAX_STATEMENTS: Final = 200
"""Statements of one conversation that are kept: the latest."""

MAX_SOURCES: Final = 100
"""Messages that are named as the sources of one statement: the latest."""

_Kept = dict[tuple[str, str, str, str], Draft]
"""Statements by type, category, peer and topic, the latest last."""

_TRIGGER: Final = re.compile(
    r"(?i)\b(?:i|i['’]m|my|we|our|your|remember|note|mind|memori[sz]e|save|from now on|call me|again|any ?more|always"
    r"|never|forget|not|please|don['’]?t|ever|answer|reply|respond|speak|talk|prefer"
    r"|moved|changed)\b|['’]s (?:e-?mail|phone|mobile|birthday)\b"
    "|我|记|記|以后|以後|今后|今後|再|现在|現在|请|請|用"
)
_JOKE: Final = re.compile(
    r"(?i)(?<!not )(?<!no )(?<!you )\b(?:kidding|joking)\b(?! (?:around|with|about|aside))|开玩笑|開玩笑|逗你"
)
_GREETING: Final = re.compile(r"(?i)(?:hi|hello|hey)(?: there| all| everyone)?[!.]")
_NOT_BUT: Final = re.compile(
    r"(?i)(?:no|actually|sorry|correction|oops|wait)[,.:;! –—-]+(?:it|that)(?:['’]s"
    r"| is) (?P<right>[\w'’ -]{2,40}), not (?P<wrong>[\w'’ -]{2,40}?)[.!]*"
)


def statements_of(turns: Sequence[Turn]) -> list[Draft]:
    """The statements of a conversation as ``preferences`` and ``entities``, each with its quote, in order.

    Only what people say themselves counts (`own_sentences`): no model, no question, no quotation, no ``if``. Of two statements of
    one person on the same topic the later one is kept; of the same statement twice, both messages are its sources.
    """
    kept: _Kept = {}
    for turn in turns:
        if not turn.is_persons or not _TRIGGER.search(turn.text) or _JOKE.search(turn.text):
            continue
        for draft in _said_in(turn, kept):
            key = (draft.type, draft.category, draft.peer, draft.topic)
            if draft.ends and key in kept and draft.ends.casefold() not in _said(kept[key]).casefold():
                # What is over was another thing than what holds by now.
                continue
            before = kept.pop(key, None)
            if before is not None and before.body.partition('"')[0] == draft.body.partition('"')[0]:
                draft = replace(draft, sources=_latest(before.sources, draft.sources))
            kept[key] = draft
    return list(kept.values())[-MAX_STATEMENTS:]


def _latest(before: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *now)))[-MAX_SOURCES:]


def _said_in(turn: Turn, before: _Kept) -> Iterator[Draft]:
    greeting = ""
    for one in own_sentences(turn.text):
        # "Hi! I'm Tom." tells a name, where "I'm Tom." alone could tell anything.
        sentence, greeting = f"{greeting}{one}", f"{one} " if _GREETING.fullmatch(one) else ""
        corrected = _NOT_BUT.fullmatch(one)
        if corrected is not None:
            yield from _corrected(turn, one, corrected, before)
        elif _TRIGGER.search(sentence):
            language = chinese if chinese.has_chinese(sentence) else english
            for claim in language.claims_in(sentence):
                yield _draft(turn, one, claim)


def _draft(turn: Turn, sentence: str, claim: Claim) -> Draft:
    quote = shorten(sentence, MAX_QUOTE)
    return Draft(
        claim.type, claim.name, _body(turn, quote, claim.said), (turn.id,), claim.category, claim.topic, turn.peer, quote,
        turn.day, claim.ends,
    )  # fmt: skip


def _body(turn: Turn, quote: str, said: str) -> str:
    return f'{said}. "{quote}" ({turn.speaker}, {turn.day})'


def _said(draft: Draft) -> str:
    return draft.body.partition('. "')[0]


def _corrected(turn: Turn, sentence: str, found: re.Match[str], before: _Kept) -> Iterator[Draft]:
    """The latest statement of the same person that says what was wrong, with what is right in its place."""
    wrong = re.compile(rf"(?i)(?<!\w){re.escape(found['wrong'])}(?!\w)")
    for draft in islice(reversed(before.values()), MAX_STATEMENTS):
        said = _said(draft)
        if draft.peer == turn.peer and wrong.search(said):
            right = wrong.sub(lambda _: found["right"], said)
            quote = shorten(sentence, MAX_QUOTE)
            yield replace(
                draft,
                body=_body(turn, quote, right),
                quote=quote,
                day=turn.day,
                sources=_latest(draft.sources, (turn.id,)),
                ends=found["right"] if draft.ends else "",
            )
            return
