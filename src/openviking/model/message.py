"""A message of a conversation: what callers may send as one, and how it is kept (contract/core.md §3.6)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from openviking.clock import iso
from openviking.errors import InvalidArgumentError
from openviking.text import estimate_tokens, quoted
from openviking.uri import is_identifier

KINDS: Final = ("user_query", "assistant_step", "tool_transport", "checkpoint")
CONTEXT_TYPES: Final = ("memory", "resource", "skill")
TOOL_STATUSES: Final = ("pending", "running", "completed", "error")
MAX_MESSAGE_BYTES: Final = 32 * 1024 * 1024
MAX_ID_CHARS: Final = 256
MAX_SOURCES: Final = 1_000

_TOOL_TEXTS: Final = ("tool_id", "tool_name", "tool_uri", "skill_uri")
_TOOL_NUMBERS: Final = ("duration_ms", "prompt_tokens", "completion_tokens")

Part = dict[str, Any]
"""One part of a message: ``type`` is ``text``, ``context``, ``tool`` or ``image_url``."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it is kept; ``created_at`` is ISO 8601 in UTC, ``peer`` the partner that it is about, "" for none."""

    id: str
    role: str
    parts: tuple[Part, ...]
    created_at: str
    peer: str = ""
    turn: str = ""
    kind: str = ""
    sources: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """The estimate of contract/core.md §3.6 over texts, abstracts, and the id, name, input and output of tools."""
        return estimate_tokens("".join(_counted(part) for part in self.parts))

    @property
    def text(self) -> str:
        """What was said in words, one line or more for each part of text."""
        return "\n".join(part["text"] for part in self.parts if part["type"] == "text")

    def to_dict(self) -> dict[str, Any]:
        """The message as an answer and an archive show it; what is not set is left out."""
        told: dict[str, Any] = {
            "id": self.id, "role": self.role, "parts": list(self.parts), "created_at": self.created_at,
        }  # fmt: skip
        beside = {"peer_id": self.peer, "turn_id": self.turn, "message_kind": self.kind}
        told |= {name: value for name, value in beside.items() if value}
        if self.sources:
            told["source_message_ids"] = list(self.sources)
        return told

    def to_json(self) -> str:
        """`to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Message:
        """The message that `to_dict` gave."""
        return cls(
            told["id"], told["role"], tuple(told["parts"]), told["created_at"], told.get("peer_id", ""),
            told.get("turn_id", ""), told.get("message_kind", ""), tuple(told.get("source_message_ids", ())),
        )  # fmt: skip


def new_message_id() -> str:
    """An id for a message whose sender gave none."""
    return "msg_" + secrets.token_hex(12)


def messages_of(given: Mapping[str, Any], now: int) -> tuple[str, tuple[Message, ...]]:
    """The client's id of a message ("" if it gave none), and the message as it is kept.

    A message of several tool parts alone becomes one message for each. ``parts`` win over ``content``; fields that are
    not known are ignored. Raises `InvalidArgumentError`, which names the field.
    """
    client_id = _text(given, "id", MAX_ID_CHARS)
    role = _text(given, "role", MAX_ID_CHARS)
    if not role:
        raise _wrong("role", given.get("role"), "a role such as 'user' or 'assistant'")
    parts = _parts(given)
    peer = _text(given, "peer_id", MAX_ID_CHARS)
    if peer and not is_identifier(peer):
        raise _wrong("peer_id", peer, "letters, digits and _ . @ - only")
    kind = _text(given, "message_kind", MAX_ID_CHARS)
    if kind and kind not in KINDS:
        raise _wrong("message_kind", kind, f"one of {', '.join(KINDS)}")
    created, sources = _moment(given.get("created_at"), now), _sources(given)
    turn = _text(given, "turn_id", MAX_ID_CHARS)
    alone = len(parts) > 1 and all(part["type"] == "tool" for part in parts)
    groups = [(part,) for part in parts] if alone else [parts]
    first = client_id or new_message_id()
    ids = [first, *(f"{first}_{number}" for number in range(2, len(groups) + 1))]
    made = tuple(
        Message(one, role, group, created, peer, turn, kind, sources) for one, group in zip(ids, groups, strict=True)
    )
    for message in made:
        _check_storable(message)
    return client_id, made


def _parts(given: Mapping[str, Any]) -> tuple[Part, ...]:
    parts, content = given.get("parts"), given.get("content")
    if parts:
        if not isinstance(parts, list):
            raise _wrong("parts", parts, "a list of objects")
        return tuple(_part(part, f"parts[{number}]") for number, part in enumerate(parts))
    if content is None:
        raise InvalidArgumentError("A message needs content or parts", field="content")
    if not isinstance(content, str):
        raise _wrong("content", content, "a text")
    return ({"type": "text", "text": content},)


def _part(given: Any, field: str) -> Part:
    if not isinstance(given, dict):
        raise _wrong(field, given, "an object with a type")
    kind = given.get("type", "text")
    if kind == "text":
        return {"type": "text", "text": _required(given, "text", field)}
    if kind == "context":
        context_type = given.get("context_type") or "memory"
        if context_type not in CONTEXT_TYPES:
            raise _wrong(f"{field}.context_type", context_type, f"one of {', '.join(CONTEXT_TYPES)}")
        abstract = _text(given, "abstract", MAX_MESSAGE_BYTES, field)
        return {
            "type": "context",
            "uri": _required(given, "uri", field),
            "context_type": context_type,
            "abstract": abstract,
        }
    if kind == "tool":
        return _tool(given, field)
    if kind == "image_url":
        image = given.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str) or not url.strip():
            raise _wrong(f"{field}.image_url.url", url, "the address of an image")
        detail = _text(image, "detail", MAX_ID_CHARS, field) if isinstance(image, dict) else ""
        return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail else {})}}
    said = given.get("text")
    return {"type": "text", "text": said if isinstance(said, str) else _json(given, field)}


def _tool(given: Mapping[str, Any], field: str) -> Part:
    part: Part = {"type": "tool", "tool_id": _text(given, "tool_id", MAX_MESSAGE_BYTES, field)}
    for name in _TOOL_TEXTS[1:]:
        if text := _text(given, name, MAX_MESSAGE_BYTES, field):
            part[name] = text
    part.setdefault("tool_name", "")
    status = given.get("tool_status") or "pending"
    if status not in TOOL_STATUSES:
        raise _wrong(f"{field}.tool_status", status, f"one of {', '.join(TOOL_STATUSES)}")
    part["tool_status"] = status
    if given.get("tool_input") is not None:
        _json(given["tool_input"], f"{field}.tool_input")
        part["tool_input"] = given["tool_input"]
    output = given.get("tool_output")
    if output is not None:
        part["tool_output"] = output if isinstance(output, str) else _json(output, f"{field}.tool_output")
    for name in _TOOL_NUMBERS:
        number = given.get(name)
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 1 << 53:
            raise _wrong(f"{field}.{name}", number, "a number of at least 0")
        part[name] = number
    return part


def _counted(part: Part) -> str:
    if part["type"] == "text":
        return str(part["text"])
    if part["type"] == "context":
        return str(part["abstract"])
    if part["type"] != "tool":
        return ""
    shown = _json(part["tool_input"], "tool_input") if "tool_input" in part else ""
    return "".join((part["tool_id"], part["tool_name"], shown, part.get("tool_output", "")))


def _moment(given: Any, now: int) -> str:
    if given is None or given == "":
        return iso(now)
    if isinstance(given, str):
        try:
            moment = datetime.fromisoformat(given.strip())
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        else:
            return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    raise _wrong("created_at", given, "a moment in ISO 8601, such as 2026-01-31T09:30:00Z")


def _sources(given: Mapping[str, Any]) -> tuple[str, ...]:
    sources = given.get("source_message_ids") or []
    if not isinstance(sources, list) or not all(isinstance(one, str) for one in sources) or len(sources) > MAX_SOURCES:
        raise _wrong("source_message_ids", sources, f"a list of at most {MAX_SOURCES} ids")
    return tuple(sources)


def _text(given: Mapping[str, Any], name: str, most: int, field: str = "") -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > most:
        raise _wrong(f"{field}.{name}" if field else name, value, f"a text of at most {most} characters")
    return value


def _required(given: Mapping[str, Any], name: str, field: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise _wrong(f"{field}.{name}", value, "a text")
    return value


def _json(value: Any, field: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise _wrong(field, value if isinstance(value, float) else type(value).__name__, "a JSON value") from error


def _check_storable(message: Message) -> None:
    try:
        size = len(message.to_json().encode())
    except UnicodeEncodeError as error:
        raise InvalidArgumentError("The message has a lone surrogate, which is no text", field="content") from error
    if size > MAX_MESSAGE_BYTES:
        raise InvalidArgumentError(
            f"The message has {size} bytes, at most {MAX_MESSAGE_BYTES} are allowed", field="content"
        )


def _wrong(field: str, value: Any, right: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{field} is {quoted(value)}, it must be {right}", field=field, value=quoted(value))
