"""Masks what opens doors in a text: keys of services, tokens, private keys, passwords and codes that are told as such, numbers of cards and accounts.

Every pattern begins with a literal, or a character of a kind, and reads what follows once, so that the time is linear in the text whatever it holds.
What only might be a secret (a hash, a UUID, a long identifier) is left alone unless it is assigned to a name that says so.
"""

from __future__ import annotations

import re
from typing import Final

from openviking.session.extraction.account_numbers import ACCOUNT_NUMBERS
from openviking.session.extraction.known_tokens import (
    AWS_KEY,
    AWS_SECRET,
    TOKENS,
    Judge,
    if_mixed,
    is_mixed,
    looks_random,
)
from openviking.session.extraction.private_keys import without_private_keys
from openviking.session.extraction.told_secrets import TOLD_SECRETS

_SPLITTING: Final = re.compile("(?<=[!-~])[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+(?=[!-~])")


def masked(text: str) -> tuple[str, int]:
    """``text`` with every secret that is recognised replaced by ``[masked: <kind>]``, and how many there were.

    Kinds: ``private key``, ``API key``, ``token``, ``password``, ``secret``, ``card
    number``, ``account number``. The name that a secret is assigned to stays,
    and so does all that is beside it, but for invisible characters between letters: they could split a secret. A text
    that was masked comes back unchanged.
    """
    if not text.isascii() and (joined := _SPLITTING.sub("", text)) != text:
        hidden, count = _masked(joined)
        return (hidden, count) if count else (text, 0)
    return _masked(text)


def _masked(text: str) -> tuple[str, int]:
    text, count = without_private_keys(text)
    aws_keys = 0
    for one in (*TOKENS, *ACCOUNT_NUMBERS, *TOLD_SECRETS):
        if any(mark in text for mark in one.marks):
            text, found = _replaced(one.pattern, text, one.judge)
            count += found
            aws_keys += found if one is AWS_KEY else 0
    if aws_keys:
        text, found = _replaced(AWS_SECRET, text, if_mixed)
        count += found
    for mark, pattern in (*_NAMED, ("--", _FLAG)):
        if mark in text:
            text, found = _replaced(pattern, text, _assigned)
            count += found
    return text, count


def _replaced(pattern: re.Pattern[str], text: str, judge: Judge) -> tuple[str, int]:
    """The text with the group ``secret`` of every match masked that is one."""
    parts: list[str] = []
    at = 0
    for found in pattern.finditer(text):
        if kind := judge(found):
            start = found.start("secret")
            end = start + len(found["secret"].rstrip(".:"))
            parts += (text[at:start], f"[masked: {kind}]")
            at = end
    return ("".join(parts) + text[at:], len(parts) // 2) if parts else (text, 0)


# --- what is assigned to a name that says that it is a secret ---

_STEMS: Final = (
    *(form for stem in ("password", "passwd", "passphrase", "passcode", "pwd", "key", "secret", "token", "credential")
      for form in (stem, stem.capitalize(), stem.upper())),
    "passWord", "PassWord", "PIN", "asswort", "ennwort", "contraseña", "Contraseña", "senha", "mot de passe", "Mot de passe",
    "пароль", "Пароль", "密码", "密碼", "口令", "密钥", "密鑰", "金鑰", "令牌", "パスワード", "비밀번호",
)  # fmt: skip
_VALUE: Final = (
    r"(?:[bru]?\\{0,3}+(?P<quote>[\"'`*]{1,3}+))?"
    r"(?P<secret>(?(quote)[^\s\"'`\\]{4,512}+|[^\s\"'`,;&|<>(){}\[\]\\。，；！？]{4,512}+))(?P<after>[(\[{]?)"
)
_BLANKS: Final = r"[ \t\u00a0\u3000]{0,8}+"
_NEXT_LINE: Final = r"(?:[|>][+-]?)?[ \t]{0,8}+\r?\n(?:[ \t]{1,64}+|(?=[\"']))"
_SIGN: Final = (
    r"(?:['’]s {1,4}|(?:[Ss]|[_-]?\d)?\\{0,3}+[\"'`*]{0,3}+(?: \([^()\n]{1,32}\)| (?:for|of"
    r"|on) [\w.@-]{1,32}+(?: [\w.@-]{1,32}+)?)?"
    rf"(?:{_BLANKS}(?::=|=>|[=:：]|[是为為][:：]?|は){_BLANKS}(?:{_NEXT_LINE})?| {{1,4}}(?:is|was|ist|est?|will be)(?: now)?:? {{1,4}}"
    r"|>(?=[^\s<>]{4,256}+</)|,?\s{1,32}+[\"']?value[\"']?\s{0,4}+[:=]\s{0,4}+| {1,2}(?=[A-Za-z0-9]{20})"
    r"| {0,4}(?:[-–→|]|->) {1,4}| {1,4}(?=[\"'`])|(?: to)? {1,4}(?=[A-Za-z0-9]{1,64}[!@#$%^&*~]\S*\w)|(?<=[码碼])(?=[A-Za-z0-9])))"
)
# "boarding pass: …", "bypass: …" and "pass `…`" are other words.
_SHORT: Final = "pass", "PASS", "Pass", "pw", "PW"
_ASSIGNED: Final = rf"[\"']{{0,2}}+{_BLANKS}[=:：]{_BLANKS}"
_NAMED: Final = (
    *((stem, re.compile(rf"(?P<name>{stem}){_SIGN}{_VALUE}")) for stem in _STEMS),
    *(
        (
            stem,
            re.compile(
                rf"(?P<name>{stem}(?:(?<![A-Za-z]{stem})(?<![A-Za-z] {stem})|(?<=\\[nrt]{stem}))){_ASSIGNED}{_VALUE}"
            ),
        )
        for stem in _SHORT
    ),
)
_FLAG: Final = re.compile(
    rf"--(?:[a-z]{{1,16}}-){{0,3}}+(?P<name>password|passphrase|secret|token|key) {{1,4}}+{_VALUE}"
)
_OF_TOKENS: Final = ("key", "secret", "token", "credential", "密钥", "密鑰", "金鑰", "令牌")
_KEY_OF: Final = re.compile(
    r"(?i)(?:api|access|private|secret|encryption|signing|account|shared|master|auth|service|admin)[ _-]?\Z"
)
_KEY_IS: Final = re.compile(r"\b(?:my|our|the|new|this)[ ]\Z")
_PLACEHOLDER: Final = re.compile(r"(?i)x{4}|\*{3}|\.{3}|…|\byour[-_ ]?|change[-_]?me|placeholder|redacted|masked|://")
_VARIABLE: Final = re.compile(
    r"[$%@#][A-Za-z_]\w*+|[A-Za-z_]++\d?(?:\.[A-Za-z_]++\d?)++|.*\.(?:pem|key|crt|json|ya?ml|toml|txt|env|py|js"
    r"|ts|go|md)|id_[a-z0-9]++"
)
_PATH: Final = re.compile(r"[~.]{0,2}/[\w./-]*+", re.ASCII)
_WORD: Final = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]+)*[_-]?\d{0,2}|[A-Z][A-Za-z]*\d+(?:[A-Z][a-z]{2,})+")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _assigned(found: re.Match[str]) -> str:
    """What is assigned, if it reads as a value and not as code, a word or a blank to be filled in."""
    value, name = found["secret"].rstrip(".:*?"), found["name"].lower()
    is_quoted = found["quote"] is not None
    if (not is_quoted and found["after"]) or _PLACEHOLDER.search(value) or _is_reference(value):
        return ""
    if name not in _OF_TOKENS:
        return "password" if _is_password(value, name, is_quoted=is_quoted) else ""
    if name == "key" and not found[0].startswith("--"):
        before = found.string[max(0, found.start() - 16) : found.start()]
        if not _KEY_OF.search(before) and not _KEY_IS.search(before):
            return ""
    if not is_quoted and _WORD.fullmatch(value):
        return ""
    return "secret" if _UUID.fullmatch(value) or any(_is_random(run) for run in _pieces(value)) else ""


def _is_reference(value: str) -> bool:
    """Whether a value names a variable, a member or a file in which the secret is."""
    if value.isalnum():
        return False
    if _PATH.fullmatch(value):
        return not any(is_mixed(part) for part in value.split("/"))
    return _VARIABLE.fullmatch(value) is not None


def _is_password(value: str, name: str, *, is_quoted: bool) -> bool:
    if value.isdigit():
        return len(value) >= (4 if name == "pin" else 6)
    if not is_quoted and value.lower().startswith((name, "str", "int")):
        return False
    return looks_random(value)


def _pieces(value: str) -> list[str]:
    """The runs in a value that may be random; with marks that no name and no path has, all of them together are one."""
    runs = _PIECE.findall(value)
    return [*runs, "".join(filter(str.isalnum, value))] if _MARKS.search(value) else runs


_MARKS: Final = re.compile("[!#$%^&*+~].*[!#$%^&*+~]")
_PIECE: Final = re.compile("[A-Za-z0-9/+]{8,}")
_CHANGE: Final = re.compile("(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]")


def _is_random(piece: str) -> bool:
    """Whether letters and digits alternate as they do by chance."""
    run = piece if piece.isalnum() else piece.replace("/", "").replace("+", "")
    changes = len(_CHANGE.findall(run))
    if len(run) < len(piece):
        return len(piece) >= 24 and changes >= 1
    return (len(run) >= 8 and changes >= 3) or (len(run) >= 16 and changes >= 1)
