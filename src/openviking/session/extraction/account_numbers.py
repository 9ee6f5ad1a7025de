"""Knows numbers of bank cards and accounts wherever they stand, by their check digits."""

from __future__ import annotations

import re
from typing import Final

from openviking.session.extraction.known_tokens import Token

_ISSUED: Final = re.compile(
    r"4\d{15}|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|(?:6011|64[4-9]\d|65\d\d|35(?:2[89]|[3-8]\d))\d{12}|62(?:\d{14}|\d{17})"
)
"""What the numbers of the issuers begin with, and their usual lengths (ISO/IEC 7812). Rare ones are left alone: one in ten numbers has a right check digit."""

_LENGTHS: Final = {
    15: "NO", 16: "BE", 18: "DK FI FO GL NL", 19: "MK SI", 20: "AT BA EE KZ LT LU XK", 21: "CH HR LI LV", 22: "BG BH DE GB GE IE ME RS VA",
    23: "AE GI IL IQ TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT", 26: "IS TR", 27: "FR GR IT MC SM",
    28: "AL AZ BY CY DO GT HU LB PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU", 31: "MT SC",
}  # fmt: skip
"""Countries by the length of their account numbers (registry of ISO 13616)."""


def _if_card(found: re.Match[str]) -> str:
    digits = re.sub("[ -]", "", found["secret"])
    return "card number" if _ISSUED.fullmatch(digits) and passes_luhn(digits) else ""


def passes_luhn(digits: str) -> bool:
    """Whether the last of ``digits`` is the check digit of the others (ISO/IEC 7812-1, annex B)."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def _if_account(found: re.Match[str]) -> str:
    number = found["secret"].replace(" ", "")
    rest = "".join(str(int(char, 36)) for char in number[4:] + number[:4])
    return "account number" if int(rest) % 97 == 1 else ""


_IBAN: Final = "|".join(
    rf"(?:{'|'.join(countries.split())})\d\d(?: ?[A-Z0-9]){{{length - 4}}}" for length, countries in _LENGTHS.items()
)
_SPACED: Final = r"\d{4}(?P<gap>[ -])(?:\d{4}(?P=gap)\d{4}(?P=gap)\d{1,7}|\d{6}(?P=gap)\d{4,5})"
ACCOUNT_NUMBERS: Final = (
    # Beside points, hyphens, slashes and the like a run of digits is part of a version, a path or an identifier.
    Token(
        ("",),
        re.compile(rf"(?<![\w.,/=+%#&?-])(?P<secret>{_SPACED}|\d{{14,19}})(?![\w/=%-]|[.,]\d)", re.ASCII),
        _if_card,
    ),
    Token(
        ("",), re.compile(rf"(?<![\w/=+-])(?P<secret>(?=[A-Z]{{2}}\d\d)(?:{_IBAN}))(?![\w/=+-])", re.ASCII), _if_account
    ),
)
"""Forms of `known_tokens`: a number of an issuer's length and beginning, or of a country's, whose check digits are right."""
