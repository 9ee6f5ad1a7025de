"""From candidates to a ranked list: files before the directories that lead to them, copies behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from openviking.model.scope import Scope
from openviking.retrieve.recall import Recall
from openviking.store.port import Candidate

DIRECTORY_SHARE: Final = 0.9
"""A directory scores at most this share of its best file."""

LOOKED_UP: Final = 8
"""Directories whose best file is looked up because it is not among the candidates; further ones rank behind."""

FILE_LEVEL: Final = 2


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its final score; ``duplicate_of`` is the better candidate with the same bytes."""

    candidate: Candidate
    score: float
    duplicate_of: Candidate | None = None


def ranked(recall: Recall, scope: Scope, limit: int, threshold: float) -> list[Ranked]:
    """The ``limit`` best records that score above ``threshold``, equal scores by path.

    A record's score does not depend on ``limit``: a directory is measured against its best file also where that file
    is not among the candidates. Byte-identical files come after all distinct ones.
    """
    if not (recall.query.terms or recall.query.vector) or scope.nothing:
        return []
    files, directories = _candidates(recall, scope, limit)
    scored = [Ranked(file, file.score) for file in files]
    if scope.levels and FILE_LEVEL not in scope.levels:
        scored += [Ranked(directory, directory.score) for directory in directories]
    else:
        scored += _behind_files(recall, scope, limit, files, directories)
    return cut(scored, limit, threshold)


def cut(scored: Sequence[Ranked], limit: int, threshold: float) -> list[Ranked]:
    """The ``limit`` best of those that score above ``threshold``, equal scores by path, copies behind all others."""
    above = [one for one in scored if one.score > threshold]
    above.sort(key=lambda one: (-one.score, one.candidate.node.path))
    return _copies_behind(above)[:limit]


def _candidates(recall: Recall, scope: Scope, limit: int) -> tuple[list[Candidate], list[Candidate]]:
    """The best passage of each file, and of each directory in whichever level is better, both best first.

    There are files with ``limit`` different contents if the scope has so many that match.
    """
    best: dict[int, Candidate] = {}
    for candidate in recall.search(scope, limit):
        best.setdefault(candidate.node.id, candidate)
    directories = [candidate for candidate in best.values() if candidate.node.is_dir]
    if directories and FILE_LEVEL in (scope.levels or (FILE_LEVEL,)) and _contents(list(best.values())) < limit:
        for candidate in recall.search(replace(scope, levels=(FILE_LEVEL,)), limit):
            best.setdefault(candidate.node.id, candidate)
    files = [candidate for candidate in best.values() if not candidate.node.is_dir]
    files.sort(key=lambda file: (-file.score, file.node.path))
    return _first_contents(files, limit), directories


def _first_contents(files: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Files up to the ``limit``-th different content: beyond it the search need not have found every file."""
    seen: set[bytes | None] = set()
    kept = []
    for file in files:
        if len(seen) == limit and file.node.hash not in seen:
            break
        seen.add(file.node.hash)
        kept.append(file)
    return kept


def _contents(candidates: Sequence[Candidate]) -> int:
    return len({candidate.node.hash for candidate in candidates if not candidate.node.is_dir})


def _behind_files(
    recall: Recall,
    scope: Scope,
    limit: int,
    files: Sequence[Candidate],
    directories: Sequence[Candidate],
) -> list[Ranked]:
    """Directories with their scores held to `DIRECTORY_SHARE` of their best file."""
    best = _best_below(files)
    if _contents(files) >= limit and directories:
        # The files found are the best there are: what is not among them scores no more than the last of them. So only
        # directories that score as much can be among the hits, namely those that no matching file is in.
        lowest = files[-1].score
        unknown = [one.node.path for one in directories if one.score >= lowest and one.node.path not in best]
        best.update(dict.fromkeys(unknown[LOOKED_UP:], lowest))
        best.update(_best_files(recall, scope, unknown[:LOOKED_UP]))
    return [
        Ranked(one, min(one.score, DIRECTORY_SHARE * best[one.node.path]) if one.node.path in best else one.score)
        for one in directories
    ]


def _best_files(recall: Recall, scope: Scope, paths: Sequence[str]) -> dict[str, float]:
    """By directory path, the score of the best file below it, for those that have one."""
    best: dict[str, float] = {}
    left = tuple(paths)
    while left:
        below = _best_below(recall.search(replace(scope, roots=left, levels=(FILE_LEVEL,)), len(left)))
        found = {path: below[path] for path in left if path in below}
        if not found:
            break
        best.update(found)
        left = tuple(path for path in left if path not in found)
    return best


def _best_below(files: Sequence[Candidate]) -> dict[str, float]:
    """By directory path, the best score of a file below it."""
    best: dict[str, float] = {}
    for file in files:
        path = file.node.path
        while path:
            path = path.rpartition("/")[0]
            if file.score > best.get(path, 0.0):
                best[path] = file.score
    return best


def _copies_behind(scored: Sequence[Ranked]) -> list[Ranked]:
    distinct: list[Ranked] = []
    copies: list[Ranked] = []
    first: dict[bytes, Candidate] = {}
    for one in scored:
        digest = one.candidate.node.hash
        if digest is not None and digest in first:
            copies.append(replace(one, duplicate_of=first[digest]))
        else:
            distinct.append(replace(one, duplicate_of=None) if one.duplicate_of else one)
            if digest is not None:
                first[digest] = one.candidate
    return distinct + copies
