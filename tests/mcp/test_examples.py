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

from openviking import OpenViking
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
HOOKS = ("claude-code.settings.json", "codex.notify.toml")


@pytest.mark.parametrize("name", [*NAMES, *HOOKS])
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


class Hook:
    """The hook as an agent calls it, on a data directory of the test's own."""

    def __init__(self, tmp_path: Path) -> None:
        ov = tmp_path / "bin" / "ov"
        ov.parent.mkdir()
        paths = [str(ROOT / "src"), str(ROOT / "sdk" / "src")]
        ov.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path[:0] = {paths}\nfrom openviking.cli.main import run\nrun()\n"
        )
        ov.chmod(0o755)
        conf = tmp_path / "ov.conf"
        conf.write_text(json.dumps({"embedding": {"dense": {"provider": "none"}}}))
        self.data = tmp_path / "data"
        self.env = {
            **os.environ, "PATH": f"{ov.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path),
            "OPENVIKING_PATH": str(self.data), "OPENVIKING_CONFIG_FILE": str(conf),
        }  # fmt: skip

    def __call__(self, event: dict[str, Any], *, argument: bool = False) -> tuple[str, str]:
        """What it prints and says on standard error; it never fails."""
        told = json.dumps(event)
        done = subprocess.run(
            [sys.executable, str(AGENTS / "openviking_hook.py"), *([told] if argument else [])],
            input="" if argument else told, capture_output=True, text=True, timeout=60, check=True, env=self.env,
        )  # fmt: skip
        return done.stdout, done.stderr


@pytest.mark.slow
def test_the_hook_of_claude_code_remembers_and_tells(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    transcript = tmp_path / "talk.jsonl"
    said: list[dict[str, Any]] = [
        {"type": "summary", "summary": "of no interest"},
        {"type": "user", "uuid": "m1", "timestamp": "2026-05-04T10:00:00Z",
         "message": {"role": "user", "content": "Remember that releases are cut on Wednesdays."}},
        {"type": "assistant", "uuid": "m2", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}, {"type": "text", "text": "Noted: Wednesdays."}]}},
        {"type": "user", "uuid": "m3", "message": {"role": "user", "content": [{"type": "tool_result", "content": "noise"}]}},
    ]  # fmt: skip
    transcript.write_text("".join(json.dumps(one) + "\n" for one in said))
    event = {"session_id": "abc", "transcript_path": str(transcript)}
    assert hook({**event, "hook_event_name": "Stop"}) == ("", "")
    assert hook({**event, "hook_event_name": "SessionEnd"}) == ("", "")
    with OpenViking(hook.data, embedder="none", workers=0) as store:
        archived = store.get_session_archive("claude-abc", "archive_001")["messages"]
    assert [(one["id"], one["parts"][0]["text"]) for one in archived] == [
        ("m1", "Remember that releases are cut on Wednesdays."), ("m2", "Noted: Wednesdays."),
    ]  # fmt: skip
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": "next", "prompt": "When are releases cut?"}
    told, remarks = hook(asked)
    assert "<memory uri=" in told
    assert "Wednesdays" in told
    assert remarks == ""
    assert hook({**asked, "prompt": "zebra xylophone"}) == ("", "")


@pytest.mark.slow
def test_the_hook_of_codex_keeps_a_turn_and_never_fails(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    turn = {
        "type": "agent-turn-complete",
        "thread-id": "t1",
        "turn-id": "7",
        "input-messages": ["Hello"],
        "last-assistant-message": "Hi",
    }
    assert hook(turn, argument=True) == ("", "")
    with OpenViking(hook.data, embedder="none", workers=0) as store:
        assert store.get_session("codex-t1")["message_count"] == 2
    hook.env["OPENVIKING_PATH"] = str(tmp_path / "bin" / "ov")
    out, err = hook({**turn, "turn-id": "8"}, argument=True)
    assert out == ""
    assert err.startswith("openviking: ")


@pytest.mark.slow
def test_ten_questions_are_answered_by_tools_alone() -> None:
    done = subprocess.run(
        [sys.executable, str(AGENTS / "ten_questions.py")], capture_output=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )  # fmt: skip
    printed = done.stdout.decode()
    assert done.returncode == 0, printed + done.stderr.decode()
    last = re.search(
        r"^ *([\d,]+) +([\d,]+) +([\d,]+)  tokens together; 10 of 10 answered, (\d+) by a block of context$",
        printed, re.MULTILINE,
    )  # fmt: skip
    assert last, printed
    lines, context, files, blocks = (int(one.replace(",", "")) for one in last.groups())
    assert lines * 5 < files
    assert context * 5 < files
    assert blocks >= 9


def test_the_program_for_langchain_names_the_server() -> None:
    source = (AGENTS / "langchain_agent.py").read_text(encoding="utf-8")
    compile(source, "langchain_agent.py", "exec")
    assert '"streamable_http"' in source
    assert '+ "/mcp"' in source


def test_the_page_names_every_tool() -> None:
    rows = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \|", PAGE.partition("## The tools")[2], re.MULTILINE)
    assert sorted(re.findall(r"`([a-z_]+)`", " ".join(rows))) == sorted(tool.name for tool in TOOLS)
