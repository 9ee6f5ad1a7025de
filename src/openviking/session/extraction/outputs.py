"""What a tool put out, in one line: its most telling one."""

from __future__ import annotations

import re
from typing import Final

from openviking.parse.prose import one_line
from openviking.session.extraction.masking import masked
from openviking.text import shorten

MAX_CHARS: Final = 200
_LOOK: Final = 4_000
_JOINED: Final = " · "
_OUTCOME: Final = re.compile(
    r"(?i)\b(?:\w{0,40}error|\w{0,40}exception|fail(?:ed|ure|ures|s)?|passed|panic|fatal|denied|refused|not found"
    r"|timed out)\b|错误|失败|成功|通过"
)


def opening(output: str) -> str:
    """The beginning and the end of a long output, whole lines where it has any: outcomes stand at the end."""
    if len(output) <= 2 * _LOOK:
        return output
    begin, end = output[:_LOOK], output[-_LOOK:].partition("\n")[2]
    return f"{begin.rpartition(chr(10))[0] or begin}\n{end}"


def told_of(output: str) -> str:
    """An output in at most 200 characters without secrets: all of a short one.

    Of a longer one the last line that tells an outcome, such as an error, else the first.
    """
    text, _ = masked(output)
    lines = [line for line in map(one_line, text.splitlines()) if line]
    if not lines:
        return ""
    if sum(map(len, lines)) + len(_JOINED) * (len(lines) - 1) <= MAX_CHARS:
        return _JOINED.join(lines)
    outcome = next((line for line in reversed(lines) if _OUTCOME.search(line)), lines[0])
    return shorten(outcome, MAX_CHARS)
