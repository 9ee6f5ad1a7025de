"""The tools remember, health and list_users."""

from __future__ import annotations

import json
import secrets
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from openviking import __version__
from openviking.errors import InvalidArgumentError
from openviking.mcp.arguments import Arguments, Cursor
from openviking.mcp.desk import Desk
from openviking.mcp.paging import paged, start_of
from openviking.mcp.tool import Tool
from openviking.service.session_talk import MAX_BATCH

MAX_MESSAGES: Final = 1_000
KEYS: Final = ("api_key", "key_prefix", "user_key")


class Message(BaseModel):
    """What was said."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    content: str


class Remember(Arguments):
    """A conversation, or the part of one that matters."""

    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES, description="In order.")]


def _remember(desk: Desk, given: Remember) -> str:
    if all(not one.content.strip() for one in given.messages):
        raise InvalidArgumentError("The messages are all blank: there is nothing to remember", field="messages")
    session = f"mcp-store-{secrets.token_hex(6)}"
    said = [{"role": one.role, "content": one.content} for one in given.messages]
    for begin in range(0, len(said), MAX_BATCH):
        desk.services.sessions.add(desk.caller, session, said[begin : begin + MAX_BATCH])
    done = desk.services.sessions.commit(desk.caller, session)
    task = f" (task {done['task_id']})" if done.get("task_id") else ""
    return f"Stored {len(said)} message(s) and committed for memory extraction{task}.\nThey are kept as {done['archive_uri']}"


class Health(Arguments):
    """Nothing."""


def _health(desk: Desk, _: Health) -> str:
    found = desk.services.readiness.checks()
    who = f"You are {desk.caller.user} of account {desk.caller.account}."
    if found["status"] != "ready":
        why = found.get("reason") or ", ".join(f"{name}: {state}" for name, state in found["checks"].items())
        return f"OpenViking {__version__} is unhealthy: {why}. {who}"
    model = found["checks"]["embedding"]
    words = {"ok": "", "not_configured": " Without an embedding model, find goes by words alone."}.get(
        model, f" Note: {model}."
    )
    return f"OpenViking {__version__} is healthy. {who}{words}"


class ListUsers(Arguments):
    """Which users."""

    query: str = Field(default="", description="Part of an id.")
    limit: int = Field(default=100, ge=1, le=1_000, description="How many on a page.")
    page: int = Field(default=1, ge=1)
    include_credentials: bool = Field(default=False, description="Also what is known of the keys.")
    cursor: Cursor


def _list_users(desk: Desk, given: ListUsers) -> str:
    first, limit, page = (given.page - 1) * given.limit, given.limit, given.page
    skip = 0
    if given.cursor:
        first = start_of(given.cursor)
        page, skip = first // limit + 1, first % limit
    found = desk.services.admin.users(
        desk.caller, desk.caller.account, query=given.query or None, limit=limit, page=page
    )
    users = [
        {name: value for name, value in one.items() if given.include_credentials or name not in KEYS}
        for one in found[skip:]
    ]
    head = json.dumps({"account_id": desk.caller.account, "total": found.total})
    lines = [json.dumps(one, ensure_ascii=False) for one in users]
    body = paged('"users":', lines, "Users", first, found.total) if lines else '"users": []'
    return f"{head}\n{body}"


REMEMBER: Final = Tool(
    "remember", "Remember a conversation",
    "Keep what was said, in the words it was said in, so that later conversations can find it: preferences, decisions,"
    " facts about people and projects. Pass the messages that matter, not a summary of your own. For a note that is no"
    " conversation, use write.",
    Remember, _remember, changes=True,
)  # fmt: skip

HEALTH: Final = Tool(
    "health", "Health",
    "Say whether the store works, and who you are to it. Only when something else failed.",
    Health, _health,
)  # fmt: skip

LIST_USERS: Final = Tool(
    "list_users", "List users",
    "List the users of your account. For administrators.",
    ListUsers, _list_users, remote=True,
)  # fmt: skip
