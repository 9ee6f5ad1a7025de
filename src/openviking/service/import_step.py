"""Carrying out a queued import, with its stages and its report told to its task."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from openviking.errors import ConflictError, NotFoundError, ProcessingError
from openviking.ingest.background import Step, Turn
from openviking.model.imports import ImportOptions, Progress
from openviking.service.task_run import TASK, TaskRun, Unfinished, tracked
from openviking.service.uploads import Uploads
from openviking.store.batch import Remove
from openviking.store.port import AccountStore

STAGES: Final = {"scanning": "fetching", "importing": "parsing", "removing": "finalizing", "done": "finalizing"}
"""What clients call the stages of an import (contract/core.md §3.4)."""


def carry_out_import(store: AccountStore, turn: Turn, run: TaskRun) -> dict[str, Any]:
    """Do an import, or carry on one that was left, and give its report; fit for `openviking.service.task_run.tracked`.

    Raises what `import_source` raises, and `ConflictError` if the root was removed meanwhile.
    """
    # Walks and archives are nothing that a find should have to load.
    from openviking.ingest.importing import import_source  # noqa: PLC0415

    payload = turn.payload
    uploaded = bool(payload.get("upload"))

    def told(progress: Progress) -> None:
        numbers = {"done": progress.done, "total": progress.total, "bytes": progress.bytes, "name": progress.name}
        run.stage(STAGES.get(progress.stage, progress.stage), numbers)

    try:
        report = import_source(
            store,
            Path(payload["location"]),
            root=payload["root"],
            parent=payload["parent"],
            options=ImportOptions.from_dict(payload["options"]),
            progress=told if uploaded else run.progress,
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
    if report.cancelled and run.cancelled():
        raise Unfinished
    if report.cancelled:
        raise ConflictError("; ".join(report.warnings) or "The import was stopped", resource=report.root_uri)
    return report.to_dict()


def import_step(uploads: Uploads) -> Step:
    """The step of a worker for imports; what an import that is over leaves is cleared up."""
    step = tracked(carry_out_import)

    def carried_out(store: AccountStore, turn: Turn) -> bool:
        more = step(store, turn)
        if not more and turn.payload.get("upload"):
            uploads.remove(Path(turn.payload["location"]))
            if turn.payload["made"] and store.tasks.status(turn.payload[TASK]) != "completed":
                store.apply([Remove(turn.payload["root"], only_empty=True)])
        return more

    return carried_out
