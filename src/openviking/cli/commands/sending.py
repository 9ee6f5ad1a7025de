"""add-resource through a server: sent with progress, followed to its end if that is wanted."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openviking.cli.commands.imported import show_report
from openviking.cli.output import Output
from openviking.cli.progress import shown_progress
from openviking.cli.transfer import Stage, carried_out, followed
from openviking.cli.views.cells import rows
from openviking.errors import OpenVikingError
from openviking.model.imports import Failed, ImportReport, Kept, Renamed, Skipped
from openviking_sdk.calls import resources
from openviking_sdk.errors import OpenVikingError as SdkError

if TYPE_CHECKING:
    from collections.abc import Callable

    from openviking.cli.options import Invocation
    from openviking.cli.progress import Told
    from openviking.cli.remote import Remote

LONGEST_WAIT_S: Final = 86_400.0
"""So long a server is asked to wait where no ``--timeout`` says otherwise: in effect until it is done."""


def send_resource(
    invocation: Invocation, server: Remote, source: str, wanted: dict[str, Any], *, wait: bool, timeout: float | None
) -> None:
    """Send a file, folder or URL, and show what became of it."""
    output = Output(invocation)
    invocation.interrupted = "the upload was not complete: nothing was added"
    began = time.monotonic()
    extra = {"add_type": wanted["add_type"]} if wanted["add_type"] is not None else None
    options = {name: value for name, value in wanted.items() if name != "add_type"}
    with shown_progress(invocation, "sending") as show:
        # People are shown the stages of a task, however long it takes; a program gets one answer.
        following = wait and not invocation.json
        if wait and not following:
            options.update(wait=True, timeout=LONGEST_WAIT_S if timeout is None else timeout)
        steps = resources.add_resource(server.client.settings.upload, source, options=extra, **options)
        result = carried_out(server, steps, _noted(invocation, show))
        late: OpenVikingError | SdkError | None = None
        if following:
            result, late = _to_the_end(invocation, server, result, timeout, show)
    report = report_of(result) if following else None
    if report is not None:
        show_report(invocation, output, replace(report, seconds=time.monotonic() - began))
    elif not wait and "task_id" in result:
        _tell_accepted(invocation, output, result)
    else:
        output.rows(result)
    if late is not None:
        output.remark("found by words now")
        raise late


def _tell_accepted(invocation: Invocation, output: Output, result: dict[str, Any]) -> None:
    """Show that a server has it to do: whether it can be done is told by its task, whatever ``status`` on the wire says."""
    told = {**result, "status": "accepted, not done yet"}
    output.result(result, lambda screen: rows(screen, told))
    output.remark(
        f"a task takes it in; whether it could, and how far it is: {_line(invocation, 'status', result['task_id'])}"
    )


def _noted(invocation: Invocation, show: Callable[[Told], None] | None) -> Callable[[Told], None]:
    """``show``, and what an interruption means from the moment that everything was sent."""

    def told(stage: Told) -> None:
        if stage.stage == "asking":
            invocation.interrupted = (
                f"what was sent stays, and the server goes on; to see how far it is: "
                f"{invocation.command_line('task', 'list')}"
            )
        if show is not None:
            show(stage)

    return told


def _to_the_end(
    invocation: Invocation,
    server: Remote,
    accepted: dict[str, Any],
    timeout: float | None,
    show: Callable[[Told], None] | None,
) -> tuple[dict[str, Any], OpenVikingError | SdkError | None]:
    """The report of the task that an answer names, when summaries and vectors are made as well; or why they are not.

    Raises what `followed` raises.
    """
    task_id = accepted.get("task_id")
    if not isinstance(task_id, str):
        return accepted, None
    end = None if timeout is None else time.monotonic() + timeout
    invocation.interrupted = (
        f"the server goes on; to see how far it is: {_line(invocation, 'status', task_id)}; "
        f"to stop it: {_line(invocation, 'cancel', task_id)}"
    )
    report = followed(server, task_id, timeout, show).get("result") or accepted
    if show is not None:
        show(Stage("vectors"))
    try:
        server.wait_processed(LONGEST_WAIT_S if end is None else max(end - time.monotonic(), 0.0))
    except (OpenVikingError, SdkError) as error:
        return report, error
    return {**report, "vectors_waiting": 0}, None


def _line(invocation: Invocation, verb: str, task_id: str) -> str:
    return invocation.command_line("task", verb, task_id)


def report_of(result: dict[str, Any]) -> ImportReport | None:
    """The report of an import in either of the shapes that servers give it; None if it is none."""
    try:
        if "created" in result:
            return ImportReport.from_dict(result)
        meta = result["meta"]
        report = ImportReport(
            result["root_uri"],
            **{name: meta[name] for name in ("created", "updated", "unchanged", "removed", "bytes", "passages")},
        )
        return replace(
            report,
            kept=tuple(Kept(**one) for one in meta["kept_files"]),
            renamed=tuple(Renamed(**one) for one in meta["renamed_files"]),
            failed=tuple(Failed(**one) for one in meta["failed_files"]),
            skipped=tuple(Skipped(one["path"], one["status"]) for one in meta["skipped_files"]),
            binary=tuple(one["path"] for one in meta["unsupported_files"]),
            warnings=tuple(result.get("warnings") or ()),
        )
    except (KeyError, TypeError):
        return None
