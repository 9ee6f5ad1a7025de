"""Measures the HTTP server on loopback: find and grep with 1, 8 and 32 clients, start, memory.

    python benchmarks/http.py [--records 820 15000] [--model] [--seconds 4] [--data DIR]

A real server process answers; CPU is that of all its threads. ``--model`` has the built-in model make vectors first (about
3 minutes of a core for 15,000 records). ``--data`` keeps the stores there and uses them again. Linux only. Nothing else should run on
the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# This file has the name of a package of the standard library, and its directory comes first.
sys.path[0:1] = [str(Path(__file__).resolve().parents[1] / "src")]
sys.path.append(str(Path(__file__).resolve().parent))

from corpus import vocabulary
from server_process import Connection, ServerProcess

from openviking import OpenViking

CLIENTS = (1, 8, 32)
WORDS_PER_FILE = 25
FILES_PER_DIRECTORY = 50
WARM_UP = 150
MEMORY_FINDS = 10_000

WORDS = vocabulary()

REFERENCE = """
The reference server (release 0.5.2), measured on two cores, an embedding call to a local stub included:

| | 820 records | 15,700 records |
| --- | --: | --: |
| server CPU per find | 12.7 ms | 12.3 to 16.7 ms |
| find p50 / p95, one client | 14.5 / 22 ms | 13 to 17 / 27 to 29 ms |
| find/s with 1 / 8 / 32 clients | 59 / 65 / 82 | 59 to 75 / 65 to 87 / 55 to 98 |
| grep p50 | 12 ms | 133 to 185 ms |
| resident memory | 510 MB | 470 to 760 MB |
"""


def fill(data: Path, records: int, *, model: bool) -> int:
    """Small documents until the store has ``records`` records; how many it has."""
    chance = random.Random(5)
    with OpenViking(path=data, embedder="builtin" if model else "none") as ov:
        files = int(records / (1 + 2 / FILES_PER_DIRECTORY)) - 10
        with tempfile.TemporaryDirectory() as folder:
            for number in range(files):
                target = Path(folder, f"d{number // FILES_PER_DIRECTORY:04d}", f"n{number:06d}.md")
                target.parent.mkdir(exist_ok=True)
                title = " ".join(chance.choices(WORDS[100:5000], k=3))
                text = " ".join(chance.choices(WORDS[:20000], k=WORDS_PER_FILE))
                target.write_text(f"# {title}\n\n{text}\n", "utf-8")
            ov.add_resource(folder, to="viking://resources/bench")
        ov.wait_processed()
        return int(ov.status()["records"])


def finds(seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Questions of three middling words."""
    chance, words = random.Random(seed), WORDS[200:6000]
    while True:
        yield "/api/v1/search/find", {"query": " ".join(chance.choices(words, k=3)), "limit": 10}


def greps(seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Literals that are in few files, looked for in all."""
    chance, words = random.Random(seed), WORDS[3000:15000]
    while True:
        yield "/api/v1/search/grep", {"uri": "viking://resources", "pattern": chance.choice(words)}


async def client(port: int, calls: Iterator[tuple[str, Any]], until: Callable[[int], bool]) -> list[float]:
    """Milliseconds of each call of one client."""
    connection, taken = Connection(port), list[float]()
    try:
        for path, body in calls:
            if until(len(taken)):
                return taken
            began = time.perf_counter()
            status, answer = await connection.ask("POST", path, body)
            taken.append((time.perf_counter() - began) * 1000)
            if status != 200:
                raise RuntimeError(f"{path} answered {status}: {answer[:300]!r}")
    finally:
        connection.close()
    return taken


async def load(
    server: ServerProcess, kind: Callable[[int], Iterator[Any]], clients: int, seconds: float
) -> dict[str, Any]:
    """What ``clients`` that ask without a pause get for ``seconds``."""
    await client(server.port, kind(99), lambda done: done >= WARM_UP // (1 if kind is finds else 10))
    cpu, began = server.cpu_s(), time.perf_counter()
    end = began + seconds
    each = await asyncio.gather(
        *(client(server.port, kind(n), lambda _: time.perf_counter() >= end) for n in range(clients))
    )
    wall, used = time.perf_counter() - began, server.cpu_s() - cpu
    taken = sorted(itertools.chain.from_iterable(each))
    return {
        "per_s": len(taken) / wall, "per_cpu_s": len(taken) / used, "cpu_ms": used / len(taken) * 1000,
        "p50": statistics.median(taken), "p95": taken[int(0.95 * (len(taken) - 1))],
    }  # fmt: skip


def measure(data: Path, records: int, seconds: float, *, model: bool) -> dict[str, Any]:
    """All figures of one store."""
    embedding = {"dense": {"provider": "builtin" if model else "none"}}
    out: dict[str, Any] = {"records": records, "model": model}
    starts, own = [], []
    for _ in range(3):
        server = ServerProcess(data, embedding=embedding).start()
        starts.append(server.healthy_s)
        own.append(server.healthy_cpu_s)
        server.stop()
    out["healthy_s"], out["healthy_cpu_s"] = statistics.median(starts), statistics.median(own)
    server = ServerProcess(data, embedding=embedding).start()
    try:
        out["resting_mb"] = server.megabytes()
        for clients in CLIENTS:
            out[f"find {clients}"] = asyncio.run(load(server, finds, clients, seconds))
        for clients in CLIENTS:
            out[f"grep {clients}"] = asyncio.run(load(server, greps, clients, seconds))
        out["memory_mb"] = server.megabytes()
        if records < 2000:
            asyncio.run(client(server.port, finds(7), lambda done: done >= MEMORY_FINDS))
            out["memory_after_10k_mb"] = server.megabytes()
        out["peak_mb"] = server.megabytes("VmHWM")
    finally:
        server.stop()
    return out


def table(results: list[dict[str, Any]]) -> str:
    """All results side by side as a table of Markdown."""
    heads = [f"{one['records']:,}, {'model' if one['model'] else 'words'}" for one in results]
    rows: list[tuple[str, list[str]]] = []
    for what in ("find", "grep"):
        for clients in CLIENTS:
            key = f"{what} {clients}"
            many = f"{clients} client{'s' if clients > 1 else ''}"
            shown = [f"{one[key]['p50']:.1f} / {one[key]['p95']:.1f}" for one in results]
            rows.append((f"{what}, {many}: p50 / p95, ms", shown))
            rows.append(("… server CPU, ms", [f"{one[key]['cpu_ms']:.1f}" for one in results]))
            per = [f"{one[key]['per_s']:.0f}, {one[key]['per_cpu_s']:.0f}" for one in results]
            rows.append(("… a second, a CPU second", per))
    shown = [f"{one['healthy_s']:.2f}, {one['healthy_cpu_s']:.2f}" for one in results]
    rows.append(("start to healthy: s, CPU s", shown))
    names = ("resting_mb", "at rest"), ("memory_mb", "after these"), ("memory_after_10k_mb", "after 10,000 finds more"), ("peak_mb", "peak")  # fmt: skip
    for key, told in names:
        rows.append((f"memory {told}, MB", [f"{one[key]:.0f}" if key in one else "" for one in results]))
    lines = [["", *heads], ["---", *(["--:"] * len(heads))], *([name, *cells] for name, cells in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[820, 15_000])
    parser.add_argument("--model", action="store_true", help="measure with the built-in model as well")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load")
    parser.add_argument("--data", type=Path, help="where stores are kept")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as place:
        root = given.data or Path(place)
        root.mkdir(parents=True, exist_ok=True)
        for model in (False, True) if given.model else (False,):
            for wanted in given.records:
                data = root / f"{'model' if model else 'words'}{wanted}"
                kept = data.with_name(f"{data.name}.records")
                if not kept.exists():
                    kept.write_text(str(fill(data, wanted, model=model)))
                results.append(measure(data, int(kept.read_text()), given.seconds, model=model))
    print(json.dumps(results, indent=1) if given.json else f"{table(results)}\n{REFERENCE}")


if __name__ == "__main__":
    main()
