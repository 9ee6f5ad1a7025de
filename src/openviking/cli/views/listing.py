"""ls as numbered cards, tree as indented names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openviking.cli.views.cells import EMPTY, moment, padded, size, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openviking.cli.screen import Screen

ABSTRACT_LINES = 2
MAX_NAME_COLUMNS = 60


def draw_cards(screen: Screen, entries: Sequence[dict[str, Any]], first: int = 1) -> None:
    """One card per entry: kind, size, time and URI, and up to two lines of abstract below; numbered from ``first``."""
    if not entries:
        screen.line((EMPTY, "dim"))
        return
    digits = len(str(first + len(entries) - 1))
    for number, entry in enumerate(entries, first):
        kind, uri = ("dir ", f"{entry['uri']}/") if entry["isDir"] else ("file", entry["uri"])
        screen.line(
            (f"{number:>{digits}}  ", "dim"), kind, "  ", f"{_size(entry):>8}", "  ", (moment(entry["modTime"]), "dim"), "  ",
            (uri, "strong" if entry["isDir"] else "file"),
        )  # fmt: skip
        for line in abstract_lines(entry.get("abstract") or ""):
            screen.line((line, "dim"), indent=digits + 2, wrap=True)


def draw_tree(screen: Screen, uri: str, entries: Sequence[dict[str, Any]]) -> None:
    """Names indented by depth below ``uri``, with size and time."""
    screen.line((uri, "title"))
    if not entries:
        screen.line((EMPTY, "dim"), indent=2)
        return
    names = []
    for entry in entries:
        path = entry["rel_path"].split("/")
        names.append("  " * len(path) + path[-1] + ("/" if entry["isDir"] else ""))
    columns = min(max(width(name) for name in names), MAX_NAME_COLUMNS)
    for name, entry in zip(names, entries, strict=True):
        style = "strong" if entry["isDir"] else "file"
        screen.line((padded(name, columns), style), f"  {_size(entry):>8}", "  ", (moment(entry["modTime"]), "dim"))


def draw_lines(screen: Screen, uris: Sequence[str]) -> None:
    """One URI a line and nothing else, so that a script can read them."""
    for uri in uris:
        screen.line(uri)


def abstract_lines(abstract: str) -> list[str]:
    """The first two lines of an abstract that say something; none of a placeholder."""
    if abstract.rstrip().endswith("is not ready]"):
        return []
    return [line.strip() for line in abstract.splitlines() if line.strip()][:ABSTRACT_LINES]


def _size(entry: dict[str, Any]) -> str:
    return "-" if entry["isDir"] else size(entry["size"])
