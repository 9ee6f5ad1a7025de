"""The configuration files and programs of examples/agents, and that docs/agents.md shows the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from openviking.mcp.tools import TOOLS

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ROOT / "examples" / "agents"
PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
SOURCES = os.pathsep.join((str(ROOT / "src"), str(ROOT / "sdk" / "src")))
OV = "import sys; from openviking.cli.main import run; sys.argv[0] = 'ov'; run()"


def configured(name: str) -> dict[str, Any]:
    text = (AGENTS / name).read_text(encoding="utf-8")
    servers: dict[str, Any] = (
        tomllib.loads(text)["mcp_servers"] if name.endswith(".toml") else json.loads(text)["mcpServers"]
    )
    return servers


NAMES = ("claude-code.mcp.json", "cursor.mcp.json", "codex.config.toml")


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_the_file(name: str) -> None:
    kind = "toml" if name.endswith(".toml") else "json"
    shown = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    text = (AGENTS / name).read_text(encoding="utf-8")
    assert re.sub(r"^#[^\n]*\n\n", "", text) in shown


@pytest.mark.parametrize("name", NAMES)
def test_a_file_names_a_server_by_its_address(name: str) -> None:
    assert configured(name)["openviking-server"]["url"].endswith("/mcp")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
async def test_a_file_starts_a_server_that_answers(name: str, tmp_path: Path) -> None:
    server = configured(name)["openviking"]
    assert server["command"] == "ov"
    place = str(tmp_path / "data")
    args = [re.sub(r"^(?:\$\{.*|/home/me/.*)$", place, one) for one in server["args"]]
    assert place in args
    started = StdioServerParameters(
        command=sys.executable, args=["-c", OV, *args], env={**os.environ, "PYTHONPATH": SOURCES}
    )
    async with stdio_client(started) as streams, ClientSession(*streams) as session:
        await session.initialize()
        result = await session.call_tool("health", {})
        assert not result.is_error


@pytest.mark.slow
def test_ten_questions_are_answered_by_tools_alone() -> None:
    done = subprocess.run(
        [sys.executable, str(AGENTS / "ten_questions.py")], capture_output=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )  # fmt: skip
    printed = done.stdout.decode()
    assert done.returncode == 0, printed + done.stderr.decode()
    last = re.search(r"^ *([\d,]+) +([\d,]+)  tokens together; 10 of 10 answered$", printed, re.MULTILINE)
    assert last, printed
    lines, files = (int(one.replace(",", "")) for one in last.groups())
    assert lines * 5 < files


def test_the_program_for_langchain_names_the_server() -> None:
    source = (AGENTS / "langchain_agent.py").read_text(encoding="utf-8")
    compile(source, "langchain_agent.py", "exec")
    assert '"streamable_http"' in source
    assert '+ "/mcp"' in source


def test_the_page_names_every_tool() -> None:
    rows = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \|", PAGE.partition("## The tools")[2], re.MULTILINE)
    assert sorted(re.findall(r"`([a-z_]+)`", " ".join(rows))) == sorted(tool.name for tool in TOOLS)
