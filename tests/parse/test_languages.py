"""The language of a file, by name, extension and first line."""

from __future__ import annotations

import pytest

from openviking.parse import parse
from openviking.parse.languages import language_of


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("a.PY", "", "python"),
        ("dir/Dockerfile", "", "dockerfile"),
        ("Dockerfile.prod", "", "dockerfile"),
        ("Makefile", "", "makefile"),
        ("CMakeLists.txt", "", "cmake"),
        ("run", "#!/usr/bin/env python3\n", "python"),
        ("run", "#!/bin/sh -e\n", "bash"),
        ("run", "#!/usr/bin/env -S node --x\n", "javascript"),
        ("run", "#!", ""),
        ("page", "<!DOCTYPE html>", "html"),
        ("a.h", "#include <vector>\nnamespace x {\n", "cpp"),
        ("a.h", "int f(void);\n", "c"),
        ("a.m", "@interface Foo\n@end\n", "objective-c"),
        ("a.txt", "#!/bin/sh\n", ""),
        ("unknown.zzz", "text", ""),
        ("", "", ""),
    ],
)
def test_language(name: str, text: str, language: str) -> None:
    assert language_of(name, text) == language


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.sql", "code"), ("a.hs", "code"), ("a.rst", "text"), ("a.log", "text"), ("a.xml", "data"), ("a.tsv", "data")],
)
def test_kind(name: str, kind: str) -> None:
    assert parse(name, "some text").kind == kind
