"""Progress of long work on standard error: a bar on a terminal, a line per stage where one was asked for."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openviking.cli.options import Invocation


@contextmanager
def shown_progress(invocation: Invocation, title: str) -> Iterator[Callable[[Any], None] | None]:
    """A function that shows a ``Progress`` (stage, done, total), or None if nobody wants to see it.

    A bare number is what is left of the work that ``title`` names.
    """
    watched = sys.stderr.isatty()
    wanted = watched if invocation.progress is None else invocation.progress
    if not wanted:
        yield None
    elif not watched:
        yield _StageLines(title)
    else:
        with _bar(title) as show:
            yield show


class _StageLines:
    def __init__(self, title: str) -> None:
        self._title = title
        self._stage: str | None = None

    def __call__(self, progress: Any) -> None:
        left = isinstance(progress, int)
        stage, total = (self._title, progress) if left else (progress.stage, progress.total)
        if stage != self._stage:
            self._stage = stage
            print(f"{stage} {total}" if total else stage, file=sys.stderr)


@contextmanager
def _bar(title: str) -> Iterator[Callable[[Any], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        most = 0

        def show(progress: Any) -> None:
            nonlocal most
            if isinstance(progress, int):
                most = max(most, progress)
                bar.update(task, completed=most - progress, total=most or None)
                return
            bar.update(task, description=progress.stage, completed=progress.done, total=progress.total or None)

        yield show
