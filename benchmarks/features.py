"""Measures what each feature of find and search costs beside a plain find, on one store in one run.

    python benchmarks/features.py --passages 100000 [--json] [--keep DIR]

All features answer the same queries in turn, so that a busy moment falls on all of them; what counts is the ratio to the
plain find with words and vectors. Vectors are made with a model that costs nothing. The models that plan and rerank over
HTTP are a process of its own (tests/stubs/scripted.py): what is measured is our side of the calls, and the wall time of a
model that answers at once. ``--keep`` leaves the store there, and a later run on it makes none. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus import vocabulary
from synthetic import SyntheticEmbedder
from words import make_folder, spread

from openviking import OpenViking
from openviking.clock import iso, now_ms

ROUNDS = 30
SLOW_ROUNDS = 4
"""Of what takes a second."""

HOME = "viking://resources/bench"
SESSION = "features"
STUB = Path(__file__).resolve().parents[1] / "tests" / "stubs" / "scripted.py"
PLAIN = "words and vectors"
EVENTS = "memory_type=events"


@dataclass
class Feature:
    """A way of asking: its name, the call for a query, how many queries it is measured with."""

    name: str
    ask: Callable[[str], Any]
    rounds: int = ROUNDS
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def measure(self, query: str) -> None:
        """One call."""
        wall, began = time.perf_counter(), time.process_time()
        self.ask(query)
        self.cpu.append((time.process_time() - began) * 1000)
        self.wall.append((time.perf_counter() - wall) * 1000)


def build(place: Path, passages: int) -> str:
    """The store: nine parts of the corpus, then the tenth, with tags; the moment between the two."""
    data, told = place / "data", place / "built.json"
    if told.exists():
        return str(json.loads(told.read_text("utf-8"))["moment"])
    first, second = place / "first", place / "second"
    make_folder(first, passages * 9 // 10)
    make_folder(second, passages // 10)
    with OpenViking(data, workers=0, embedder=SyntheticEmbedder()) as ov:
        ov.add_resource(first, to=HOME)
        moment = iso(now_ms())
        ov.add_resource(second, to=f"{HOME}/late")
        areas = sorted(one for one in ov.ls(HOME, simple=True) if "/area" in one)
        for area in areas[: max(len(areas) // 10, 1)]:
            ov.set_tags(area, ["share=tenth"], mode="append", recursive=True)
        topics = sorted(ov.ls(areas[-1], simple=True))
        for topic in topics[: max(passages // 5 // 100 // 50, 1)]:
            ov.set_tags(topic, ["share=hundredth"], mode="append", recursive=True)
        for note in sorted(ov.ls(topics[-1], simple=True))[: max(passages // 5 // 1000, 1)]:
            ov.set_tags(note, ["share=thousandth"], mode="append")
        ov.set_tags(f"{HOME}/late", [EVENTS], mode="append", recursive=True)
        ov.wait_processed()
        ov.create_session(SESSION)
        ov.add_message(SESSION, "user", content="We spoke about notes, and which of them matter.")
    told.write_text(json.dumps({"moment": moment}), "utf-8")
    return moment


@contextmanager
def scripted() -> Iterator[str]:
    """The address of a process that plans and reranks at once."""
    with subprocess.Popen([sys.executable, str(STUB)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def opened(stack: ExitStack, place: Path, name: str, weight: float | None = None, **told: Any) -> OpenViking:
    """The store with a configuration of its own."""
    config = place / f"{name}.conf"
    config.write_text(json.dumps(told), "utf-8")
    made = OpenViking(place / "data", workers=0, embedder=SyntheticEmbedder(), dense_weight=weight, config=config)
    return stack.enter_context(made)


def features(stack: ExitStack, place: Path, moment: str) -> list[Feature]:
    """All ways of asking, the plain one first."""
    address = stack.enter_context(scripted())
    plain = opened(stack, place, "plain")
    words = opened(stack, place, "words", 0.0)
    planned = opened(stack, place, "planned", vlm={"model": "stub", "api_base": f"{address}/v1"})
    remote = opened(
        stack, place, "remote", rerank={"provider": "openai", "api_base": f"{address}/rerank", "api_key": "k"}
    )
    local = opened(stack, place, "local", rerank={"provider": "local", "timeout": 600})
    far = random.Random(4)
    missing = [f"{HOME}/area000/topic{far.randrange(20):05d}/note{number:07d}.md" for number in range(20)]
    uri = {"op": "contains", "field": "uri", "substring": "/area000/"}

    def tagged(share: str) -> dict[str, Any]:
        return {"op": "must", "field": "search_tags", "conds": [f"share={share}"]}

    def find(**options: Any) -> Callable[[str], Any]:
        return lambda query: plain.find(query, limit=10, **options)

    def search(ov: OpenViking, **options: Any) -> Callable[[str], Any]:
        return lambda query: ov.search(query, limit=10, **options)

    found = [
        Feature(PLAIN, find()),
        Feature("words alone (`dense_weight` 0)", lambda query: words.find(query, limit=10)),
        Feature("`search_type: keywords`", search(plain, search_type="keywords")),
        Feature("`limit` 100", lambda query: plain.find(query, limit=100)),
        Feature("filter that 10 % meet", find(filter=tagged("tenth"))),
        Feature("filter that 1 % meet", find(filter=tagged("hundredth"))),
        Feature("filter that 0.1 % meet", find(filter=tagged("thousandth"))),
        Feature("filter on a part of the URI, 5 % meet", find(filter=uri)),
        Feature("`tags`, 10 % carry them", find(tags=["share=tenth"])),
        Feature("`since`, 10 % are younger", find(since=moment)),
        Feature("`level` 2", find(level=2)),
        Feature("event time decay, 10 % are events", find(events_time_decay_protection="1h")),
        Feature("`explain`", find(explain=True)),
        Feature("`include_provenance`", find(include_provenance=True)),
        Feature("`read_content`", find(read_content=True)),
        Feature("`explain_missing` of 20", find(explain_missing=missing)),
        Feature("hierarchical, classic", find(strategy="classic")),
        Feature("hierarchical, late", find(strategy="late")),
        Feature("hierarchical, late, `explain_missing` of 20", find(strategy="late", explain_missing=missing)),
        Feature("rerank over HTTP (stub)", search(remote)),
        Feature("planner over HTTP (stub), two queries, fused", search(planned, session_id=SESSION)),
        Feature("rerank `local`", search(local), SLOW_ROUNDS),
    ]
    if hasattr(plain, "search_context"):
        found.append(Feature("`mode: context`", plain.search_context))
        found.append(
            Feature("`mode: context`, purpose chat", lambda query: plain.search_context(query, purpose="chat"))
        )
    return found


def measure(place: Path, passages: int) -> dict[str, Any]:
    """All figures by the feature's name."""
    moment = build(place, passages)
    chance, known = random.Random(11), vocabulary()
    queries = [" ".join(chance.choices(known[500:4000], k=3)) for _ in range(ROUNDS)]
    with ExitStack() as stack:
        asked = features(stack, place, moment)
        for one in asked:
            one.ask("a first question")
        for number, query in enumerate(queries):
            for one in asked:
                if number < one.rounds:
                    one.measure(query)
    return {one.name: {"cpu_ms": spread(one.cpu), "wall_ms": spread(one.wall)} for one in asked}


def table(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    base = figures[PLAIN]["cpu_ms"]["p50"]
    lines = ["| feature | CPU ms, p50 / p95 | ratio | wall ms, p50 |", "| --- | --: | --: | --: |"]
    for name, one in figures.items():
        cpu = one["cpu_ms"]
        lines.append(
            f"| {name} | {cpu['p50']:.1f} / {cpu['p95']:.1f} | {cpu['p50'] / base:.2f} | {one['wall_ms']['p50']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path, help="the store is made here, or taken from here")
    options = parser.parse_args()
    # A neighbour of this file has the name of a module of the standard library that HTTP needs.
    sys.path.remove(str(Path(__file__).resolve().parent))
    with tempfile.TemporaryDirectory() as temporary:
        place = options.keep or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        figures = measure(place, options.passages)
    print(json.dumps(figures, indent=1) if options.json else table(figures))


if __name__ == "__main__":
    main()
