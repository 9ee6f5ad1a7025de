"""Recognises explicit statements in English: whether a sentence is one at all, and its clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from openviking.session.extraction.claim import Claim, entity, first_claim
from openviking.session.extraction.english_facts import FACTS, TEAMS
from openviking.session.extraction.english_wishes import WISHES, rule
from openviking.session.extraction.english_words import LATELY, MONTH, NATIONALITY, OCCUPATION, VAGUE, is_name
from openviking.session.extraction.own_words import ELIDED

MAX_CLAIM: Final = 160
"""Characters of what is said; a longer sentence is rather a story."""

_LEADS: Final = re.compile(
    r"(?i)(?:(?:oh|ah|well|so|and|but|also|plus|anyway|anyways|actually|yes|yeah|yep|no|nope|okay|ok|sure"
    r"|first(?:ly| of all| off)?|second(?:ly)?|third(?:ly)?|finally|(?:here are )?(?:a few|some|my|two|three)(?: (?:ground|basic|simple))? (?:rules|preferences)"
    r"|i(?:['’]ve| have)? changed my mind(?: (?:on|about) (?:that|this|it))?|on second thoughts?|scratch that|heads[- ]up|for context"
    r"|sorry|wait|btw|by the way|fyi"
    r"|for the record|for (?:future )?reference|p\.?s\.?|correction|edit|update|one more thing|honestly"
    r"|personally|to be honest|in general"
    r"|generally|as for me|for me|haha|lol|wow|hmm|um|right|cool|great|nice|important|reminder|just so you know"
    r"|(?:hey|hi|hello|thanks|thank you)(?: there| [A-Z][a-z]+)?|(?:as )?i(?:['’]ve)? (?:said|told you"
    r"|mentioned)(?: before| already| earlier)?(?: that)?"
    r")(?:\s*[,:;!.–—-]+\s+|\s+)){1,5}"
)
_CLAUSES: Final = re.compile(
    r"(?i)\s*(?:;|,? (?:and|but)|,? so)\s+(?=(?:please |also )?(?:i|i['’]m|i['’]ve|my|from now on|call me)\b)"
)
_SKIPPED: Final = re.compile(
    r"(?i)(?:if|unless|suppose|supposing|imagine|assuming|assume|let['’]?s say|in case|pretend|what|why|how"
    r"|who|whose|which|when|where|do(?! not\b)|does|did|should|would"
    r"|is|are|am|was|were|have|has)\b"
)
_REPORTED: Final = re.compile(
    r"(?i)\b(?!i\b|you\b)[\w'’]{1,40} (?:just |always |also |once )?(?:said|says|say|told|tells|asked|asks"
    r"|thinks|think|thought|claims|claimed|wrote|writes|mentioned"
    r"|replied|answered|believes|goes|keeps saying|insists|swears|was like|is like)\b(?! you\b)"
    r"|(?:,| [–—-]) ?(?:said|says|cried|wrote|goes|quoth)\b"
)
_INTRODUCED: Final = re.compile(
    rf"(?i:hi|hello|hey)(?i: there| all| everyone)?[,!. –-]+(?i:i['’]m|i am|this is) (?P<name>(?!{NATIONALITY})"
    r"[A-Z][a-z]+(?: [A-Z][a-z]+)?)(?=$|[,.!]| (?:and|from)\b)"
)
_PRESENTED: Final = re.compile(
    rf"(?:(?i:hi|hello|hey)(?i: there| all| everyone)?[,!. –-]+)?(?i:i['’]m|i am) (?P<name>(?!{NATIONALITY})[A-Z][a-z]+(?: [A-Z][a-z]+)?), "
    rf"(?P<role>(?i:(?:an?|the|your|our) )?(?:[\w/-]+ ){{0,3}}?(?i:{OCCUPATION}|lead|tech lead|head|director|intern|owner|maintainer|CEO|CTO|CFO|COO|CPO)"
    r"\b(?: (?:at|of|for|in|with) [\w&.'’ -]{2,60})?)(?=$|[,.!;]| and\b)"
)
_BEFORE_A_QUESTION: Final = re.compile(
    r"(?i)(?P<said>.{4,200}?)\s*(?:,|;| [–—-])\s+(?:so |and |but )?(?=(?:can|could|would|will|should|may"
    r"|shall) (?:you|we|i)\b"
    r"|(?:what|which|how|where|when|who|why)(?:['’]s)?\b|do (?:you|i|we)\b|(?:is|are) (?:there|you|it|that)\b"
    r"|any (?:ideas?|suggestions?|tips|recommendations?)\b)"
)
_ASKED_TO_KEEP: Final = re.compile(
    r"(?i)(?:can|could|would|will) you (?:please )?(?:remember|note|keep in mind) that (?P<rest>.+)"
)
_KEEP: Final = re.compile(
    r"(?i)(?:please |pls |kindly |do |always |and |i (?:want|need|['’]d like|would like) you to "
    r"|make sure (?:to|you) |you should |try to )*"
    r"(?:(?P<how>remember|note|keep in mind|bear in mind|don['’]t forget|do not forget|never forget"
    r"|make a note|take note|memori[sz]e)(?: for (?:later|next time|the future))?"
    r"(?: this| the following)?(?: that\b|(?= to (?:always|never)\b)|\s*[:–—]|(?= my\b| i\b| i['’])))\s*(?P<rest>.+)"
)


def claims_in(sentence: str) -> Iterator[Claim]:
    """What ``sentence``, which is one line with its mark at the end, says for keeping; nothing in most cases.

    No claim is in a question, in what only might be, and in what somebody else said.
    """
    is_question = sentence.endswith(("?", "？", '?"'))
    body = sentence.rstrip(" .!?。\"'”)")
    introduced = _INTRODUCED.match(body)
    presented = None if is_question else _PRESENTED.match(body)
    introduced = introduced or presented
    if (
        introduced is not None
        and not is_question
        and is_name(introduced["name"])
        and not VAGUE.match(introduced["name"])
    ):
        yield entity("self", "name", f"Name: {introduced['name']}")
        if presented is not None:
            yield entity("work", "work", f"Works as {presented['role'].strip()}")
    if lead := _LEADS.match(body):
        body = body[lead.end() :]
    if is_question:
        asked = _ASKED_TO_KEEP.fullmatch(body)
        if asked is not None:
            yield from _kept(asked["rest"])
            return
        before = _BEFORE_A_QUESTION.match(body)
        if before is None:
            return
        body = before["said"]
    if kept := _KEEP.fullmatch(body):
        yield from _kept(kept["rest"], is_note=kept["how"].casefold() == "note")
        return
    if _SKIPPED.match(body) or _REPORTED.search(body):
        return
    for clause in _CLAUSES.split(body):
        if claim := _claim(clause):
            yield claim


def _claim(clause: str) -> Claim | None:
    if len(clause) > MAX_CLAIM or ELIDED in clause:
        return None
    clause = clause.strip(" ,*_").removeprefix("please ").removeprefix("also ")
    return first_claim((*WISHES, *FACTS), clause) or _over(clause)


_OVER: Final = re.compile(
    r"(?i)(?P<who>i|we)(?: (?:no longer|(?:don['’]?t|do not)(?= .+ (?:any ?more|any longer|now)$)) |(?P<am>['’]m| am) no longer )(?P<act>.+?)"
    r"(?: any ?more| any longer| now)?|(?P<of>(?:my|our) .{2,60}?(?: is|['’]s)) no longer (?P<value>[^,;]{1,80})"
)
_HOLDING: Final = re.compile(r"(?i)[\w'’]+ (?:(?:at|for|as|in|from) )?(?:an? |the )?")


def _over(clause: str) -> Claim | None:
    """What a clause says to hold no more: the claim that it held, with *no longer* in it."""
    over = _OVER.fullmatch(clause)
    if over is None:
        return None
    held = f"{over['of']} {over['value']}" if over["of"] else f"{over['who']}{over['am'] or ''} {over['act']}"
    claim = first_claim((*WISHES, *FACTS), held)
    if claim is None or claim.said.startswith(("Always", "Never", "Doesn't", "Can't", "From now on", "Not again")):
        return None
    label, colon, value = claim.said.partition(": ")
    if colon and claim.topic.endswith("name") and not is_name(value):
        return None
    if colon:
        return replace(claim, said=f"{label}: no longer {value}", ends=value)
    return replace(
        claim, said=f"No longer {claim.said[0].lower()}{claim.said[1:]}", ends=_HOLDING.sub("", claim.said, count=1)
    )


_SUBJECT: Final = re.compile(
    r"(?P<subject>(?:(?:the|an?|my|our|all|every|both|each) )?[\w'’/&+#. -]{1,48}?)(?:\s(?:is|are|was|were|has|have|will|can|must|should|needs?|prefers?|likes?"
    r"|hates?|loves?|lives?|works?|starts?|ends?|runs?|takes?|uses?|expects?|requires?|rotates?|happens?|opens?"
    r"|closes?|meets?"
    r"|costs?|means?|wants?|speaks?|eats?|drinks?|belongs?|depends?|supports?|stays?|deploys?|releases?"
    r"|moved|changed|switched|owns|handles|decides|approves|keeps|holds|leaves|arrives|begins|lasts|contains|includes|gets|makes|pays|signs|expires"
    r"|reports)\b"
    r"|['’]s\s|['’]m\s|:\s)"
)
_OF_ONESELF: Final = re.compile(r"(?i)(?:i|i['’](?:m|ve|ll|d)|we|we['’]re|my|our)\b")
_DOING: Final = re.compile(
    r"(?i)(?:i|we) (?!told|said|asked|mentioned|showed|sent|gave|was|were|had|did|\w+ed\b)\w+|(?:my"
    r"|our) (?:[\w-]+ ){1,4}\w+"
)
_DETERMINED: Final = re.compile(r"(?i)(?:the|a|an|all|every|no|he|she|they|there|both|each)\b")
_PRONOUNS: Final = frozenset(("i", "we", "he", "she", "they", "there"))


def _kept(rest: str, *, is_note: bool = False) -> Iterator[Claim]:
    """What somebody asks to remember: as a statement if it is one, else as a note by its subject."""
    rest = rest.strip(" ,:.!*_")
    if wanted := re.fullmatch(
        r"(?i)(?:you (?:should|must|need to|have to|can|will|are to) |to )(?P<act>(?:always |never |not |only )?.+)",
        rest,
    ):
        if rest.casefold().startswith(("to always ", "to never ", "you ")) and (claim := rule(wanted)):
            yield claim
        return
    if (
        not rest
        or ELIDED in rest
        or re.match(
            r"(?i)(?:when|how|what|why|who|where|to|if|the time|whether|me|us|them|him|her|you|it|this|that)\b", rest
        )
    ):
        return
    clauses = _CLAUSES.split(rest)
    made = [_claim(clause) or _shared(clause) for clause in clauses]
    if all(claim is not None for claim in made):
        yield from (claim for claim in made if claim is not None)
        return
    own = _OF_ONESELF.match(rest)
    subject = _SUBJECT.match(rest)
    about = subject["subject"] if subject is not None else ""
    if own is None:
        # "Remember that bug we had" points at something; it says nothing about it.
        if is_note or not about or (rest[0].islower() and len(about.split()) > 3 and not _DETERMINED.match(rest)):
            return
    elif not about and not _DOING.match(rest):
        return
    topic = about if about and about.casefold().split()[0] not in _PRONOUNS else _without_time(rest)
    yield entity("self" if own else "notes", topic, f"To remember: {rest}")


def _shared(clause: str) -> Claim | None:
    """What lasts for a team, of which it is said without *our*."""
    return None if _OF_ONESELF.match(clause) else first_claim(TEAMS, re.sub("(?i)^(?:the )?", "our ", clause, count=1))


_TIME_AT_END: Final = re.compile(
    r"(?i)\s+(?:(?:on|at|every|by|until|till|from|in|each|before|after) (?:the )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    rf"|\d|noon|midnight|{MONTH}\b|mornings?|evenings?|afternoons?|weekends?|week|day|month)\b.*)$"
)


def _without_time(note: str) -> str:
    """What a note is about: its first words, without when that is, and whether no longer, which a later note may correct."""
    told = re.sub(r"(?i)^((?:i|we) )(?:now |no longer |don['’]t |do not )", r"\1", LATELY.sub("", note))
    return " ".join((_TIME_AT_END.sub("", told) or told).split()[:8])
