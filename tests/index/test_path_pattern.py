"""Glob to the letter of the contract (contract/retrieval.md §6.2)."""

from __future__ import annotations

import fnmatch
import json
import re
import time
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from openviking.errors import InvalidArgumentError
from openviking.index.path_pattern import PathPattern, is_hidden_name

PATHS = [
    "a.md",
    "b.md",
    "A.md",
    "x.py",
    "xy.py",
    "d",
    "d/a.md",
    "d/e",
    "d/e/a.md",
    "d/e/f/a.md",
    ".git",
    ".git/config",
    "d/.abstract.md",
    "[x].md",
]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.md", ["a.md", "b.md", "A.md", "[x].md"]),
        ("**/*.md", ["a.md", "b.md", "A.md", "d/a.md", "d/e/a.md", "d/e/f/a.md", "d/.abstract.md", "[x].md"]),
        ("d/*", ["d/a.md", "d/e", "d/.abstract.md"]),
        ("d/**", ["d/a.md", "d/e", "d/e/a.md", "d/e/f/a.md", "d/.abstract.md"]),
        ("d/**/a.md", ["d/a.md", "d/e/a.md", "d/e/f/a.md"]),
        ("**/e/**/a.md", ["d/e/a.md", "d/e/f/a.md"]),
        ("**/**/e", ["d/e"]),
        ("**", PATHS),
        ("*", ["a.md", "b.md", "A.md", "x.py", "xy.py", "d", ".git", "[x].md"]),
        ("*/*/a.md", ["d/e/a.md"]),
        ("?.py", ["x.py"]),
        ("d?e", []),
        ("d*a.md", []),
        ("d[/]e", None),
        ("d[!x]e", []),
        ("d[+-9]e", []),
        ("[ab].md", ["a.md", "b.md"]),
        ("[a-b].md", ["a.md", "b.md"]),
        ("[!a].md", ["b.md", "A.md"]),
        ("[^a].md", ["b.md", "A.md"]),
        ("[[]x].md", ["[x].md"]),
        (r"\[x\].md", ["[x].md"]),
        ("[]x[]*", ["x.py", "xy.py", "[x].md"]),
        ("[x].md", []),
        ("a.md", ["a.md"]),
        ("A.MD", []),
        ("d**/a.md", ["d/a.md"]),
        ("**a.md", ["a.md"]),
        (".*", [".git"]),
        (".git/*", [".git/config"]),
        ("./b.md", []),
        ("d/./a.md", []),
        ("../b.md", []),
        ("/", []),
        ("/a.md", []),
        ("a.md/", []),
        ("d//a.md", []),
        ("{a,b}.md", []),
    ],
)
def test_a_pattern_matches_whole_paths(pattern: str, found: list[str] | None) -> None:
    if found is None:
        with pytest.raises(InvalidArgumentError):
            PathPattern(pattern)
        return
    compiled = PathPattern(pattern)
    assert [path for path in PATHS if compiled.matches(path)] == found
    assert not compiled.matches("")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "blank"),
        ("  \t", "blank"),
        (None, "must be a string"),
        ("[", "no ']'"),
        ("a[", "no ']'"),
        ("[]", "no ']'"),
        ("[!]", "no ']'"),
        ("[a/b]", "no ']'"),
        ("[z-a]", "runs backwards"),
        ("a\\", "nothing behind it"),
        ("[\ud800", "no ']'"),
        ("a" * 4097, "at most 4096"),
    ],
)
def test_a_pattern_that_does_not_compile_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(said)) as caught:
        PathPattern(pattern)
    assert caught.value.code == "INVALID_ARGUMENT"
    json.dumps(caught.value.to_dict(), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("pattern", "prefix", "depth", "nothing"),
    [
        ("*.md", "", 1, False),
        ("a.md", "", 1, False),
        ("docs/api/*.md", "docs/api", 3, False),
        ("docs/a.md", "docs", 2, False),
        ("docs/**/a.md", "docs", None, False),
        ("docs/**", "docs", None, False),
        ("**/a.md", "", None, False),
        ("do?s/api/x", "", 3, False),
        (r"\[id\]/x/*", "[id]/x", 3, False),
        ("./b.md", ".", 2, True),
        ("/", "", 2, True),
        ("a/..", "a", 2, True),
        ("a/", "a", 2, True),
    ],
)
def test_what_narrows_the_walk(pattern: str, prefix: str, depth: int | None, nothing: bool) -> None:
    compiled = PathPattern(pattern)
    assert (compiled.literal_prefix, compiled.max_depth, compiled.matches_nothing) == (prefix, depth, nothing)


@pytest.mark.parametrize(("name", "hidden"), [(".abstract.md", True), (".git", True), ("a.md", False), ("", False)])
def test_hidden_names(name: str, hidden: bool) -> None:
    assert is_hidden_name(name) is hidden


def matches_by_definition(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(path)
        return any(matches_by_definition(pattern[1:], path[skip:]) for skip in range(len(path) + 1))
    if not path or not pattern[0]:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fnmatch.fnmatchcase(path[0], pattern[0]) and matches_by_definition(pattern[1:], path[1:])


NAMES = st.text("ab.", min_size=1, max_size=5).filter(lambda name: name not in {".", ".."})
SEGMENTS = st.text("ab.*?", min_size=0, max_size=6).filter(lambda name: name not in {".", "..", "**"})
CLASSED = st.builds(
    "{}[{}]{}".format, SEGMENTS, st.sampled_from(["a", "!a", "a-b", "!a-b", "]", "!]", "a-", "-a"]), SEGMENTS
)


@given(st.lists(SEGMENTS | CLASSED | st.just("**"), min_size=1, max_size=5), st.lists(NAMES, min_size=1, max_size=5))
@settings(max_examples=500)
@example(["**", "*a", "b*", "**", "a"], ["a", "ba", "bb", "a", "b", "a"])
@example(["*a*ab*b"], ["aaabb"])
def test_matching_is_its_definition(pattern: list[str], path: list[str]) -> None:
    text = "/".join(pattern)
    if not text.strip():
        return
    compiled = PathPattern(text)
    matched = compiled.matches("/".join(path))
    assert matched == matches_by_definition(pattern, path)
    if matched:
        assert "/".join(path).startswith(compiled.literal_prefix)
        assert compiled.max_depth in {None, len(path)}
        assert not compiled.matches_nothing


@given(st.text(st.characters(codec=None), max_size=30) | st.text("[]!^-*?/\\ab.{}", max_size=12))
def test_no_pattern_fails_but_with_a_reason(pattern: str) -> None:
    try:
        compiled = PathPattern(pattern)
    except InvalidArgumentError as error:
        json.dumps(error.to_dict(), ensure_ascii=False).encode()
        return
    for path in PATHS:
        compiled.matches(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 100 + "*b", "a" * 255),
        ("*" * 2000 + "b", "a" * 255),
        ("?*" * 120 + "b", "a" * 255),
        ("*[ab]" * 80 + "c", "ab" * 120),
        ("**/" * 1300 + "b", "a/" * 1000 + "a"),
        ("**/a/" * 100 + "b", "a/" * 1000 + "a"),
        ("**/*a*/" * 60 + "b", "aaaa/" * 500 + "a"),
    ],
)
def test_many_wildcards_do_not_blow_up(pattern: str, path: str) -> None:
    began = time.thread_time()
    compiled = PathPattern(pattern)
    for _ in range(10):
        assert not compiled.matches(path)
    assert time.thread_time() - began < 1
