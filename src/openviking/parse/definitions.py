"""Finds the definitions in program text: classes, functions, methods, types, with names, signatures and documentation.

The syntax tree is walked with a cursor, never by recursion, and parsing is given up after seconds of CPU that
ordinary programs need a hundredth of; so time and depth stay bounded for any input.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openviking.parse.grammars import Grammar, grammar
from openviking.parse.prose import one_line
from openviking.text import shorten

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

LARGEST = 512_000
"""Bytes of program text that are parsed at most; larger files are generated or data, and are treated as text."""

_LARGEST_OF = {"bash": 150_000}  # its scanner can look ahead without end, where the clock is not looked at
_CHUNK = 1 << 16
_SECONDS = 3.0
_TRIALS = ((2_048, 0.06), (16_384, 0.2), (65_536, 0.5))
_CHECKED_STEPS = 16
_DEEPEST = 8
_WRAPPED = 2
_SMALL = 1_200
_TINY = 5
_NAME = 200
_SIGNATURE = 200
_DOC = 2_000
_NOT_CHARACTERS = bytes(range(0x80, 0xC0))
_NAMELESS = {
    "init_declaration": "init",
    "deinit_declaration": "deinit",
    "subscript_declaration": "subscript",
    "companion_object": "Companion",
    "secondary_constructor": "constructor",
    "operator_declaration": "operator",
    "indexer_declaration": "this",
    "singleton_class": "self",
    "given_definition": "given",
}
_NAME_FIELDS = ("name", "declarator", "left", "key", "property", "type")
_BODIES = frozenset(
    "block function_body class_body enum_class_body enum_body declaration_list compound_statement body_statement "
    "template_body field_declaration_list statement_block interface_body protocol_body enumerator_list "
    "enum_variant_list accessor_list enum_member_declaration_list constructor_body interface_type struct_type "
    "object_type enum_declaration_list annotation_type_body match_block".split()
)
_DOC_MARK = re.compile(r"^[ \t]*(?:/\*\*?|\*/|\*(?!/)|//[/!]?|#+!?|--+\[*|--)[ \t]?", re.MULTILINE)
_ATTRIBUTE_LINE = re.compile(r"^[ \t]*(?:#!?\[.*\]|@\w.*)$", re.MULTILINE)
_TAGS = re.compile(r"</?\w[^<>]{0,80}/?>")
_BLANK_GAP = re.compile(rb"\n[ \t\r]*\n")
_TRAILING_COMMENT = re.compile(r"\s(?:#|//) .*$", re.MULTILINE)
_END = re.compile(r"\s*;?\s+end$")
_QUOTES = re.compile(r"^[rRuUbB]{0,2}(?:\"\"\"|'''|\"|')|(?:\"\"\"|'''|\"|')$")


@dataclass(slots=True)
class Definition:
    """Something defined in a program, from its leading comment to the end of its last line, in character offsets.

    ``headings`` are the names that lead to it from the enclosing definition (a Go method has its receiver's type
    before its own name). ``doc`` is its documentation, undecorated; ``inner`` are the definitions inside of it.
    """

    start: int
    end: int
    name: str
    headings: tuple[str, ...]
    signature: str
    depth: int
    doc: str = ""
    inner: list[Definition] = field(default_factory=list)


def find_definitions(text: str, language: str) -> list[Definition]:
    """The outermost definitions of ``text`` in order; none for a text that is too large or that the parser gives up on.

    ``language`` is one of ``grammars.LANGUAGES``.
    """
    source = text.encode("utf-8", "surrogatepass")
    if len(source) > _LARGEST_OF.get(language, LARGEST):
        return []
    table = grammar(language)
    tree = _tree(source, table)
    if tree is None:
        return []
    found = _Walk(source, table).run(tree)
    if len(source) != len(text):
        _to_characters(source, found)
    return found


def _tree(source: bytes, table: Grammar) -> Tree | None:
    """The syntax tree; None where the grammar would take minutes.

    Over text that is not theirs some grammars are quadratic, in a last step that cannot be interrupted: 5 KB of
    ``a=>a=>a=>`` take the C grammar two seconds, 15 KB more than a minute. Pieces of the text show it while they are
    small, so larger and larger ones are tried before the whole, all of it within three seconds of CPU.
    """
    until = time.thread_time() + _SECONDS
    for size, seconds in _TRIALS:
        if len(source) <= size:
            break
        if any(
            _parsed(piece, table, min(until, time.thread_time() + seconds)) is None for piece in _pieces(source, size)
        ):
            return None
    return _parsed(source, table, until)


def _pieces(source: bytes, size: int) -> Iterator[bytes]:
    at = 0
    while at < len(source):
        line = source.rfind(b"\n", at + 1, at + size)
        end = line + 1 if line > at + size // 2 else at + size
        yield source[at:end]
        at = end


def _parsed(source: bytes, table: Grammar, until: float) -> Tree | None:
    """The syntax tree, unless it takes until this thread's CPU clock shows more than ``until``."""
    steps = 0
    stopped = False

    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + _CHUNK]

    def stop(_offset: int, _error: bool) -> bool:
        nonlocal steps, stopped
        steps += 1
        stopped = stopped or (steps % _CHECKED_STEPS == 0 and time.thread_time() > until)
        return stopped

    try:
        tree = table.parser().parse(read, progress_callback=stop)
    except ValueError:  # what a stopped parser raises
        return None
    return None if stopped or time.thread_time() > until else tree


class _Walk:
    def __init__(self, source: bytes, table: Grammar) -> None:
        self._source = source
        self._table = table
        self._roots: list[Definition] = []
        self._open: list[Definition] = []
        self._comment = (0, 0)
        self._wrapper = (0, 0, 0)
        self._last = 0

    def run(self, tree: Tree) -> list[Definition]:
        cursor = tree.walk()
        depth = 0
        while True:
            node = cursor.node
            if node is not None and self._enter(node, depth) and cursor.goto_first_child():
                depth += 1
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return self._roots
                depth -= 1

    def _enter(self, node: Node, depth: int) -> bool:
        """Takes note of a node; whether its children matter."""
        start, end = node.start_byte, node.end_byte
        table, kind = self._table, node.type
        if kind in table.comments:
            if not (start == 0 and self._source.startswith(b"#!")):
                self._note_comment(start, end)
            return False
        if end - start < _TINY or not node.is_named:
            return False
        while self._open and start >= self._open[-1].end:
            self._open.pop()
        if kind in table.wrappers and (start >= self._wrapper[1] or depth > self._wrapper[2] + _WRAPPED):
            self._wrapper = (start, end, depth)
        if kind in table.containers or kind in table.functions:
            definition = self._definition(node, node, depth)
        elif kind in table.assignments and (value := _value(node, table)) is not None:
            definition = self._definition(node, value, depth)
        else:
            return True
        if definition is None:
            return True
        (self._open[-1].inner if self._open else self._roots).append(definition)
        self._open.append(definition)
        return kind in table.containers or end - start > _SMALL

    def _note_comment(self, start: int, end: int) -> None:
        gap = self._source[self._comment[1] : start]
        if self._comment[1] and not gap.strip() and not self._apart(self._comment[1], start):
            self._comment = (self._comment[0], end)
        else:
            self._comment = (start, end)

    def _apart(self, end: int, start: int) -> bool:
        """Whether a blank line lies between what ends at ``end`` and what starts at ``start``."""
        first = end - 1 if end and self._source[end - 1 : end] == b"\n" else end
        return bool(_BLANK_GAP.search(self._source, first, start))

    def _leads(self, comment: int, end: int, start: int) -> bool:
        """Whether a comment has its own line and stands right before what starts at ``start``."""
        between, before = self._source[end:start], self._source[self._line_start(comment) : comment]
        return not between.strip() and not before.strip() and not self._apart(end, start)

    def _definition(self, node: Node, value: Node, depth: int) -> Definition | None:
        if len(self._open) >= _DEEPEST:
            return None
        body = _body(value)
        if body is None and node.type in self._table.bodied:
            return None
        name = self._name(node)
        if not name:
            return None
        start, end = node.start_byte, node.end_byte
        if self._wrapper[0] <= start < self._wrapper[1] and depth <= self._wrapper[2] + _WRAPPED:
            start = self._wrapper[0]
            self._wrapper = (0, 0, 0)
        head = start
        comment, comment_end = self._comment
        doc = ""
        if self._last <= comment < comment_end <= start and self._leads(comment, comment_end, start):
            start = comment
            doc = self._decode(comment, comment_end)
        doc = self._docstring(body) or _undecorated(doc)
        line = self._line_start(start)
        if not self._source[line:start].strip() and line >= self._floor():
            start = line
        end = self._line_end(end)
        self._last = end if body is None else node.start_byte
        return Definition(
            start, end, name, (*self._receiver(node), name), self._signature(head, node, body), len(self._open), doc
        )

    def _floor(self) -> int:
        return self._open[-1].start if self._open else 0

    def _line_start(self, at: int) -> int:
        return self._source.rfind(b"\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        """The end of the line that holds ``at``, if nothing but punctuation follows there, else ``at``."""
        limit = self._source.find(b"\n", at, at + 200)
        if limit < 0:
            return at
        return limit + 1 if not self._source[at:limit].strip(b" \t\r;,)") else at

    def _decode(self, start: int, end: int) -> str:
        return self._source[start : min(end, start + 4 * _DOC)].decode("utf-8", "replace")[:_DOC]

    def _name(self, node: Node) -> str:
        """What a definition is called, by the field that holds its name; "" if it has none."""
        if node.type in _NAMELESS:
            named = node.child_by_field_name("name")
            return self._text(named) if named is not None else _NAMELESS[node.type]
        at: Node | None = node
        for _ in range(20):
            if at is None:
                return ""
            inner = next((child for name in _NAME_FIELDS if (child := at.child_by_field_name(name))), None)
            if inner is None or (at is not node and at.type.endswith(_FINAL)):
                break
            at = inner
        if at is None or at is node:
            first = next((node.named_child(i) for i in range(min(node.named_child_count, 4))), None)
            return self._text(first) if first is not None and "identifier" in first.type else ""
        return self._text(at)

    def _text(self, node: Node) -> str:
        return shorten(one_line(self._decode(node.start_byte, min(node.end_byte, node.start_byte + 4 * _NAME))), _NAME)

    def _receiver(self, node: Node) -> tuple[str, ...]:
        receiver = node.child_by_field_name("receiver")
        if receiver is None or node.type != "method_declaration":
            return ()
        words = re.findall(r"\w+", self._decode(receiver.start_byte, receiver.end_byte).split("[")[0])
        return (words[-1],) if words else ()

    def _signature(self, head: int, node: Node, body: Node | None) -> str:
        """The definition up to its body, without decorators, in one line."""
        start = node.start_byte
        prefix = self._decode(head, start) if start - head < _SIGNATURE else ""
        if "@" in prefix or "\n" in prefix.strip() or "#[" in prefix:
            prefix = prefix.rsplit("\n", 1)[-1] if "\n" in prefix else ""
        prefix = prefix.split("(", 1)[0]
        stop = body.start_byte if body is not None and body.start_byte > start else node.end_byte
        line = self._decode(start, min(stop, start + 1_000))
        line = _ATTRIBUTE_LINE.sub("", line) if line.lstrip().startswith(("@", "#[")) else line
        line = _TRAILING_COMMENT.sub("", line)
        if body is None and (node.type == "macro_definition" or "\n" in line):
            line = line.split("{", 1)[0]
        line = re.sub(r"^(?:@\w+(?:\([^()]*\))?\s+)+|^\[[^\]\n]*\]\s*", "", (prefix + line).strip())
        line = _END.sub("", line)
        return shorten(one_line(line).rstrip(" {:=;").removesuffix("=>").rstrip(" ="), _SIGNATURE)

    def _docstring(self, body: Node | None) -> str:
        """A Python docstring: the string that is a body's first statement."""
        if body is None or body.type != "block" or not body.named_child_count:
            return ""
        first = body.named_child(0)
        if first.type not in ("expression_statement", "string"):
            return ""
        string = first if first.type == "string" or not first.named_child_count else first.named_child(0)
        if string.type != "string":
            return ""
        return _QUOTES.sub("", self._decode(string.start_byte, string.end_byte).strip()).strip()


_FINAL = ("identifier", "_name", "index_expression", "word", "constant", "user_type", "member_expression", "string")


def _value(node: Node, table: Grammar) -> Node | None:
    """The function or class that an assignment names, if it does."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None and node.named_child_count == 2:
        value = node.named_child(1)
        if value.type == "expression_list" and value.named_child_count == 1:
            value = value.named_child(0)
    return value if value is not None and value.type in table.values else None


def _body(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    for index in range(min(node.named_child_count, 24)):
        child = node.named_child(index)
        if child.type in _BODIES:
            return child
    return None


def _undecorated(comment: str) -> str:
    """The words of a comment without its marks, attributes and tags."""
    if not comment:
        return ""
    return _TAGS.sub("", _DOC_MARK.sub("", _ATTRIBUTE_LINE.sub("", comment))).removesuffix("*/").strip()


def _to_characters(source: bytes, definitions: list[Definition]) -> None:
    """Turns the byte offsets of all definitions into character offsets, in one pass."""
    every: list[Definition] = []
    stack = list(definitions)
    while stack:
        item = stack.pop()
        every.append(item)
        stack.extend(item.inner)
    places = sorted({offset for item in every for offset in (item.start, item.end)})
    characters: dict[int, int] = {}
    byte = character = 0
    for place in places:
        character += len(source[byte:place].translate(None, _NOT_CHARACTERS))
        byte = place
        characters[place] = character
    for item in every:
        item.start, item.end = characters[item.start], characters[item.end]
