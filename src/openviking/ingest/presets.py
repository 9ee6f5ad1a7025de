"""Directories that every account and user has from the beginning, and what is said of them (contract/core.md §2.1)."""

from __future__ import annotations

from typing import Final

_USER_AREAS: Final = {
    "memories": "What was learned from and about this user: preferences, entities, events.",
    "resources": "Documents, code and data of this user alone.",
    "skills": "Skills of this user: instructions that an agent follows for a kind of task.",
    "peers": "What belongs to single partners of this user: their memories and resources.",
    "privacy": "Private settings and values of this user.",
    "sessions": "Conversations of this user and their archives.",
}
_SCOPES: Final = {
    "resources": "Shared resources of the account: documents, code and data that every member may read.",
    "user": "The users' own trees, each visible to its user alone.",
    "agent": "What the agents of the account share: skills, tools and endpoints.",
}


def preset_directories(user: str) -> tuple[str, ...]:
    """Store paths of the shared resources and of a user's root with its first level."""
    return ("resources", *(f"user/{user}/{area}" for area in _USER_AREAS))


def in_session(path: str) -> bool:
    """Whether a directory is that of a user's sessions, or lies in it."""
    parts = path.split("/", 3)
    return len(parts) > 2 and parts[0] == "user" and parts[2] == "sessions"


def preset_description(path: str) -> str:
    """What is said of a directory that exists from the beginning; "" for all others."""
    parts = path.split("/")
    if len(parts) == 1:
        return _SCOPES.get(path, "")
    if parts[0] != "user":
        return ""
    if len(parts) == 2:
        return "What belongs to one user: memories, resources, skills and sessions."
    return _USER_AREAS.get(parts[2], "") if len(parts) == 3 else ""
