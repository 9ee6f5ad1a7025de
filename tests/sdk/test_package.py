"""The SDK as a package: it stands alone, its methods are those of the table, and its papers agree."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import openviking_sdk

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "sdk"
SOURCES = sorted((SDK / "src").rglob("*.py"))
PROJECT = tomllib.loads((SDK / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_it_imports_nothing_but_its_dependency() -> None:
    imported: set[str] = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level
                imported.add((node.module or "").partition(".")[0])
    foreign = {name for name in imported if name not in sys.stdlib_module_names}
    assert foreign == {"openviking_sdk", "httpx2"}
    assert [one.partition(">")[0] for one in PROJECT["dependencies"]] == ["httpx2"]


def test_it_loads_without_the_server(tmp_path: Path) -> None:
    """In a process that can't see the server's package."""
    program = "import sys, openviking_sdk; print([name for name in sys.modules if name.split('.')[0] == 'openviking'])"
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(SDK / "src")},
    )  # fmt: skip
    assert result.stdout.strip() == "[]"


@pytest.mark.cpu_budget(20)
def test_the_methods_are_those_of_the_table() -> None:
    command = [sys.executable, "scripts/generate_sdk.py", "--check"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_versions_agree() -> None:
    main = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert openviking_sdk.__version__ == PROJECT["version"]
    assert (PROJECT["license"], PROJECT["requires-python"]) == (main["license"], main["requires-python"])
    assert PROJECT["name"] == f"{main['name']}-sdk"


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("LICENSE", "LICENSE"),
        # Both sides must read a pattern alike, and neither may need the other.
        ("src/openviking_sdk/globs.py", "src/openviking/ingest/globs.py"),
    ],
)
def test_copies_are_copies(copy: str, original: str) -> None:
    assert (SDK / copy).read_bytes() == (ROOT / original).read_bytes()


def test_every_module_says_its_charge() -> None:
    assert all(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES)


def test_it_is_typed() -> None:
    assert (SDK / "src/openviking_sdk/py.typed").exists()
