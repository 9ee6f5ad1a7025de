"""Counts how many questions about a folder are answered by a block of text: context mode beside `find`, by budget.

``python evals/answers.py FOLDER QUESTIONS.tsv`` imports the folder and asks the questions of a table with the columns
``question`` and ``answer``: a text that has to stand in the block, white space aside, or with ``--patterns`` a regular
expression. The ways are those of ``context.py``, with `find` among the folder's files. ``--words`` does without the model,
``--misses`` lists what is not answered.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "src")]

from conversations import flat

from context import Way, context, find
from openviking import OpenViking

BUDGETS: Final = (400, 800, 1600, 4000)
PLACE: Final = "viking://resources/folder"
WAYS: Final[dict[str, Way]] = {"find": partial(find, place=PLACE), "context": context}


def answered(one: OpenViking, questions: Sequence[tuple[str, re.Pattern[str]]], way: Way, budget: int) -> list[bool]:
    """Of each question whether the block has its answer."""
    return [answer.search(flat(way(one, question, budget))) is not None for question, answer in questions]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--patterns", action="store_true", help="answers are regular expressions")
    parser.add_argument("--words", action="store_true", help="words alone, without the model")
    parser.add_argument("--misses", action="store_true", help="list the questions that are not answered")
    given = parser.parse_args(arguments)
    with given.questions.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    questions = [
        (row["question"], re.compile(row["answer"] if given.patterns else re.escape(flat(row["answer"]))))
        for row in rows
    ]
    embedder = "none" if given.words else "builtin"
    with tempfile.TemporaryDirectory(prefix="openviking-eval-") as data, OpenViking(data, embedder=embedder) as one:
        one.add_resource(str(given.folder), to=PLACE)
        one.wait_processed()
        print(f"{'tokens':>6}  " + "".join(f"{way:>9}" for way in WAYS) + f"  of {len(questions)}")
        for budget in BUDGETS:
            got = {name: answered(one, questions, way, budget) for name, way in WAYS.items()}
            print(f"{budget:>6}  " + "".join(f"{sum(found):>9}" for found in got.values()))
            if given.misses:
                for name, found in got.items():
                    print(
                        "".join(
                            f"        {name}: {asked}\n"
                            for (asked, _), yes in zip(questions, found, strict=True)
                            if not yes
                        ),
                        end="",
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
