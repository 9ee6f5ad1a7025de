"""The forms in which people tell in English what they like and how they want things, and what each of them claims."""

from __future__ import annotations

import re
from typing import Final

from openviking.session.extraction.claim import Claim, preference, rules
from openviking.session.extraction.english_words import (
    ALWAYS,
    END,
    LANGUAGE,
    LATELY,
    NOT_A_THING,
    NOT_HABITS,
    OF_NOW,
    ORDERED,
    is_name,
    value_of,
)

_LIKES: Final = {
    "like": "Likes", "love": "Loves", "hate": "Hates", "dislike": "Dislikes", "enjoy": "Enjoys", "adore": "Adores", "loathe": "Loathes",
    "detest": "Detests",
}  # fmt: skip


def _object(text: str) -> str:
    """The thing that is liked, without what follows it; "" if it is none that holds beyond this conversation."""
    thing = END.sub("", text).strip(" .!*_\"'").removeprefix("also ")
    words = thing.split()
    if (
        not words
        or len(words) > 12
        or _SENTENCE.search(thing)
        or NOT_A_THING.match(thing)
        or OF_NOW.search(thing.removeprefix("it when "))
    ):
        return ""
    return thing


_SENTENCE: Final = re.compile(r"(?i)^(?!.*\bwhen\b).*\b(?:my|your|his|her|our|their) [\w-]+ (?:is|are|was)\b")


def _liking(found: re.Match[str]) -> Claim | None:
    thing, verb = _object(found["thing"]), found["verb"].casefold()
    if not thing or (verb == "hate" and thing.casefold().startswith("to ")) or len(thing) < 3:
        return None
    negated = found["not"] or found["more"]
    said = f"Doesn't {verb}" if negated else _LIKES[verb]
    return preference(_liked(thing), f"{said} {thing}")


def _liked(thing: str) -> str:
    """The topic of a liking: the thing without how much, and ``swimming`` for ``to go swimming``."""
    thing = re.sub(r"(?i)\s+(?:sometimes|often|a lot|lots|very much|so much|the most|in general|too)$", "", thing)
    return re.sub(
        r"(?i)^(?:to (?:go (?=\w+ing\b))?|eating |drinking |playing |it when |when |a (?:good|nice|big) )+", "", thing
    )


def _standing(found: re.Match[str]) -> Claim | None:
    thing = _object(found["thing"])
    return preference(_liked(thing), f"Can't stand {thing}") if thing else None


def _fan(found: re.Match[str]) -> Claim | None:
    thing = found["thing"]
    thing = _object(re.sub(r"(?i)^the ", "", thing))
    return preference(_liked(thing), f"Is {'not ' if found['not'] else ''}a fan of {thing}") if thing else None


def _preferring(found: re.Match[str]) -> Claim | None:
    several = _ADJECTIVES.match(found["thing"])
    begin = several.end() if several else 0
    thing = found["thing"][:begin] + LATELY.sub("", END.sub("", found["thing"][begin:]).strip(" .!*_\"'"))
    words = thing.split()
    if (
        not words
        or len(words) > 16
        or re.match(
            r"(?i)(?:it|that|this|these|those|them|you|your|the (?:first|second|third|last|former|latter|other)|one|neither|both|either|him|her)\b"
            r"|.*\b(?:ones?|(?:option|version|approach|choice|number|answer|variant|suggestion|solution)(?: \w{1,2})?)$",
            thing,
        )
    ):
        return None
    # Who says "now … instead of …" takes back what was said of the one thing, whatever its words were.
    anew = found.groupdict().get("now") and re.split(r"(?i)\s+(?:instead of|rather than)\s+", thing, maxsplit=1)[0]
    return preference(_preferred(anew or thing), f"Prefers {thing}")


_ADJECTIVES: Final = re.compile(
    r"(?i)(?:(?:short|long|brief|concise|detailed|terse|plain|simple|small|big|large|quiet|warm|cold|cool|quick|slow|thorough|verbose|crisp"
    r"|clear|formal|informal|friendly|direct|dark|light|bright|cheap|fresh|compact|precise)(?:, (?:and )?|,? and ))+"
    r"(?!(?:because|since|so|but|not|if|when|though|please|thanks|and|as|especially|mostly)\b)(?=[a-z-]+ ?)"
)
_OF_ANSWERS: Final = re.compile(
    r"(?i)(?:.* )?(?:answers?|repl(?:y|ies)|responses?)$|(?:prose|(?:bullet(?:ed)?|numbered) (?:points|lists)|bullets|plain text)$"
)


def _preferred(thing: str) -> str:
    """What the choice is about: both things, or the last noun of the one (``mode`` of ``dark mode``)."""
    pair = re.split(
        r"(?i)\s+(?:over|rather than|instead of|more than|to)\s+(?!be\b|have\b|do\b)",
        thing.removeprefix("to "),
        maxsplit=1,
    )
    if len(pair) == 2 and not thing.startswith(("to ", "not ")):
        return " or ".join(sorted((pair[0].casefold(), pair[1].casefold())))
    is_act = thing.startswith(("to ", "not to "))
    head = re.split(
        r"(?i)\s+(?:in|on|for|with|when|at|while|during|as|if|from|of|about|that|by|without|after|before)\s+",
        re.sub("^(?:not )?to ", "", thing),
        maxsplit=1,
    )[0]
    words = head.split()
    if not is_act and _OF_ANSWERS.match(head):
        return "language of answers" if re.search(rf"\bin {LANGUAGE}$", thing) else "answers"
    if is_act:
        return " ".join(words[:3])
    return words[-1] if len(words) <= 3 and not words[0].casefold().endswith("ing") else head


def _choosing(found: re.Match[str]) -> Claim | None:
    """A wish in the conditional holds for long only where it says what is not wanted."""
    choice = f"{found['thing']} over {found['than'].strip(' .!*_')}"
    return None if OF_NOW.search(choice) else preference(_preferred(choice), f"Prefers {choice}")


def _using(found: re.Match[str]) -> Claim | None:
    """A tool in use, which has a capital, is compared with another, or is the one word that is said."""
    thing = _object(found["thing"])
    is_choice = re.search(r"(?i) (?:instead of|rather than|over) ", thing) is not None
    is_tool = thing[:1].isupper() or is_choice or (found["who"].casefold() == "i" and len(thing.split()) == 1)
    if not thing or not is_tool or re.search(r"(?i)\bto\b", thing):
        return None
    purpose = None if is_choice else re.search(r"(?i) ((?:for|in) .+)", thing)
    topic = _preferred(thing) if is_choice else f"use {purpose[1]}" if purpose else thing
    return preference(topic, f"Uses {thing}")


def _habit(found: re.Match[str]) -> Claim | None:
    act = END.sub("", found["act"]).strip(" .!*_")
    words = act.split()
    if not 2 <= len(words) <= 14 or NOT_HABITS.match(act) or OF_NOW.search(act):
        return None
    return preference(_act(act), f"{found['often'].capitalize()}: {act}")


def _act(text: str) -> str:
    """What is done, without how often and when."""
    return re.sub(
        r"(?i)\s+(?:again|any ?more|ever|ever again|every \w+|in the \w+|at (?:night|home|work)|on \w+days?|when .*|before .*|after .*)$",
        "",
        text,
    )


def rule(found: re.Match[str]) -> Claim | None:
    """How somebody wants things done: the group ``act`` of a match."""
    act = found["act"].strip(" ,.!*_")
    if not 2 <= len(act.split()) <= 24 or re.match(
        r"(?i)(?:i|i['’](?:m|ll|ve|d)|we|we['’](?:re|ll)|you (?:are|will be)|you['’]re|it|it['’]s|he|she|they|things?|this|that)\b|(?:\w+ ){1,2}(?:that|this|it)$",
        act,
    ):
        return None
    plain = re.sub(
        r"(?i)^(?:please |always |never |only |you (?:should|must|can|will|need to) |i(?:['’]d like| want|['’]ll need) you to |just |do not |don['’]t |i(?:['’]ll| will| want to) )+",
        "",
        act,
    )
    plain = re.sub("(?i)^ever ", "", plain)
    language = re.search(r"(?i)\b(?:answer|reply|respond|speak|write|talk)\w*\b.*\bin [A-Z][a-z]+$", plain)
    return preference("language of answers" if language else " ".join(_act(plain).split()[:6]), f"From now on: {act}")


def _order(found: re.Match[str]) -> Claim | None:
    act = found["act"].strip(" ,.!*_")
    if not 2 <= len(act.split()) <= 20 or re.match(
        r"(?i)(?:forget|worry|mind|give up|let|stop|say never|be afraid|you|have|has|had|been|did|i)\b|.*\b(?:that|this|it|these|those)\b",
        act,
    ):
        return None
    often = found["often"].casefold()
    told = (
        "Always"
        if often == "always"
        else "Never"
        if often == "never" or found["again"].casefold().startswith("ever")
        else "Not again"
    )
    return preference(_act(act), f"{told}: {act}")


def _favourite(found: re.Match[str]) -> Claim | None:
    thing, value = found["thing"], value_of(found["value"])
    if (
        not value
        or re.search(r"(?i)\b(?:part|thing|moment|memory|one|bit)\b", thing)
        or re.match(r"(?i)(?:definitely|probably)\b", value)
    ):
        return None
    return preference(f"favourite {thing}", f"Favourite {thing}: {value}")


def _forbidden(found: re.Match[str]) -> Claim | None:
    """What is never to be done: told with *ever*, with *without asking*, or of a kind of things and not of one."""
    act = found["act"].strip(" ,.!*_")
    if len(act.split()) > 20 or OF_NOW.search(act) or re.search(r"(?i)\bunless\b", act):
        return None
    return preference(_act(act), f"Never: {act}")


def _speaking(found: re.Match[str]) -> Claim:
    return preference("language of answers", f"Wants answers in {found['language']}")


def _wanting(found: re.Match[str]) -> Claim | None:
    """How somebody wants all things of a kind to be."""
    thing, way = found["thing"], END.sub("", found["way"]).strip(" .!*_\"'")
    if not way or len(way.split()) > 16 or OF_NOW.search(f"{thing} {way}"):
        return None
    every = "" if found["every"].casefold() == "always" else f"{found['every'].casefold()} "
    return preference(thing, f"Wants {every}{thing} {way}")


_NO_NAME: Final = re.compile(
    r"(?i)(?:\w+day|january|february|march|april|june|july|august|\w+ember|october|asap|back|when|if|at|on|in|a|an|the)\b"
)


def _called(found: re.Match[str]) -> Claim | None:
    value = found["value"].strip(" .!*_\"'")
    if _NO_NAME.match(value):
        return None
    return preference("form of address", f"Wants to be called {value}") if is_name(value) else None


def _not_eating(found: re.Match[str]) -> Claim | None:
    thing = _object(found["thing"])
    return preference(thing, f"Doesn't {found['verb'].casefold()} {thing}") if thing else None


_IS: Final = r"(?: is|['’]s| are)(?: now| actually| still)?:? "
_NO_ONES: Final = r"(?!(?:the|a|an|this|that|these|those|your|my|our|his|her|its|their|any|more|less|all|too|so|as)\b)(?:[a-z][\w-]*[ -]){0,1}[a-z][\w-]*[a-rt-z]s"
_MANNERS: Final = r"(?:emojis?|emoticons?|smileys?|exclamation marks?|bullet points|slang|jargon|em[- ]dashes|disclaimers|abbreviations)"
_MADE: Final = (
    r"(?:code|commits?|tests?|answers?|repl(?:y|ies)|responses?|messages?|files?|functions?|docs?|documentation|reports?|summar(?:y|ies)|e-?mails?"
    r"|dates?|times?|prices?|units?|numbers?|comments?|classes|scripts?|modules?|quer(?:y|ies)|examples?|output|reviews?|prs?|pull requests?|features?"
    r"|branch(?:es)?|tables?|figures?|documents?|texts?|translations?|explanations?|suggestions?|plans?|changes?|migrations?|endpoints?)"
)
_HOW: Final = r"(?:with|in(?! (?:the|this|that|my|your)\b)|to (?:be|have|use|include|come|follow|start|end)|written|formatted|typed|tested|without|as|under|using|sorted|given)"
WISHES: Final = rules(
    (r"(?:please |you can |just |everyone calls me |people call me )*(?:call me|address me as|refer to me as) (?P<value>[^,;]+?)(?: from now on| please| instead)?", _called),
    (r"(?:everyone|everybody|people|my friends|friends|they all) calls? me (?P<value>[^,;]+)", _called),
    (r"(?:i (?:go by|prefer to be called|want to be called|like to be called)|i(?: am|['’]m) called) (?P<value>[^,;]+)", _called),
    (rf"(?:(?P<now>now|these days|from now on),? )?i {ALWAYS}prefer (?P<thing>.+)", _preferring),
    (rf"i(?:['’]d)? {ALWAYS}(?P<now>now|currently) {ALWAYS}prefer (?P<thing>.+)", _preferring),
    (r"i(?:['’]d| would)(?: much| really)? (?:rather|prefer)(?: use| have| get| take)? (?P<thing>(?!not\b|to\b|that\b|if\b).+?) (?:over|to|than|rather than|instead of) (?P<than>.+)", _choosing),
    (rf"(?P<who>i|we|(?:my|our) (?:team|company)) {ALWAYS}(?:now |currently |only |all )?uses? (?P<thing>.+)", _using),
    (r"my preference is (?:for )?(?P<thing>.+)", _preferring),
    (rf"i (?P<not>(?:do not|don['’]?t|no longer|never) )?{ALWAYS}(?P<verb>like|love|hate|dislike|enjoy|adore|loathe|detest) (?P<thing>.+?)(?P<more> any ?more| no more)?", _liking),
    (r"i (?:really |absolutely )?(?:can['’]?t|cannot) stand (?P<thing>.+)", _standing),
    (r"i(?: am|['’]m) (?P<not>not )?(?:really )?(?:a )?(?:big |huge |massive )?(?:fan of|fond of|keen on|into) (?P<thing>.+)", _fan),
    (r"i (?:really )?(?:do not|don['’]?t|never|no longer) (?P<verb>eat|drink|smoke|drive|wear) (?P<thing>.+?)(?: any ?more)?", _not_eating),
    (r"i(?: will|['’]ll)? (?:almost )?(?P<often>always|never) (?P<act>.+)", _habit),
    (rf"(?:please )?(?:always |only )?(?:answer|reply|respond|speak|talk)(?: to)?(?: me)?(?: back)? (?:only )?in (?P<language>{LANGUAGE})(?: only| always)?(?:,? please)?", _speaking),
    (rf"(?:please )?(?:don['’]?t|do not|never) ever (?P<act>{ORDERED}\b.+)", _forbidden),
    (rf"(?:please )?(?:don['’]?t|do not) (?P<act>{ORDERED}\b(?: .+)? without (?:(?:first )?(?:asking|checking|confirming)(?: with)?(?: me| us)?(?: first)?|telling (?:me|us)|my \w+|confirmation))(?: please)?", _forbidden),
    (rf"(?:please )?(?:don['’]?t|do not) (?P<act>use {_NO_ONES}|(?:use|add|include|put|write|send|insert) (?:any )?{_MANNERS}(?: please)?)", _forbidden),
    (rf"i(?:['’]d| would)? (?:want|need|expect|like) (?P<every>all|every|each) (?:of )?(?:your |my |our |the )?(?P<thing>(?:[\w+#-]+ ){{0,2}}{_MADE}) (?P<way>{_HOW} .+)", _wanting),
    (rf"i (?P<every>always) (?:want|need|expect) (?:your |my |our |the |all )?(?P<thing>(?:[\w+#-]+ ){{0,2}}{_MADE}) (?P<way>{_HOW} .+)", _wanting),
    (r"i(?:['’]d| would)? (?:want|need|expect|like) you to (?P<often>always|never) (?P<act>.+?)(?P<again>)", _order),
    (r"(?:please )?from now on,? (?P<act>.+)", rule),
    (r"(?P<act>.+?),? from now on(?: please)?", rule),
    (r"please (?P<often>always|never) (?P<act>.+?)(?P<again>)", _order),
    (rf"(?:please )?(?P<act>(?:don['’]?t|do not) {ORDERED}\b.+ (?:in|to|with|of) your (?:answers?|replies|reply|responses?|messages|code|explanations|commits))", rule),
    (r"(?:please )?(?P<act>(?:keep|make|write) your (?:answers|replies|responses|explanations|messages) .+)", rule),
    (r"(?:please )?(?P<often>don['’]?t|do not|never) (?P<act>.+?) (?P<again>(?:ever )?again|ever|any ?more)(?: please)?", _order),
    (rf"(?P<often>always|never) (?P<act>{ORDERED}\b.+?)(?P<again>)(?:,? please)?", _order),
    (rf"my favou?rite (?P<thing>[\w'’ -]{{2,40}}?){_IS}(?P<value>.+)", _favourite),
    (r"(?P<value>[\w'’ -]{2,40}?) (?:is|are) my favou?rite (?P<thing>[\w'’ -]{2,30})", _favourite),
)  # fmt: skip
