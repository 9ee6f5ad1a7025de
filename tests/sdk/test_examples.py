"""The examples run and print what the pages say: of the SDK's README on a real server, of the public documentation on a script."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import Running

import openviking_sdk as ov

if TYPE_CHECKING:
    from tests.sdk.conftest import Asked, ScriptedServer

README = Path(__file__).parents[2] / "sdk" / "README.md"
DOCUMENTED = Path(__file__).with_name("retrieval_examples.md")
AUTH = "viking://resources/docs/auth.md"
HITS = [
    {"context_type": "resource", "uri": "viking://resources/docs/auth/.overview.md", "level": 1, "score": 0.81, "abstract": "About authentication."},
    {"context_type": "resource", "uri": AUTH, "level": 2, "score": 0.6219, "abstract": "OAuth."},
]  # fmt: skip


def found(hits: list[dict[str, Any]]) -> dict[str, Any]:
    return {"memories": [], "resources": hits, "skills": [], "total": len(hits)}


def globbed(asked: Asked) -> dict[str, Any]:
    tags = asked.json.get("tags")
    return {"matches": [AUTH] if tags is None else [{"uri": AUTH, "tags": tags}], "count": 1}


@pytest.fixture
def small(server: ScriptedServer) -> ScriptedServer:
    """A server with one document."""
    server.by_path = {
        "/api/v1/search/find": found(HITS),
        "/api/v1/search/search": found(HITS[1:]),
        "/api/v1/search/grep": {"matches": [{"uri": AUTH, "line": 15, "content": "User authentication is handled by..."}], "count": 1},
        "/api/v1/search/glob": globbed,
        "/api/v1/content/overview": "All about authentication.",
        "/api/v1/content/read": "# OAuth",
        "/api/v1/sessions": {"session_id": "s1"},
        "/api/v1/sessions/s1/messages": {"session_id": "s1", "message_count": 1},
        "/api/v1/sessions/s1/commit": {"status": "accepted", "task_id": "t1"},
        "/api/v1/tasks/t1": {"task_id": "t1", "status": "completed"},
        "/api/v1/resources/temp_upload": {"temp_file_id": "upload_1.zip"},
        "/api/v1/resources": {"status": "success", "root_uri": "viking://resources/handbook"},
        "/api/v1/admin/accounts": {"account_id": "acme", "admin_user_id": "alice", "user_key": "k"},
        "/api/v1/admin/accounts/acme/users": {"account_id": "acme", "user_id": "bob", "user_key": "k2"},
    }  # fmt: skip
    return server


def blocks(page: Path) -> list[tuple[int, str, str]]:
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(r"^```([a-z]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start()) + 2, match[1], match[2]) for match in fences]


def test_documented_examples_run_as_written(
    small: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("photo.png", "poster.png"):
        (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n")
    run_page(DOCUMENTED, {"http://localhost:1933": small.url, "/path/to/": f"{tmp_path}/"})
    asked = small.take()
    assert len(asked) >= 10
    assert all(one.headers["x-api-key"] for one in asked)


@pytest.mark.cpu_budget(20)
def test_examples_of_the_readme_are_true_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(README.parents[1] / "examples/handbook", tmp_path / "examples/handbook")
    monkeypatch.chdir(tmp_path)
    server = Running(tmp_path / "served")
    try:
        run_page(README, {"http://localhost:1933": server.url, "your-key": server.new_user()[1]})
    finally:
        server.close()


def run_page(page: Path, meant: dict[str, str]) -> None:
    """Run the blocks of a page in order, with what stands for a place in it put in its place."""
    namespace: dict[str, Any] = {}
    made: list[Any] = []
    printed = ""
    with asyncio.Runner() as runner:
        for line, language, text in blocks(page):
            if language == "python":
                for word, real in meant.items():
                    text = text.replace(word, real)
                printed = run(line, text, page, namespace, runner)
                made += [
                    value for value in namespace.values() if isinstance(value, ov.SyncHTTPClient | ov.AsyncHTTPClient)
                ]
            elif language == "output":
                assert printed.strip() == text.strip(), f"{page.name}:{line}"
            else:
                assert language in {"text", "json", "console"}, f"{page.name}:{line}: a block that is not tested"
        for client in made:
            if isinstance(client, ov.SyncHTTPClient):
                client.close()
            else:
                runner.run(client.close())


def run(line: int, text: str, page: Path, namespace: dict[str, Any], runner: asyncio.Runner) -> str:
    """What a block prints; it may await at its top."""
    compiled = compile("\n" * (line - 1) + text, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        if compiled.co_flags & inspect.CO_COROUTINE:
            runner.run(eval(compiled, namespace))
        else:
            exec(compiled, namespace)
    return out.getvalue()


def test_the_readme_names_every_method() -> None:
    text = README.read_text(encoding="utf-8")
    for kind in (ov.SyncHTTPClient, ov.Session):
        for name, _ in inspect.getmembers(kind, inspect.isfunction):
            assert name.startswith("_") or re.search(rf"\b{name}\b", text), name
