"""The house: arrows between rooms, sizes and names of files, what the tests themselves may do, and what docs promise."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAX_LINES = 450
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "processor", "misc"}


def tracked_files() -> list[Path]:
    """Files that are or would be committed; without git, everything outside of hidden and generated directories."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
        return sorted(ROOT / name for name in names if (ROOT / name).is_file())
    generated = {"__pycache__", "build", "dist"}
    return sorted(
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(p in generated or p.startswith(".") for p in path.relative_to(ROOT).parts)
    )


FILES = tracked_files()
SOURCES = [path for path in FILES if path.suffix == ".py" and path.is_relative_to(ROOT / "src")]
PYTHON = [path for path in FILES if path.suffix == ".py" and not path.is_relative_to(ROOT / "examples")]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def distribution(requirement: str) -> str:
    """The normalised name of a distribution in a requirement such as ``PyStemmer>=3,<4``."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


# --- arrows --------------------------------------------------------------------------------------------------------


@pytest.mark.cpu_budget(20)
def test_arrows_point_down() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "import sys; from importlinter.cli import lint_imports_command as run; sys.exit(run())"],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr


def test_leaf_modules_import_no_room() -> None:
    leaves = ["errors", "uri", "names", "text", "clock"]
    for leaf in leaves:
        tree = ast.parse((ROOT / "src/openviking" / f"{leaf}.py").read_text(encoding="utf-8"))
        own = {
            node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("openviking")
        }
        assert own <= ({"openviking.errors"} if leaf != "errors" else set()), f"{leaf} imports {own}"


@pytest.mark.parametrize("module", ["openviking", "openviking.cli.main"])
def test_imports_are_lazy(module: str) -> None:
    """Opening a door loads neither grammars nor the analyser: that is for the first call that needs them."""
    program = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    heavy = {"tree_sitter", "Stemmer", "regex", "charset_normalizer", "sqlite3", "numpy", "pathspec"}
    assert heavy.isdisjoint(result.stdout.split()), sorted(heavy & set(result.stdout.split()))


# --- files ---------------------------------------------------------------------------------------------------------


def test_files_are_short() -> None:
    long = {name(path): n for path in PYTHON if (n := len(path.read_bytes().splitlines())) > MAX_LINES}
    assert not long, f"over {MAX_LINES} lines: split by concept: {long}"


def test_names_say_what_is_inside() -> None:
    bad = [name(path) for path in SOURCES if FORBIDDEN_NAMES & set(path.relative_to(ROOT).with_suffix("").parts)]
    assert not bad


def test_every_module_says_its_charge() -> None:
    silent = [
        name(path)
        for path in SOURCES
        if path.read_text(encoding="utf-8").strip()
        and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent


def test_only_the_uri_module_spells_the_scheme() -> None:
    """Code that builds or takes apart addresses by hand would be a second place with rules about them."""
    prefix = "viking:" + "//"
    for path in SOURCES:
        if path.name == "uri.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
            if called in {"startswith", "removeprefix", "partition", "split", "replace"}:
                assert isinstance(node, ast.Call)
                texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
                assert not any(text.startswith("viking:") for text in texts), f"{name(path)}:{node.lineno} {prefix}"


def test_nothing_is_left_unfinished() -> None:
    words = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "raise NotImplemented" + "Error"]))
    found = [
        f"{name(path)}:{number}"
        for path in PYTHON
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if words.search(line)
    ]
    assert not found


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    """No absolute directory of somebody's machine and no package registry's host in anything that is committed."""
    places = ["/wo" + "rk/", "/ro" + "ot/", "/tmp/ve" + "nv", "bash_" + "jobs", "py" + "pi.org", "python" + "hosted"]
    wanted = re.compile("|".join(map(re.escape, places)))
    found = [
        f"{name(path)}: {match[0]}"
        for path in FILES
        if (match := wanted.search(path.read_bytes().decode("utf-8", "replace")))
    ]
    assert not found


# --- the tests themselves ------------------------------------------------------------------------------------------


def test_tests_neither_sleep_nor_pretend() -> None:
    """Real components only, and waiting for a thing instead of for a while."""
    found = []
    for path in PYTHON:
        if not path.is_relative_to(ROOT / "tests"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep":
                found.append(f"{name(path)}:{node.lineno} sleeps")
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                if any(module.startswith(("unittest", "mock", "pytest_mock")) for module in modules):
                    found.append(f"{name(path)}:{node.lineno} imports {modules}")
    assert not found


# --- the project's papers ------------------------------------------------------------------------------------------


OUR_SDK = "openviking-py-sdk"


def test_dependencies_are_explained() -> None:
    """docs/dependencies.md has one line for each dependency of pyproject.toml, in its two groups, and no other."""
    text = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    listed = [distribution(found) for found in re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE)]
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    assert sorted(listed) == sorted(distribution(one) for one in wanted)


def test_dependencies_are_what_the_code_imports() -> None:
    """Nothing is installed for nothing, and nothing is there only because another package brought it along."""
    providers = {module: set(map(distribution, dists)) for module, dists in metadata.packages_distributions().items()}
    imported: set[str] = set()
    text = ""
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        text += source
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add((node.module or "").partition(".")[0])
    imported |= {f"tree_sitter_{language}" for language in re.findall(r'"tree_sitter_(\w+)"', text)}
    foreign = {module for module in imported - {"openviking"} if module not in sys.stdlib_module_names}
    providers["openviking_sdk"] = {OUR_SDK}  # of this repository, installed or not
    used = set().union(*(providers[module] for module in foreign))
    assert used == {distribution(one) for one in PROJECT["project"]["dependencies"]}


def test_lock_pins_every_dependency() -> None:
    lines = (ROOT / "requirements/lock.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pinned = {distribution(one) for one in pins} | {OUR_SDK}
    for requirement in [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]:
        assert distribution(requirement) in pinned, requirement
    for tool in PROJECT["dependency-groups"]["dev"]:
        dist, _, version = tool.partition("==")
        assert pins[dist] == version, f"{tool} in pyproject.toml, {pins[dist]} in the lock"


def test_installed_packages_are_those_of_the_lock() -> None:
    lines = (ROOT / "requirements/lock.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    for dist, version in pins.items():
        try:
            installed = metadata.version(dist)
        except metadata.PackageNotFoundError:
            continue  # another environment may have fewer tools; scripts/setup installs them all
        assert installed == version, f"{dist} {installed} is installed, the lock has {version}"


def test_readme_commands_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"\bscripts/[a-z]+\b(?!\.)", text))
    assert {"scripts/demo", "scripts/test"} <= commands
    for command in [*commands, ".ci/run"]:
        assert os.access(ROOT / command, os.X_OK), f"{command} is missing or not executable"


def test_shell_scripts_parse() -> None:
    scripts = [path for path in FILES if path.read_bytes().startswith(b"#!/usr/bin/env bash\n")]
    assert len(scripts) >= 5
    for script in scripts:
        subprocess.run(["bash", "-n", str(script)], check=True)


def test_links_in_papers_lead_somewhere() -> None:
    papers = [path for path in FILES if path.suffix == ".md" and not path.is_relative_to(ROOT / "examples")]
    for paper in papers:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", paper.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target):
                assert (paper.parent / target).exists(), f"{name(paper)} links to {target}"


def test_architecture_names_tests_that_exist() -> None:
    """Every invariant is guarded by a test, and the table that says so is true."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| .* \| (.*) \|$", text, flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 11))
    assert all("`tests/" in guards or number == "8" for number, guards in rows), "a promise without a test"
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    for path, test in named:
        assert (ROOT / path).is_file(), f"ARCHITECTURE.md names {path}"
        assert not test or re.search(rf"\b{test}\b", (ROOT / path).read_text(encoding="utf-8")), f"no {test} in {path}"


def test_changelog_has_the_version() -> None:
    version = PROJECT["project"]["version"]
    assert re.search(
        rf"^## \[{re.escape(version)}\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
