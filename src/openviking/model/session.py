"""A session: a conversation with what was decided about it, and what became of its archives (contract/core.md §3.6)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from openviking.errors import InvalidArgumentError
from openviking.text import quoted
from openviking.uri import URI, check_new_name

MAX_ID_CHARS: Final = 128
MEMORY_TYPES: Final = (
    "profile", "preferences", "entities", "events", "identity", "soul", "cases", "trajectories", "experiences",
)  # fmt: skip
OFF_MEMORY_TYPES: Final = ("tools", "skills")
"""Types that are known and never asked for by default."""

POLICY_LIMITS: Final[dict[str, tuple[int, int]]] = {
    "pending_token_threshold": (150_000, 1_000_000),
    "message_count_threshold": (100, 1_000),
    "idle_timeout_seconds": (86_400, 604_800),
    "keep_recent_count": (0, 1_000),
    "min_commit_interval_seconds": (0, 604_800),
}
"""Fields of an auto-commit policy with their default and the most that they are clamped to."""

MAX_KEPT: Final = 10_000
_ID: Final = re.compile(r"[\w@:+-][\w.@:+-]*")

ArchiveState = Literal["pending", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What its user decided about a session; None where nothing was."""

    auto_commit: dict[str, int] | None = None
    memory_policy: dict[str, Any] | None = None
    event_tags: tuple[str, ...] = ()
    retention: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The settings as they are stored."""
        return {
            "auto_commit": self.auto_commit,
            "memory_policy": self.memory_policy,
            "event_tags": list(self.event_tags),
            "retention": self.retention,
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Settings:
        """The settings that `to_dict` gave."""
        return cls(told["auto_commit"], told["memory_policy"], tuple(told["event_tags"]), told["retention"])

    @property
    def extraction(self) -> dict[str, Any]:
        """``memory_extraction_config`` as answers show it."""
        return {"events": {"tags": list(self.event_tags)}}


@dataclass(frozen=True, slots=True)
class Session:
    """A session as it is now; times in milliseconds since the epoch, None for what never happened.

    ``messages`` counts the live ones, ``total`` all that there ever were, ``pending`` the tokens since the last commit.
    ``extracted`` counts what its commits made: memories by type, as ``memories.events``, and the tokens of the model that
    was asked for them, as ``llm.prompt_tokens``.
    """

    path: str
    created_at: int
    updated_at: int
    last_message_at: int | None
    last_commit_at: int | None
    last_auto_commit_at: int | None
    messages: int
    total: int
    pending: int
    commits: int
    settings: Settings
    extracted: Mapping[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The last segment of its path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Archive:
    """What one commit took out of a session; ``abstract`` and ``overview`` are "" until its second phase is done."""

    number: int
    state: ArchiveState
    messages: int
    abstract: str
    overview: str
    created_at: int

    @property
    def id(self) -> str:
        """Its directory's name below ``history/``."""
        return archive_id(self.number)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The whole output of a tool that was too long to stand in its message; sizes in characters."""

    id: str
    tool_name: str
    mime_type: str
    shown: int
    size: int
    content: str = ""


def archive_id(number: int) -> str:
    """The name of a session's ``number``-th archive, counted from 1."""
    return f"archive_{number:03d}"


def archive_number(name: str) -> int | None:
    """The number of an archive's name, None for what is no such name."""
    digits = name.removeprefix("archive_")
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else 0
    return number if number and name == archive_id(number) else None


def new_session_id(now: int) -> str:
    """``YYYYMMDD-HHMMSS-`` and sixteen hexadecimal digits that nobody can guess."""
    return f"{datetime.fromtimestamp(now / 1000, tz=UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(8)}"


def session_uri(user: str, session_id: object) -> URI:
    """Where a session of ``user`` lies. Raises `InvalidArgumentError` for an id that can't be one."""
    good = isinstance(session_id, str) and len(session_id) <= MAX_ID_CHARS and _ID.fullmatch(session_id)
    if not good:
        raise InvalidArgumentError(
            f"session_id is {quoted(session_id)}, it must have 1 to {MAX_ID_CHARS} letters, digits and _ - . @ : +,"
            " and no dot first",
            field="session_id",
        )
    uri = URI(("user", user, "sessions", str(session_id)))
    check_new_name(uri)
    return uri


def auto_commit_policy(given: Any, present: Mapping[str, int] | None = None) -> dict[str, int] | None:
    """The policy that ``given`` makes of the ``present`` one: None switches it off, an object is merged into it.

    Numbers beyond their limits are clamped. Raises `InvalidArgumentError` for unknown keys and what is no whole number.
    """
    if given is None:
        return None
    if not isinstance(given, dict):
        raise _wrong("auto_commit_policy", given, "an object or null")
    unknown = sorted(set(given) - set(POLICY_LIMITS))
    if unknown:
        raise _wrong("auto_commit_policy", unknown[0], f"one of {', '.join(POLICY_LIMITS)}")
    merged = dict(present or {name: default for name, (default, _) in POLICY_LIMITS.items()})
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong(f"auto_commit_policy.{name}", value, "a whole number")
        merged[name] = min(max(value, 0), POLICY_LIMITS[name][1])
    return merged


def memory_policy(given: Any) -> dict[str, Any] | None:
    """A checked ``memory_policy``; ``experiences`` brings ``cases`` and ``trajectories`` along.

    Raises `InvalidArgumentError` for unknown keys and types.
    """
    if given is None:
        return None
    parts = ("self", "peer", "working_memory")
    if not isinstance(given, dict):
        raise _wrong("memory_policy", given, "an object")
    for name, value in given.items():
        if name in parts:
            good = isinstance(value, dict) and set(value) <= {"enabled"}
            if not good or not isinstance(value.get("enabled", True), bool):
                raise _wrong(f"memory_policy.{name}", value, "an object with enabled true or false")
        elif name != "memory_types":
            raise _wrong("memory_policy", name, f"one of {', '.join((*parts, 'memory_types'))}")
    checked: dict[str, Any] = {name: dict(given[name]) for name in parts if name in given}
    if given.get("memory_types") is not None:
        checked["memory_types"] = _memory_types(given["memory_types"])
    return checked


def _memory_types(given: Any) -> list[str]:
    if not isinstance(given, list):
        raise _wrong("memory_policy.memory_types", given, "a list of types")
    known = (*MEMORY_TYPES, *OFF_MEMORY_TYPES)
    for one in given:
        if one not in known:
            raise _wrong("memory_policy.memory_types", one, f"one of {', '.join(known)}")
    more = ["cases", "trajectories"] if "experiences" in given else []
    return list(dict.fromkeys([*given, *more]))


def tags_of(given: Any, field_name: str, part: str) -> list[str] | None:
    """The tags in ``{part: {"tags": […]}}``, None where none are said.

    Raises `InvalidArgumentError` for unknown keys and what is no list of texts.
    """
    if given is None:
        return None
    if not isinstance(given, dict) or set(given) - {part}:
        raise _wrong(field_name, given, f"an object with {part} alone")
    inner = given.get(part)
    if inner is None:
        return None
    if not isinstance(inner, dict) or set(inner) - {"tags"}:
        raise _wrong(f"{field_name}.{part}", inner, "an object with tags alone")
    tags = inner.get("tags")
    if tags is None:
        return None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise _wrong(f"{field_name}.{part}.tags", tags, "a list of key=value texts")
    return tags


@dataclass(frozen=True, slots=True)
class Retention:
    """Which of the newest messages a commit leaves in the session.

    ``turn_budget``: whole turns, as many as ``turns`` and as fit into ``tokens``, but never fewer messages than
    ``tail``. Beside it, or without it, at least ``count`` messages stay.
    """

    count: int = 0
    turn_budget: bool = False
    turns: int = 3
    tokens: int = 12_000
    tail: int = 1

    def to_dict(self) -> dict[str, Any]:
        """The fields by which a session tells how it was last committed."""
        told: dict[str, Any] = {"keep_recent_count": self.count}
        if self.turn_budget:
            told |= {
                "retention_mode": "turn_budget",
                "keep_recent_turn_count": self.turns,
                "retained_message_token_budget": self.tokens,
                "min_raw_tail_steps": self.tail,
            }
        return told


def retention(
    keep_recent_count: Any = None,
    retention_mode: Any = None,
    keep_recent_turn_count: Any = None,
    retained_message_token_budget: Any = None,
    min_raw_tail_steps: Any = None,
) -> Retention:
    """The retention of a commit. Raises `InvalidArgumentError` for numbers out of range, and turns without the mode."""
    count = _number("keep_recent_count", keep_recent_count, 0, 0, MAX_KEPT)
    of_turns = {
        "keep_recent_turn_count": keep_recent_turn_count,
        "retained_message_token_budget": retained_message_token_budget,
        "min_raw_tail_steps": min_raw_tail_steps,
    }
    if retention_mode is None:
        for name, value in of_turns.items():
            if value is not None:
                raise InvalidArgumentError(f"{name} needs retention_mode 'turn_budget'", field=name)
        return Retention(count)
    if retention_mode != "turn_budget":
        raise _wrong("retention_mode", retention_mode, "'turn_budget' or null")
    return Retention(
        count,
        turn_budget=True,
        turns=_number("keep_recent_turn_count", keep_recent_turn_count, 3, 0, MAX_KEPT),
        tokens=_number("retained_message_token_budget", retained_message_token_budget, 12_000, 1, 1 << 40),
        tail=_number("min_raw_tail_steps", min_raw_tail_steps, 1, 0, MAX_KEPT),
    )


def _number(name: str, value: Any, default: int, least: int, most: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _wrong(name, value, f"a whole number from {least} to {most}")
    return value


def _wrong(name: str, value: Any, right: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{name} is {quoted(value)}, it must be {right}", field=name, value=quoted(value))
