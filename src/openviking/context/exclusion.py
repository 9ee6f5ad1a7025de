"""What a request leaves out: URIs that its caller names, and those that were served a short while ago (§5.12)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from openviking.context.candidates import Candidate
from openviking.errors import OpenVikingError
from openviking.uri import SCHEME, parse, split_citation


@dataclass(frozen=True, slots=True)
class Exclusion:
    """``named`` leave out themselves and all below them, ``cooled`` themselves alone; both are canonical URIs."""

    named: frozenset[str] = frozenset()
    cooled: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        """How many URIs are left out, for searches that have to look at as many more."""
        return len(self.named | self.cooled)

    def drops(self, candidate: Candidate) -> bool:
        """Whether a candidate is left out, by its own address or by that of what was found."""
        if candidate.uri in self.cooled:
            return True
        return bool(self.named) and any(
            place in self.named for uri in {candidate.uri, candidate.hit_uri} for place in _upwards(uri)
        )


def excluded(uris: Iterable[str], *, user: str, today: date, cooled: Iterable[str] = ()) -> Exclusion:
    """The exclusion of what a caller named, in any spelling, and of what is ``cooled``.

    Aliases and calendar variables are spelled out, lines and a trailing slash dropped. What is no URI excludes nothing.
    """
    named = set()
    for text in uris:
        try:
            named.add(str(parse(split_citation(text)[0], user=user, today=today)))
        except OpenVikingError:
            # It names nothing that could be found.
            continue
    return Exclusion(frozenset(named), frozenset(cooled))


def _upwards(uri: str) -> Iterable[str]:
    """A URI and all that lie above it."""
    while len(uri) > len(SCHEME):
        yield uri
        uri = uri.rpartition("/")[0] if uri.rindex("/") >= len(SCHEME) else SCHEME
    yield SCHEME
