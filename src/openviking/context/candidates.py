"""What may become an entry of a context: its address, category and origin, made from a hit (contract/retrieval.md §5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from openviking.context.categories import MEMORY_BUCKETS, MEMORY_CATEGORIES, OTHER_MEMORIES
from openviking.model.evidence import Evidence
from openviking.model.hit import Hit
from openviking.model.identity import Identity
from openviking.model.session import archive_number
from openviking.model.skill import FILE as SKILL_FILE
from openviking.uri import AGENT_AREAS, SCHEME, SIDECAR_NAMES, URI, USER_AREAS, context_type

Origin = Literal["actor_peer", "self", "other_peer"]
ORIGINS: Final[tuple[Origin, ...]] = ("actor_peer", "self", "other_peer")
"""Whose it is, in the order of equal ranks: the actor peer's, the user's own or shared, another peer's."""

PROFILE: Final = "profile.md"
FILE_LEVEL: Final = 2


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may become an entry.

    ``uri`` is the entry's address: the file, the directory without its sidecar's name, or the SKILL.md of a package.
    ``score`` is that of its best hit, as the search gave it. ``abstract`` is None as long as it is not known: a package's
    where the hit was another record, a directory's where it was its overview. ``lines`` are those of the best passage in the file ``uri``, 1-based.
    ``hit_uri`` is what was found. ``package`` is the directory of a skill's package, ``archive`` that of an archived
    conversation, "" for what is neither. ``evidence`` is what speaks for the hit, None where nothing was weighed.
    """

    uri: str
    category: str
    score: float
    origin: Origin = "self"
    abstract: str | None = ""
    directory: bool = False
    context_type: str = "resource"
    lines: tuple[int, int] | None = None
    hit_uri: str = ""
    package: str = ""
    archive: str = ""
    evidence: Evidence | None = None

    @property
    def is_memory(self) -> bool:
        """Whether its abstract is its whole body, as the writer of memories stores it."""
        return self.category in MEMORY_CATEGORIES


def candidate_of(identity: Identity, hit: Hit, bucket: str = "") -> Candidate | None:
    """The candidate that a hit makes; None for what is never an entry: profiles, preset directories, a root of skills.

    ``bucket`` is the one whose search found it, "" where one search looked everywhere.
    """
    place = _parts(hit.uri)
    directory = hit.level < FILE_LEVEL or (bool(place) and place[-1] in SIDECAR_NAMES)
    if place and place[-1] in SIDECAR_NAMES:
        place = place[:-1]
    package = _package(place, directory=directory)
    if _is_never_an_entry(place, directory=directory) or package.rpartition("/")[2].startswith("."):
        return None
    uri, known = _spelled(place), not directory or hit.level == 0
    if package:
        known = directory and known and uri == package
        uri, directory = f"{package}/{SKILL_FILE}", False
    archive = archive_of(uri)
    return Candidate(
        uri,
        bucket or category_of(uri),
        hit.score,
        origin_of(identity, uri),
        hit.abstract if known else None,
        directory,
        "memory" if archive else hit.context_type,
        hit.lines if uri == hit.uri else None,
        hit.uri,
        package,
        archive,
        hit.evidence,
    )


def category_of(uri: str) -> str:
    """The category that an address tells: by the directory of memories it lies in, else by its context type.

    An archived conversation counts among the events.
    """
    place = _parts(uri)
    if archive_of(uri):
        return "events"
    kind = context_type("/".join(place))
    if kind == "skill":
        return "skills"
    if kind != "memory":
        return "resources"
    # A user or a peer may be called "memories".
    kind_of = place[5:6] if place[2] == "peers" else place[3:4]
    return kind_of[0] if kind_of and kind_of[0] in MEMORY_BUCKETS else OTHER_MEMORIES


def origin_of(identity: Identity, uri: str) -> Origin:
    """Whose something is: what lies below another peer of the caller is another peer's, what no peer owns one's own."""
    place = _parts(uri)
    if len(place) < 4 or place[0] != "user" or place[1] != identity.user or place[2] != "peers":
        return "self"
    return "actor_peer" if place[3] == identity.actor_peer else "other_peer"


def archive_of(uri: str) -> str:
    """The directory of the archived conversation that holds a file; "" for what is in none."""
    place = _parts(uri)
    if len(place) < 6 or place[0] != "user" or place[2] != "sessions" or place[4] != "history":
        return ""
    return "" if archive_number(place[5]) is None else _spelled(place[:6])


def with_events(candidates: Iterable[Candidate], events: Mapping[str, str | None]) -> list[Candidate]:
    """The candidates with the event memory of an archive in place of what was found in the archive itself.

    ``events`` gives an archive's directory the URI of its event memory; None leaves the archive out. What has none stays
    what it is.
    """
    told = []
    for one in candidates:
        if one.archive and events.get(one.archive, "") is None:
            continue
        event = events.get(one.archive) if one.archive else None
        told.append(
            one
            if event is None
            else replace(one, uri=event, abstract=None, lines=None, context_type="memory", directory=False)
        )
    return told


def with_abstracts(
    candidates: Sequence[Candidate], read: Callable[[Sequence[str]], Mapping[str, str]]
) -> list[Candidate]:
    """The candidates with their abstracts known; of one that ``read`` does not give, "".

    ``read`` gets the URIs whose abstract no hit brought along, of packages their directories, each once; it is not asked
    about none.
    """
    wanted = list(dict.fromkeys(one.package or one.uri for one in candidates if one.abstract is None))
    found = read(wanted) if wanted else {}
    return [
        one if one.abstract is not None else replace(one, abstract=found.get(one.package or one.uri, ""))
        for one in candidates
    ]


def _package(place: tuple[str, ...], *, directory: bool) -> str:
    """The package that holds a node. A file right in a root of skills is in none, a directory there is one."""
    root = _skills_root(place)
    inside = len(place) - root if root else 0
    return _spelled(place[: root + 1]) if inside > 1 or (inside == 1 and directory) else ""


def _skills_root(place: tuple[str, ...]) -> int:
    """How many segments lead to the root of skills that a node is below, 0 for none."""
    if place[:2] == ("agent", "skills"):
        return 2
    if len(place) > 2 and place[0] in {"user", "agent"} and place[2] == "skills":
        return 3 if context_type("/".join(place)) == "skill" else 0
    return 0


def _is_never_an_entry(place: tuple[str, ...], *, directory: bool) -> bool:
    if directory:
        return _is_preset(place) or _skills_root(place) == len(place)
    return place[-1:] == (PROFILE,) and place[-2:-1] == ("memories",) and context_type("/".join(place)) == "memory"


def _is_preset(place: tuple[str, ...]) -> bool:
    if len(place) < 2:
        return True
    if place[0] == "agent":
        return len(place) == 2 and place[1] in AGENT_AREAS
    return place[0] == "user" and (len(place) == 2 or (len(place) == 3 and place[2] in USER_AREAS))


def _parts(uri: str) -> tuple[str, ...]:
    return tuple(part for part in uri.removeprefix(SCHEME).split("/") if part)


def _spelled(place: tuple[str, ...]) -> str:
    return str(URI(place))
