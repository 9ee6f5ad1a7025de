"""The state of an account: counts, what is waiting, and how far its vectors are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openviking.cli.views.cells import rows

if TYPE_CHECKING:
    from openviking.cli.screen import Screen

LISTED: Final = 10
"""Refused passages shown unless all are asked for."""

LABELS: Final = {"ready": "ready", "working": "more are to come", "failing": "the model does not answer", "off": "off"}


def draw_state(screen: Screen, status: dict[str, Any], *, whole: bool = False) -> None:
    """One line per count, one about the vectors, and one for each passage that the model refused."""
    embedding = status.get("embedding", {})
    refused = embedding.get("refused", [])
    shown = {key: value for key, value in status.items() if key != "embedding"}
    rows(screen, {**shown, "vectors": _coverage(embedding), "embedding": _model(embedding)})
    if embedding.get("error"):
        screen.line(("embedding: ", "warn"), str(embedding["error"]))
    for one in refused if whole else refused[:LISTED]:
        first, last = one["lines"]
        screen.line(("no vector: ", "dim"), (f"{one['uri']}#L{first}-L{last}", "uri"), (f" ({one['error']})", "dim"))
    if not whole and len(refused) > LISTED:
        screen.line((f"no vector: {len(refused) - LISTED} more; -v lists all", "dim"))


def _coverage(embedding: dict[str, Any]) -> str:
    if "have" not in embedding:
        return LABELS["off"] if embedding.get("state") == "off" else "-"
    state = LABELS.get(embedding["state"], embedding["state"])
    waiting = f", {embedding['waiting']} waiting" if embedding["waiting"] else ""
    return f"{embedding['have']} of {embedding['of']} passages{waiting}: {state}"


def _model(embedding: dict[str, Any]) -> str:
    if embedding.get("state") == "off":
        return "none: words answer alone"
    parts = [embedding.get("provider"), embedding.get("model")]
    dimension = embedding.get("dimension")
    return " ".join([*(str(part) for part in parts if part), *([f"({dimension} numbers)"] if dimension else [])]) or "-"
