"""Progress of long work on standard error: a bar on a terminal, a line per stage where one was asked for."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from openviking.cli.screen import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openviking.cli.options import Invocation
    from openviking.model.imports import Progress


LABELS: Final = {"working": "other work", "embedding": "vectors"}
"""What people read for the names of stages that follow an import."""


@contextmanager
def shown_progress(invocation: Invocation, title: str) -> Iterator[Callable[[Progress], None] | None]:
    """A function that shows a ``Progress`` (stage, done, total), or None if nobody wants to see it."""
    watched = sys.stderr.isatty()
    wanted = watched if invocation.progress is None else invocation.progress
    if not wanted:
        yield None
    elif not watched:
        yield _StageLines()
    else:
        with _bar(title) as show:
            yield show


class _StageLines:
    def __init__(self) -> None:
        self._stage: str | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.stage != self._stage:
            self._stage = progress.stage
            stage = LABELS.get(progress.stage, progress.stage)
            print(f"{stage} {progress.total}" if progress.total else stage, file=sys.stderr)


@contextmanager
def _bar(title: str) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def show(progress: Progress) -> None:
            stage = LABELS.get(progress.stage, progress.stage)
            trouble = f" ({harmless(progress.name)})" if progress.stage == "embedding" and progress.name else ""
            bar.update(task, description=stage + trouble, completed=progress.done, total=progress.total or None)

        yield show
