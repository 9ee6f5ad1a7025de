"""Carrying out a queued import, with its stages and its report told to its task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openviking.errors import ConflictError
from openviking.ingest.background import Turn
from openviking.model.imports import ImportOptions
from openviking.service.task_run import TaskRun, Unfinished
from openviking.store.port import AccountStore


def carry_out_import(store: AccountStore, turn: Turn, run: TaskRun) -> dict[str, Any]:
    """Do an import, or carry on one that was left, and give its report; fit for `openviking.service.task_run.tracked`.

    Raises what `import_source` raises, and `ConflictError` if the root was removed meanwhile.
    """
    # Walks and archives are nothing that a find should have to load.
    from openviking.ingest.importing import import_source  # noqa: PLC0415

    payload = turn.payload
    report = import_source(
        store,
        Path(payload["location"]),
        root=payload["root"],
        parent=payload["parent"],
        options=ImportOptions.from_dict(payload["options"]),
        progress=run.progress,
        cancelled=run.cancelled,
        tags=tuple(payload.get("tags", ())),
        excluded=Path(payload["excluded"]) if "excluded" in payload else None,
    )
    if report.cancelled and run.cancelled():
        raise Unfinished
    if report.cancelled:
        raise ConflictError("; ".join(report.warnings) or "The import was stopped", resource=report.root_uri)
    return report.to_dict()
