"""Queries for stores, without what the rooms above make of them."""

from __future__ import annotations

from openviking.store.port import Query


def words(*terms: str) -> Query:
    """A query of terms alone, whose score is that of the words."""
    return Query(terms, None, lambda _type, said, _cosine: said)
