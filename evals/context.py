"""Measures how much of what answers a question stands in the context for it: conversations kept as memories, by budget.

``python evals/context.py --data DIR`` loads the set ``locomo`` of DIR as sessions by date, commits them without a chat model,
and asks its questions in context mode at 1,600 and 4,000 tokens, beside `find` (level 2, among memories, as many hits as are
needed) whose passages are read one after the other up to the same number of tokens. Evidence recall of a question is the share of its
evidence turns that stand word for word in the block, white space aside. ``--store DIR`` keeps the stores, ``--words`` does
without the model, ``--documented`` without passages; ``--groups`` names conversations, ``--budgets`` other numbers of tokens,
``--ways`` some of ``find``, ``context`` and ``chat`` (context with the quotas of a chat).
``--chart`` draws the recall, ``--json`` prints ``{way: {tokens: {"all" | category: recall, "tokens", "ms"}}}``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "src")]

from conversations import Conversations, Question, flat, keep, load_conversations

from openviking import OpenViking
from openviking.text import token_weight

BUDGETS: Final = (1600, 4000)
CATEGORIES: Final = ("all", "single-hop", "multi-hop", "temporal", "open-domain")
HITS: Final = 40
"""More than there are sessions in a conversation."""

MEMORIES: Final = "viking://~/memories"
DONE: Final = "done"
PATIENCE: Final = 60.0
"""Seconds that a question may wait for the model: no figure shall be one of words because the machine was busy."""

BAR: Final = 50
"""Characters that a recall of 1 is drawn with."""

Way = Callable[[OpenViking, str, int], str]
"""A way to get a block of text for a question, of so many tokens at most."""


def context(one: OpenViking, question: str, budget: int) -> str:
    """The block of context mode without quotas."""
    return one.search_context(question, max_tokens=budget, query_expansion="off").rendered


def chat_context(one: OpenViking, question: str, budget: int) -> str:
    """The block of context mode with the quotas of a chat."""
    return one.search_context(question, max_tokens=budget, query_expansion="off", purpose="chat").rendered


def find(one: OpenViking, question: str, budget: int, place: str = MEMORIES) -> str:
    """The passages of what `find` finds, best first, the last one cut after a line."""
    lines: list[str] = []
    room = float(budget)
    for hit in one.find(question, place, level=2, limit=HITS):
        first, last = hit.lines or (1, 1)
        for line in one.read(hit.uri, offset=first - 1, limit=last - first + 1).splitlines():
            room -= token_weight(line + "\n")
            if room < 0:
                return "\n".join(lines)
            lines.append(line)
    return "\n".join(lines)


WAYS: Final[dict[str, Way]] = {"find": find, "context": context, "chat": chat_context}


@dataclass(slots=True)
class Measured:
    """What one way gave at one budget: recalls by category, tokens of the blocks, CPU in all threads."""

    recalls: dict[str, list[float]] = field(default_factory=dict)
    tokens: float = 0.0
    cpu: float = 0.0

    def add(self, question: Question, block: str, cpu: float) -> None:
        """Count one answer."""
        shown = flat(block)
        recall = sum(turn in shown for turn in question.evidence) / len(question.evidence)
        for category in ("all", question.category):
            self.recalls.setdefault(category, []).append(recall)
        self.tokens += token_weight(block)
        self.cpu += cpu

    def figures(self) -> dict[str, float]:
        """The means."""
        count = len(self.recalls["all"])
        means = {name: sum(self.recalls[name]) / len(self.recalls[name]) for name in CATEGORIES if name in self.recalls}
        return means | {"tokens": self.tokens / count, "ms": 1000 * self.cpu / count}


def opened(path: Path, user: str, given: argparse.Namespace) -> OpenViking:
    """The store of one conversation's user."""
    config = path / "ov.conf"
    dense = {"provider": "none" if given.words else "builtin", "query_timeout": PATIENCE}
    settings = {"retrieval": {"context_passages": not given.documented}, "embedding": {"dense": dense}}
    config.write_text(json.dumps(settings), "utf-8")
    return OpenViking(path / "data", user=f"user-{user}", config=config)


def measure(given: argparse.Namespace, told: Conversations, path: Path) -> dict[str, dict[int, Measured]]:
    """Load what is not there yet, and ask everything."""
    path.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[int, Measured]] = {way: {one: Measured() for one in given.budgets} for way in given.ways}
    for group, sessions in told.sessions.items():
        with opened(path, group, given) as one:
            mark = path / f"{group}.{DONE}"
            if not mark.exists():
                keep(one, sessions)
                one.wait_processed()
                mark.touch()
            asked = [question for question in told.questions if question.group == group]
            for way, budgets in results.items():
                for budget, measured in budgets.items():
                    for question in asked:
                        began = time.process_time()
                        block = WAYS[way](one, question.text, budget)
                        measured.add(question, block, time.process_time() - began)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[Kconversation {group} is done")
    return results


def table(results: dict[str, dict[int, Measured]]) -> str:
    """The results as lines of text."""
    head = "".join(f"{name:>13}" for name in (*CATEGORIES, "tokens used", "ms"))
    lines = [f"{'tokens':>6}  {'':14}{head}"]
    for budget in next(iter(results.values())):
        for way, budgets in results.items():
            figures = budgets[budget].figures()
            row = "".join(f"{figures.get(name, float('nan')):13.3f}" for name in CATEGORIES)
            lines.append(f"{budget:>6}  {way:14}{row}{figures['tokens']:13.0f}{figures['ms']:13.1f}")
    return "\n".join(lines)


def chart(results: dict[str, dict[int, Measured]]) -> str:
    """The recall of all questions by budget, as bars."""
    lines = []
    for budget in next(iter(results.values())):
        for way, budgets in results.items():
            recall = budgets[budget].figures()["all"]
            lines.append(f"{budget:>6} {way:14} {'█' * round(BAR * recall):{BAR}} {recall:.2f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the folder of the set")
    parser.add_argument("--set", default="locomo", help="name of the set")
    parser.add_argument("--groups", default="", help="conversations, separated by commas (default: all)")
    parser.add_argument("--budgets", default=BUDGETS, type=_numbers, help="tokens of a block, separated by commas")
    parser.add_argument("--ways", default=tuple(WAYS), type=_ways, help=f"some of: {', '.join(WAYS)} (default: all)")
    parser.add_argument("--store", type=Path, help="folder that keeps the stores for the next run")
    parser.add_argument("--words", action="store_true", help="words alone, without the model")
    parser.add_argument("--documented", action="store_true", help="the documented tiers alone, without passages")
    parser.add_argument("--chart", action="store_true", help="draw bars instead of a table")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    told = load_conversations(given.data / given.set, tuple(filter(None, given.groups.split(","))))
    if not told.sessions:
        parser.error(f"{given.data / given.set} has no such conversation")
    with ExitStack() as stack:
        path = given.store or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="openviking-eval-")))
        results = measure(given, told, path)
    if given.json:
        print(
            json.dumps({way: {n: one.figures() for n, one in rows.items()} for way, rows in results.items()}, indent=1)
        )
    else:
        print(chart(results) if given.chart else table(results))
    return 0


def _ways(told: str) -> tuple[str, ...]:
    ways = tuple(told.split(","))
    if not set(ways) <= set(WAYS):
        raise argparse.ArgumentTypeError(f"{told} is not made of {', '.join(WAYS)}")
    return ways


def _numbers(told: str) -> tuple[int, ...]:
    return tuple(int(one) for one in told.split(","))


if __name__ == "__main__":
    sys.exit(main())
