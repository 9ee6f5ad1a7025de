"""What of a folder is left out: as git has it, and never anything that the server would take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.ingest import ignore as of_server
from openviking.model.imports import ImportOptions
from openviking_sdk.ignore import IGNORED_DIRECTORIES, IgnoreFile, SendRules, names

NAMES = st.sampled_from(["a", "b", "ab", "a.md", ".h", "build", "node_modules", ".git", "x.log", "src"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
GLOBS = st.one_of(
    PATHS,
    st.lists(st.sampled_from(["a", "b", "*", "**", "?", "/", "[ab]", "[!a]", ".md", ".log", "build", "\\"]), min_size=1, max_size=5)
    .map("".join),
)  # fmt: skip
LINES = st.lists(st.tuples(st.booleans(), GLOBS, st.booleans()), max_size=4).map(
    lambda lines: "\n".join(f"{'!' if back else ''}{glob}{'/' if directory else ''}" for back, glob, directory in lines)
)
LISTS = st.lists(st.tuples(GLOBS, st.booleans()).map(lambda pair: pair[0] + "/" * pair[1]), max_size=2)


def above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("logs/\n!logs/keep", "logs/keep", True),  # what is in an ignored directory can't be taken back
        ("*\n!*.md", "a.md", False),
        ("/top.txt", "a/top.txt", False),
        ("a/b", "x/a/b", False),
        ("**/cache", "a/b/cache/z", True),
        ("a/**", "a", False),
        ("[!a-c]x", "bx", False),
        ("# comment", "# comment", False),
        (r"\#odd", "#odd", True),
        ("trailing   ", "trailing", True),
        ("x\r", "x", True),
        ("[", "[", True),
    ],
)
def test_lines_are_read_as_git_reads_them(lines: str, path: str, expected: bool) -> None:
    file = IgnoreFile.of("", lines, None)
    assert (any(file.ignores(f"{directory}/") for directory in above(path)) or file.ignores(path)) is expected


@given(lines=LINES, path=PATHS, ignore_dirs=LISTS, include=LISTS, exclude=LISTS)
def test_what_the_server_takes_is_sent(
    lines: str, path: str, ignore_dirs: list[str], include: list[str], exclude: list[str]
) -> None:
    ours = SendRules(names(ignore_dirs), names(include), names(exclude))
    theirs = of_server.SkipRules(ImportOptions.of(ignore_dirs=ignore_dirs, include=include, exclude=exclude))
    file = IgnoreFile.of("", lines, None)
    chain = of_server.IgnoreChain("", of_server.IgnoreLines(lines), None)
    sent = all(ours.sends_directory(one, file) for one in above(path)) and ours.sends_file(path, file)
    taken = all(theirs.directory(one, chain) is None for one in above(path)) and theirs.file(path, chain) is None
    assert sent or not taken
    if not any(glob.endswith("/") for glob in include):
        assert sent == taken


def test_an_inner_file_goes_before_an_outer_one() -> None:
    outer = IgnoreFile.of("", "*.log\n/a/x.md", None)
    inner = IgnoreFile.of("a", "!keep.log\n/x.md", outer)
    assert [inner.ignores(path) for path in ("a/keep.log", "a/b/keep.log", "a/x.log", "a/b/x.md", "a/x.md")] == [
        False, False, True, False, True,
    ]  # fmt: skip


def test_directories_of_tools_are_those_of_the_server() -> None:
    assert IGNORED_DIRECTORIES == of_server.IGNORED_DIRECTORIES


def test_names_come_in_lists_and_in_text() -> None:
    assert names(None) == names("") == names([]) == ()
    assert names(" a, b ,,c") == names(["a", " b", "", "c "]) == ("a", "b", "c")
