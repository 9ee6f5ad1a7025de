"""Knows secrets that people tell each other in a sentence: codes of doors, PINs, passphrases, logins."""

from __future__ import annotations

import re
from typing import Final

from openviking.session.extraction.known_tokens import Token, looks_random

_IS: Final = (
    r"(?: for [\w.@ -]{1,32}?| of [\w.@ -]{1,32}?| to [\w.@ -]{1,32}?)?(?: is| was|['’]s|:| =)(?: now)?:? {1,4}"
)
_FUNCTION_WORDS: Final = frozenset(
    "the and for you your our his her their its that this these those with from must should can could will would was were has have had not are"
    " use used uses using least when which what who where how does than then only set sent stored kept same one any all none empty blank"
    " optional required here there please enter but into never always also may might like phrase passphrase password".split()
)


def _if_code(found: re.Match[str]) -> str:
    code = found["secret"]
    digits = sum(char.isdigit() for char in code)
    return "password" if digits >= 4 or (digits >= 3 and digits < len(code)) else ""


def _if_words(found: re.Match[str]) -> str:
    """Words that make no sentence, as dice choose them."""
    return "" if _FUNCTION_WORDS.intersection(re.split("[ -]", found["secret"])) else "password"


def _if_login(found: re.Match[str]) -> str:
    value = found["secret"].rstrip(".!?")
    return "password" if looks_random(value) and re.search(r"\d", value) and re.search(r"[!@#$%^&*?~+=]", value) else ""


_WORDS: Final = r"(?P<secret>[a-z]{3,16}(?:[ -][a-z]{3,16}){3,23})(?=[\"'`*.!;,]{0,3}[ \t]*(?:\r?\n|\Z)|[\"'`]|[.!;] )"
TOLD_SECRETS: Final = (
    Token(
        ("code", "Code"),
        re.compile(
            r"(?:[Dd]oor|[Gg]ate|[Ee]ntry|[Ee]ntrance|[Gg]arage|[Kk]eypad|[Ll]ocker|[Ll]ock|[Ss]afe|[Aa]ccess|[Uu]nlock)[ -]?[Cc]ode"
            rf"{_IS}(?P<secret>[#*]?\d[\d#*]{{2,11}}+)(?![\w%/:-]|[.,]\d)"
        ),
        _if_code,
    ),
    Token(
        ("pin", "PIN", "Pin"),
        re.compile(
            r"(?:(?<=[Mm]y )|(?<=[Oo]ur )|(?<=[Tt]he )|(?<=[Hh]is )|(?<=[Hh]er )|(?<=card )|(?<=SIM )|(?<=phone )|(?<=door ))[Pp](?:in|IN)"
            rf"(?: code| number)?{_IS}(?P<secret>\d{{4,8}}+)(?![\w%/:-]|[.,]\d)"
        ),
        _if_code,
    ),
    Token(
        ("phrase",),
        re.compile(rf"(?:[Pp]ass|[Ss]eed |[Rr]ecovery )phrase{_IS}[\"'`*]{{0,3}}{_WORDS}"),
        _if_words,
    ),
    Token(
        ("ogin", "og in", "ign in", "redentials"),
        re.compile(
            r"(?:[Ll]og ?in|[Ss]ign ?in|[Cc]redentials)(?: (?:with|as|is|are))?:? {1,4}[\w.@+-]{2,64}+ {0,2}/ {0,2}"
            r"(?P<secret>[^\s\"'`,;<>|()\[\]{}/]{6,64}+)"
        ),
        _if_login,
    ),
)
"""Forms of `known_tokens` that begin with the word that says what they are."""
