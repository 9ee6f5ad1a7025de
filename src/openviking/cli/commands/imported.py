"""What an import did, shown by either door."""

from __future__ import annotations

from openviking.cli.options import Invocation
from openviking.cli.output import Output
from openviking.model.imports import ImportReport


def show_report(invocation: Invocation, output: Output, report: ImportReport) -> None:
    """Write the report of an import."""
    from openviking.cli.views.report import draw_report

    if report.updated_root:
        output.remark(f"updating the earlier import at {report.root_uri}")
    output.result(report, lambda screen: draw_report(screen, report, all_files=invocation.verbose))
