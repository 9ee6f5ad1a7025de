"""The forms by which the tokens of services are known wherever they stand: how they begin, and what stands around them.

Every pattern begins with a literal and reads what follows once, so that the time is linear in the text whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

Judge = Callable[[re.Match[str]], str]
"""Says of what kind a match is, "" if it is no secret."""


class Token(NamedTuple):
    """A form: ``pattern`` has the group ``secret``, and matches nothing in a text that holds none of the ``marks``."""

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    judge: Judge


def _as(kind: str) -> Judge:
    return lambda _: kind


def if_mixed(found: re.Match[str]) -> str:
    """A key that has capitals, small letters and digits, as a generator makes it."""
    return "API key" if is_mixed(found["secret"]) else ""


def is_mixed(text: str) -> bool:
    """Whether a text has capitals, small letters and digits."""
    return all(re.search(some, text) for some in ("[A-Z]", "[a-z]", "[0-9]"))


def _if_made(kind: str) -> Judge:
    """A token that no word and no name in code looks like: one of its runs has letters and digits, or is very long."""

    def judge(found: re.Match[str]) -> str:
        runs = _RUN.findall(found["secret"])
        return kind if any(len(run) >= 20 or (len(run) >= 8 and _has_both(run)) for run in runs) else ""

    return judge


def _has_both(run: str) -> bool:
    return re.search("[0-9]", run) is not None and re.search("[A-Za-z]", run) is not None


def at_a_start(begin: str) -> str:
    """A pattern that holds behind ``begin``, of a fixed width, where that is no end of a longer word.

    In JSON the escape of a line's end or of a letter stands before it, in what a terminal shows the end of a colour.
    """
    return rf"(?:(?<![\w-]{begin})|(?<=\\[bfnrt]{begin})|(?<=\\u[\da-fA-F]{{4}}{begin})|(?<=[\d\[]m{begin}))"


def _token(begin: str, rest: str, judge: Judge, marks: str = "") -> Token:
    """A token that begins with ``begin``, of a fixed width and not within a longer word."""
    pattern = re.compile(rf"(?P<secret>{begin}{at_a_start(begin)}{rest})", re.ASCII)
    return Token(tuple((marks or begin).split()), pattern, judge)


def _if_password(found: re.Match[str]) -> str:
    return "password" if looks_random(found["secret"]) else ""


def looks_random(value: str) -> bool:
    """Whether a value is not only a word or a number, as passwords are not."""
    return len(value) >= 6 and bool(_NO_LETTER.search(value) and re.search("[A-Za-z]", value))


_NO_LETTER: Final = re.compile(r"[0-9!@#$%^*+?~=&]")
_ARGUMENT: Final = r"(?P<secret>(?![$<\[])[^\s\"']{4,128}+)"
_RUN: Final = re.compile("[A-Za-z0-9]+")
AWS_KEY: Final = _token("A[KS]IA", "[A-Z0-9]{16}+(?![A-Za-z0-9])", _as("API key"), "AKIA ASIA")
AWS_SECRET: Final = re.compile(r"(?:(?<![\w/+=-])|(?<=\\[nrt]))(?P<secret>[A-Za-z0-9/+]{40}+)(?![\w/+=-])", re.ASCII)
TOKENS: Final = (
    AWS_KEY,
    _token("sk-", r"[\w-]{16,}+", _if_made("API key")),
    _token("sk_", r"(?:live|test)_\w{10,}+", _as("API key")),
    _token("rk_", r"(?:live|test)_\w{10,}+", _as("API key")),
    _token("whsec_", r"[\w+/=]{16,}+", _as("API key")),
    _token("gh[pousr]_", r"[A-Za-z0-9]{20,}+", _as("token"), "ghp_ gho_ ghu_ ghs_ ghr_"),
    _token("github_pat_", r"\w{20,}+", _as("token")),
    *(_token(f"gl{kind}-", r"[\w.-]{16,}+", _if_made("token"))
      for kind in ("pat", "ptt", "rt", "dt", "ft", "soat", "cbt", "imt", "oas", "agent")),
    _token("xox[abeoprs]-", r"[\w-]{10,}+", _if_made("token"), "xox"),
    _token("xapp-", r"[\w-]{16,}+", _if_made("token")),
    _token("AIza", r"[\w-]{30,}+", if_mixed),
    _token("GOCSPX-", r"[\w-]{20,}+", _as("API key")),
    _token("ya29", r"\.[\w.-]{20,}+", _if_made("token"), "ya29."),
    _token("hf_", r"[A-Za-z0-9]{30,}+", _as("token")),
    _token("npm_", r"[A-Za-z0-9]{30,}+", _as("token")),
    *(_token(begin, r"[\w-]{30,}+", _if_made("API key"))
      for begin in ("lin_api_", "ntn_", "secret_", "nvapi-", "PMAK-", "NRAK-", "AGE-SECRET-KEY-")),
    *(_token(begin, r"[\w=-]{20,}+", _if_made("token"))
      for begin in ("figd_", "dckr_pat_", "sq0atp-", "sq0csp-", "ATATT3", "ATCTT3", "sbp_", "r8_", "fo1_", "glsa_", "glc_",
                    "ops_eyJ", "rubygems_", "pul-", "EAACEdEose0cBA")),
    _token("dapi", "[0-9a-f]{32}+", _as("token")),
    _token("SK", "[0-9a-f]{32}+(?![A-Za-z0-9])", _as("API key")),
    _token("key-", "[0-9a-f]{32}+(?![A-Za-z0-9])", _as("API key")),
    _token("1//0", r"[\w-]{30,}+", _if_made("token")),
    _token("dp", r"\.[a-z]{2,5}\.[A-Za-z0-9]{40,}+", _as("token"), "dp."),
    Token((":AA",), re.compile(at_a_start("") + r"(?P<secret>\d{8,10}+:AA[\w-]{32,}+)", re.ASCII), _if_made("token")),
    _token("pypi-", r"[\w-]{50,}+", _if_made("token")),
    _token("SG", r"\.[\w-]{16,}+\.[\w-]{16,}+", _if_made("API key"), "SG."),
    _token("dop_v1_", r"[0-9a-f]{40,}+", _as("token")),
    _token("gsk_", r"[A-Za-z0-9]{30,}+", _as("API key")),
    _token("xai-", r"[A-Za-z0-9]{30,}+", _as("API key")),
    _token("tvly-", r"[\w-]{20,}+", _if_made("API key")),
    _token("hvs", r"\.[\w-]{20,}+", _if_made("token"), "hvs."),
    _token("LTAI", r"[A-Za-z0-9]{12,}+", if_mixed),
    _token("shp[a-z]{2}_", r"[0-9a-f]{32}+", _as("token"), "shp"),
    _token("eyJ", r"[\w-]{5,}+\.[\w-]{8,}+(?:\.[\w-]*+)?", _as("token")),
    Token(
        ("earer", "EARER"),
        re.compile(r"(?:[Bb]earer|BEARER)[ \t]{1,3}+(?P<secret>[\w.~+/-]{12,}+=*+)", re.ASCII),
        _if_made("token"),
    ),
    Token(
        ("uthorization",),
        re.compile(
            r"uthorization[^\w\n]{1,8}(?:[Bb]asic (?P<basic>)|[A-Za-z-]{3,16}+ )(?P<secret>[\w+/.~-]{8,}+=*+)", re.ASCII
        ),
        lambda found: "password" if found["basic"] is not None else _if_made("token")(found),
    ),
    Token(
        ("ookie:", "OOKIE:"),
        re.compile(r"(?:[Cc]ookie|COOKIE): {0,4}(?P<secret>[\w-]{1,64}+=[^\r\n\"']{8,8192}+)", re.ASCII),
        _if_made("token"),
    ),
    Token(
        ("://",),
        # The last @ before the path is the one that ends it: a password may hold others.
        re.compile(r"://[^\s/@:?#\"'<>\[\]]{0,128}+:(?P<secret>(?![${<]|%[s(])[^\s/?#\"'<>\[\]]{1,256})@"),
        _as("password"),
    ),
    Token(("://",), re.compile(r"://(?P<secret>[\w-]{20,128}+)@", re.ASCII), _if_made("token")),
    Token(
        ("hooks.slack.com/",),
        re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/-]{20,}+)", re.ASCII),
        _if_made("token"),
    ),
    Token(("/webhooks/",), re.compile(r"/webhooks/\d{10,20}+/(?P<secret>[\w-]{40,}+)", re.ASCII), _if_made("token")),
    Token(("sig=", "ignature="), re.compile(r"[?&;](?:sig|(?:X-Amz-|X-Goog-)?Signature)=(?P<secret>[\w%+/=-]{30,}+)", re.ASCII), _if_made("token")),
    Token(
        ("Private-Lines:",),
        re.compile(r"Private-Lines: \d{1,4}+\r?\n(?P<secret>[A-Za-z0-9+/=]{4,}+(?:\r?\n[A-Za-z0-9+/=]{4,}+(?!:|-))*)"),
        _as("private key"),
    ),
    Token(
        (" -u ", "--user"),
        re.compile(rf"(?: -u |--user[ =])[\"']?[\w.@-]{{1,64}}+:{_ARGUMENT}"),
        _if_password,
    ),
    Token(
        ("sshpass", "docker login", "redis-cli"),
        re.compile(rf"(?:sshpass|docker login|redis-cli)[^\n|;&\[]{{0,120}}? -[pa] ?[\"']?{_ARGUMENT}"),
        _if_password,
    ),
    Token(("mysql",), re.compile(rf"mysql(?:dump|admin)?\b[^\n|;&\[]{{0,120}}? -p[\"']?{_ARGUMENT}"), _if_password),
)  # fmt: skip
