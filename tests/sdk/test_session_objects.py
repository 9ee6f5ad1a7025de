"""Session objects: the calls of their id, without asking for anything when they are made."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

import openviking_sdk as ov

if TYPE_CHECKING:
    from tests.sdk.conftest import ScriptedServer

METHODS = [
    ("load", "get_session", ()),
    ("exists", "session_exists", ()),
    ("add_message", "add_message", ("user", "hello")),
    ("batch_add_messages", "batch_add_messages", ([{"role": "user", "content": "x"}],)),
    ("used", "session_used", (["resources/a"],)),
    ("commit", "commit_session", ()),
    ("get_session_context", "get_session_context", (9,)),
    ("context", "get_session_context", (9,)),
    ("get_archive", "get_session_archive", ("archive_001",)),
    ("update_config", "update_session_config", ({"auto_commit_policy": None},)),
    ("list_tool_results", "list_tool_results", ()),
    ("get_tool_result", "get_tool_result", ("r",)),
    ("search_tool_result", "search_tool_result", ("r", "q")),
    ("extract", "extract_session", ()),
    ("rollback", "rollback_session", ("archive_001",)),
    ("redact", "redact_message", ("m",)),
    ("delete", "delete_session", ()),
]


@pytest.mark.parametrize(("name", "as_call", "args"), METHODS)
def test_a_session_object_makes_the_calls_of_its_id(
    client: Any, server: ScriptedServer, name: str, as_call: str, args: tuple[Any, ...]
) -> None:
    session = client.session(session_id="s 1")
    assert server.take() == []
    server.by_path["/api/v1/sessions/s%201/extract"] = []
    of_session = getattr(session, name)(*args)
    of_client = getattr(client, as_call)("s 1", *args)
    assert of_session == of_client
    first, second = server.take()
    assert (first.method, first.path, first.query, first.body) == (
        second.method,
        second.path,
        second.query,
        second.body,
    )


def test_a_session_has_no_method_that_is_not_tested() -> None:
    for kind in (ov.Session, ov.AsyncSession):
        methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
        assert methods == {name for name, _, _ in METHODS}
