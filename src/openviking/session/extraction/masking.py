"""Masks secrets, with patterns that are compiled when a text is first looked through."""

from __future__ import annotations


def masked(text: str) -> tuple[str, int]:
    """As `secrets.masked`: the text without its secrets, and how many there were."""
    # Compiling takes longer than a whole `ov ls`, which masks nothing.
    from openviking.session.extraction import secrets  # noqa: PLC0415

    return secrets.masked(text)
