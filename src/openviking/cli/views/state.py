"""The state of an account: counts, what is waiting, and how far its vectors are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openviking.cli.views.cells import rows

if TYPE_CHECKING:
    from openviking.cli.screen import Screen

LISTED: Final = 10
"""Refused passages shown unless all are asked for."""

LABELS: Final = {"ready": "ready", "failing": "the model does not answer", "off": "off"}

NAMES: Final = {
    "waiting": "work to do",
    "failed": "work given up",
    "stale_sidecars": "summaries to renew",
    "outdated_files": "files to read anew",
    "change": "changes so far",
}
"""What people read for names that JSON has."""

KINDS: Final = {"sidecars": "summaries", "purge": "cleaning up", "prepare": "reading anew", "import": "imports"}
"""What people read for kinds of work."""


def draw_state(screen: Screen, status: dict[str, Any], todo: str, *, whole: bool = False) -> None:
    """One line per count, one about the vectors, and one for each warning and each passage that the model refused.

    ``todo`` stands beside what waits for a model that answers: how to have it done, or why it is still there.
    """
    embedding = status.get("embedding", {})
    refused = embedding.get("refused", [])
    hidden = ("embedding", "warnings", "failed_total")
    shown = {NAMES.get(key, key): value for key, value in status.items() if key not in hidden}
    if "waiting" in status:
        work = [f"{count} {KINDS.get(kind, kind)}" for kind, count in status["waiting"].items()]
        shown[NAMES["waiting"]] = ", ".join(work)
    rows(screen, {**shown, "vectors": _coverage(embedding, todo), "embedding": _model(embedding)})
    if embedding.get("error"):
        screen.line(("embedding: ", "warn"), str(embedding["error"]))
    for warning in status.get("warnings", []):
        screen.line(("warning: ", "warn"), str(warning), wrap=True)
    for one in refused if whole else refused[:LISTED]:
        first, last = one["lines"]
        screen.line(("no vector: ", "dim"), (f"{one['uri']}#L{first}-L{last}", "uri"), (f" ({one['error']})", "dim"))
    if not whole and len(refused) > LISTED:
        screen.line((f"no vector: {len(refused) - LISTED} more; -v lists all", "dim"))


def _coverage(embedding: dict[str, Any], todo: str) -> str:
    if "have" not in embedding:
        return LABELS["off"] if embedding.get("state") == "off" else "-"
    state = LABELS.get(embedding["state"], todo)
    waiting = f", {embedding['waiting']} waiting" if embedding["waiting"] else ""
    return f"{embedding['have']} of {embedding['of']} passages{waiting}: {state}"


def _model(embedding: dict[str, Any]) -> str:
    if embedding.get("state") == "off":
        return "none: words answer alone"
    parts = [embedding.get("provider"), embedding.get("model")]
    dimension = embedding.get("dimension")
    return " ".join([*(str(part) for part in parts if part), *([f"({dimension} numbers)"] if dimension else [])]) or "-"
