"""Carrying out a queued import, with its stages and its report told to its task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from openviking.errors import ConflictError, NotFoundError, ProcessingError
from openviking.ingest.background import Step, Turn
from openviking.ingest.fetch.fetcher import Fetcher
from openviking.model.imports import ImportOptions, ImportReport, Progress
from openviking.service.remote_imports import forget_place
from openviking.service.task_run import TASK, TaskRun, Unfinished, tracked
from openviking.service.uploads import Uploads
from openviking.store.batch import Remove
from openviking.store.port import AccountStore

OVER: Final = "import_over"
"""The kind of the job that clears up after an import that was cancelled or given up."""

STAGES: Final = {"scanning": "parsing", "importing": "parsing", "removing": "finalizing", "done": "finalizing"}
"""What clients call the stages of an import (contract/core.md §3.4); only what comes from elsewhere is ``fetching``."""


def carry_out_import(store: AccountStore, turn: Turn, run: TaskRun, fetcher: Fetcher | None = None) -> dict[str, Any]:
    """Do an import, or carry on one that was left, and give its report; fit for `openviking.service.task_run.tracked`.

    Raises what `import_source` and `import_remote` raise, and `ConflictError` if the root was removed meanwhile.
    """
    # Walks and archives are nothing that a find should have to load.
    from openviking.ingest.importing import import_source  # noqa: PLC0415

    payload = turn.payload
    if "remote" in payload:
        return _fetched(store, turn, run, fetcher)
    uploaded = bool(payload.get("upload"))

    try:
        report = import_source(
            store,
            Path(payload["location"]),
            root=payload["root"],
            parent=payload["parent"],
            options=ImportOptions.from_dict(payload["options"]),
            progress=_told(run) if uploaded else run.progress,
            cancelled=run.cancelled,
            tags=tuple(payload.get("tags", ())),
            tag_mode=payload.get("tag_mode", "append"),
            excluded=Path(payload["excluded"]) if "excluded" in payload else None,
            name=payload.get("name", ""),
            reserved=payload.get("reserved"),
        )
    except NotFoundError as error:
        # Where on its disk a server keeps uploads is nobody's business.
        if uploaded and error.details.get("type") == "path":
            raise ProcessingError(f"The upload {payload['name']} is no longer there: send it again") from error
        raise
    return _result(report, run)


def _fetched(store: AccountStore, turn: Turn, run: TaskRun, fetcher: Fetcher | None) -> dict[str, Any]:
    from openviking.ingest.fetch.remote import import_remote  # noqa: PLC0415

    payload = turn.payload
    if fetcher is None:
        raise Unfinished

    report = import_remote(
        store, fetcher, payload["remote"], payload["args"], root=payload["root"],
        options=ImportOptions.from_dict(payload["options"]), progress=_told(run), cancelled=run.cancelled,
        tags=tuple(payload["tags"]), tag_mode=payload["tag_mode"], reserved=payload["reserved"],
    )  # fmt: skip
    return _result(report, run)


def _told(run: TaskRun) -> Callable[[Progress], None]:
    """The progress of an import with the stages that clients know."""

    def told(progress: Progress) -> None:
        numbers = {"done": progress.done, "total": progress.total, "bytes": progress.bytes, "name": progress.name}
        run.stage(STAGES.get(progress.stage, progress.stage), numbers)

    return told


def _result(report: ImportReport, run: TaskRun) -> dict[str, Any]:
    if report.cancelled and run.cancelled():
        raise Unfinished
    if report.cancelled:
        raise ConflictError("; ".join(report.warnings) or "The import was stopped", resource=report.root_uri)
    return report.to_dict()


def import_steps(uploads: Uploads, fetcher: Fetcher | None = None) -> dict[str, Step]:
    """The steps of a worker for imports, and for clearing up after one that ended without being carried out."""
    step = tracked(lambda store, turn, run: carry_out_import(store, turn, run, fetcher))

    def carried_out(store: AccountStore, turn: Turn) -> bool:
        more = step(store, turn)
        if not more:
            over(store, turn)
        return more

    def over(store: AccountStore, turn: Turn) -> bool:
        if "remote" in turn.payload and store.tasks.status(turn.payload[TASK]) != "completed":
            forget_place(store, turn.payload["made_paths"])
        if turn.payload.get("upload"):
            uploads.remove(Path(turn.payload["location"]))
            if turn.payload["made"] and store.tasks.status(turn.payload[TASK]) != "completed":
                store.apply([Remove(turn.payload["root"], only_empty=True)])
        return False

    return {"import": carried_out, OVER: over}
