"""Adds a real folder and asks questions whose right files are known: rate, and the rank of the right file.

    python benchmarks/folders.py FOLDER benchmarks/questions/sqlite_utils.tsv [--include build/] [--embedder builtin]

The questions in benchmarks/questions belong to the unpacked source distributions of sqlite-utils 4.2.1 and
SQLAlchemy 2.1.9. They were written, and their right files fixed, by somebody who had not seen the answers.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from pathlib import Path

from openviking import OpenViking

RANKS_SHOWN = 10


def main() -> None:
    """Add, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--include")
    parser.add_argument("--embedder", choices=["none", "builtin"], default="none", help="none: words alone")
    options = parser.parse_args()
    with options.questions.open(encoding="utf-8", newline="") as file:
        questions = [(row["question"], row["right files"].split()) for row in csv.DictReader(file, delimiter="\t")]
    with tempfile.TemporaryDirectory() as place, OpenViking(place, embedder=options.embedder) as ov:
        began, cpu = time.perf_counter(), time.process_time()
        report = ov.add_resource(options.folder, include=options.include, wait=True)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(
            f"{report.files} files, {report.bytes / 1e6:.2f} MB, {report.passages} passages in {seconds:.1f} s "
            f"({cpu:.1f} s of CPU): {report.bytes / 1e6 / seconds * 60:.0f} MB/min"
        )
        early = 0
        for question, right in questions:
            found = ov.find(question, report.root_uri, level=2, limit=RANKS_SHOWN)
            names = [hit.uri.removeprefix(f"{report.root_uri}/") for hit in found]
            rank = min((names.index(name) + 1 for name in right if name in names), default=None)
            early += rank is not None and rank <= 3
            print(f"{rank or '-':>3}  {question}")
        print(f"right file among the first three: {early} of {len(questions)}")


if __name__ == "__main__":
    main()
