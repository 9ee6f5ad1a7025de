"""The parts of a message, and messages as the wire has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from openviking_sdk.errors import InvalidArgumentError
from openviking_sdk.images import Image, image_url


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text."""

    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The part as the wire has it."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A memory, resource or skill that the message used, with what was shown of it."""

    uri: str = ""
    context_type: Literal["memory", "resource", "skill"] = "memory"
    abstract: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The part as the wire has it."""
        return {"type": "context", "uri": self.uri, "context_type": self.context_type, "abstract": self.abstract}


@dataclass(frozen=True, slots=True)
class ToolPart:
    """A call of a tool; what is None is not sent. ``duration_ms`` in milliseconds, the counts in tokens."""

    tool_id: str = ""
    tool_name: str = ""
    tool_uri: str | None = None
    skill_uri: str | None = None
    tool_input: dict[str, Any] | None = None
    tool_output: str = ""
    tool_status: Literal["pending", "running", "completed", "error"] = "pending"
    duration_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The part as the wire has it."""
        fields = {
            "type": "tool",
            "tool_id": self.tool_id,
            "tool_name": self.tool_name,
            "tool_uri": self.tool_uri,
            "skill_uri": self.skill_uri,
            "tool_input": self.tool_input,
            "tool_output": self.tool_output,
            "tool_status": self.tool_status,
            "duration_ms": self.duration_ms,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture: a path, bytes, or a ``data:``, ``http(s)://`` or ``viking://`` address; a path is read when sent."""

    image: Image
    detail: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The part as the wire has it; raises `InvalidArgumentError` as `openviking_sdk.images.image_url` does."""
        address = {"url": image_url(self.image)}
        return {
            "type": "image_url",
            "image_url": address if self.detail is None else {**address, "detail": self.detail},
        }


Part: TypeAlias = TextPart | ContextPart | ToolPart | ImagePart
"""One of the parts that a message can have."""


def part_dicts(parts: Sequence[Part | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Parts as the wire has them; mappings are taken as they are."""
    return [_part_dict(part) for part in parts]


def message_dict(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message given as a mapping, whose ``parts`` may be objects."""
    if not isinstance(message, Mapping):
        raise InvalidArgumentError(f"A message is a mapping with role and content or parts, not {message!r}")
    fields = dict(message)
    if fields.get("parts") is not None:
        fields["parts"] = part_dicts(fields["parts"])
    return fields


def _part_dict(part: Part | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(part, TextPart | ContextPart | ToolPart | ImagePart):
        return part.to_dict()
    if isinstance(part, Mapping):
        return dict(part)
    raise InvalidArgumentError(f"A part is a TextPart, ContextPart, ToolPart, ImagePart or a mapping, not {part!r}")
