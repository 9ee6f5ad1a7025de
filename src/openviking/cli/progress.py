"""Progress of long work on standard error: a bar on a terminal, a line per stage where one was asked for."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from openviking.cli.screen import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openviking.cli.options import Invocation


class Told(Protocol):
    """How far work is: ``done`` of ``total`` (0 while unknown); ``name`` is what it is at, or what keeps it."""

    @property
    def stage(self) -> str:
        """Its name."""

    @property
    def done(self) -> int:
        """What is done."""

    @property
    def total(self) -> int:
        """All there is to do."""

    @property
    def name(self) -> str:
        """Such as the last file."""


LABELS: Final = {"working": "other work", "embedding": "vectors"}
"""What people read for the names of stages that follow an import."""


@contextmanager
def shown_progress(invocation: Invocation, title: str) -> Iterator[Callable[[Told], None] | None]:
    """A function that shows a `Told`, or None if nobody wants to see it."""
    watched = sys.stderr.isatty()
    wanted = watched if invocation.progress is None else invocation.progress
    if not wanted:
        yield None
    elif not watched:
        yield _StageLines()
    else:
        with _bar(title) as show:
            yield show


class Counted:
    """Keeps for an interruption how far the vectors are, while it passes what is told to ``show``."""

    def __init__(self, invocation: Invocation, show: Callable[[Told], None] | None) -> None:
        self._invocation = invocation
        self._show = show

    def __call__(self, progress: Told) -> None:
        if progress.stage == "embedding":
            self._invocation.interrupted = (
                f"{progress.done:,} of {progress.total:,} vectors are made and stay; nothing is lost, and this goes on: "
                + self._invocation.command_line("wait")
            )
        if self._show is not None:
            self._show(progress)


class _StageLines:
    def __init__(self) -> None:
        self._stage: str | None = None

    def __call__(self, progress: Told) -> None:
        if progress.stage != self._stage:
            self._stage = progress.stage
            stage = LABELS.get(progress.stage, progress.stage)
            print(f"{stage} {progress.total}" if progress.total else stage, file=sys.stderr)


@contextmanager
def _bar(title: str) -> Iterator[Callable[[Told], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}", markup=False), TimeElapsedColumn(),
    )  # fmt: skip
    pace = Pace()
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, pace="")

        def show(progress: Told) -> None:
            stage = LABELS.get(progress.stage, progress.stage)
            trouble = f" ({harmless(progress.name)})" if progress.stage == "embedding" and progress.name else ""
            bar.update(
                task, description=harmless(stage) + trouble, completed=progress.done, total=progress.total or None,
                pace=pace.told(progress, time.monotonic()),
            )  # fmt: skip

        yield show


class Pace:
    """How fast a stage goes and how long it still takes, by its mean since it began."""

    def __init__(self) -> None:
        self._stage = ""
        self._done = 0
        self._began = 0.0

    def told(self, progress: Told, now: float) -> str:
        """Such as ``14/s, 0:01:05 left``; empty while nothing can be said. ``now`` in seconds."""
        if progress.stage != self._stage:
            self._stage, self._done, self._began = progress.stage, progress.done, now
        done, seconds = progress.done - self._done, now - self._began
        if done <= 0 or seconds < 1:
            return ""
        rate = done / seconds
        pace = f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
        left = round((progress.total - progress.done) / rate)
        return f"{pace}, {timedelta(seconds=left)} left" if progress.total > progress.done else pace
