"""The parts of a server: which are well, and what each tells of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openviking.cli.screen import Screen


def draw_parts(screen: Screen, told: dict[str, Any], url: str) -> None:
    """One part, or all of them under a line about the whole."""
    if "components" not in told:
        _draw_part(screen, told)
        return
    well = told.get("is_healthy") is True
    screen.line((url, "uri"), "  ", ("healthy", "good") if well else ("not healthy", "bad"))
    for error in told.get("errors") or ():
        screen.line(("error: ", "bad"), str(error), wrap=True)
    for part in told["components"].values():
        _draw_part(screen, part)


def _draw_part(screen: Screen, part: dict[str, Any]) -> None:
    mark = ("ok", "good") if part.get("is_healthy") is True and not part.get("has_errors") else ("not well", "bad")
    screen.line((str(part.get("name", "")), "title"), "  ", mark)
    for line in str(part.get("status") or "").splitlines():
        screen.line(line.rstrip(), indent=2)
