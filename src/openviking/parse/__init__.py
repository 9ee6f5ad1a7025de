"""Turns files into sections, passages and abstracts: text in, values out, nothing read or written."""

from __future__ import annotations

from openviking.parse.abstracts import (
    ChildSummary,
    directory_abstract,
    directory_overview,
    file_abstract,
    file_overview,
    heading_outline,
)
from openviking.parse.code import parse_code
from openviking.parse.conversation import is_conversation, parse_conversation, said_in
from openviking.parse.data import parse_data
from openviking.parse.document import Document, Entry, Passage, Section
from openviking.parse.grammars import LANGUAGES
from openviking.parse.html import parse_html
from openviking.parse.languages import DATA, PROSE, language_of
from openviking.parse.markdown import parse_markdown
from openviking.parse.passages import cut
from openviking.parse.plain import parse_plain, parse_source_text

__all__ = [
    "ChildSummary",
    "Document",
    "Entry",
    "Passage",
    "Section",
    "cut",
    "directory_abstract",
    "directory_overview",
    "file_abstract",
    "file_overview",
    "heading_outline",
    "is_conversation",
    "parse",
    "said_in",
]


def parse(name: str, text: str) -> Document:
    """The document of a file: how it is parsed depends on its name, else its first line; unknown files are plain text.

    Any text is accepted, also one that does not keep to the rules of its language.
    """
    if is_conversation(name, text):
        return parse_conversation(text)
    language = language_of(name, text)
    if language == "markdown":
        return parse_markdown(text)
    if language == "html":
        return parse_html(text)
    if language in DATA:
        return parse_data(text, language)
    if language in LANGUAGES:
        return parse_code(text, language)
    return parse_plain(text, language) if language in PROSE else parse_source_text(text, language)
