"""An HTML page as Markdown: what a reader came for, without navigation, scripts and forms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from openviking.parse.html import parse_html

EXTRACTOR: Final = 1
"""Rises with every change of what `markdown_of` makes of a page."""

MAX_CHARS: Final = 8_000_000
"""Longer pages are kept as HTML: nobody reads them, and the time of a conversion should stay short."""

_ENOUGH: Final = 200
_HEAD: Final = 100_000
_MAIN: Final = re.compile(r"<(main|article)[\s>]", re.IGNORECASE)
_WORDLESS: Final = re.compile(r"[\s#>*_|`~\[\]()!-]*")
_RULES: Final = re.compile(r"\A(?:(?:---+|\+\+\++)\s*(?:\n\s*|\Z))+")
_LEFT_OUT: Final = (
    "nav", "footer", "aside", "[role=navigation]", "[role=banner]", "[role=search]", "[role=contentinfo]",
    "[role=complementary]", "[aria-hidden=true]", ".headerlink", "a.anchor", "template", "dialog",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Page:
    """A page as Markdown; empty if nothing of it can be told, and ``why`` says so."""

    markdown: str
    why: str = ""


def markdown_of(html: str, url: str) -> Page:
    """The content of a page with its title; links and images are absolute.

    The element ``<main>``, or the only ``<article>``, if there is one with text, else all but navigation, footers and
    forms. Never raises for any text.
    """
    if len(html) > MAX_CHARS:
        return Page("", f"the page has {len(html):,} characters, and is kept as HTML")
    # Loaded with the first page: most processes meet none.
    from html_to_markdown import (  # noqa: PLC0415
        ConversionError,
        ConversionOptions,
        PreprocessingOptions,
        convert,
    )

    options = ConversionOptions(
        extract_metadata=False, compact_tables=True, inline_data_media="alt_text_only", exclude_selectors=list(_LEFT_OUT), base_url=url,
        preprocessing=PreprocessingOptions(enabled=True, remove_navigation=True, remove_forms=True),
    )  # fmt: skip
    try:
        for part in _parts(html):
            told = convert(part, options)
            # A rule at the very top would begin front matter, which the page has none of.
            text = _RULES.sub("", (told.content or "").strip())
            if told.warnings:
                return Page("", "the page can't be converted as a whole, and is kept as HTML")
            if len(text) >= _ENOUGH or part is html:
                break
    except (ConversionError, ValueError) as error:
        return Page("", f"the page can't be converted, and is kept as HTML: {str(error)[:200]}")
    if _WORDLESS.fullmatch(text):
        return Page("", "the page has no text of its own, and is kept as HTML")
    title = parse_html(html[:_HEAD]).title
    if title and not re.search(r"^# ", text, re.MULTILINE):
        text = f"# {title}\n\n{text}"
    return Page(text.replace("\0", "\ufffd").encode("utf-8", "replace").decode() + "\n")


def _parts(html: str) -> list[str]:
    """What to try: the main element where it is clear which that is, then the page."""
    found = {tag: [one for one in _MAIN.finditer(html) if one[1].lower() == tag] for tag in ("main", "article")}
    for tag, starts in found.items():
        if len(starts) == 1:
            end = html.lower().rfind(f"</{tag}", starts[0].end())
            if end > 0:
                return [html[starts[0].start() : end] + f"</{tag}>", html]
    return [html]
