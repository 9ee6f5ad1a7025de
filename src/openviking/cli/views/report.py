"""The report of an import: how many files became what, and which were left out or failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openviking.cli.views.cells import size

if TYPE_CHECKING:
    from openviking.cli.screen import Screen
    from openviking.model.imports import ImportReport

LISTED: Final = 10
"""Names shown of each kind unless all are asked for."""


def draw_report(screen: Screen, report: ImportReport, *, all_files: bool = False) -> None:
    """Where it went, the counts, the time, and the names of what needs a look."""
    screen.line((report.root_uri, "uri"))
    counts = {
        "created": report.created, "updated": report.updated, "unchanged": report.unchanged, "removed": report.removed,
        "skipped": len(report.skipped), "failed": len(report.failed),
    }  # fmt: skip
    extra = {"kept": len(report.kept), "binary": len(report.binary), "renamed": len(report.renamed)}
    counts.update({name: count for name, count in extra.items() if count})
    line = "  ".join(f"{name} {count}" for name, count in counts.items())
    screen.line((line, "strong"), f"  {size(report.bytes)} in {report.seconds:.2f} s", indent=2)
    groups = {
        "failed": [(one.name or report.root_uri, one.error) for one in report.failed],
        "kept": [(one.name, one.reason) for one in report.kept],
        "renamed": [(one.name, one.uri) for one in report.renamed],
        "skipped": [(one.name, one.reason) for one in report.skipped],
    }
    for name, entries in groups.items():
        shown = entries if all_files else entries[:LISTED]
        for file, why in shown:
            kind = (f"{name}: ", "bad" if name == "failed" else "dim")
            screen.line(kind, _name(file), (f" ({why})", "dim"), indent=2)
        if len(shown) < len(entries):
            screen.line((f"{name}: {len(entries) - len(shown)} more; -v lists all", "dim"), indent=2)
    for warning in report.warnings:
        screen.line((f"warning: {warning}", "warn"), indent=2)


def _name(file: str) -> str:
    """A name of a file system on one line: what is not printable is spelled out."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in file)
