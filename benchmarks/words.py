"""Measures words: ingest, find by selectivity, grep, reopen, durable writes, move and remove, memory.

    python benchmarks/words.py --passages 10000 100000 [--json] [--keep DIR]

Times are CPU milliseconds of this process unless a name says wall. Nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus import FILES_PER_DIRECTORY, files, vocabulary

from openviking import OpenViking

ROUNDS = 40

_REOPEN = """
import re, sys, time
def peak():
    # The kernel hands a child the peak of its parent in ru_maxrss; this is its own.
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1024
began, cpu = time.perf_counter(), time.process_time()
from openviking import OpenViking
with OpenViking(path=sys.argv[1], workers=0, embedder="none") as ov:
    opened = time.perf_counter()
    hits = ov.find(sys.argv[2], limit=10)
    first = time.perf_counter()
    for word in sys.argv[3:]:
        ov.find(word, limit=10)
    print(len(hits), opened - began, first - opened, time.process_time() - cpu,
          peak())
"""


def cpu(call: Callable[[], Any]) -> float:
    """CPU milliseconds of one call."""
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1000


def spread(samples: list[float]) -> dict[str, float]:
    """Median, 95th percentile and maximum."""
    ordered = sorted(samples)
    return {
        "p50": round(statistics.median(ordered), 2),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 2),
        "max": round(ordered[-1], 2),
    }


def make_folder(folder: Path, passages: int) -> int:
    """Write the corpus; its bytes."""
    size = 0
    for path, text in files(passages):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        size += len(text)
    return size


def measure(passages: int, place: Path) -> dict[str, Any]:
    """All figures for one size."""
    folder, data = place / "folder", place / "data"
    size = make_folder(folder, passages)
    out: dict[str, Any] = {"passages_wanted": passages, "megabytes": round(size / 1e6, 1)}
    words = vocabulary()
    with OpenViking(path=data, workers=0, embedder="none") as ov:
        wall, began = time.perf_counter(), time.process_time()
        report = ov.add_resource(folder, to="viking://resources/bench")
        seconds = time.process_time() - began
        out["files"] = report.created
        out["ingest"] = {
            "cpu_s": round(seconds, 1),
            "wall_s": round(time.perf_counter() - wall, 1),
            "mb_per_cpu_min": round(size / 1e6 / seconds * 60, 1),
        }
        out["sidecars_ms"] = round(cpu(ov.wait_processed), 1)
        again = cpu(lambda: ov.add_resource(folder, to="viking://resources/bench"))
        out["add_unchanged_ms"] = round(again, 1)
        out["passages"] = ov.status()["passages"]
        out["find"] = finds(ov, words)
        out["grep"] = greps(ov, words)
    out["reopen"] = reopen(data, words)
    with OpenViking(path=data, workers=0, embedder="none") as ov:
        out["write"] = writes(ov)
        out["move_remove"] = moves(ov, report.created)
    database = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
    out["store_megabytes"] = round(database / 1e6, 1)
    return out


def finds(ov: OpenViking, words: list[str]) -> dict[str, Any]:
    """How find does by how common the query's words are and how large the scope is."""
    chance = random.Random(3)
    bands = {
        "rare word": lambda: chance.choice(words[20000:50000]),
        "middling word": lambda: chance.choice(words[1000:3000]),
        "frequent word": lambda: chance.choice(words[50:300]),
        "commonest word": lambda: chance.choice(words[:5]),
        "three middling words": lambda: " ".join(chance.choices(words[500:4000], k=3)),
        "question of eight words": lambda: " ".join(
            chance.choices(words[:200], k=4) + chance.choices(words[200:8000], k=4)
        ),
    }
    scopes = {
        "all": "",
        "one area (1,000 files)": "viking://resources/bench/area000",
        "one directory (50 files)": "viking://resources/bench/area000/topic00003",
    }
    out: dict[str, Any] = {}
    for scope, uri in scopes.items():
        for band, query in bands.items():
            queries = [query() for _ in range(ROUNDS)]
            out[f"{band}, {scope}"] = spread([cpu(lambda q=query, u=uri: ov.find(q, u, limit=10)) for query in queries])
    queries = [bands["three middling words"]() for _ in range(ROUNDS)]
    out["three middling words, all, explain"] = spread(
        [cpu(lambda q=query: ov.find(q, limit=10, explain=True)) for query in queries]
    )
    return out


def greps(ov: OpenViking, words: list[str]) -> dict[str, Any]:
    """What grep costs over everything: a literal, a pattern, ignoring case."""
    uri = "viking://resources/bench"
    return {
        "rare literal": round(cpu(lambda: ov.grep(uri, words[40000])), 1),
        "common literal": round(cpu(lambda: ov.grep(uri, words[3])), 1),
        "pattern": round(cpu(lambda: ov.grep(uri, r"^## Part \d+ about \w+a \w+$")), 1),
        "literal, any case": round(cpu(lambda: ov.grep(uri, words[40000], case_insensitive=True)), 1),
    }


def reopen(data: Path, words: list[str]) -> dict[str, float]:
    """A fresh process: importing and opening, first answer, CPU and peak memory after 50 finds."""
    queries = [words[2000], *random.Random(5).sample(words[100:20000], 50)]
    done = subprocess.run(
        [sys.executable, "-c", _REOPEN, str(data), *queries], capture_output=True, text=True, check=True
    )
    _, opened, first, used, memory = done.stdout.split()
    return {
        "import_and_open_wall_s": round(float(opened), 3),
        "first_find_wall_s": round(float(first), 3),
        "cpu_s_with_50_finds": round(float(used), 3),
        "peak_mb": round(float(memory), 1),
    }


def writes(ov: OpenViking) -> dict[str, Any]:
    """Single durable writes of a small file, and appends to it."""
    uri = "viking://resources/bench/writes"
    text = "A short note about ferries.\n\nThey sail at noon.\n" * 10
    made = [cpu(lambda n=n: ov.write(f"{uri}/n{n}.md", text + str(n), mode="create")) for n in range(100)]
    wall = []
    for number in range(100):
        began = time.perf_counter()
        ov.write(f"{uri}/n{number}.md", "One more line.\n", mode="append")
        wall.append((time.perf_counter() - began) * 1000)
    return {"create_cpu": spread(made), "append_wall": spread(wall)}


def moves(ov: OpenViking, count: int) -> dict[str, Any]:
    """Moving and removing a subtree of (up to) 10,000 files."""
    areas = [f"viking://resources/bench/area{number:03d}" for number in range(min(10, max(count // 1000, 1)))]
    ov.mkdir("viking://resources/ten")
    for area in areas:
        ov.mv(area, area.replace("/bench/", "/ten/"))
    inside = ov.stat("viking://resources/ten")["count"]
    move = cpu(lambda: ov.mv("viking://resources/ten", "viking://resources/moved"))
    removed: dict[str, Any] = {}
    remove = cpu(lambda: removed.update(ov.rm("viking://resources/moved", recursive=True)))
    purge = cpu(ov.wait_processed)
    return {
        "records": inside,
        "nodes": removed["estimated_deleted_count"],
        "directories_about": len(areas) * 1000 // FILES_PER_DIRECTORY,
        "move_ms": round(move, 1),
        "remove_ms": round(remove, 1),
        "purge_behind_ms": round(purge, 1),
    }


def main() -> None:
    """Measure the sizes asked for and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, nargs="+", default=[10_000])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of indented lines")
    parser.add_argument("--keep", type=Path, help="a directory to work in, which is kept")
    options = parser.parse_args()
    results = []
    for passages in options.passages:
        with tempfile.TemporaryDirectory() as temporary:
            place = options.keep / str(passages) if options.keep else Path(temporary)
            results.append(measure(passages, place))
            results[-1]["this_process_peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
        if not options.json:
            print(json.dumps(results[-1], indent=1))
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
