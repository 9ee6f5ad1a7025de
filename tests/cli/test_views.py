"""How results look: plain in a pipe, coloured and harmless on a terminal."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import pytest

from openviking.cli.output import wire
from openviking.cli.screen import Screen
from openviking.cli.views.cells import moment, padded, rows, size, table, value_text, width
from openviking.cli.views.hits import draw_hits, highlighted
from openviking.cli.views.listing import abstract_lines, draw_cards, draw_tree
from openviking.cli.views.matches import SHOWN_CHARS, draw_glob, draw_grep
from openviking.cli.views.report import draw_report
from openviking.model.hit import Degradation, FindResult, Hit
from openviking.model.imports import Failed, ImportReport, Kept, Skipped
from openviking.model.listing import Listing
from openviking.model.matches import ContextLine, GlobResult, GrepMatch, GrepResult

if TYPE_CHECKING:
    from collections.abc import Callable

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.TextIOWrapper):
    """A stream in memory that says it is a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, errors="backslashreplace")

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode(stream.encoding)


def piped(draw: Callable[[Screen], None], encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    draw(Screen(stream))
    return written(stream)


def on_terminal(draw: Callable[[Screen], None], encoding: str = "utf-8") -> str:
    stream = Terminal(encoding)
    draw(Screen(stream))
    return written(stream)


def entry(uri: str, *, size: int = 0, directory: bool = False, abstract: str = "", path: str = "") -> dict[str, Any]:
    return {
        "uri": uri, "size": size, "isDir": directory, "modTime": "2026-01-31T09:30:15.000Z", "abstract": abstract,
        "rel_path": path,
    }  # fmt: skip


HIT = Hit(
    "viking://resources/docs/rollback.md", "resource", 2, 0.61249, "Rolling back.", ("team=ops",), (12, 19),
    "To roll back a release,\nrun the rollback twice.", explain=(("words:roll", 0.5), ("words:back", 0.1125)),
)  # fmt: skip


# --- cells ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (1536, "1.5 KB"), (1048576, "1.0 MB"),
        (1023 * 1024 + 1023, "1.0 MB"), (5 * 1024**3, "5.0 GB"), (3 * 1024**4, "3.0 TB"),
    ],
)  # fmt: skip
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_widths_count_wide_and_combining_characters() -> None:
    assert [width(text) for text in ("abc", "文档", "e\u0301", "")] == [3, 4, 1, 0]
    assert padded("文档", 6) == "文档  "
    assert moment("2026-01-31T09:30:15.000Z") == "2026-01-31 09:30Z"
    assert moment("soon") == "soon"


def test_values_on_one_line() -> None:
    assert [value_text(one) for one in (None, [], True, False, 0, 1.5, ["a", 2], {"a": 1, "b": None}, "x\ny")] == [
        "-", "-", "yes", "no", "0", "1.50", "a, 2", "a=1 b=-", "x y",
    ]  # fmt: skip


def test_rows_are_aligned_and_nested_keys_joined() -> None:
    assert piped(
        lambda screen: rows(screen, {"uri": "viking://a", "attrs": {"tags": ["k=v"], "memory": {"kind": "x"}}})
    ) == ("uri                viking://a\nattrs.tags         k=v\nattrs.memory.kind  x\n")
    assert piped(lambda screen: rows(screen, {})) == "(empty)\n"


def test_table_has_a_header_and_aligned_columns() -> None:
    assert piped(lambda screen: table(screen, ["name", "size"], [["文档.md", "1 B"], ["a", "12 B"]])) == (
        "name     size\n文档.md  1 B\na        12 B\n"
    )


# --- pipe and terminal ---------------------------------------------------------------------------------------------


def test_a_pipe_gets_neither_colours_nor_frames() -> None:
    hits = FindResult((HIT,), (Degradation("words", "nothing to search for"),))
    listing = [entry("viking://resources/a", directory=True, abstract="What is in it.")]
    for draw in (
        lambda screen: draw_hits(screen, "roll back", hits),
        lambda screen: draw_cards(screen, listing),
        lambda screen: screen.line(("bad", "bad"), ("good", "good")),
    ):
        text = piped(draw)
        assert "\x1b" not in text
        assert text.isascii()


def test_a_terminal_gets_colours_but_no_commands_of_a_file() -> None:
    text = on_terminal(lambda screen: screen.line(("\x1b]0;owned\x07\x9b31m\u202eabc", "uri"), "\r\x08"))
    assert "\x1b[36m" in text
    plain = ESCAPE.sub("", text)
    assert not set(plain) & set("\x1b\x07\x9b\u202e\r\x08")
    assert "]0;owned" in plain


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" not in on_terminal(lambda screen: screen.line(("x", "uri")))


def test_a_dumb_terminal_is_treated_as_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert on_terminal(lambda screen: screen.line(("x", "uri"))) == "x\n"


def test_text_like_markup_is_text() -> None:
    assert ESCAPE.sub("", on_terminal(lambda screen: screen.line("[bold]a[/bold] :smile: [link=x]"))) == (
        "[bold]a[/bold] :smile: [link=x]\n"
    )


def test_a_stream_without_unicode_is_written_to_all_the_same() -> None:
    found = FindResult(
        (Hit("viking://resources/文档.md", "resource", 2, 0.5, "", (), (1, 2), "naïve — 文档", explain=(("a", 0.5),)),)
    )
    for target in (piped, on_terminal):
        text = ESCAPE.sub("", target(lambda screen: draw_hits(screen, "x", found), "ascii"))
        assert "\\u6587\\u6863.md#L1-L2" in text


def test_long_addresses_stay_in_one_piece_and_prose_wraps() -> None:
    uri = "viking://resources/" + "long-name-" * 15

    def draw(screen: Screen) -> None:
        screen.line((uri, "uri"))
        screen.line("word " * 40, indent=4, wrap=True)

    first, *wrapped = ESCAPE.sub("", on_terminal(draw)).splitlines()
    assert first == uri
    assert len(wrapped) >= 3
    assert all(line.startswith("    word") and len(line) <= 80 for line in wrapped)


# --- listings ------------------------------------------------------------------------------------------------------


def test_ls_cards() -> None:
    listing = [
        entry("viking://resources/api", directory=True, abstract="# api\n\nThe API.\nMore.\nAnd more."),
        entry(
            "viking://resources/x", directory=True, abstract="# viking://resources/x [Directory abstract is not ready]"
        ),
        entry("viking://resources/a.md", size=2048),
    ]
    assert piped(lambda screen: draw_cards(screen, listing, 9)) == (
        " 9  dir          -  2026-01-31 09:30Z  viking://resources/api/\n"
        "    # api\n"
        "    The API.\n"
        "10  dir          -  2026-01-31 09:30Z  viking://resources/x/\n"
        "11  file    2.0 KB  2026-01-31 09:30Z  viking://resources/a.md\n"
    )
    assert piped(lambda screen: draw_cards(screen, [])) == "(empty)\n"


def test_tree_indents_names() -> None:
    listing = [
        entry("viking://r/api", directory=True, path="api"),
        entry("viking://r/api/a.md", size=5, path="api/a.md"),
        entry("viking://r/文.md", size=5, path="文.md"),
    ]
    assert piped(lambda screen: draw_tree(screen, "viking://r", listing)) == (
        "viking://r\n"
        "  api/           -  2026-01-31 09:30Z\n"
        "    a.md       5 B  2026-01-31 09:30Z\n"
        "  文.md        5 B  2026-01-31 09:30Z\n"
    )
    assert piped(lambda screen: draw_tree(screen, "viking://r", [])) == "viking://r\n  (empty)\n"


def test_a_placeholder_is_no_abstract() -> None:
    assert abstract_lines("# viking://a\n\n[Directory overview is not ready]") == []
    assert abstract_lines("") == []


# --- hits ----------------------------------------------------------------------------------------------------------


def test_find_cards_in_a_pipe() -> None:
    copy = Hit("viking://resources/b.md", "memory", 1, 0.25, "An\nabstract.", duplicate_of=HIT.uri)
    assert piped(lambda screen: draw_hits(screen, "roll back", FindResult((HIT, copy)))) == (
        '2 results for "roll back"\n'
        " 1. viking://resources/docs/rollback.md#L12-L19  0.612\n"
        "    team=ops\n"
        "    To roll back a release, run the rollback twice.\n"
        "    words:roll  +0.500\n"
        "    words:back  +0.113\n"
        " 2. viking://resources/b.md  0.250  overview  memory\n"
        "    same content as viking://resources/docs/rollback.md\n"
        "    An abstract.\n"
    )


def test_find_without_hits_says_why() -> None:
    nothing = FindResult((), (Degradation("words", "the query has no word"),))
    assert piped(lambda screen: draw_hits(screen, "?", nothing)) == "(empty)\nwords: the query has no word\n"


def test_find_marks_the_words_of_the_query_on_a_terminal() -> None:
    text = on_terminal(lambda screen: draw_hits(screen, "released rollbacks", FindResult((HIT,))))
    marked = re.findall(r"\x1b\[1;31m([^\x1b]*)\x1b", text)
    assert marked == ["release", "rollback"]
    assert "█" * 20 in text


def test_marking_keeps_the_text() -> None:
    text = "Über café-owners: naïve CAFÉ, user_name!"
    spans = highlighted(text, frozenset({"cafe", "user"}))
    assert "".join(one if isinstance(one, str) else one[0] for one in spans) == text
    assert [one[0] for one in spans if not isinstance(one, str)] == ["café-owners", "CAFÉ", "user_name"]


def test_read_content_shows_the_whole_text() -> None:
    hit = Hit("viking://resources/a.md", "resource", 2, 0.5, "", (), (1, 1), "one", content="one\n\n  two\n")
    text = piped(lambda screen: draw_hits(screen, "one", FindResult((hit,))))
    assert text.endswith("0.500\n    one\n    \n      two\n")


# --- matches -------------------------------------------------------------------------------------------------------


def match(
    line: int, before: list[int] | None = None, after: list[int] | None = None, uri: str = "viking://r/a"
) -> GrepMatch:
    def beside(numbers: list[int] | None) -> tuple[ContextLine, ...] | None:
        return None if numbers is None else tuple(ContextLine(number, f"line {number}") for number in numbers)

    return GrepMatch(uri, line, f"hit {line}", beside(before), beside(after))


def test_grep_lines() -> None:
    result = GrepResult(
        (GrepMatch("viking://r/a.md", 3, "NOTE: x\r", tags=("k=v",)), GrepMatch("viking://r/b.md", 1, "note")), 2, 2
    )
    assert piped(lambda screen: draw_grep(screen, result, "note")) == (
        "viking://r/a.md:3: NOTE: x  [k=v]\nviking://r/b.md:1: note\n"
    )
    assert piped(lambda screen: draw_grep(screen, GrepResult((), 0, 0), "x")) == "(empty)\n"


def test_grep_context_is_shown_once_and_gaps_are_marked() -> None:
    result = GrepResult(
        (
            match(2, [1], [3, 4]), match(4, [2, 3], [5, 6]), match(8, [6, 7], [9]), match(20, [18, 19], []),
            match(1, [], [2], uri="viking://r/b"),
        ), 2, 5,
    )  # fmt: skip
    lines = piped(lambda screen: draw_grep(screen, result, "hit")).splitlines()
    assert [line.removeprefix("viking://r/") for line in lines] == [
        "a-1- line 1", "a:2: hit 2", "a-3- line 3", "a:4: hit 4", "a-5- line 5", "a-6- line 6", "a-7- line 7",
        "a:8: hit 8", "a-9- line 9", "--", "a-18- line 18", "a-19- line 19", "a:20: hit 20", "--", "b:1: hit 1",
        "b-2- line 2",
    ]  # fmt: skip


def test_grep_marks_matches_on_a_terminal_and_shortens_long_lines() -> None:
    long = "x" * 100_000 + "needle" + "y" * 100_000
    result = GrepResult((GrepMatch("viking://r/a", 1, long), GrepMatch("viking://r/a", 2, "Needle needle")), 1, 2)
    text = on_terminal(lambda screen: draw_grep(screen, result, "needle", ignore_case=True))
    assert re.findall(r"\x1b\[1;31m([^\x1b]*)\x1b", text) == ["needle", "Needle", "needle"]
    assert len(ESCAPE.sub("", text).splitlines()[0]) < SHOWN_CHARS + 40
    assert long in piped(lambda screen: draw_grep(screen, result, "needle"))


def test_marking_a_catastrophic_pattern_ends() -> None:
    result = GrepResult((GrepMatch("viking://r/a", 1, "a" * 40 + "b"),), 1, 1)
    assert "viking://r/a" in ESCAPE.sub("", on_terminal(lambda screen: draw_grep(screen, result, "(a|aa)+$")))


def test_glob_lines_columns_and_simple() -> None:
    plain = GlobResult(("viking://r/a.md", "viking://r/d/"), 2)
    assert piped(lambda screen: draw_glob(screen, plain, [], simple=False)) == "viking://r/a.md\nviking://r/d/\n"
    objects = GlobResult(
        (
            {
                "uri": "viking://r/a.md",
                "isDir": False,
                "name": "a.md",
                "size": 2048,
                "mtime": 0,
                "mode": 0o644,
                "tags": ["k=v"],
            },
        ),
        1,
    )
    assert piped(
        lambda screen: draw_glob(screen, objects, ["name", "size", "mtime", "mode", "tags"], simple=False)
    ) == (
        "name  size    mtime              mode  tags  uri\n"
        "a.md  2.0 KB  1970-01-01 00:00Z  0644  k=v   viking://r/a.md\n"
    )
    assert piped(lambda screen: draw_glob(screen, objects, ["name", "size", "tags"], simple=True)) == "a.md,2048,k=v\n"
    nothing = GlobResult((), 0)
    assert piped(lambda screen: draw_glob(screen, nothing, [], simple=False)) == "(empty)\n"
    assert piped(lambda screen: draw_glob(screen, nothing, [], simple=True)) == ""


def test_a_pattern_that_only_the_search_understands_is_shown_without_marks() -> None:
    result = GrepResult((GrepMatch("viking://r/a", 1, "a{e<=x}"),), 1, 1)
    text = on_terminal(lambda screen: draw_grep(screen, result, "a{e<=x}"))
    assert ESCAPE.sub("", text) == "viking://r/a:1: a{e<=x}\n"


# --- reports and JSON ----------------------------------------------------------------------------------------------


def test_report_names_what_needs_a_look() -> None:
    report = ImportReport(
        "viking://resources/docs", created=3, updated=1, failed=(Failed("bad.zip", "not a zip"),),
        skipped=tuple(Skipped(f"{n}.tmp", "ignored") for n in range(12)), kept=(Kept("x", "viking://r/x", "edited"),),
        bytes=2048, seconds=1.234, warnings=("slow disk",),
    )  # fmt: skip
    text = piped(lambda screen: draw_report(screen, report))
    assert text.startswith(
        "viking://resources/docs\n  created 3  updated 1  unchanged 0  removed 0  skipped 12  failed 1  kept 1"
        "  2.0 KB in 1.23 s\n  failed: bad.zip (not a zip)\n"
    )
    assert "  skipped: 2 more; -v lists all\n" in text
    assert "  warning: slow disk\n" in text
    assert piped(lambda screen: draw_report(screen, report, all_files=True)).count("ignored") == 12


def test_wire_form_goes_all_the_way_down() -> None:
    listing = Listing([entry("viking://a")], total=1, has_more=False)
    assert wire(listing) == [entry("viking://a")]
    assert wire({"a": (HIT, None)}) == {"a": [HIT.to_dict(), None]}


def test_a_name_in_a_report_stays_on_its_line() -> None:
    report = ImportReport("viking://resources/x", failed=(Failed("a\nb\x1b[31m.txt", "it is odd"),))
    assert "failed: a\\nb\\x1b[31m.txt (it is odd)" in piped(lambda screen: draw_report(screen, report))
