"""Adds a folder and answers questions about it: where the answer stands, the lines, the score, and why.

First by words alone, then, when the built-in model has made its vectors, questions in other words than the documents'.
Run through scripts/demo, which sets up the environment first.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from openviking import OpenViking
from openviking.errors import DeadlineExceededError, OpenVikingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openviking.model.imports import Progress as Step

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
HITS_SHOWN = 3
REASONS_SHOWN = 6
SKIPPED_SHOWN = 8
PATIENCE_S = 30.0
"""So long the vectors of a large folder are waited for; what has none by then is found by its words."""
SNIPPET_LINES = 3
TEXT_COLUMNS = 100
MB = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 1 when the folder could not be added or an expected answer was not found."""
    options = read_arguments(arguments)
    console = Console(highlight=False, soft_wrap=True)
    folder = Path(options.folder).expanduser().absolute() if options.folder else EXAMPLES / "handbook"
    own = [(text, "") for text in options.question]
    by_words = own or expected_answers("handbook-questions.tsv", options.folder)
    by_meaning = own or expected_answers("handbook-meanings.tsv", options.folder)
    data = (
        Path(options.data).expanduser().absolute()
        if options.data
        else Path(tempfile.mkdtemp(prefix="openviking-demo-"))
    )
    try:
        with OpenViking(path=str(data), embedder="builtin", workers=0) as ov:
            root = add(ov, folder, data, console)
            missed = sum(not ask(ov, question, expected, root, console) for question, expected in by_words)
            if by_meaning and not own:
                console.print("\n[bold]In other words than the documents'[/]  [dim]while there are words alone:[/]")
                for question, expected in by_meaning:
                    console.print(f"  {escape(question)}  [dim]{place(ov, question, expected, root)}[/]")
            if by_meaning:
                embed(ov, console)
                missed += sum(not ask(ov, question, expected, root, console) for question, expected in by_meaning)
        closing(console, folder, by_words if own else [*by_words, *by_meaning], missed)
    except OpenVikingError as error:
        console.print(f"[bold red]{error.code}[/] {escape(error.message)}")
        return 1
    finally:
        if not options.data:
            shutil.rmtree(data, ignore_errors=True)
    return 1 if missed else 0


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description="Add a folder and answer questions about it.")
    parser.add_argument("--data", metavar="DIR", help="keep the data here (default: a temporary directory)")
    parser.add_argument("folder", nargs="?", help="folder, file or zip to add (default: the handbook in examples/)")
    parser.add_argument("question", nargs="*", help="questions (default: those of the handbook)")
    return parser.parse_args(arguments)


def expected_answers(name: str, folder: str | None) -> list[tuple[str, str]]:
    """Questions about the handbook with the file that answers each; none for another folder."""
    if folder:
        return []
    with (EXAMPLES / name).open(encoding="utf-8", newline="") as file:
        return [(row["question"], row["answer"]) for row in csv.DictReader(file, delimiter="\t")]


def add(ov: OpenViking, folder: Path, data: Path, console: Console) -> str:
    """Add the folder with a progress bar, say how fast its words could be found, and return the root's URI."""
    console.print(f"[bold]Adding[/] {escape(str(folder))}")
    console.print(f"[dim]data in {escape(str(data))}[/]")
    start, cpu = time.perf_counter(), time.process_time()
    with shown(console) as show:
        report = ov.add_resource(folder, progress=show)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    console.print(
        f"{report.files} files, {report.bytes / MB:.2f} MB, {report.passages} new passages in {seconds:.2f} s "
        f"({cpu:.2f} s of CPU): [bold]{report.bytes / MB / seconds * 60:.0f} MB/min[/]"
    )
    left_out = [one for one in report.skipped if not one.reason.startswith("hidden")]
    for one in left_out[:SKIPPED_SHOWN]:
        console.print(f"  [dim]left out: {escape(one.name)} ({escape(one.reason)})[/]")
    if len(left_out) > SKIPPED_SHOWN:
        console.print(f"  [dim]… and {len(left_out) - SKIPPED_SHOWN} more left out[/]")
    for line in [f"{one.name}: {one.error}" for one in report.failed] + list(report.warnings):
        console.print(f"  [yellow]{escape(line)}[/]")
    console.print(f"→ [cyan]{escape(report.root_uri)}[/]")
    return report.root_uri


def embed(ov: OpenViking, console: Console) -> None:
    """Make the vectors with a progress bar, and say how long it took and how many there are."""
    start = time.perf_counter()
    with contextlib.suppress(DeadlineExceededError), shown(console) as show:
        ov.wait_processed(PATIENCE_S, progress=show)
    seconds, state = time.perf_counter() - start, ov.status()["embedding"]
    console.print(
        f"\n[bold]{state['have']} of {state['of']} vectors[/] after {seconds:.1f} s"
        f"  [dim]{escape(str(state['model']))}, in this process[/]"
    )


@contextlib.contextmanager
def shown(console: Console) -> Iterator[Callable[[Step], None]]:
    """A bar on a terminal, and a function that moves it."""
    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("reading", total=None)
        yield lambda state: bar.update(task, description=state.stage, completed=state.done, total=state.total or None)


def place(ov: OpenViking, question: str, expected: str, root: str) -> str:
    """Where the file that answers stands among the hits, in words."""
    uris = [hit.uri for hit in ov.find(question, target_uri=root, level=2, limit=HITS_SHOWN)]
    wanted = f"{root}/{expected}"
    return f"at place {uris.index(wanted) + 1}" if wanted in uris else f"not among the first {HITS_SHOWN}"


def ask(ov: OpenViking, question: str, expected: str, root: str, console: Console) -> bool:
    """Show the best answers to one question; false if a file was expected and is not among them."""
    start = time.perf_counter()
    hits = ov.find(question, target_uri=root, level=2, limit=HITS_SHOWN, explain=True).resources
    console.print(f"\n[bold]{escape(question)}[/]  [dim]{(time.perf_counter() - start) * 1000:.1f} ms[/]")
    if not hits:
        console.print("  nothing found", style="yellow")
    found = not expected
    for rank, hit in enumerate(hits, 1):
        right = bool(expected) and hit.uri == f"{root}/{expected}"
        found = found or right
        mark = "[green]✓[/]" if right else " "
        console.print(f"{mark} {rank}. [cyan]{escape(hit.citation)}[/]  [bold]{hit.score:.3f}[/]")
        for line in wrapped(hit.snippet, console.width)[: SNIPPET_LINES if rank == 1 else 1]:
            console.print(Text(f"       {line}"))
        shares = [(name, value) for name, value in hit.explain or () if value]
        reasons = " + ".join(f"{name} {value:.3f}" for name, value in shares[:REASONS_SHOWN])
        rest = sum(value for _, value in shares[REASONS_SHOWN:])
        console.print(f"       [dim]why: {escape(reasons)}{f' + others {rest:.3f}' if rest else ''}[/]")
    if not found:
        console.print(f"  [red]expected {escape(expected)}[/]")
    return found


def wrapped(text: str, width: int) -> list[str]:
    """``text`` in lines that fit a terminal, also where the script needs two columns for a character."""
    room = max(min(width - 8, TEXT_COLUMNS), 20)
    return [line.plain.rstrip() for line in Text(text.strip()).wrap(Console(width=room), room)]


def closing(console: Console, folder: Path, questions: Sequence[tuple[str, str]], missed: int) -> None:
    """One last line: what was answered, or how to ask."""
    console.print()
    if not questions:
        console.print(
            f"No question was given. Ask some: scripts/demo {escape(os.path.relpath(folder))} 'your question' …"
        )
    elif any(expected for _, expected in questions):
        console.print(
            f"{len(questions) - missed} of {len(questions)} questions answered by the right file among the first {HITS_SHOWN}."
        )


if __name__ == "__main__":
    try:
        status = main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        status = 130
    sys.exit(status)
