"""Tells what somebody says themselves in a message from what they quote, paste or show in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from openviking.text import split_lines

ELIDED: Final = "“…”"
"""Stands where words of others were quoted."""

_MOST: Final = 2_000
_EDGE: Final = 600
_LOOK: Final = 20_000
_LONGEST: Final = 600
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,}|\"{3}|'{3})")
_TAG: Final = re.compile(r"\s*<([A-Za-z][\w-]*)\b[^<>]*>")
_LAST_TAG: Final = re.compile(r"<([A-Za-z][\w-]*)\b[^<>]*>[^<>]*\Z")
_CLOSING: Final = re.compile(r"</[A-Za-z][\w-]*")
_NOT_SAID: Final = re.compile(
    r"(?:\s*>|\s*[{}\[\]|]|\t| {4,}|\s*\d{4}-\d\d-\d\d[T ]\d\d:|\s*\[?\d\d?:\d\d(?::\d\d)?\]?\s|\s*(?://|#!"
    r"|--\s|\$ |\w+\(.*\);?$))"
)
_DOCUMENT: Final = re.compile(
    r"\s*(?:#{1,6}\s|(?:From|To|Subject|Sent|Date|Cc|Bcc|Von|An|Betreff):\s|-{3,}\s*(?:Forwarded|Original)"
    r"|On .{5,80} wrote:|Dear [A-Z]"
    r"|(?:发件人|收件人|主题)[:：])"
)
_THINGS: Final = (
    r"(?:this|these|following|below|text|e-?mail|letter|article|document|doc|message|sentence|paragraph"
    r"|passage|code|logs?"
    r"|quote|conversation|chat|transcript|note|notes|story|poem|essay|report|readme|prompt|page|reply|response"
    r"|output|review"
    r"|post|tweet|comment|snippet|file|content|abstract|instructions?|rules?|guidelines?|policy|terms)"
)
_HANDLED: Final = re.compile(
    r"(?i)\b(?:summari[sz]e|translat\w+|proofread|rewrite|rephrase|paraphrase|review|edit|improve|polish|fix|explain"
    r"|analy[sz]e|correct|parse|classify|extract|format|shorten|convert|write|compose|draft|continue|complete"
    r"|respond with|print|echo|repeat|say)\b"
    rf"(?:[^.!?\n:]{{0,80}}:|[^.!?\n:]{{0,60}}\b{_THINGS}\b[^.!?\n:]{{0,40}}$)"
)
_SHOWN: Final = re.compile(
    rf"(?i)\b(?:here(?:'s|’s| is| are)|see|following|below|attached|pasted?|got|received|found"
    rf"|this is)\b[^.!?\n:]{{0,60}}\b{_THINGS}\b[^.!?\n:]{{0,40}}(?::|$)"
    r"|\b(?:said|says|wrote|writes|replied|reads|goes|texted|e-?mailed|posted|told me|answered|asked)\b[^.!?\n:]{0,30}:"
)  # fmt: skip
_SHOWN_ZH: Final = re.compile(
    r"(?:翻译|翻譯|总结|總結|概括|润色|潤色|改写|改寫|校对|修改|解释|解釋|分析|检查)[^。！？\n]{0,30}(?:[:：]|$)"
    r"|(?:以下|下面|如下)[^。！？\n]{0,20}(?:[:：]|$)|(?:说|說|写道|寫道|回复|问|道)[:：]"
)
_PLAYED: Final = re.compile(
    r"(?i)^\s*you are (?:now )?(?!(?:an? |the |my )?(?:right|great|good|best|real|true|angel|genius|star|legend|life|hero|big|huge"
    r"|welcome|correct|so|very|too|not|wrong)\b)(?:(?:an?|the|my) |(?-i:[A-Z]))[^!?]*(?:[.,;:]|$)"
    r"|\brole-?play(?!(?:ing)? games?\b)|\bpretend\b|\bin character\b|\blet['’]?s play\b"
    r"|\bimagine (?:that )?you(?:['’]re| are)\b"
    r"|(?:^|[.!?] |\bplease )\s*(?:act|speak|talk|play|answer|behave|respond|write) (?:as(?! (?:soon|short|quick|fast|brief|concise|detailed"
    r"|much|many|little|long|well|clear|simpl)\w*\b)|like|the (?:role|part))\b"
    r"|\b(?:ignore|disregard|forget) (?:all |any )?(?:of )?(?:the |your |my )?(?:previous|prior|above|earlier|system|safety) "
    r"(?:instructions?|rules?|prompts?|guidelines?|directives?|orders?)\b"
    r"|扮演|假装|假裝|(?:忽略|无视|無視)(?:之前|以上|上面|先前|所有)|^\s*你(?:现在|現在)?是[^的对對谁誰什吗嗎?？不]{1,10}[，,。]"
)
"""Gives the assistant a part to play or other orders than it has: what follows belongs to the part."""

_INVENTED: Final = re.compile(
    r"(?i)\bin (?:the|this|that|my|our|a|an) (?:short |following |fairy ?)?(?:story|novel|game|tale|script|screenplay|play|movie|film|dream|scene|sketch"
    r"|example|scenario|exercise|campaign|poem|song|fiction)\b,? (?=(?:i|i['’]m|my|we|our|your?)\b)"
    r"|(?:在|这个|這個|那个|那個)*(?:故事|小说|小說|游戏|遊戲|剧本|劇本|例子|梦|夢)(?:里|裡|中|里面|裡面)[，,]?(?=我|你)"
)
"""Begins what holds in a story, to the end of its paragraph."""

_LETTER: Final = re.compile(
    r"(?im)^\s*(?:(?:best|kind|warm)(?:est)? )?(?:regards|sincerely|yours (?:truly|sincerely|faithfully))\b|^\s*此致"
)
_ANNOUNCED: Final = re.compile(r"[:：]\s*$")
_OF_ONESELF: Final = re.compile(
    r"(?i)\b(?:remember|keep in mind|about me|my|preferences?|facts|i)\b|记|記|关于我|關於我|我的|偏好"
)
_SPEAKER: Final = re.compile(
    r"\s*(?:\*\*)?([A-Z][\w.'-]*(?: [A-Z][\w.'-]*)?|user|assistant|system|human|ai"
    r"|[\u4e00-\u9fff]{1,4})(?:\*\*)?\s?[:：](?!//)"
)
_NO_SPEAKERS: Final = frozenset(
    ("ps", "p.s.", "note", "also", "edit", "update", "fyi", "btw", "remember", "reminder", "important", "correction", "please note",
     "preference", "preferences", "about me", "记住", "请记住", "記住", "請記住", "备注", "注意", "另外", "补充", "更正", "对了", "提醒", "重要"),
)  # fmt: skip
_BULLET: Final = re.compile(r"\A\s*(?:[-*•]|\d{1,2}[.)])\s+")
_QUOTED: Final = re.compile(
    r"\"[^\"]{1,1000}\"|“[^“”]{1,1000}”|«[^«»]{1,1000}»|「[^「」]{1,1000}」|『[^『』]{1,1000}』|‘[^‘]{1,400}?’(?!\w)"
    r"|(?<!\w)'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w)){1,400}'(?!\w)|`[^`\n]{1,400}`"
    r"|(?P<open>(?:(?<!\d)\"|[“「『])[\s\S]*)"
)
_WORD: Final = re.compile(r"[\u3400-\u9fff\u3040-\u30ff]{2}|\w+(?:['’-]\w+)*")
_ABBREVIATED: Final = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|e\.g|i\.e|etc|approx|No)|\b[A-Z])\.$")
_SENTENCE: Final = re.compile(r".+?(?:[.!?]+[)\"'\]]*(?=\s|$)|[。！？；;]+|$)")


def own_sentences(text: str) -> Iterator[str]:
    """The sentences of a message that are its sender's own, each one line with its mark at the end.

    Left out are code, quoted lines, what is between tags, lines of data, what follows an announcement ("translate this:
    …") or an order to play a part, and what looks like the beginning of a document. Of a long message, its beginning and
    its end only. Longer quotations become ``ELIDED``.
    """
    if _LETTER.search(text, 0, _LOOK):
        return
    lines = list(_own_lines(text[:_LOOK]))
    own = _QUOTED.sub(_elided, "\n".join(lines))
    if len(own) > _MOST:
        first, last = own[:_EDGE].rpartition("\n")[0], own[-_EDGE:].partition("\n")[2]
        own = f"{first}\n{last}"
    for line in own.split("\n"):
        begun = ""
        for found in _SENTENCE.finditer(" ".join(line.split())):
            begun += found[0]
            if not _ABBREVIATED.search(found[0][-8:]):
                yield from _told(begun)
                begun = ""
        yield from _told(begun)


def _told(sentence: str) -> Iterator[str]:
    """A sentence of a usual length; a statement is none of the others."""
    if 0 < len(stripped := sentence.strip()) <= _LONGEST:
        yield stripped


def _own_lines(text: str) -> Iterator[str]:
    fence = closing = ""
    is_invented = False
    closings = frozenset(_CLOSING.findall(text))
    for line in split_lines(text):
        is_invented = is_invented and bool(line.strip())
        if fence:
            fence = "" if fence in line else fence
        elif closing:
            closing = "" if closing in line else closing
        elif opened := _FENCE.match(line):
            fence = "" if opened[1] in line[opened.end() :] else opened[1]
        elif opened := _TAG.match(line):
            end = f"</{opened[1]}"
            closing = end if end not in line and end in closings else ""
        elif _DOCUMENT.match(line):
            return
        elif not is_invented and not _NOT_SAID.match(line):
            if line.count("```") % 2:
                line, fence, _ = line.rpartition("```")
            elif (opened := _LAST_TAG.search(line)) and (end := f"</{opened[1]}") in closings:
                line, closing = line[: opened.start()], end
            shown = next((found for one in (_HANDLED, _SHOWN, _SHOWN_ZH, _PLAYED) if (found := one.search(line))), None)
            if shown is not None:
                yield _before(line, shown.start())
                return
            if (invented := _INVENTED.search(line)) is not None:
                is_invented, line = True, _before(line, invented.start())
            speaker = _SPEAKER.match(line)
            if speaker is None or speaker[1].casefold() in _NO_SPEAKERS:
                yield _BULLET.sub("", line, count=1)
            if _ANNOUNCED.search(line) and not _OF_ONESELF.search(line):
                return


def _before(line: str, end: int) -> str:
    """The whole sentences of a line before a place in it."""
    found = list(re.finditer(r"[.!?]+\s|[。！？；]", line[:end]))
    return line[: found[-1].end()] if found else ""


def _elided(found: re.Match[str]) -> str:
    """A quotation of a few words may be a name; a longer one is what somebody said."""
    return found[0] if found["open"] is None and len(_WORD.findall(found[0])) <= 2 and "\n" not in found[0] else ELIDED
