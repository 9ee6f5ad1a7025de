"""Sizes, times, widths and rows as people read them."""

from __future__ import annotations

import contextlib
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openviking.cli.screen import Screen

EMPTY = "(empty)"


def size(count: int) -> str:
    """A number of bytes in at most seven characters, in powers of 1024."""
    if count < 1024:
        return f"{count} B"
    amount = float(count)
    for unit in ("KB", "MB", "GB"):
        amount /= 1024
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} TB"


def moment(iso: str) -> str:
    """An ISO 8601 time in UTC to the minute, such as ``2026-01-31 09:30Z``."""
    return f"{iso[:10]} {iso[11:16]}Z" if len(iso) >= 16 else iso


def width(text: str) -> int:
    """The columns that ``text`` takes on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) != 0 for char in text)


def padded(text: str, columns: int) -> str:
    """``text`` with blanks behind it up to ``columns``."""
    return text + " " * max(columns - width(text), 0)


def mode(bits: int) -> str:
    """Permission bits as people write them: ``0644``."""
    return f"{bits:04o}"


def field_text(name: str, value: Any) -> str:
    """The value of a field on one line; of a time in seconds (``created_at``) the moment, as ISO 8601 in UTC."""
    if name.endswith("_at") and isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        with contextlib.suppress(ValueError, OverflowError, OSError):
            told = datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds")
            return told.replace("+00:00", "Z")
    return value_text(value)


def value_text(value: Any) -> str:
    """A value on one line: a list with commas, a mapping as ``key=value`` pairs."""
    if value is None or value in ("", [], {}, ()):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(value_text(one) for one in value)
    if isinstance(value, dict):
        return " ".join(f"{key}={value_text(one)}" for key, one in value.items())
    return " ".join(str(value).split()) if "\n" in str(value) else str(value)


def rows(screen: Screen, values: dict[str, Any]) -> None:
    """One line per key, values aligned; keys of a mapping inside are joined with a dot."""
    flat = _flat(values, "")
    if not flat:
        screen.line((EMPTY, "dim"))
        return
    columns = max(width(key) for key, _ in flat)
    for key, value in flat:
        screen.line((padded(key, columns), "label"), "  ", field_text(key, value))


def _flat(values: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, dict) and value:
            out += _flat(value, f"{prefix}{key}.")
        else:
            out.append((f"{prefix}{key}", value))
    return out


def table(screen: Screen, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Aligned columns under a header; the last column is not padded."""
    widths = [max(width(row[i]) for row in (header, *lines)) for i in range(len(header))]
    for number, row in enumerate((header, *lines)):
        cells = [padded(cell, widths[i]) if i < len(row) - 1 else cell for i, cell in enumerate(row)]
        screen.line(("  ".join(cells).rstrip(), "" if number else "title"))


def records(screen: Screen, entries: Sequence[dict[str, Any]], columns: Sequence[str] = ()) -> None:
    """A table of mappings: ``columns`` of them, or the keys of all; what a mapping lacks is ``-``."""
    if not entries:
        screen.line((EMPTY, "dim"))
        return
    names = [name for name in columns if any(name in one for one in entries)] or list(
        dict.fromkeys(key for one in entries for key in one)
    )
    table(screen, names, [[field_text(name, one.get(name)) for name in names] for one in entries])
