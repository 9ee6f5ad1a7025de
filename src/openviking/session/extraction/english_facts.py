"""The forms in which people tell in English facts about themselves and what is theirs, and what each of them claims."""

from __future__ import annotations

import re
from typing import Final

from openviking.session.extraction.claim import Claim, entity, fact_of, rules
from openviking.session.extraction.english_words import (
    AGE,
    FACT,
    LASTING,
    LATELY,
    MONTH,
    NATIONALITY,
    OCCUPATION,
    OF_NOW,
    ONE_AT_A_TIME,
    PETS,
    PLACE,
    RELATION,
    SORT,
    TAIL,
    THING_OWNED,
    is_name,
    value_of,
)


def _own_fact(found: re.Match[str]) -> Claim | None:
    fact, value = found["fact"], found["value"]
    if "day" in fact.casefold():
        value = re.sub(r"(?i)^on (?:the )?(?=[A-Z0-9])", "", value)
    value = value_of(value)
    if not value or (fact.casefold().endswith("name") and len(value.split()) > 5):
        return None
    return entity("self", fact, f"{fact[0].upper()}{fact[1:]}: {value}")


def _corrected_fact(found: re.Match[str]) -> Claim | None:
    # "My name is not shown, it's hidden" speaks of a screen.
    is_right = "name" not in found["fact"].casefold() or is_name(value_of(found["value"]) or "?")
    return _own_fact(found) if is_right else None


def _lasting(found: re.Match[str]) -> Claim | None:
    """What holds of something for long, if it is a name, a time or a number."""
    fact, value = found["fact"], found["value"].strip(" .!*_\"'")
    plain = re.sub(r"(?i)^(?:on|at|in|every) ", "", value)
    if not re.match(rf"[A-Z]|{_TIME}", plain) or not value_of(plain) or OF_NOW.search(value):
        return None
    return entity("self", fact, f"{fact[0].upper()}{fact[1:]}: {value}")


def _related_fact(found: re.Match[str]) -> Claim | None:
    who, fact, value = _who(found), found["fact"], value_of(found["value"])
    if not value or (fact.casefold() == "name" and not is_name(value)):
        return None
    return entity(_sort_of(who), f"{who}'s {fact}", f"{who[0].upper()}{who[1:]}'s {fact}: {value}")


def _related_name(found: re.Match[str]) -> Claim | None:
    who, value = _who(found), value_of(found["value"])
    if not value or not is_name(value):
        return None
    return entity(_sort_of(who), f"{who}'s name", f"{who[0].upper()}{who[1:]}'s name: {value}")


def _who(found: re.Match[str]) -> str:
    """The relation; of what one has one of at a time, the new one is simply it."""
    who: str = found["who"]
    return re.sub(rf"(?i)^(?:new|current) (?=(?:{ONE_AT_A_TIME})$)", "", who)


def _named_age(found: re.Match[str]) -> Claim | None:
    who, name = found["who"], found["name"]
    if not is_name(name):
        return None
    told = f"{who[0].upper()}{who[1:]} {name} {found['verb']} {found['value'].strip()}"
    return entity(_sort_of(who), f"{who} {name}'s age", told)


_MAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}")
_NUMBERED: Final = re.compile(r"[+(]?\d[\d ()/-]{3,20}")
_DATED: Final = re.compile(
    rf"(?:(?i:on|the) )*(?:\d{{1,2}}\S{{0,2}} (?:of )?)?{MONTH}(?: \d{{1,2}}\S{{0,2}})?|\d[\d./-]{{2,9}}"
)


def _fact_of_somebody(found: re.Match[str]) -> Claim | None:
    """What is known of somebody by name, where its form shows that it is that."""
    who, fact, value = found["who"], found["fact"], found["value"].strip(" .!*_\"'<>")
    form = _MAIL if "mail" in fact.casefold() else _DATED if "birth" in fact.casefold() else _NUMBERED
    if not form.fullmatch(value) or _NOBODY.match(who):
        return None
    return entity("person", f"{who}'s {fact}", f"{who}'s {fact}: {value}")


_NOBODY: Final = re.compile(
    r"(?:It|He|She|They|That|There|Here|What|Who|Where|Today|Tomorrow|Yesterday|Let|One|My|Our|Your)\b"
)


def _related_age(found: re.Match[str]) -> Claim:
    who = found["who"]
    return entity(_sort_of(who), f"{who}'s age", f"{who[0].upper()}{who[1:]}'s age: {found['value']}")


def _related_allergy(found: re.Match[str]) -> Claim | None:
    who, thing = found["who"], value_of(found["value"])
    return (
        entity(_sort_of(who), f"{who}'s allergy to {thing}", f"{who[0].upper()}{who[1:]} is allergic to {thing}")
        if thing
        else None
    )


def _sort_of(who: str) -> str:
    last = who.casefold().split()[-1]
    return "pet" if last in PETS else "thing" if last in THING_OWNED else "person"


def _having_one(found: re.Match[str]) -> Claim:
    who = found["who"]
    return entity(_sort_of(who), who, f"Has {found['value']} {who}")


def _allergic(found: re.Match[str]) -> Claim | None:
    thing = value_of(LATELY.sub("", found["value"]))
    if not thing or OF_NOW.search(thing):
        return None
    return entity("health", f"allergy to {thing}", f"Is {'not ' if found['not'] else ''}allergic to {thing}")


def _eating(found: re.Match[str]) -> Claim | None:
    """What somebody may not eat or drink, or may again."""
    thing = value_of(LATELY.sub("", found["value"]))
    if not thing or len(thing.split()) > 4 or OF_NOW.search(thing) or _NO_FOOD.match(thing):
        return None
    can = "Can" if found["can"].casefold() == "can" else "Can't"
    return entity("health", f"eating {thing}", f"{can} {found['verb'].casefold()} {thing}")


_NO_FOOD: Final = re.compile(
    r"(?i)(?:and|or|any\w*|another|one|much|more|too|as|like|without|a lot|all|the|lunch|dinner|breakfast|alone)\b"
)


def _being(found: re.Match[str]) -> Claim:
    value = found["value"].casefold()
    diet = re.match("vega|vege|pesc|gluten|lactose|celiac|coeliac|kosher|halal", value)
    return entity(
        "health" if diet else "self", "diet" if diet else value, f"Is {'not ' if found['not'] else ''}{value}"
    )


_MY: Final = rf"(?:my|our) (?P<who>{SORT}{RELATION})"
_CHANGED: Final = (
    r"(?:(?:(?:has|have|was|is|got) )?(?:just |recently |been )*(?:changed|moved|switched|shifted|rescheduled)(?: from [^,;]{1,40}?)? to"
    r"|(?:(?:has|have) )?(?:just |recently )*changed\s?(?:[,:;–—-]|and)? (?:(?:it['’]s|it is)(?: now)?|now|the new one is)) "
)
_NOT_OLD: Final = r"(?: is|['’]s)(?:n['’]t| not| no longer) [^,;]{1,60}?(?:,|;| [–—-]|,? but) (?:(?:it|he|she)(?:['’]s| is) )?(?:now |actually )?"
_SOMEBODY: Final = r"(?P<who>(?-i:[A-Z])[\w-]{1,24}(?: (?-i:[A-Z])[\w-]{1,24})?)['’]s (?P<fact>(?:work |new )?e-?mail(?: address)?|(?:phone|mobile)(?: number)?|birthday)"
_IS: Final = r"(?: is|['’]s| are)(?: now| actually| still)?:? "
_TIME: Final = (
    r"\d[\d.:/-]*(?: ?(?:am|pm|weeks?|days?|hours?|minutes?))?|(?:one|two|three|four|five|six) (?:weeks?|days?|months?)"
)
TEAMS: Final = rules(
    (rf"(?:my|our) (?P<fact>{LASTING})(?: is|['’]s| are)(?: now| currently| always)?:? (?P<value>(?:(?:on|at|in|every) )?(?:(?-i:[A-Z])[\w.+#'’ -]*|{_TIME}))", _lasting),
    (rf"(?:my|our) (?P<fact>{LASTING})(?: {_CHANGED}|{_NOT_OLD})(?P<value>(?:(?:on|at|in|every) )?(?:(?-i:[A-Z])[\w.+#'’ -]*|{_TIME}))(?: now)?", _lasting),
    (rf"the (?P<fact>(?:[\w-]+ )?(?:stand-?up|retro)) {_CHANGED}(?P<value>(?-i:[A-Z])[\w.+#'’ -]*|{_TIME})", _lasting),
)  # fmt: skip
"""What holds of a team for long."""

FACTS: Final = TEAMS + rules(
    (rf"(?:my|our) (?:new |current )?(?P<fact>{FACT}){_IS}(?P<value>.+)", _own_fact),
    (rf"(?:my|our) (?P<fact>{FACT}) {_CHANGED}(?P<value>.+)", _own_fact),
    (rf"(?:my|our) (?P<fact>{FACT}){_NOT_OLD}(?P<value>.+)", _corrected_fact),
    (rf"{_MY}['’]s (?P<fact>{FACT}){_IS}(?P<value>.+)", _related_fact),
    (rf"{_MY}['’]s (?P<fact>{FACT})(?: {_CHANGED}|{_NOT_OLD})(?P<value>.+)", _related_fact),
    (rf"{_MY}['’]s name{_NOT_OLD}(?P<value>.+)", _related_name),
    (rf"{_MY}{_NOT_OLD}(?P<value>.+)", _related_name),
    (rf"(?:my|our) (?P<who>{SORT}{RELATION}),? (?P<name>(?-i:[A-Z])[\w-]+),? (?P<verb>turns|is turning|will turn|will be|turned|is) (?P<value>(?:\d{{1,2}}|{AGE})\b(?: years old)?(?: (?:in|on|this|next) [\w ]{{2,24}})?)", _named_age),
    (rf"{_SOMEBODY}(?:{_IS}| {_CHANGED})(?P<value>.+)", _fact_of_somebody),
    (rf"the name of {_MY}{_IS}(?P<value>.+)", _related_name),
    (rf"{_MY}(?: is|['’]s) (?:called|named) (?P<value>.+)", _related_name),
    (rf"{_MY}(?: is|['’]s) (?P<value>(?!{NATIONALITY}).+)", _related_name),
    (rf"(?:i have|i['’]ve got|we have|i own) (?:a|an) (?P<who>{SORT}(?:\w+ ){{0,2}}{RELATION}),? (?:called|named) (?P<value>[^,;]+)", _related_name),
    (rf"{_MY}(?: is|['’]s) (?:now )?(?P<value>\d{{1,2}}(?: (?:years|months|weeks) old)?)", _related_age),
    (rf"{_MY}(?: is|['’]s) (?:severely |very |deathly )?allergic to (?P<value>.+)", _related_allergy),
    (rf"i (?:currently |now |still )?work (?P<how>as) (?P<value>an? [\w'’ -]{{2,60}}?){TAIL}", fact_of("work", "work", "Works {how} {value}")),
    (rf"i (?:currently |now |still )?work (?P<how>for|at) (?P<value>(?:the |an? )?(?-i:[A-Z])[\w.&'’ -]{{1,60}}?){TAIL}", fact_of("work", "work", "Works {how} {value}")),
    (rf"i (?:currently |now |still )?work (?P<how>in) (?P<value>(?!the\b|a\b|an\b|my\b|it\b)[\w&'’-]{{2,40}}(?: [\w&'’-]{{2,30}}){{0,3}}?){TAIL}", fact_of("work", "work", "Works {how} {value}")),
    (rf"i(?: currently| now| still)?(?: live|['’]m living| am living)(?: now| currently)? in (?P<value>{PLACE}?){TAIL}", fact_of("place", "home", "Lives in {value}")),
    (rf"i(?:['’]ve| have)?(?: just| recently)? moved(?: from {PLACE}?)? to (?P<value>{PLACE}?){TAIL}", fact_of("place", "home", "Lives in {value}")),
    (rf"i(?:['’]m| am|['’]m originally| am originally) from (?P<value>{PLACE}?){TAIL}", fact_of("place", "origin", "Is from {value}")),
    (r"i (?P<can>can['’]?t|cannot|can not|mustn['’]?t|must not|am not allowed to|['’]m not allowed to) (?P<verb>eat|drink|tolerate|digest) (?P<value>.+)", _eating),
    (r"i (?P<can>can) (?P<verb>eat|drink|tolerate|digest) (?P<value>.+?) (?:again|now|after all)", _eating),
    (r"i(?:['’]m| am) (?P<not>not |no longer )?(?:severely |very |deathly |highly |also )?allergic to (?P<value>.+)", _allergic),
    (rf"i(?:['’]m| am)(?: currently| now)? (?P<value>an? (?:[\w-]+ ){{0,3}}{OCCUPATION}){TAIL}", fact_of("work", "occupation", "Is {value}")),
    (r"i(?:['’]m| am) (?P<value>\d{1,2}(?= years old)|(?<= )\d\d)(?: years old)?(?: now)?", fact_of("self", "age", "Age: {value}")),
    (r"i was born (?P<value>(?:in|on) (?-i:[A-Z0-9])[\w ,.]{2,40})", fact_of("self", "birth", "Was born {value}")),
    (rf"i speak (?P<value>(?-i:[A-Z])[a-z]+(?:,? (?:and )?(?-i:[A-Z])[a-z]+){{0,5}}){TAIL}", fact_of("self", "languages spoken", "Speaks {value}")),
    (r"i have (?P<value>\d{1,2}|two|three|four|five|six|seven|no) (?P<who>(?:young |small |little |adult )?(?:kids|children|sons|daughters|siblings|brothers|sisters|dogs|cats|pets))(?: now)?(?:[,:(].{2,80})?", fact_of("self", "number of {who}", "Has {value} {who}")),
    (rf"i have (?P<value>an?) (?P<who>{SORT}(?:son|daughter|brother|sister|twin|dog|cat|puppy|kitten)){TAIL}", _having_one),
    (rf"i(?:['’]m| am) (?:currently |now |still )?learning (?P<value>(?-i:[A-Z])[\w+#]*(?: and (?-i:[A-Z])[\w+#]*)?){TAIL}", fact_of("self", "learning", "Learns {value}")),
    (r"i have an? (?:severe |bad )?(?P<not>)(?P<value>[\w -]{3,30}) allergy", _allergic),
    (r"i(?:['’]m| am) (?P<not>not |no longer )?(?:an? )?(?P<value>vegetarian|vegan|pescatarian|gluten[- ]free|lactose[- ]intolerant|(?:celiac|coeliac)|colou?r[- ]?blind|left[- ]handed|right[- ]handed|diabetic|dyslexic|kosher)(?: now| any ?more| any longer| after all| again)?", _being),
)  # fmt: skip
