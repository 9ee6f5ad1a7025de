"""Queries that look something up by how it is spelled, made from the documents of any set.

The test sets ask in sentences, and a model of meaning is good at those. People also type a name, an error code, a quoted
phrase, and expect the one document that has it at the first place.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Final

from sets import EvalSet, Item

from openviking.index.analyse import analyse, analyse_query
from openviking.index.question import question

SENTENCE: Final = "what did we decide about {}?"
PHRASE_WORDS: Final = 5
_TOKEN = re.compile(r"[A-Za-z0-9_]+(?:[-.'][A-Za-z0-9_]+)*")


def lookups(one: EvalSet, each: int = 60) -> dict[str, EvalSet]:
    """By kind, the documents of ``one`` with up to ``each`` queries that exactly one of them answers; always the same.

    ``code``: an identifier, a version, an error code. ``word``: a rare word. Both also in a sentence. ``quoted``: five
    words in quotation marks.
    """
    chance = random.Random(11)
    where: dict[str, set[str]] = {}
    spelled: dict[str, tuple[str, str]] = {}
    for document in one.documents:
        for token in dict.fromkeys(_TOKEN.findall(document.text)):
            spelled.setdefault(token, (document.id, document.group))
        for term in set(analyse(document.text).joined.split()):
            where.setdefault(term, set()).add(document.id)
    rare = [token for token in spelled if len(token) > 4 and _documents(token, where) == 1]
    chance.shuffle(rare)
    codes = [token for token in rare if question(token).exact][:each]
    words = [token for token in rare if token.isalpha() and token.islower()][:each]
    found = {
        "code": [(token, spelled[token]) for token in codes],
        "code in a sentence": [(SENTENCE.format(token), spelled[token]) for token in codes],
        "word": [(token, spelled[token]) for token in words],
        "word in a sentence": [(SENTENCE.format(token), spelled[token]) for token in words],
        "quoted": list(_quoted(one, chance, each)),
    }
    return {kind: _asked(one, f"{one.name}: {kind}", pairs) for kind, pairs in found.items() if pairs}


def _documents(token: str, where: dict[str, set[str]]) -> int:
    """How many documents have all terms of ``token``."""
    sets = [where.get(term, set()) for term in analyse_query(token)]
    return len(set.intersection(*sets)) if sets else 0


def _quoted(one: EvalSet, chance: random.Random, each: int) -> Iterator[tuple[str, tuple[str, str]]]:
    folded = [" ".join(document.text.casefold().split()) for document in one.documents]
    given = 0
    for number in chance.sample(range(len(folded)), len(folded)):
        document = one.documents[number]
        words = document.text.split()
        if given == each:
            return
        if len(words) <= PHRASE_WORDS:
            continue
        first = chance.randrange(len(words) - PHRASE_WORDS)
        phrase = " ".join(words[first : first + PHRASE_WORDS])
        if '"' not in phrase and sum(1 for text in folded if phrase.casefold() in text) == 1:
            given += 1
            yield f'"{phrase}"', (document.id, document.group)


def _asked(one: EvalSet, name: str, pairs: list[tuple[str, tuple[str, str]]]) -> EvalSet:
    queries = tuple(Item(f"l{number}", "", text, group) for number, (text, (_, group)) in enumerate(pairs))
    relevant = {f"l{number}": {document: 1} for number, (_, (document, _)) in enumerate(pairs)}
    return EvalSet(name, one.documents, queries, relevant)
