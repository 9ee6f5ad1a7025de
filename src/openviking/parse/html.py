"""Parses HTML: headings, and which ranges of the text a reader would see or look for.

The scanner reads each character a bounded number of times whatever the markup looks like; the standard library's
parser is quadratic on some malformed pages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from openviking.parse.document import Document
from openviking.parse.passages import visible_text
from openviking.parse.plain import outline
from openviking.parse.prose import LEAD, SECTION_LEAD, first_paragraph, informative, one_line
from openviking.text import shorten

_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9:\-]{0,60})")
_ATTRIBUTE = re.compile(r"[\s/]*([^\s\"'<>/=]{1,200})(\s{0,100}=\s{0,100})?")
_UNQUOTED = re.compile(r"[^\s\"'<>`]+")
_SPACE = re.compile(r"[\s/]*")
_KEPT = frozenset(
    "alt title href src content value placeholder aria-label label summary datetime cite action poster".split()
)
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_RAW = frozenset(("script", "style", "textarea", "title", "xmp", "noscript"))
_UNSEEN = frozenset(("script", "style"))
_BLOCKS = frozenset(
    "p div li tr section article table ul ol dl pre h1 h2 h3 h4 h5 h6 blockquote dt dd script style header footer nav "
    "aside main figure form fieldset details body head".split()
)
_DESCRIPTIONS = frozenset(("description", "og:description", "twitter:description"))
_TITLE = 200
_HEADING_LONGEST = 2_000
_LOOK = 6_000


def parse_html(text: str) -> Document:
    """The document of an HTML text; ``visible`` has its text, comments, scripts, and values of telling attributes.

    The title is ``<title>``, else the first ``<h1>``; the lead the description in ``<meta>``, else the first paragraph.
    """
    scan = _Scan(text)
    scan.run()
    sections = outline(text, scan.headings, ())
    bodies = {start: body for start, body, _, _ in scan.headings}
    prose = tuple(scan.prose)
    sections = tuple(
        replace(section, lead=_lead(text, prose, bodies.get(section.start, section.start), section.end, SECTION_LEAD))
        for section in sections
    )
    title = scan.title or next((name for _, _, level, name in scan.headings if level == 1), "")
    lead = shorten(scan.description, LEAD) if informative(scan.description) else ""
    if not lead:
        leads = [section for section in sections if section.lead]
        # What stands first on a page is often its navigation: a few words a line.
        whole = [section for section in leads if len(section.lead.split()) >= 8]
        informing = [section for section in leads if informative(section.lead)]
        chosen = next(iter([*whole, *informing, *leads]), None)
        if chosen:
            lead = _lead(text, prose, bodies.get(chosen.start, chosen.start), chosen.end, LEAD)
    visible = tuple(scan.visible) if any(text[start:end].strip() for start, end in scan.visible) else ()
    return Document("html", "html", title, lead, sections, tuple(scan.keywords), tuple(scan.breaks), visible)


def _lead(text: str, prose: tuple[tuple[int, int], ...], start: int, end: int, limit: int) -> str:
    seen = visible_text(text, prose, start, min(end, start + _LOOK))
    return first_paragraph(seen.replace("\n", "\n\n"), 0, 2 * len(seen), limit)


@dataclass
class _Scan:
    """One pass over the markup; collects what ``parse_html`` needs."""

    text: str
    visible: list[tuple[int, int]] = field(default_factory=list)
    prose: list[tuple[int, int]] = field(default_factory=list)
    headings: list[tuple[int, int, int, str]] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    title: str = ""
    description: str = ""
    _heading: tuple[int, int, int] | None = None
    _absent: set[str] = field(default_factory=set)

    def run(self) -> None:
        size, at = len(self.text), 0
        while at < size:
            tag = self._find("<", at)
            self._see(at, tag if tag >= 0 else size, True)
            if tag < 0:
                return
            at = self._markup(tag)

    def _find(self, wanted: str, at: int) -> int:
        """Like ``str.find``, but never looks again for what is not there any more."""
        if wanted in self._absent:
            return -1
        found = self.text.find(wanted, at)
        if found < 0:
            self._absent.add(wanted)
        return found

    def _see(self, start: int, end: int, prose: bool) -> None:
        if start < end:
            self.visible.append((start, end))
            if prose:
                self.prose.append((start, end))

    def _markup(self, at: int) -> int:
        """Reads what begins with ``<`` at ``at``; returns where it ends."""
        text = self.text
        for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>")):
            if text.startswith(opening, at):
                end = self._find(closing, at + len(opening))
                stop = end if end >= 0 else len(text)
                self._see(at + len(opening), stop, False)
                return stop + len(closing) if end >= 0 else stop
        if text.startswith(("<!", "<?"), at):
            end = self._find(">", at)
            return end + 1 if end >= 0 else self._literal(at)
        name = _NAME.match(text, at)
        if name is None:
            return self._literal(at)
        tag = name[1].lower()
        if text[at + 1] == "/":
            end = self._find(">", at)
            if end < 0:
                return self._literal(at)
            self._close(tag, at)
            return end + 1
        if tag in _BLOCKS and at:
            self.breaks.append(at)
        attributes, end = self._attributes(name.end())
        if tag == "meta":
            self._meta(attributes)
        if tag in _HEADINGS:
            self._heading = (at, end, int(tag[1]))
        if tag in _RAW:
            return self._raw(tag, end)
        return end

    def _literal(self, at: int) -> int:
        self._see(at, at + 1, True)
        return at + 1

    def _attributes(self, at: int) -> tuple[dict[str, str], int]:
        """The attributes from ``at`` on and where the tag ends; values that tell something become visible."""
        text = self.text
        found: dict[str, str] = {}
        while True:
            match = _ATTRIBUTE.match(text, at)
            if match is None:
                break
            at = match.end()
            if match[2] is None:
                continue
            if text[at : at + 1] in ("'", '"'):
                end = self._find(text[at], at + 1)
                start, stop, following = (at + 1, end, end + 1) if end >= 0 else (at + 1, at + 1, at + 1)
            else:
                value = _UNQUOTED.match(text, at)
                start, stop, following = (at, value.end(), value.end()) if value else (at, at, at)
            attribute = match[1].lower()
            if attribute in _KEPT and not text.startswith("data:", start):
                self._see(start, stop, False)
            if stop - start <= _HEADING_LONGEST:
                found.setdefault(attribute, text[start:stop])
            at = following
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if text.startswith(">", at):
            return found, at + 1
        if text.startswith("<", at) or at >= len(text):
            return found, at
        return found, at + 1

    def _meta(self, attributes: dict[str, str]) -> None:
        name = (attributes.get("name") or attributes.get("property") or "").lower()
        content = one_line(attributes.get("content", ""))
        if name in _DESCRIPTIONS and not self.description:
            self.description = content
        elif name in ("keywords", "author", "news_keywords", "article:tag") and content:
            self.keywords.extend(part.strip()[:_TITLE] for part in content.split(",")[:30] if part.strip())

    def _raw(self, tag: str, start: int) -> int:
        """Text that holds no tags, up to its end tag."""
        at = start
        while True:
            end = self._find("</", at)
            if end < 0:
                end = len(self.text)
                break
            if self.text[end + 2 : end + 2 + len(tag)].lower() == tag:
                break
            at = end + 2
        if tag == "title" and not self.title:
            self.title = shorten(
                one_line(visible_text(self.text, ((start, end),), start, min(end, start + 2_000))), _TITLE
            )
        self._see(start, end, tag not in _UNSEEN and tag != "title")
        return end

    def _close(self, tag: str, at: int) -> None:
        if tag not in _HEADINGS or self._heading is None:
            return
        start, body, level = self._heading
        self._heading = None
        if at - body > _HEADING_LONGEST:
            return
        inside: list[tuple[int, int]] = []
        for span in reversed(self.prose):
            if span[1] <= body:
                break
            inside.append(span)
        # Generators of documentation put a sign for linking behind each heading.
        title = shorten(one_line(visible_text(self.text, inside[::-1], body, at)).rstrip(" ¶"), _TITLE)
        if title:
            self.headings.append((start, at, level, title))
