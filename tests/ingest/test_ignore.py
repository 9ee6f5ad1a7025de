from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from openviking.ingest.globs import glob_regex
from openviking.ingest.ignore import IgnoreChain, IgnoreLines, SkipRules
from openviking.model.imports import ImportOptions, name_list


def ignored(lines: str, path: str) -> bool:
    """As git does it: a path is ignored if it or a directory above is."""
    chain = IgnoreChain("", IgnoreLines(lines), None)
    parts = path.split("/")
    above = ("/".join(parts[:count]) + "/" for count in range(1, len(parts)))
    return any(chain.ignores(directory) for directory in above) or chain.ignores(path)


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("*.log", "a/b/x.log", True),
        ("*.log\n!keep.log", "a/keep.log", False),
        ("!keep.log\n*.log", "keep.log", True),
        ("/top.txt", "top.txt", True),
        ("/top.txt", "a/top.txt", False),
        ("a/b", "x/a/b", False),
        ("logs/", "logs", False),
        ("logs/", "x/logs/y", True),
        ("**/cache", "a/b/cache/z", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**", "a", False),
        ("a/**/", "a/b", False),
        ("a/**/", "a/b/c", True),
        ("a/**", "a/b/c", True),
        ("*", "anything/at/all", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[[:digit:]]x", "7x", True),
        ("[]]x", "]x", True),
        ("a[x", "a[x", True),
        (r"\!odd", "!odd", True),
        (r"\#odd", "#odd", True),
        ("# comment", "# comment", False),
        ("trailing   ", "trailing", True),
        ("trailing\\ ", "trailing ", True),
        ("dir/\n!dir/keep", "dir/keep", True),
        ("x\r", "x", True),
        ("退款*", "退款规则.md", True),
        ("**", "a/b", True),
        ("a**b", "axxb", True),
        ("a/*/c", "a/b/c", True),
        ("a/*/c", "a/b/b/c", False),
        ("broken\\", "broken\\", False),
        ("[z-a]", "b", False),
    ],
)
def test_gitignore_lines(lines: str, path: str, expected: bool) -> None:
    assert ignored(lines, path) is expected


_PIECE = st.sampled_from(["a", "b", "ab", "*", "?", "a*", "*b", "a*b*", "[ab]", "[!a]b", "**"])
_GLOB = st.builds(
    lambda start, pieces, end: start + "/".join(pieces) + end,
    st.sampled_from(["", "/", "!", "!/"]),
    st.lists(_PIECE, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
).filter(lambda glob: not glob.endswith("**/"))  # pathspec takes "a/**/" for "a/**", git does not
_PATH = st.lists(st.sampled_from(["a", "b", "ab", "aab", "abb", "c"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(_GLOB, min_size=1, max_size=1), _PATH)
def test_single_lines_agree_with_pathspec(globs: list[str], path: str) -> None:
    assert ignored("\n".join(globs), path) is GitIgnoreSpec.from_lines(globs).match_file(path)


def test_inner_files_are_asked_first() -> None:
    outer = IgnoreChain("", IgnoreLines("*.txt\n*.log"), None)
    inner = IgnoreChain("docs", IgnoreLines("!*.txt\n/only-here"), outer)
    assert not inner.ignores("docs/a.txt")
    assert inner.ignores("docs/a.log")
    assert inner.ignores("docs/only-here")
    assert not inner.ignores("docs/sub/only-here")


@pytest.mark.parametrize(
    "glob", ["*a" * 60 + "b", "a*" * 60 + "b", "**/a/" * 60 + "b", "*[ab]*" * 40 + "c", "?*" * 50 + "/b"]
)
@pytest.mark.parametrize("path", ["a" * 255, "/".join(["a"] * 1000), "/".join(["a" * 200] * 10)])
def test_no_glob_takes_long(glob: str, path: str) -> None:
    regex = glob_regex(glob)
    assert regex is not None
    pattern = re.compile(regex, re.DOTALL)
    start = time.process_time()
    assert pattern.match(path) is None
    assert time.process_time() - start < 0.2


def test_rules_of_a_scan() -> None:
    rules = SkipRules(ImportOptions.of(include="*.md, src/*.py", exclude=["draft*", "old/"], ignore_dirs="tmp,a/b/"))
    assert rules.file("x/a.md", None) is None
    assert rules.file("src/a.py", None) is None
    for path in ("x/a.py", "a.txt", "draft.md", "x/draft-2.md", "old/a.md", ".hidden.md"):
        assert rules.file(path, None) is not None, path
    assert rules.directory("a", None) is None
    assert rules.directory("x/a/b", None) is None
    for path in ("tmp", "x/tmp", "a/b", "old", ".git", "x/node_modules", ".cache"):
        assert rules.directory(path, None) is not None, path


def test_name_lists() -> None:
    assert name_list(" a, b ,,c ") == ("a", "b", "c") == name_list(["a", " b", "c", ""])
    assert name_list(None) == () == name_list("")
    options = ImportOptions.of(strict=True, include="*.md", exclude="x/", ignore_dirs=["y"])
    assert ImportOptions.from_dict(options.to_dict()) == options
