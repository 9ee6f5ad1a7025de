"""A hook for agents that have hooks: context for a prompt before it is answered, and the conversation kept afterwards.

Claude Code gives the event as JSON on standard input, Codex (``notify``) as the last argument. With ``UserPromptSubmit`` it
prints what the store knows about the prompt, which the agent then reads with it; with ``Stop``, and after each turn of
Codex, it keeps what was said; with ``SessionEnd`` it commits the session, which makes memories of it.

It calls ``ov``, which finds its data as always: ``$OPENVIKING_PATH``, ``$OPENVIKING_URL``, ``ovcli.conf``. Whatever goes wrong,
the agent goes on: then nothing is printed but a line on standard error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

MAX_TOKENS = 1_200
MAX_QUERY = 4_000
MAX_MESSAGES = 100
TIMEOUT_S = 20


def main() -> None:
    """Answer one event."""
    event = json.loads(sys.argv[-1] if len(sys.argv) > 1 else sys.stdin.read())
    kind = event.get("hook_event_name") or event.get("type")
    session = session_of(event)
    if kind == "UserPromptSubmit":
        query = event["prompt"].strip()[:MAX_QUERY]
        if query:
            # What the session's last turns got is not told again.
            options = ["--mode", "context", "--purpose", "coding", "--max-tokens", str(MAX_TOKENS)]
            told = ov("search", *options, "--session-id", session, "--dedup-turns", "5", "--", query)
            if told.strip():
                print("What OpenViking knows about this; read an address with its tool for more:\n" + told)
    elif kind == "Stop":
        keep(session, transcript(event["transcript_path"]))
    elif kind == "agent-turn-complete":
        turn = event.get("turn-id", "")
        said = [("user", text) for text in event.get("input-messages") or ()]
        said.append(("assistant", event.get("last-assistant-message") or ""))
        keep(session, [
            {"id": f"{turn}-{number}", "role": role, "content": text} for number, (role, text) in enumerate(said) if text.strip()
        ])  # fmt: skip
    elif kind == "SessionEnd":
        keep(session, transcript(event["transcript_path"]))
        ov("session", "commit", session, "--wait", "--timeout", "15")


def session_of(event: dict[str, Any]) -> str:
    """The id of the conversation, one per conversation of the agent."""
    known = event.get("session_id") or event.get("thread-id") or event.get("turn-id") or "unknown"
    return f"{'codex' if 'turn-id' in event else 'claude'}-{known}"


def transcript(path: str) -> list[dict[str, str]]:
    """The last messages of a transcript of Claude Code: what people and the model said, without tools and side talks."""
    messages = []
    for line in Path(path).expanduser().read_text("utf-8").splitlines():
        entry = json.loads(line)
        if entry.get("type") not in {"user", "assistant"} or entry.get("isMeta") or entry.get("isSidechain"):
            continue
        content = entry["message"]["content"]
        parts = (
            [content] if isinstance(content, str) else [one.get("text", "") for one in content if one["type"] == "text"]
        )
        text = "\n".join(parts).strip()
        if text:
            said = {"role": entry["message"]["role"], "content": text, "created_at": entry.get("timestamp")}
            messages.append({"id": entry["uuid"], **{name: value for name, value in said.items() if value}})
    return messages[-MAX_MESSAGES:]


def keep(session: str, messages: list[dict[str, str]]) -> None:
    """Add messages to the session; one that it has by its id is not added again."""
    if messages:
        ov("session", "add-messages", session, "-", given=json.dumps(messages))


def ov(*arguments: str, given: str = "") -> str:
    """What ``ov`` prints. Raises `subprocess.SubprocessError` and `OSError`."""
    done = subprocess.run(  # noqa: S603 - the program is named here, and its arguments are no shell's
        ["ov", *arguments],  # noqa: S607 - as a shell finds it
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        print(f"openviking: {error.stderr.strip()}", file=sys.stderr)
    except Exception as error:  # noqa: BLE001 - the agent must not suffer from it
        print(f"openviking: {type(error).__name__}: {error}", file=sys.stderr)
