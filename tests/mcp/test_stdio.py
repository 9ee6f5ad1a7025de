"""``ov mcp``: the official client over standard input and output, on a data directory of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from openviking import OpenViking
from openviking.cli.program import program
from openviking.mcp.tools import offered

ROOT = Path(__file__).resolve().parents[2]
SOURCES = os.pathsep.join((str(ROOT / "src"), str(ROOT / "sdk" / "src")))
OV = "import sys; from openviking.cli.main import run; sys.argv[0] = 'ov'; run()"


def program_of(*words: str) -> list[str]:
    return [sys.executable, "-c", OV, *words]


@pytest.mark.slow
async def test_ov_mcp(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(30):
        (notes / f"note-{number:02}.md").write_text(
            f"# Note {number}\n\nThe password of gate {number} is plum{number}.\n"
        )
    skill = tmp_path / "feeding"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: feeding\ndescription: How koalas are fed.\n---\n\nGive leaves.\n")
    command, *words = program_of("mcp", "--path", str(tmp_path / "data"), "--user", "ann")
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    heard: list[tuple[float, float | None, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with (
        stdio_client(StdioServerParameters(command=command, args=words, env=environment)) as streams,
        ClientSession(*streams) as session,
    ):
        answer = await session.initialize()
        assert answer.server_info.name == "openviking"
        assert "find it" in (answer.instructions or "")

        async def call(tool: str, /, **arguments: Any) -> str:
            result = await session.call_tool(tool, arguments, progress_callback=progress)
            text = result.content[0].text if result.content[0].type == "text" else ""
            return f"failed: {text}" if result.is_error else text

        assert [tool.name for tool in (await session.list_tools()).tools] == [
            tool.name for tool in offered(remote=False)
        ]
        assert "You are ann of account default" in await call("health")
        added = await call("add_resource", path=str(notes), to="viking://resources/notes")
        assert "30 files new" in added
        assert heard
        assert all(total in {None, 30.0} for _, total, _ in heard)
        assert "failed: NOT_FOUND" in await call("add_resource", path=str(tmp_path / "none"))
        assert "Stored 1 skill(s)" in await call("add_skill", path=str(skill))
        found = await call("find", query="password of gate 17", limit=3, min_score=0)
        cited = re.findall(r"(viking://resources/notes/note-17\.md#L\d+-L\d+)", found)[0]
        assert "plum17" in await call("read", uris=cited)
        assert "Found 30 match(es)" in await call("grep", uri="viking://resources", pattern="plum[0-9]+", node_limit=5)
        assert "failed: INVALID_ARGUMENT" in await call("grep", uri="viking://resources", pattern="(")
        assert "failed: INVALID_ARGUMENT" in await call("read")
        assert "There is no tool 'download'" in await call("download", uri="viking://resources/notes/note-17.md")
        assert "Wrote 4 bytes" in await call("write", uri="viking://~/memories/tea.md", content="Tea.", wait=True)
        assert "Edited" in await call(
            "edit", uri="viking://~/memories/tea.md", old_string="Tea", new_string="Green tea"
        )
        assert "Stored 1 message(s)" in await call("remember", messages=[{"role": "user", "content": "I like tea"}])
        assert "Deleted" in await call("forget", uri="viking://resources/notes/note-00.md")
    # What was said is there for other doors.
    with OpenViking(tmp_path / "data", user="ann", workers=0, create=False) as store:
        assert store.read("viking://~/memories/tea.md") == "Green tea."
        assert store.stat("viking://resources/notes")["count"] >= 29


@pytest.mark.slow
def test_ov_mcp_ends_with_its_input_and_writes_nothing_else(tmp_path: Path) -> None:
    done = subprocess.run(
        program_of("--path", str(tmp_path / "data"), "mcp"), input=b"", capture_output=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--url", "http://127.0.0.1:1933/"], "http://127.0.0.1:1933/mcp"),
        (["--user", "a/b"], "--user"),
        (["--path", ""], "--path is empty"),
        (["--path", __file__], "is not a directory"),
    ],
)
def test_ov_mcp_says_what_is_wrong(words: list[str], expected: str) -> None:
    answer = CliRunner().invoke(program, ["mcp", *words])
    assert answer.exit_code == 2
    assert expected in answer.output


@pytest.mark.slow
def test_nothing_else_loads_the_protocol() -> None:
    code = "import sys, openviking.cli.main, openviking.server.app; print('mcp' in sys.modules, 'mcp_types' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONPATH": SOURCES})  # fmt: skip
    assert done.stdout.split() == [b"False", b"False"]
