"""Makes the set ``pystdlib`` from the standard library of the running Python: ``python evals/pystdlib.py FOLDER``.

Code search as in CodeSearchNet (Husain et al., 2019): the query is the first sentence of a function's docstring, the
document its source without that docstring. 1,200 functions, of which 400 are asked for; the sample is seeded, so one
Python gives one set. The standard library is under the Python Software Foundation License 2.0.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

SKIPPED: Final = {
    "test", "tests", "site-packages", "idlelib", "lib2to3", "turtledemo", "__pycache__", "distutils", "ensurepip",
}  # fmt: skip
DOCUMENTS: Final = 1200
QUERIES: Final = 400
LONGEST: Final = 60
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")


class Function(NamedTuple):
    """A function of the library: its file, what its docstring says first, and its source without docstring."""

    file: str
    sentence: str
    source: str


def functions(library: Path) -> Iterator[Function]:
    """All documented functions of at most 60 lines, in the order of their files."""
    for path in sorted(library.rglob("*.py")):
        file = path.relative_to(library)
        if SKIPPED & {file.parts[0], *(part for part in file.parts if part in {"test", "tests"})}:
            continue
        try:
            source = path.read_text("utf-8")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source)
        except (SyntaxError, UnicodeDecodeError):
            continue
        lines = source.splitlines()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found = _function(file.as_posix(), node, lines)
                if found is not None:
                    yield found


def _function(file: str, node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> Function | None:
    docstring = ast.get_docstring(node)
    if not docstring or node.name.startswith("__") or len(node.body) < 2:
        return None
    sentence = " ".join(_SENTENCE_END.split(docstring.strip())[0].split())
    first = node.body[0]
    source = lines[node.lineno - 1 : first.lineno - 1] + lines[first.end_lineno : node.end_lineno]
    if not 5 <= len(sentence.split()) <= 40 or ">>>" in sentence or len(source) > LONGEST:
        return None
    return Function(file, sentence, "\n".join(source))


def make(folder: Path) -> None:
    """Write the set into ``folder``."""
    distinct: dict[str, Function] = {}
    for one in functions(Path(sysconfig.get_paths()["stdlib"])):
        distinct.setdefault(one.sentence, one)
    chosen = list(distinct.values())
    random.Random(7).shuffle(chosen)
    chosen = chosen[:DOCUMENTS]
    folder.mkdir(parents=True, exist_ok=True)
    corpus = [{"_id": f"f{number}", "title": one.file, "text": one.source} for number, one in enumerate(chosen)]
    queries = [{"_id": f"q{number}", "text": one.sentence} for number, one in enumerate(chosen[:QUERIES])]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    pairs = [f"q{number}\tf{number}\t1\n" for number in range(len(queries))]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(pairs), "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the set's own folder, for instance data/pystdlib")
    make(parser.parse_args(arguments).folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
