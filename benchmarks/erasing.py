"""What erasing costs: a store of many passages, some files of it removed, then overwritten piece by piece and as a whole.

    python benchmarks/erasing.py [--passages 100000]

Says how long each way takes, and for how long at most it keeps other writers waiting.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

# One of the neighbours has the name of a package of the standard library.
sys.path[0:1] = [str(Path(__file__).resolve().parents[1] / "src")]
sys.path.append(str(Path(__file__).resolve().parent))

from corpus import files

from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.store.batch import PutFile, Remove
from openviking.store.sqlite.account import SqliteStore

SECRET = "zqkestrelhorizonvault"


def filled(place: Path, passages: int) -> tuple[SqliteStore, list[str]]:
    """A store of about so many passages, and the paths of those files that say the secret, one of forty."""
    store = SqliteStore(place, PathAnalyser())
    puts, secret = [], []
    for number, (path, text) in enumerate(files(passages)):
        if number % 40 == 0:
            secret.append(f"resources/{path}")
            text += f"\n{SECRET}{number}\n"
        puts.append(PutFile(f"resources/{path}", prepare(path.rpartition("/")[2], text.encode())))
        if len(puts) == 64:
            store.apply(puts)
            puts = []
    store.apply(puts)
    return store, secret


class Waiter(threading.Thread):
    """Writes all the time, and notes the longest that one write took."""

    def __init__(self, store: SqliteStore) -> None:
        super().__init__(daemon=True)
        self._store = store
        self.done = threading.Event()
        self.longest = 0.0
        self.writes = 0

    def run(self) -> None:
        content = prepare("w.md", b"a write beside it")
        while not self.done.wait(0.02):
            began = time.perf_counter()
            self._store.apply([PutFile(f"resources/waiter/{self.writes}.md", content)])
            self.longest = max(self.longest, time.perf_counter() - began)
            self.writes += 1


def measured(store: SqliteStore, place: Path, *, rewrite: bool) -> None:
    """Erase once, and say what it cost and what is left."""
    waiter = Waiter(store)
    waiter.start()
    began, cpu = time.perf_counter(), time.process_time()
    erased = store.erase(lambda: False, rewrite=rewrite)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    waiter.done.set()
    waiter.join()
    assert erased is not None
    left = sum(file.read_bytes().count(SECRET.encode()) for file in place.rglob("*") if file.is_file())
    print(
        f"rewrite={rewrite}: {took:.1f} s, {cpu:.1f} s of CPU, {erased.bytes_before / 1e6:,.0f} MB before,"
        f" {erased.bytes_after / 1e6:,.0f} MB after; longest of {waiter.writes} writes beside it {waiter.longest:.2f} s;"
        f" the secret is there {left} times"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        began = time.perf_counter()
        store, secret = filled(place, given.passages)
        with store.read() as view:
            print(f"{view.stats(0).passages:,} passages stored in {time.perf_counter() - began:.0f} s")
        for first in range(0, len(secret), 64):
            store.apply([Remove(path) for path in secret[first : first + 64]])
        while store.purge(256):
            pass
        left = sum(file.read_bytes().count(SECRET.encode()) for file in place.rglob("*") if file.is_file())
        print(f"{len(secret):,} files removed and purged; the secret is there {left} times")
        measured(store, place, rewrite=False)
        measured(store, place, rewrite=True)
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
