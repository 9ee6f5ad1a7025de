"""Every example of README.md and docs/ runs, and what it prints is what the page says.

In a page, ``python`` blocks share one namespace and ``console`` blocks run their ``$ ov …`` lines in this process, in
the order of the page, in an empty directory with ``examples/`` in it. An ``output`` block after a ``python`` block, and
the lines below a command, are what is expected; ``…`` stands for anything, also for any number of lines.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import inspect
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LANGUAGES = {"python", "output", "console", "text", "json", "toml", "yaml"}


@dataclass
class Block:
    language: str
    line: int
    text: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(r"^```([a-z]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [Block(match[1], text.count("\n", 0, match.start()) + 2, match[2]) for match in fences]


def assert_printed(expected: str, printed: str, where: str) -> None:
    pattern = re.escape(expected.strip())
    pattern = re.sub(r"\\\n…(?=\\\n|$)", r"(?:\\n.*?)?", pattern).replace("…", ".*?")
    seen = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    assert re.fullmatch(pattern, seen, flags=re.DOTALL), f"{where} says\n{expected.strip()}\nand got\n{seen}"


def run_python(block: Block, namespace: dict[str, object], page: Path) -> str:
    # Padded, so that a traceback names the line of the page.
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, namespace)
    return out.getvalue()


def run_ov(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    from openviking.cli.main import run

    monkeypatch.setattr(sys, "argv", ["ov", *arguments])
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)  # as a pipe: some commands write bytes
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            run()
        except SystemExit as stopped:
            code = stopped.code
        else:
            code = 0
    return (code if isinstance(code, int) else 0 if code is None else 1), out.buffer.getvalue().decode()


def run_console(block: Block, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        words = shlex.split(command)
        if words[0] != "ov":
            assert words[0].startswith("scripts/"), f"{where}: only ov and scripts/… may stand in a console block"
            assert (ROOT / words[0]).is_file(), f"{where}: {words[0]} does not exist"
            continue
        status, printed = run_ov(words[1:], monkeypatch)
        fails = expected.lstrip().startswith("error:") or '"ok":false' in expected
        assert (status != 0) == fails, f"{where}: `{command}` ended with {status}\n{printed}"
        if expected.strip():
            assert_printed(expected, printed, f"{where}, `{command}`")


@pytest.mark.cpu_budget(60)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        assert block.language in LANGUAGES, f"{where}: a block without a known language is not tested"
        if block.language == "output":
            assert printed is not None, f"{where}: no python block before this output"
            assert_printed(block.text, printed, where)
        printed = run_python(block, namespace, page) if block.language == "python" else None
        if block.language == "console":
            run_console(block, monkeypatch, where)


def test_readme_has_both_doors() -> None:
    kinds = {block.language for block in blocks(ROOT / "README.md")}
    assert {"python", "console"} <= kinds


@pytest.mark.cpu_budget(60)
def test_demo_answers_its_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """scripts/demo without arguments: the file that answers is the first hit for every question of the handbook.

    For those in other words than the handbook's it is so once the built-in model has made its vectors.
    """
    spec = importlib.util.spec_from_file_location("demo", ROOT / "scripts/demo.py")
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    status = demo.main(["--data", str(tmp_path / "data")])
    printed = capsys.readouterr().out
    assert status == 0, printed
    questions, others = (
        (ROOT / f"examples/handbook-{name}.tsv").read_text(encoding="utf-8").splitlines()[1:]
        for name in ("questions", "meanings")
    )
    assert len(questions) >= 8
    assert len(others) >= 5
    assert printed.count("✓ 1. ") == len(questions) + len(others), printed
    assert printed.count("not among the first") >= 4, printed
    for other in others:
        assert printed.count(other.partition("\t")[0]) == 2, printed


def test_an_interrupted_demo_says_so() -> None:
    command = [sys.executable, "-u", str(ROOT / "scripts/demo.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        # A background job of a shell ignores interrupts, and so do its children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as demo:  # fmt: skip
        assert demo.stdout is not None
        assert demo.stdout.readline().startswith("Adding")
        demo.send_signal(signal.SIGINT)
        _, err = demo.communicate(timeout=30)
    assert (demo.returncode, err) == (130, "interrupted\n")


def test_cli_page_names_every_command_and_option() -> None:
    import click

    from openviking.cli.program import ALIASES, COMMANDS, program

    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    context = click.Context(program)
    missing = [name for name in [*COMMANDS, *ALIASES] if f"`{name}" not in page and f" {name} " not in page]
    for name in COMMANDS:
        command = program.get_command(context, name)
        assert command is not None
        commands = [command]
        if isinstance(command, click.Group):
            commands += [one for sub in command.list_commands(context) if (one := command.get_command(context, sub))]
        for one in commands:
            options = [option for option in one.params if isinstance(option, click.Option)]
            missing += [f"{name} {long}" for option in options if (long := max(option.opts, key=len)) not in page]
    assert not missing


def test_api_page_names_every_method_and_argument() -> None:
    from openviking import AsyncOpenViking, OpenViking

    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\w+", page))
    for name, method in inspect.getmembers(OpenViking, inspect.isfunction):
        if not name.startswith("_"):
            assert f"{name}(" in page, name
            assert set(inspect.signature(method).parameters) - {"self"} <= names, name
            # `session` only names one: nothing has to be awaited.
            assert name == "session" or inspect.iscoroutinefunction(getattr(AsyncOpenViking, name)), name


def test_configuration_page_names_every_setting_with_its_default() -> None:
    from openviking.config.settings import Settings

    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    for field in dataclasses.fields(Settings):
        if not field.compare:
            # It says what was read, and can't be set.
            continue
        lines = [line for line in page.splitlines() if f"`{field.name}`" in line]
        assert lines, field.name
        if field.default is not dataclasses.MISSING:
            assert any(re.search(rf"(?<![\d.]){field.default}(?![\d.]*\d)", line) for line in lines), field.name
