"""``ov`` as a process: closed pipes, full disks, terminals, locales, interrupts, and what it costs."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from openviking import OpenViking

ROOT = Path(__file__).resolve().parents[2]
SOURCES = os.pathsep.join([str(ROOT / "src"), str(ROOT / "sdk/src")])
PROGRAM = "import sys; sys.argv[0] = 'ov'; from openviking.cli.main import run; run()"
FULL = Path("/dev/full")
FILES = 40

pytestmark = pytest.mark.cpu_budget(10)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a few files, one of them in Chinese and one with terminal commands in it."""
    place = tmp_path_factory.mktemp("data")
    with OpenViking(place, workers=0) as store:
        store.write("viking://resources/d/文档.md", "# 文档\n\n企鹅住在南极。\n", "create")
        store.write("viking://resources/d/evil.md", "# Evil\n\n\x1b]0;owned\x07\x1b[31mpenguins\x9b2J\n", "create")
        for number in range(FILES):
            store.write(f"viking://resources/d/{number:03}.md", f"# Page {number}\n\npenguins eat krill\n", "create")
    return place


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of the processes: this source, compiled once for all of them."""
    kept = {
        name: value for name, value in os.environ.items() if name not in {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
    }
    return {
        **kept, "PYTHONPATH": SOURCES, "PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("compiled")),
        "TERM": "xterm-256color",
    }  # fmt: skip


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *arguments]


def run(environment: dict[str, str], *arguments: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(*arguments), env={**environment, **changes}, capture_output=True, check=False, timeout=60
    )


def on_terminal(environment: dict[str, str], *arguments: str) -> tuple[int, str]:
    """Exit status and all that a terminal shows of a call, from both streams."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command(*arguments), env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error when it is read
        while block := os.read(ours, 65536):
            shown += block
    os.close(ours)
    return process.wait(timeout=60), shown.decode()


@pytest.mark.slow
def test_short_waits_come_to_an_end(environment: dict[str, str], tmp_path: Path) -> None:
    """What was made when a wait is over stays, with the built-in model too: each short wait is a step."""
    config = tmp_path / "ov.conf"
    config.write_text('{"embedding": {"dense": {"provider": "builtin"}}}')
    place = ("--path", str(tmp_path / "data"), "--config", str(config))
    assert run(environment, *place, "add-resource", str(ROOT / "examples/handbook")).returncode == 0
    have = [0]
    for _ in range(60):
        over = run(environment, *place, "wait", "--timeout", "0.5").returncode == 0
        told = run(environment, *place, "-o", "json", "status").stdout
        have.append(json.loads(told)["result"]["embedding"]["have"])
        if over:
            break
    assert over
    assert len(have) > 2, "the first wait made all: this shows nothing"
    assert have[:-1] == sorted(set(have[:-1])), "a wait made nothing"


def test_a_pipe_that_closes_early_ends_the_command_quietly(environment: dict[str, str], data: Path) -> None:
    process = subprocess.Popen(
        command("--path", str(data), "grep", ".", "-b", "3", "-a", "3"),
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # before the first byte: every write fails
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0
    process.stderr.close()


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "asked", [["ls", "viking://resources/d"], ["search", "penguins", "--mode", "context"], ["-o", "json", "ls"]]
)
def test_output_that_cannot_be_written_is_a_failure(environment: dict[str, str], data: Path, asked: list[str]) -> None:
    with FULL.open("wb") as full:
        gave = subprocess.run(
            command("--path", str(data), *asked), env=environment, stdout=full, stderr=subprocess.PIPE, check=False,
            timeout=60,
        )  # fmt: skip
    assert gave.returncode == 1
    why = f"cannot write the result: {os.strerror(errno.ENOSPC)}"
    if "json" in asked:
        assert json.loads(gave.stderr)["error"] == {"code": "RESOURCE_EXHAUSTED", "message": why, "details": {}}
    else:
        assert gave.stderr.decode() == f"error: {why}\n"


def test_output_that_is_closed_is_nobodys_to_read(environment: dict[str, str], data: Path) -> None:
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command("--path", str(data), "ls")], env=environment,
        stderr=subprocess.PIPE, check=False, timeout=60,
    )  # fmt: skip
    assert (closed.returncode, closed.stderr) == (0, b"")


@pytest.mark.parametrize(
    "locale", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}]
)
def test_a_locale_without_unicode(environment: dict[str, str], data: Path, locale: dict[str, str]) -> None:
    where = ("--path", str(data))
    listed = run(environment, *where, "ls", "-s", "viking://resources/d", **locale)
    assert (listed.returncode, listed.stderr) == (0, b"")
    assert b"viking://resources/d/\\u6587\\u6863.md" in listed.stdout
    cut = run(environment, *where, "ls", "-s", "-n", "1", "viking://resources/d", **locale)
    assert cut.stderr.startswith(b"... 1 of ")
    found = run(environment, *where, "-o", "json", "find", "penguins", **locale)
    assert json.loads(found.stdout)["ok"] is True
    assert found.stdout.isascii()
    missing = run(environment, *where, "read", "viking://resources/d/none.md", **locale)
    assert missing.returncode == 1
    assert missing.stderr.isascii()
    assert b"Traceback" not in missing.stderr


def test_read_gives_bytes_whatever_the_locale(environment: dict[str, str], data: Path) -> None:
    uri = "viking://resources/d/evil.md"
    gave = run(environment, "--path", str(data), "read", uri, PYTHONIOENCODING="ascii")
    assert gave.stdout == "# Evil\n\n\x1b]0;owned\x07\x1b[31mpenguins\x9b2J\n".encode()


def test_a_terminal_sees_colours_and_no_commands_of_a_file(environment: dict[str, str], data: Path) -> None:
    status, shown = on_terminal(
        environment, "--path", str(data), "grep", "penguins", "-u", "viking://resources/d/evil.md"
    )
    assert status == 0
    assert "\x1b[1;31mpenguins\x1b" in shown
    assert "\x1b]" not in shown
    assert "\x07" not in shown
    assert "\x1b[31m" not in shown


def test_a_terminal_is_read_to_without_commands_of_a_file(environment: dict[str, str], data: Path) -> None:
    status, shown = on_terminal(environment, "--path", str(data), "read", "viking://resources/d/evil.md")
    assert (status, shown) == (0, "# Evil\r\n\r\n\ufffd]0;owned\ufffd\ufffd[31mpenguins\ufffd2J\r\n")


@pytest.mark.parametrize("command", [["read"], ["grep", "penguins", "-u"], ["-o", "json", "read"]], ids=" ".join)
def test_a_terminal_without_styles_sees_no_commands_either(
    environment: dict[str, str], data: Path, command: list[str]
) -> None:
    dumb = {**environment, "TERM": "dumb"}
    status, shown = on_terminal(dumb, "--path", str(data), *command, "viking://resources/d/evil.md")
    assert status == 0
    assert "penguins" in shown
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)
    if "json" in command:
        assert json.loads(shown)["result"].endswith("penguins\x9b2J\n")


def test_a_terminal_sees_a_framed_error(environment: dict[str, str], data: Path) -> None:
    status, shown = on_terminal(environment, "--path", str(data), "read", "viking://resources/d/none.md")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r", "").splitlines()
    assert status == 1
    assert plain == [
        "╭─ error NOT_FOUND",
        "│ File not found: viking://resources/d/none.md",
        f"│   try: ov --path {data} ls viking://resources/d",
        "╰─",
    ]


def test_a_terminal_sees_a_bar(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(20):
        (tmp_path / "in" / f"{number}.md").write_text(f"# Page {number}\n")
    status, shown = on_terminal(environment, "--path", str(tmp_path / "data"), "add-resource", str(tmp_path / "in"))
    assert status == 0
    assert "━" in shown
    assert "created 20" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def test_of_a_file_that_has_no_room_nothing_is_left(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(bytes(3_000_000))
    with OpenViking(tmp_path / "data", workers=0) as store:
        store.add_resource(tmp_path / "large.bin", to="viking://resources/large")
    given = command("--path", "data", "-o", "json", "get", "viking://resources/large/large.bin", "got.bin")
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
    gave = subprocess.run(
        given, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=60, preexec_fn=limit
    )
    assert (gave.returncode, json.loads(gave.stderr)["error"]["code"]) == (1, "RESOURCE_EXHAUSTED")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["data", "large.bin"]


def test_an_interrupt_ends_with_130_and_no_traceback(environment: dict[str, str], data: Path) -> None:
    process = subprocess.Popen(
        command("--path", str(data), "write", "viking://resources/d/new.md", "--from-file", "-", "--mode", "create"),
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # A background job of a shell ignores interrupts, and so do its children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    assert process.stdin is not None
    # More than a pipe holds: the write ends only when the command has begun to read, so it is past its imports.
    process.stdin.write(b"x" * 1_000_000)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")


def cpu_seconds(environment: dict[str, str], *arguments: str) -> float:
    """The least CPU time of three calls."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        gave = run(environment, *arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert gave.returncode == 0, gave.stderr
        return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)

    once()
    return min(once() for _ in range(3))


def test_what_a_call_costs(environment: dict[str, str], data: Path) -> None:
    """A find takes 250 ms of CPU on the reference machine; the bounds here allow for one half as fast."""
    assert cpu_seconds(environment, "--version") < 0.1
    assert cpu_seconds(environment, "--help") < 0.25
    assert cpu_seconds(environment, "--path", str(data), "find", "what do penguins eat") < 0.5


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--version"], {"click", "rich", "sqlite3", "json"}),
        (["find", "--help"], {"rich", "sqlite3", "openviking.service", "regex", "pydantic", "typer"}),
        (
            ["--path", "DATA", "find", "penguins"],
            {"rich", "pydantic", "typer", "tree_sitter", "asyncio", "zipfile", "openviking.ingest.importing"},
        ),
    ],
)
def test_imports_are_lazy(environment: dict[str, str], data: Path, arguments: list[str], absent: set[str]) -> None:
    program = (
        "import sys; from openviking.cli.main import main; status = main(sys.argv[1:]); "
        "print('', *sys.modules, file=sys.stderr); sys.exit(status)"
    )
    called = [str(data) if one == "DATA" else one for one in arguments]
    gave = subprocess.run(
        [sys.executable, "-c", program, *called], env=environment, capture_output=True, text=True, check=True
    )
    assert not absent & set(gave.stderr.split())


def test_completion_knows_the_commands(environment: dict[str, str]) -> None:
    gave = run(environment, _OV_COMPLETE="bash_complete", COMP_WORDS="ov gr", COMP_CWORD="1")
    assert (gave.returncode, gave.stdout) == (0, b"plain,grep\n")
