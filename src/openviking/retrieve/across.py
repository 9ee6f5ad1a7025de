"""From the answers of several queries to one (contract/retrieval.md §4.4): as the wire documents it, or without duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from openviking.model.hit import Hit
from openviking.uri import ABSTRACT_NAME, OVERVIEW_NAME


def appended(answers: Sequence[Sequence[Hit]]) -> tuple[Hit, ...]:
    """All hits in the order of the queries, each with its own limit: a URI may occur twice, and scores may rise."""
    return tuple(hit for hits in answers for hit in hits)


def fused(answers: Sequence[Sequence[Hit]], limit: int) -> tuple[Hit, ...]:
    """The ``limit`` best hits of all queries, each record once with its best score, equal scores by URI.

    Scores are absolute and so compare across queries. A directory counts once, in the better of its levels. Of hits with
    the same bytes the best stands in its place, the others come after all distinct ones, with ``duplicate_of``.
    """
    best: dict[str, Hit] = {}
    for hit in appended(answers):
        known = best.get(record(hit))
        if known is None or hit.score > known.score:
            best[record(hit)] = hit
    ranked = sorted(best.values(), key=lambda hit: (-hit.score, hit.uri))
    groups = _groups(answers)
    distinct: list[Hit] = []
    copies: list[Hit] = []
    first: dict[str, str] = {}
    for hit in ranked:
        group = groups.get(hit.uri, hit.uri)
        if group in first:
            copies.append(replace(hit, duplicate_of=first[group]))
        else:
            first[group] = hit.uri
            distinct.append(replace(hit, duplicate_of=None))
    return tuple((distinct + copies)[:limit])


def record(hit: Hit) -> str:
    """What ``hit`` is of: a file's URI, or a directory's, whichever of its levels was found."""
    parent, _, name = hit.uri.rpartition("/")
    return parent + "/" if name in (ABSTRACT_NAME, OVERVIEW_NAME) else hit.uri


def _groups(answers: Sequence[Sequence[Hit]]) -> dict[str, str]:
    """By URI, the name of its group of equal bytes: which one of a group is the copy differs between queries."""
    group: dict[str, str] = {}

    def root(uri: str) -> str:
        while group.get(uri, uri) != uri:
            uri = group[uri]
        return uri

    for hit in appended(answers):
        if hit.duplicate_of is not None:
            group[root(hit.uri)] = root(hit.duplicate_of)
    return {uri: root(uri) for uri in group}
