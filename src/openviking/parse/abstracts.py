"""Writes the short (L0) and the longer (L1) description of a file or directory, by extraction alone.

The same input gives the same text; no more than a bounded beginning of any input is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from openviking.parse.document import Document, Entry
from openviking.parse.passages import reader
from openviking.parse.prose import first_sentence, one_line
from openviking.text import shorten, split_lines

ABSTRACT = 256
"""Characters of an L0 at most."""

OVERVIEW = 4_000
"""Characters of an L1 at most."""

_LOOK = 20_000
_SPEAKERS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"read_?me(?:\.(?:md|rst|txt|adoc|html?))?$",
        r"skill\.md$",
        r"read_?me",
        r"index\.(?:md|rst|txt|html?)$",
    )
)
_TERMS = 8
_LEAD_IN_OVERVIEW = 160
_WORD = re.compile(r"[^\W\d_][\w\-]{3,40}")
_SPLIT = re.compile(r"[^\w.\-]+")
_STOP = frozenset(
    "about above after again against also although another because been before being below between both cannot could "
    "does doing done down during each either else even ever every from further have having here hers himself however "
    "into itself just like made make many might more most much must near need neither never none only other ours over "
    "quite rather same shall should since some such than that their them then there these they this those through "
    "thus under unless until upon used uses using very want well were what when where whether which while whom whose "
    "will with within without would your yours http https html true false null none self return import const class "
    "function public private static void string".split()
)


@dataclass(frozen=True, slots=True)
class ChildSummary:
    """What a directory's description needs to know of one child: its name, whether it is a directory, its L0."""

    name: str
    is_dir: bool
    abstract: str


def file_abstract(name: str, document: Document, text: str) -> str:
    """One line of at most 256 characters: title, first informative sentence, key terms. "" only for an empty file.

    For code the terms are the names it defines, for data its outermost keys.
    """
    if not text:
        return ""
    title = document.title or name.rsplit("/", 1)[-1]
    sentence = first_sentence(document.lead, 180) if document.lead else ""
    if not sentence and document.kind not in ("code", "data"):
        sentence = shorten(_first_words(_seen(document, text)), 160)
    parts = [shorten(one_line(title), 100)]
    if sentence and not _same(sentence, title):
        parts.append(sentence)
    line = " — ".join(part for part in parts if part)
    label, terms = _terms(document, text, line)
    if terms:
        line += ("" if line.endswith((".", "!", "?", "…", "。")) else ".") + f" {label}: {', '.join(terms)}"
    elif not sentence:
        line = f"{line}. {shorten(_first_words(_seen(document, text)), 160)}".strip(". ") or name
    return shorten(line, ABSTRACT) or shorten(name, ABSTRACT) or "file"


def file_overview(name: str, document: Document, text: str) -> str:
    """At most 4,000 characters that show how a file is built: its title and lead, then headings or definitions.

    Headings stand with the first words of their section, definitions as signatures indented by nesting with the first
    sentence of their documentation. What has no room is counted. "" only for an empty file.
    """
    if not text:
        return ""
    title = document.title or name.rsplit("/", 1)[-1]
    head = [shorten(one_line(title), 200)]
    if document.lead and not _same(document.lead, title):
        head.append(document.lead)
    if document.keywords:
        head.append(shorten("Keywords: " + ", ".join(document.keywords), 300))
    entries = document.outline or tuple(
        Entry(section.depth, section.headings[-1], section.signature, section.lead)
        for section in document.sections
        if section.signature and section.headings
    )
    if not entries or (len(entries) == 1 and _same(entries[0].name, title)):
        if document.lead and len(text) <= len(document.lead) + 40:
            return _bounded(head)
        return _bounded([*head, "", *_excerpt(_seen(document, text))])
    full = [_line(entry, document.lead) for entry in entries[: _TERMS * 100]]
    lines = [*head, "", *full]
    if sum(len(line) + 1 for line in lines) > OVERVIEW or len(full) < len(entries):
        lines = [*head, "", *_shallow(entries, OVERVIEW - sum(len(line) + 1 for line in head) - 40)]
    return _bounded(lines)


def heading_outline(document: Document, text: str) -> str:
    """The overview of a text in a context: up to 24 headings of depth 1–3, a blank line, the first paragraph.

    Headings keep their ``#`` marks and are indented two blanks per depth beyond one, the paragraph has at most 400
    characters (contract/retrieval.md §5.9). For code, the signatures of its classes and functions.
    """
    if document.kind == "code" and document.outline:
        return _bounded([f"{'  ' * entry.depth}{entry.signature}" for entry in document.outline[:400]])
    lines: list[str] = []
    for section in document.sections:
        level = len(section.signature) - len(section.signature.lstrip("#"))
        if document.kind != "markdown" and section.signature:
            level = section.depth + 1
        if section.signature and 1 <= level <= 3 and len(lines) < 24:
            mark = section.signature if document.kind == "markdown" else f"{'#' * level} {section.signature}"
            lines.append("  " * (level - 1) + mark)
    paragraph = next((section.lead for section in document.sections if section.lead), "")
    if document.lead.startswith(paragraph.rstrip("…")):
        paragraph = document.lead
    paragraph = shorten(paragraph or _first_words(_seen(document, text)), 400)
    return "\n".join([*lines, "", paragraph] if lines and paragraph else lines or [paragraph])


def directory_abstract(name: str, children: Sequence[ChildSummary], total: int, description: str = "") -> str:
    """One line of at most 256 characters: what a directory is for, or what it holds; never empty.

    ``total`` is the number of children there are, which may be more than were passed.
    """
    readme = _readme(children)
    what = description or (_without_name(one_line(readme.abstract), readme.name) if readme else "")
    title = name.rstrip("/").rsplit("/", 1)[-1] or name or "directory"
    line = f"{title}: {first_sentence(one_line(what), 150)}" if what else title
    if not total and not children:
        return shorten(line if what else f"{title}: empty directory", ABSTRACT)
    listed = [child for child in _weighted(children) if child is not readme]
    # Where nothing says what the directory is for, what its children are about says it.
    room = 0 if what else (ABSTRACT - 60 - len(line)) // min(max(len(listed), 1), 4)
    names = [_label(child, room) for child in listed]
    if not names:
        return shorten(line, ABSTRACT)
    count = max(total, len(children))
    opening = f"({count} {'entry' if count == 1 else 'entries'}: "
    return _listed(line, opening, names, count - (readme is not None))


def directory_overview(name: str, children: Sequence[ChildSummary], total: int, description: str = "") -> str:
    """At most 4,000 characters: the directory's description or README, then its children with their L0; never empty.

    Directories come first, then files. How many are not listed is said at the end.
    """
    readme = _readme(children)
    title = name.rstrip("/").rsplit("/", 1)[-1] or name or "directory"
    lines = [f"# {shorten(one_line(title), 200)}"]
    if description:
        lines += ["", shorten(one_line(description), 600)]
    if readme and readme.abstract:
        lines += ["", shorten(_without_name(one_line(readme.abstract), readme.name), 600)]
    count = max(total, len(children))
    if not count:
        return "\n".join([*lines, "", "Empty directory."] if not description else lines)
    lines.append("")
    room = OVERVIEW - sum(len(line) + 1 for line in lines) - 60
    ordered = _weighted(children)
    listed: list[str] = []
    budget = min(260, max(40, room // max(1, len(ordered)) - 6))
    for child in ordered:
        label = shorten(one_line(child.name), 120) + ("/" if child.is_dir else "")
        about = _without_name(one_line(child.abstract), child.name)
        line = f"- {label}" + (f" — {about}" if about and child is not readme else "")
        line = shorten(line, max(budget, len(label) + 2))
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        listed.append(line)
    lines += listed
    if len(listed) < count:
        lines.append(f"… and {count - len(listed)} more")
    return _bounded(lines)


def _readme(children: Sequence[ChildSummary]) -> ChildSummary | None:
    """The file that speaks for its directory: README before SKILL.md before README.something.md before an index."""
    for pattern in _SPEAKERS:
        for child in children:
            if not child.is_dir and pattern.match(child.name):
                return child
    return None


def _weighted(children: Sequence[ChildSummary]) -> list[ChildSummary]:
    """Directories first, then files, each in the order given."""
    return [child for child in children if child.is_dir] + [child for child in children if not child.is_dir]


def _label(child: ChildSummary, room: int) -> str:
    """A child's name, with what it is about if that fits into ``room`` characters in part."""
    name = shorten(one_line(child.name), 60) + ("/" if child.is_dir else "")
    about = _without_name(one_line(child.abstract), child.name).partition(" — ")[0]
    if about.startswith(f"{child.name} ("):
        # A directory that itself has nothing but a list to say.
        about = ""
    left = room - len(name) - 4
    return f"{name}: {shorten(first_sentence(about, 150), left).rstrip('.')}" if about and left >= 16 else name


def _listed(line: str, opening: str, names: list[str], count: int) -> str:
    """``line`` with as many names as there is room for, and how many more there are."""
    line = shorten(line.rstrip(), ABSTRACT - 90) + " " + opening
    shown = 0
    for label in names:
        piece = ("" if shown == 0 else ", ") + shorten(one_line(label), 120)
        if len(line) + len(piece) + 18 > ABSTRACT:
            break
        line += piece
        shown += 1
    rest = count - shown
    return shorten(line + (f", … {rest} more)" if rest > 0 and shown else ")"), ABSTRACT)


def _without_name(abstract: str, name: str) -> str:
    """An L0 without the child's name in front, which the list says already."""
    for start in (f"{name} — ", f"{name}: ", f"{name}. "):
        if abstract.startswith(start):
            return abstract[len(start) :]
    return "" if abstract == name else abstract


def _line(entry: Entry, said: str) -> str:
    lead = "" if not entry.lead or _same(entry.lead, said) else first_sentence(entry.lead, _LEAD_IN_OVERVIEW)
    return f"{'  ' * entry.depth}{entry.signature}" + (f" — {lead}" if lead else "")


def _shallow(entries: Sequence[Entry], room: int) -> list[str]:
    """The outline without leads, and as deep as there is room for; what is left out is counted."""
    for depth in (2, 1, 0):
        lines = [f"{'  ' * entry.depth}{entry.signature}" for entry in entries if entry.depth <= depth]
        if sum(len(line) + 1 for line in lines) <= room:
            break
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    rest = len(entries) - len(kept)
    return [*kept, f"… and {rest} more"] if rest else kept


def _bounded(lines: Sequence[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return text if len(text) <= OVERVIEW else text[: OVERVIEW - 1].rstrip() + "…"


def _excerpt(text: str) -> list[str]:
    """The beginning of a text without structure, blank lines left out."""
    return [shorten(line.rstrip(), 300) for line in split_lines(text[:3_000]) if line.strip()][:40]


def _first_words(text: str) -> str:
    return one_line(text[:2_000])


def _same(one: str, two: str) -> bool:
    return bool(one) and one.rstrip(".… ").lower() == two.rstrip(".… ").lower()


def _terms(document: Document, text: str, said: str) -> tuple[str, list[str]]:
    """What else to name, and what to call it: definitions of code, keys of data, headings or frequent words of prose."""
    if document.kind == "code":
        names = [entry.name for entry in document.outline if entry.depth == 0] or _frequent(_seen(document, text), said)
        return ("Defines" if document.outline else "Terms"), _distinct(names)
    if document.kind == "data":
        keys = [entry.name for entry in document.outline if entry.depth == 0] or [
            section.headings[0] for section in document.sections[:50] if section.headings
        ]
        return ("Keys" if document.language not in ("csv", "tsv") else "Columns"), _distinct(keys)
    if document.keywords:
        return "Terms", _distinct([*document.keywords, *_frequent(_seen(document, text), said)])
    headings = [section.headings[-1] for section in document.sections[:60] if section.headings]
    others = [heading for heading in headings if heading.lower() not in said.lower()]
    if len(others) >= 2:
        return "Sections", _distinct(others)
    return "Terms", _distinct(_frequent(_seen(document, text), said))


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(shorten(one_line(name), 40) for name in names if name.strip()))[:_TERMS]


def _seen(document: Document, text: str) -> str:
    """The beginning of what a reader sees of a text."""
    return reader(document)(text, document.visible, 0, min(len(text), 4 * _LOOK)) if document.visible else text


def _frequent(text: str, said: str) -> list[str]:
    """The words that a text uses most, in the order of their number, those already said left out."""
    known = {word.lower() for word in _SPLIT.split(said)}
    counts: Counter[str] = Counter()
    for match in _WORD.finditer(text[:_LOOK]):
        word = match[0].lower()
        if word not in _STOP and word not in known and word.isascii():
            counts[word] += 1
    ranked = sorted(((-count, word) for word, count in counts.items() if count > 1))
    return [word for _, word in ranked[:_TERMS]]
