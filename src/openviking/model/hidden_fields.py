"""The fields that a memory file carries behind its text, out of readers' sight (contract/retrieval.md §2.3, §3.13)."""

from __future__ import annotations

from typing import Final

FIELDS: Final = "<!-- MEMORY_FIELDS"
_END: Final = "-->"


def visible(text: str) -> str:
    """``text`` without the comment ``<!-- MEMORY_FIELDS … -->`` at its end; text without one is given back as it is."""
    if FIELDS not in text:
        return text
    stripped = text.rstrip()
    start = stripped.rfind(FIELDS)
    if not stripped.endswith(_END) or (start and stripped[start - 1] != "\n"):
        return text
    body = stripped[:start].rstrip()
    return f"{body}\n" if body else ""
