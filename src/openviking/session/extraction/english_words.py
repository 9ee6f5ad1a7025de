"""The English words by which a statement is known as one, or as none that holds beyond its conversation."""

from __future__ import annotations

import re
from typing import Final

ALWAYS: Final = (
    r"(?:really |absolutely |also |just |still |truly |generally |usually |mostly |definitely |do |quite "
    r"|much |always |personally |actually |particularly |especially )*"
)
"""Adverbs that change nothing about a statement."""

NOT_A_THING: Final = re.compile(
    r"(?i)(?:it(?! when)|that|this|these|those|them|you|your|yours|him|her|his|hers|their|theirs|the(?! colou?rs? (?!and\b|of\b|in\b|on\b|is\b|scheme|palette|choice)\w)|how|what"
    r"|where|who|why|whatever|both|all|some|any|every|everything"
    r"|everyone|anything|one|ones|either|neither|most|more|much|a lot|lots|others?|another|us|our|being able"
    r"|to (?:think|see|hear|know|believe|say|imagine|be|get)|hearing|seeing"
    r"|looking|thinking|when you|so|such|too|as|not|where|me|myself|each|in|for|with|at|on)\b"
)
"""Begins what is liked, where that is at hand and not a kind of thing."""

OF_NOW: Final = re.compile(
    r"(?i)\b(?:you|your|yours|this|that|these|those|him|his|hers?|their|them|here|there|today|tonight"
    r"|yesterday|tomorrow|now|so far|it|either|too|enough|at the moment)\b"
)
"""Ties a statement to its conversation."""

END: Final = re.compile(
    r"(?i)\s*(?:,|\s[–—-]\s|\(|;|:|…|\bbecause\b|\bsince\b|\bso that\b|\bas it\b|\bthough\b|\balthough\b"
    r"|\bbut\b|\bwhich\b).*$"
)
"""From here on a sentence gives reasons and the like."""

NOT_HABITS: Final = re.compile(
    r"(?i)(?:\w+ed|thought|knew|had|was|were|did|got|went|saw|heard|said|told|felt|understood|took|made|found"
    r"|came|gave|forget|know|think|feel|get|seem|look|been|realize|realise|want|wish"
    r"|hope|hear|say|find|end|have|believe|wonder|imagine|expect|mean|meant|see|love|like|enjoy|appreciate"
    r"|admire|remember|miss|mind|need|could|can|will|would|should|understand|fail|seen|done|met"
    r"|kept|left|lost|read|wrote|began|grew|dreamt|regret|stop|trust|be|am|is|are|even|really|quite|in|on|at"
    r"|the|a|here|there|cherish|treasure|care|support)\b"
)
"""After *always* and *never*: verbs of what happened or is felt, which make no habit."""

PLACE: Final = (
    r"(?:the |downtown |north(?:ern)? |south(?:ern)? |east(?:ern)? |west(?:ern)? |central |a (?:small "
    r"|little )?(?:town|village|suburb|city) (?:near|outside(?: of)?|in|called) )*(?-i:[A-Z])[\w.'’ ,-]{1,60}"
)
"""A place, by its capital."""

TAIL: Final = (
    r"(?:,? (?:now|currently|at the moment|these days|since|for|with|and|but|where|which|because|so|right now"
    r"|again|by|as|near|last|this|a (?:few|couple)|two|three|when|to|about|while|at|in|who)\b.*|[,;(–—].*)?"
)
"""What may follow a place or a job."""

RELATION: Final = (
    r"(?:dog|cat|puppy|kitten|bird|parrot|horse|rabbit|bunny|hamster|guinea pig|turtle|tortoise|snake|lizard"
    r"|fish|goldfish|pet|pony"
    r"|wife|husband|partner|spouse|girlfriend|boyfriend|fianc[eé]e?|son|daughter|kid|child|baby|mother|mom|mum"
    r"|father|dad|brother|sister|twin"
    r"|(?:step|half-)?(?:son|daughter|brother|sister|mother|father|mom|dad)|grand(?:mother|father|ma|pa|son"
    r"|daughter|child)|aunt|uncle|cousin|niece|nephew|godmother|godfather"
    r"|boss|manager|colleague|co-?worker|teammate|assistant|mentor|teacher|doctor|dentist|therapist|vet|lawyer"
    r"|accountant|landlord|neighbou?r|roommate|flatmate"
    r"|(?:best )?friend|company|team|startup|school|university|bank|car|bike|boat|cat's|(?:mother|father"
    r"|brother|sister|son|daughter)-in-law)"
)
"""People, animals and things that somebody can call theirs."""

ONE_AT_A_TIME: Final = (
    r"boss|manager|partner|wife|husband|spouse|girlfriend|boyfriend|fianc[eé]e?|assistant|mentor|teacher|doctor|dentist|therapist"
    r"|vet|lawyer|accountant|landlord|company|team|startup|school|university|bank|car|bike"
)
"""Those of `RELATION` of which somebody has one at a time, as far as anybody speaks of *my new …*."""

AGE: Final = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty"
"""Ages that are told in words."""

LANGUAGE: Final = (
    r"(?-i:(?:British |American |simple |plain |Brazilian |Simplified |Traditional )?(?:English|German|French|Spanish|Italian|Portuguese|Dutch|Norwegian"
    r"|Swedish|Danish|Finnish|Polish|Czech|Russian|Ukrainian|Turkish|Greek|Arabic|Hebrew|Hindi|Japanese|Korean|Chinese|Mandarin|Cantonese|Vietnamese|Thai))"
)

MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"

LATELY: Final = re.compile(r"(?i)(?:\s+(?:now|nowadays|any ?more|any longer|after all|again|these days|instead))+$")
"""Ends a statement that was not always so; nothing of its topic."""

PETS: Final = frozenset(
    "dog cat puppy kitten bird parrot horse rabbit bunny hamster pig turtle tortoise snake lizard fish goldfish pet pony".split()
)
"""Last words of `RELATION` that are animals."""

THING_OWNED: Final = frozenset("company team startup school university bank car bike boat".split())
"""Last words of `RELATION` that are neither people nor animals."""

SORT: Final = (
    r"(?:(?:older|oldest|younger|youngest|eldest|little|big|twin|new|first|second|late|ex|current|middle|other"
    r"|best)[ -])*"
)
"""Tells several of a kind apart."""

FACT: Final = (
    r"(?:(?:full |first |last |middle |nick|maiden |user ?|sur|legal )?name|birthday|date of birth|birth ?date"
    r"|(?:work |home |personal |private )?(?:e-?mail(?: address)?|address|phone(?: number)?"
    r"|mobile(?: number)?)"
    r"|(?:time ?zone|pronouns|job(?: title)?|occupation|profession|title|role|handle|nickname|age|height"
    r"|weight|blood type|shoe size|dress size|ring size|star sign|zodiac sign"
    r"|(?:native|first|mother|second) (?:language|tongue)|nationality|home ?town|birthplace"
    r"|(?:wedding )?anniversary|major|employer|budget|diet|religion|(?:zip|postal) ?code|license plate"
    r"|allerg(?:y|ies)|dietary restrictions?|github(?: username| handle)?|twitter(?: handle)?|website|locale"
    r"|timezone|working hours|office hours|(?:laptop|os|operating system|editor|ide|shell|browser)))"
)
"""What somebody can have one of."""

VAGUE: Final = re.compile(
    r"(?i)(?:so|very|really|too|a bit|a little|not|just|still|always|never|also|getting|going|doing|being"
    r"|having|coming|to|that|when|because|what|how|why|where|like|kind of|sort of|pretty|quite|super|all|about"
    r"|on|in|at|up|over|out|off|here|there|this|it|you|your|his|her|their|my|the (?:best|same|most|only|worst"
    r"|reason|way|one)|amazing|great|good|nice|cute|awesome|wonderful|beautiful|fine|okay|ok|important"
    r"|incredible"
    r"|definitely|actually|probably|maybe|almost|more|one of|some|for|with|now|unknown|wrong|right|none|secret"
    r"|private|irrelevant|next|down|broken|slow|offline|failing|empty|missing|invalid|correct|required|late"
    r"|tomorrow|today|yesterday|soon|due|tight|limited|low|high|full|stuck|ready|new|old|big|small|long|short"
    r"|hard|easy|different|changed|set|done|gone|lost|blocked|unique|public|bad|over|near|close|no|nothing|fun"
    r"|dead|closed|back|afraid|sorry|hungry|happy|glad|off|tired|sick|boring|stressful|crazy|[a-z]+ing\b)\b"
)
"""Begins what is said about a thing without being the value of it."""

OCCUPATION: Final = (
    r"(?:engineer|developer|programmer|scientist|researcher|analyst|architect|administrator|designer|teacher"
    r"|professor|student|nurse|doctor|physician|surgeon|dentist|therapist|lawyer"
    r"|accountant|consultant|manager|journalist|writer|author|editor|translator|artist|musician|photographer"
    r"|chef|cook|baker|farmer|pilot|driver|electrician|plumber|carpenter|mechanic"
    r"|librarian|pharmacist|veterinarian|psychologist|economist|freelancer|founder|entrepreneur|postdoc"
    r"|sysadmin|paramedic|firefighter|police officer|social worker)"
)
"""Last words of what people are by trade."""

NATIONALITY: Final = (
    r"(?:\w+(?:ian|ean|ish|ese|can|ic|ist|im)|French|Dutch|German|Greek|Swiss|Thai|Czech|(?:Mon|Tues|Wednes|Thurs"
    r"|Fri|Satur"
    r"|Sun)day)\b"
)
"""Has a capital and is no name."""

LASTING: Final = (
    r"(?:(?:[\w-]+ ){1,3}days?|(?:[\w-]+ ){0,3}(?:stand-?up|retro|length|branch|database|stack|framework|servers?"
    r"|cluster|region"
    r"|cloud|provider|registry|repo(?:sitory)?|tracker|port|version|license|formatter|linter|package manager"
    r"|domain|project"
    r"|gym|office|headquarters))"
)
"""What a person or a team has one of for long."""

ORDERED: Final = (
    r"(?:use|write|run|push|force-push|commit|answer|reply|respond|ask|add|include|keep|put|send|suggest"
    r"|recommend|book|give"
    r"|show|explain|format|deploy|merge|delete|remove|touch|change|start|check|test|avoid|make|create|open|speak"
    r"|wrap|indent"
    r"|name|sign|assume|rebase|squash|translate|quote|cite|log|address|schedule|order|buy)"
)
"""What one tells somebody else to do."""


def value_of(text: str) -> str:
    """What is said of a thing, without reasons; "" if that is no value of it."""
    value = END.sub("", text) if not re.search(r"\d,? \d{4}", text) else text
    value = LATELY.sub("", value.strip(" .!*_\"'"))
    return "" if not value or len(value.split()) > 12 or VAGUE.match(value) else value


def is_name(value: str) -> bool:
    """Whether all words of a value begin as those of names do."""
    words = value.split()
    return (
        len(words) <= 4
        and all(word[0].isupper() or word in {"de", "van", "von", "da", "of", "the"} for word in words)
        and words[0].casefold() not in {"i", "a", "an", "the"}
    )
