"""Measures vectors and fusion: find by selectivity, reopening, memory, making vectors beside searches, a million rows.

    python benchmarks/vectors.py --passages 10000 100000 [--json] [--keep DIR]
    python benchmarks/vectors.py --making            the built-in model against the bare one, and beside searches

The first form makes vectors with a model that costs nothing, so that all else is measured. Times are CPU milliseconds
of this process unless a name says wall. Nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from corpus import vocabulary
from synthetic import SyntheticEmbedder
from words import cpu, make_folder, spread

from openviking import OpenViking
from openviking.providers.builtin import BuiltinEmbedder

ROUNDS = 40
QUESTIONS = ("how is a message parsed", "where are vectors kept", "encode a header", "what does it cost")
AREA = "viking://resources/bench/area000"
SCOPES = {"all": "", "one area (1,000 files)": AREA, "one directory (50 files)": f"{AREA}/topic00003"}

_REOPEN = """
import re, sys, time
def peak():
    # The kernel hands a child the peak of its parent in ru_maxrss; this is its own.
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1024
sys.path.insert(0, sys.argv[1])
began, cpu = time.perf_counter(), time.process_time()
from synthetic import SyntheticEmbedder
from openviking import OpenViking
from openviking.providers.builtin import BuiltinEmbedder
with OpenViking(path=sys.argv[2], workers=0, embedder=SyntheticEmbedder()) as ov:
    opened = time.perf_counter()
    ov.find(sys.argv[3], limit=10)
    first = time.perf_counter()
    used = time.process_time() - cpu
    for word in sys.argv[4:]:
        ov.find(word, limit=10)
    without = peak()
    model = BuiltinEmbedder()
    model.query("a question", timeout=60)
    model.passages(["a passage of words " * 60], timeout=60)
    model.close()
    print(opened - began, first - opened, used, without,
          peak())
"""


def measure(passages: int, place: Path) -> dict[str, Any]:
    """All figures for one size."""
    folder, data = place / "folder", place / "data"
    size = make_folder(folder, passages)
    out: dict[str, Any] = {"passages_wanted": passages, "megabytes": round(size / 1e6, 1)}
    words = vocabulary()
    with OpenViking(path=data, workers=0, embedder=SyntheticEmbedder()) as ov:
        out["ingest_cpu_s"] = round(cpu(lambda: ov.add_resource(folder, to="viking://resources/bench")) / 1000, 1)
        out["vectors_but_for_the_model_cpu_s"] = round(cpu(ov.wait_processed) / 1000, 1)
        out["passages"] = ov.status()["passages"]
        out["first_find_with_scan_built_ms"] = round(cpu(lambda: ov.find(words[3000], limit=10)), 1)
    for name, weight in (("words", 0.0), ("vectors", 1.0), ("fused", None)):
        with OpenViking(path=data, workers=0, embedder=SyntheticEmbedder(), dense_weight=weight) as ov:
            ov.find(words[3000], limit=10)
            out[name] = finds(ov, words, explain=False)
            if weight is None:
                out["explain"] = finds(ov, words, explain=True)
                out["after_a_write"] = after_a_write(ov, words)
    out["reopen"] = reopen(data, words)
    (cache,) = data.rglob("scan-*")
    out["scan_cache_megabytes"] = round(cache.stat().st_size / 1e6, 1)
    cache.unlink()
    out["reopen_without_its_cache"] = reopen(data, words)
    out["store_megabytes"] = round(sum(file.stat().st_size for file in data.rglob("*") if file.is_file()) / 1e6, 1)
    return out


def bands(words: list[str]) -> dict[str, Callable[[], str]]:
    """Queries by how common their words are."""
    chance = random.Random(3)
    return {
        "rare word": lambda: chance.choice(words[20000:50000]),
        "middling word": lambda: chance.choice(words[1000:3000]),
        "frequent word": lambda: chance.choice(words[50:300]),
        "commonest word": lambda: chance.choice(words[:5]),
        "three middling words": lambda: " ".join(chance.choices(words[500:4000], k=3)),
        "question of eight words": lambda: " ".join(
            chance.choices(words[:200], k=4) + chance.choices(words[200:8000], k=4)
        ),
    }


def finds(ov: OpenViking, words: list[str], *, explain: bool) -> dict[str, dict[str, float]]:
    """CPU of a find by the query's words and the scope."""
    out = {}
    for scope, uri in SCOPES.items():
        for band, query in bands(words).items():
            queries = [query() for _ in range(ROUNDS)]
            out[f"{band}, {scope}"] = spread(
                [cpu(lambda q=query, u=uri: ov.find(q, u, limit=10, explain=explain)) for query in queries]
            )
    return out


def after_a_write(ov: OpenViking, words: list[str]) -> dict[str, dict[str, float]]:
    """CPU of a find before a write, right after it, and after its vectors were made: the scan has to catch up with both."""
    samples: dict[str, list[float]] = {"quiet": [], "while its vector waits": [], "after its vectors came": []}
    for number in range(ROUNDS):
        query = f"{words[700 + number]} {words[900 + number]}"
        samples["quiet"].append(cpu(lambda q=query: ov.find(q, limit=10)))
        ov.write(f"{AREA}/topic00003/new{number}.md", f"# New {number}\n\nSomething about {words[700]}.\n", "create")
        samples["while its vector waits"].append(cpu(lambda q=query: ov.find(q, limit=10)))
        ov.wait_processed()
        samples["after its vectors came"].append(cpu(lambda q=query: ov.find(q, limit=10)))
    return {name: spread(some) for name, some in samples.items()}


def reopen(data: Path, words: list[str]) -> dict[str, float]:
    """A fresh process: until open, until the first answer, and its peak memory with and without the model."""
    queries = [words[2000], *random.Random(5).sample(words[100:20000], 50)]
    done = subprocess.run(
        [sys.executable, "-c", _REOPEN, str(Path(__file__).parent), str(data), *queries],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    opened, first, used, without, peak = map(float, done.stdout.split())
    return {
        "import_and_open_wall_s": round(opened, 3),
        "first_find_wall_s": round(first, 3),
        "cpu_s_to_the_first_answer": round(used, 3),
        "peak_mb_with_50_finds": round(without, 1),
        "peak_mb_with_the_model": round(peak, 1),
    }


class Recorder(BuiltinEmbedder):
    """The built-in model, which remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(threads=1)
        self.texts: list[str] = []

    def passages(self, texts: Sequence[str], *, timeout: float) -> list[Any]:
        """The vectors of texts."""
        self.texts += texts
        return super().passages(texts, timeout=timeout)


def making(place: Path) -> dict[str, Any]:
    """Passages a second of the built-in model behind a store and bare, and what searches cost meanwhile."""
    library = Path(json.__file__).parent.parent
    out: dict[str, Any] = {}
    model = Recorder()
    model.query("warm", timeout=60)
    with OpenViking(path=place / "data", workers=0, embedder=model) as ov:
        ov.add_resource(library / "email", to="viking://resources/email")
        behind = cpu(ov.wait_processed) / 1000
        texts = list(model.texts)
        out["passages"] = len(texts)
        out["store_passages_per_cpu_s"] = round(len(texts) / behind, 2)
        bare = cpu(lambda: BuiltinEmbedder.passages(model, texts, timeout=3600)) / 1000
        out["bare_passages_per_cpu_s"] = round(len(texts) / bare, 2)
        out["ratio"] = round(bare / behind, 3)
    questions = [f"{question} {number}" for number in range(30) for question in QUESTIONS]
    with OpenViking(path=place / "data", workers=1, embedder=model) as ov:
        out["find_wall_ms_quiet"] = spread([_wall(lambda q=q: ov.find(q, limit=10)) for q in questions])
        ov.add_resource(library / "http", to="viking://resources/http")
        ov.add_resource(library / "asyncio", to="viking://resources/asyncio")
        again = [f"{question}?" for question in questions]
        out["find_wall_ms_while_vectors_are_made"] = spread([_wall(lambda q=q: ov.find(q, limit=10)) for q in again])
        out["still_waiting_afterwards"] = ov.status()["embedding"]["waiting"]
    model.close()
    return out


def _wall(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, nargs="+", default=[])
    parser.add_argument("--making", action="store_true", help="the built-in model, bare and beside searches")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of indented lines")
    parser.add_argument("--keep", type=Path, help="a directory to work in, which is kept")
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    tasks: list[Callable[[Path], dict[str, Any]]] = [lambda place, n=n: measure(n, place) for n in options.passages]
    if options.making:
        tasks.append(making)
    for number, task in enumerate(tasks):
        with tempfile.TemporaryDirectory() as temporary:
            results.append(task(options.keep / str(number) if options.keep else Path(temporary)))
            results[-1]["this_process_peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
        if not options.json:
            print(json.dumps(results[-1], indent=1), flush=True)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
