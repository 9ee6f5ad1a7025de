"""``viking://`` URIs: the only place that knows how they are spelled (contract/core.md §2).

`parse` turns what a caller typed into a canonical `URI`; `parse_new` does the same for something that is to be made;
`check_new_name` says whether the names of a URI may be given. Who may touch a URI is not decided here but in
``service/access.py``.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final
from urllib.parse import unquote

from openviking.errors import InvalidArgumentError, InvalidURIError, PermissionDeniedError

SCHEME: Final = "viking://"
PUBLIC_SCOPES: Final = ("agent", "resources", "session", "user")
INTERNAL_SCOPES: Final = frozenset({"temp", "queue", "upload"})
AGENT_AREAS: Final = frozenset({"skills", "endpoints", "tools", "payments"})
USER_AREAS: Final = frozenset({"memories", "resources", "skills", "peers", "privacy", "sessions"})
ABSTRACT_NAME: Final = ".abstract.md"
OVERVIEW_NAME: Final = ".overview.md"
SIDECAR_NAMES: Final = frozenset({ABSTRACT_NAME, OVERVIEW_NAME})
STORAGE_NAMES: Final = frozenset({".path.ovlock", ".redirect.json", ".sync_log.json"})
RESERVED_NAMES: Final = SIDECAR_NAMES | STORAGE_NAMES | {".relations.json"}
WATCH_NAMES: Final = frozenset({".watch_tasks.json", ".watch_tasks.json.bak", ".watch_tasks.json.tmp"})
USERS_ROOT: Final = "user"
"""Store path of the directory of all users' trees. Every member may read it: what is said of it names no user."""

MAX_URI_CHARS: Final = 4096
MAX_NAME_BYTES: Final = 255
MAX_IDENTIFIER_CHARS: Final = 128
"""Characters of the id of an account, a user or a peer: each becomes the name of a directory."""

MAX_DEPTH: Final = 128
"""Segments that the URI of a new node may have: each write marks all directories above it."""

_IDENTIFIERS: Final = f"at most {MAX_IDENTIFIER_CHARS} letters, digits and _ . @ - only"
_LOCK_PREFIX: Final = ".exact.ovlock."
_MAX_SHOWN: Final = 200
_MAX_DECODINGS: Final = 8
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.@-]+")
_DRIVE = re.compile(r"[A-Za-z]:")
_VARIABLE = re.compile(r"\{([^{}/:]*):([^{}/]*)\}")
_CITATION = re.compile(r"L([0-9]{1,9})(?:-L?([0-9]{1,9}))?")
_UNSTORABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SEPARATORS = re.compile(r"[/\\]")


@dataclass(frozen=True, order=True, slots=True)
class URI:
    """A canonical URI as its path segments; ``URI(())`` is the root ``viking://``."""

    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return SCHEME + "/".join(self.parts)

    @property
    def path(self) -> str:
        """The segments joined by ``/``, without the scheme; ``""`` for the root. The store's spelling."""
        return "/".join(self.parts)

    @property
    def name(self) -> str:
        """The last segment; ``""`` for the root."""
        return self.parts[-1] if self.parts else ""

    @property
    def scope(self) -> str:
        """The first segment; ``""`` for the root."""
        return self.parts[0] if self.parts else ""

    @property
    def parent(self) -> URI:
        """The directory that holds this node; the root is its own parent."""
        return URI(self.parts[:-1])

    def child(self, *names: str) -> URI:
        """The URI below this one by ``names``."""
        return URI(self.parts + names)

    def is_within(self, other: URI) -> bool:
        """Whether this is ``other`` or below it, by whole segments."""
        return self.parts[: len(other.parts)] == other.parts

    def below(self, other: URI) -> str:
        """The path of this URI relative to ``other``, which must contain it."""
        return "/".join(self.parts[len(other.parts) :])


def from_path(path: str) -> URI:
    """The URI of a store path such as ``resources/docs/a.md``; the path is trusted."""
    return URI(tuple(path.split("/"))) if path else URI()


def split_citation(text: object) -> tuple[str, tuple[int, int] | None]:
    """``uri#L3-L9`` as the URI and its first and last line (1-based); without citation, None.

    ``#L3`` cites one line. Raises `InvalidURIError` for any other fragment, and for what is no string.
    """
    if not isinstance(text, str):
        raise InvalidURIError(_shown(repr(text)), "it must be a string")
    base, mark, fragment = text.partition("#")
    if not mark:
        return text, None
    found = _CITATION.fullmatch(fragment)
    if not found:
        raise InvalidURIError(_shown(text), "a fragment must cite lines, such as #L3-L9")
    first = int(found[1])
    last = int(found[2] or first)
    if first < 1 or last < first:
        raise InvalidURIError(_shown(text), "the cited lines must be counted from 1, first before last")
    return base, (first, last)


def parse(text: object, *, user: str, today: date) -> URI:
    """The canonical URI that ``text`` names for the caller ``user``.

    Expands calendar variables (contract/core.md §2.2) and the aliases ``~`` and ``session``, drops what follows
    ``?``, a trailing ``/`` and doubled slashes. Case is kept and nothing is percent-decoded. Parsing a canonical
    URI gives it back unchanged.

    Raises `InvalidURIError` for a spelling that names nothing (a percent-encoded traversal among them: no node can
    have such a name), `PermissionDeniedError` for dot segments, backslashes and drive prefixes,
    `InvalidArgumentError` for an unknown variable.
    """
    if not isinstance(text, str):
        raise InvalidURIError(_shown(repr(text)), "it must be a string")
    if not text.strip():
        raise InvalidURIError(_shown(text), "the field must not be empty")
    if len(text) > MAX_URI_CHARS:
        raise InvalidURIError(_shown(text), f"it has {len(text)} characters, at most {MAX_URI_CHARS} are allowed")
    if not text.startswith(SCHEME):
        raise InvalidURIError(_shown(text), f"it must start with {SCHEME}")
    body = _expand(text[len(SCHEME) :].partition("?")[0], today)
    parts = tuple(part for part in body.split("/") if part)
    for part in parts:
        _check_segment(text, part)
    uri = URI(_canonical(text, parts, user))
    if len(str(uri)) > MAX_URI_CHARS:
        raise InvalidURIError(_shown(text), f"its canonical form is longer than {MAX_URI_CHARS} characters")
    return uri


def parse_new(text: object, *, user: str, today: date) -> URI:
    """The canonical URI of something that is to be written, made or moved there.

    As `parse`, and raises `InvalidArgumentError` for what may stand in an address but not in a new one: ``?``, ``#``
    and percent-encoded traversal anywhere, and every name that `check_new_name` refuses.
    """
    if isinstance(text, str) and text.startswith(SCHEME):
        if "?" in text or "#" in text:
            raise InvalidArgumentError(f"{_shown(text)} may not contain '#' or '?'", resource=_shown(text))
        if any(_is_encoded_traversal(part) for part in text[len(SCHEME) : MAX_URI_CHARS].split("/")):
            raise InvalidArgumentError(f"{_shown(text)} has a percent-encoded '.', '..' or NUL", resource=_shown(text))
    uri = parse(text, user=user, today=today)
    check_new_name(uri)
    return uri


def check_new_name(uri: URI) -> None:
    """Raises `InvalidArgumentError` unless every name in ``uri`` below its scope may be given to a new node.

    Refused are names that no URI could address again (dots, separators, drive prefixes, control characters, lone
    surrogates, ``#`` and ``?``, percent-encoded traversal, ``{…:…}``), reserved names (contract/core.md §2.5), names
    over 255 bytes of UTF-8, and a URI that is too long as a whole. Nothing is changed silently.
    """
    for name in uri.parts[1:]:
        fault = _fault_of_name(name)
        if fault:
            raise InvalidArgumentError(f"The name {_shown(name)!r} {fault}", resource=_shown(str(uri)))
    if uri.parts[:1] == ("resources",) and len(uri.parts) > 1 and uri.parts[1] in WATCH_NAMES:
        raise InvalidArgumentError(f"The name {uri.parts[1]!r} is reserved", resource=_shown(str(uri)))
    if len(uri.parts) > MAX_DEPTH:
        raise InvalidArgumentError(
            f"The URI {_shown(str(uri))} has {len(uri.parts)} segments, at most {MAX_DEPTH} are allowed",
            resource=_shown(str(uri)),
        )
    if len(str(uri)) > MAX_URI_CHARS:
        raise InvalidArgumentError(
            f"The URI {_shown(str(uri))} has {len(str(uri))} characters, at most {MAX_URI_CHARS} are allowed",
            resource=_shown(str(uri)),
        )


def is_identifier(text: str) -> bool:
    """Whether ``text`` may be the id of a user, a peer or (without a leading ``_``) an account."""
    return (
        len(text) <= MAX_IDENTIFIER_CHARS
        and bool(_IDENTIFIER.fullmatch(text))
        and text not in {".", ".."}
        and text.count("@") <= 1
    )


def context_type(path: str) -> str:
    """``memory``, ``resource`` or ``skill`` of a store path (contract/retrieval.md §2.2)."""
    parts = path.split("/")
    area = ""
    if parts[0] == "user" and len(parts) > 2:
        if parts[2] != "peers":
            area = parts[2]
        elif len(parts) > 4 and parts[4] == "memories":
            area = parts[4]
    elif parts[0] == "agent" and len(parts) > 1:
        if parts[1] == "skills":
            area = "skills"
        elif parts[1] not in AGENT_AREAS and len(parts) > 2:
            area = parts[2]
    return {"memories": "memory", "skills": "skill"}.get(area, "resource")


def owner(path: str) -> str:
    """The user whose tree a store path lies in; ``""`` for shared scopes."""
    parts = path.split("/")
    return parts[1] if parts[0] == "user" and len(parts) > 1 else ""


def _shown(text: str) -> str:
    # A message must survive every encoder on its way out: no lone surrogate, no control character, no megabyte.
    return _UNSTORABLE.sub(lambda found: repr(found[0])[1:-1], text[:_MAX_SHOWN]) + "…" * (len(text) > _MAX_SHOWN)


def _check_segment(text: str, part: str) -> None:
    if _is_traversal(part) or "\\" in part or _DRIVE.match(part):
        raise PermissionDeniedError(
            f"Access denied for {_shown(text)}: a segment may not be {_shown(part)!r}", resource=_shown(text)
        )
    if _UNSTORABLE.search(part):
        raise InvalidURIError(_shown(text), "it has a control character or a lone surrogate")
    if _is_encoded_traversal(part):
        raise InvalidURIError(_shown(text), f"{_shown(part)!r} has a percent-encoded '.', '..' or NUL")


def _is_traversal(part: str) -> bool:
    # Full-width and other compatibility forms count as what a file system or proxy might fold them to.
    folded = part if part.isascii() else unicodedata.normalize("NFKC", part)
    return any(piece in {".", ".."} for piece in _SEPARATORS.split(folded))


def _is_encoded_traversal(part: str) -> bool:
    # Nothing here decodes, but what stands behind or before might, even twice.
    if "%" not in part:
        return False
    for _ in range(_MAX_DECODINGS):
        decoded = unquote(part)
        if decoded == part:
            return "\0" in part or _is_traversal(part)
        part = decoded
    return True


def _fault_of_name(name: str) -> str:
    if not name:
        return "is empty"
    if _UNSTORABLE.search(name):
        return "has a control character or a lone surrogate"
    if _is_traversal(name) or _SEPARATORS.search(name):
        return "may not be '.' or '..', nor contain '/' or '\\'"
    if _DRIVE.match(name):
        return "may not start with a drive prefix"
    if "#" in name or "?" in name:
        return "may not contain '#' or '?'"
    if _is_encoded_traversal(name):
        return "has a percent-encoded '.', '..' or NUL"
    if _VARIABLE.search(name):
        return "may not contain a variable such as '{calendar:today}'"
    if name in RESERVED_NAMES or name.startswith(_LOCK_PREFIX):
        return "is reserved"
    size = len(name.encode())
    return f"has {size} bytes, at most {MAX_NAME_BYTES} are allowed" if size > MAX_NAME_BYTES else ""


def _canonical(text: str, parts: tuple[str, ...], user: str) -> tuple[str, ...]:
    if not parts:
        return ()
    scope, rest = parts[0], parts[1:]
    if scope == "~":
        return _checked_peer(text, ("user", user, *rest))
    if scope == "session":
        return ("user", user, "sessions", *rest)
    if scope == "user":
        return _canonical_user(text, parts, user)
    if scope == "agent":
        if rest and rest[0] in {"memories", "resources"}:
            raise InvalidURIError(
                _shown(text), f"{SCHEME}agent has no {rest[0]}; use {_shown(SCHEME + '~/' + '/'.join(rest))}"
            )
        return parts
    if scope == "resources":
        return parts
    hint = f"; use {_shown(SCHEME + '~/' + '/'.join(parts))}" if scope in USER_AREAS else ""
    kind = "is internal" if scope in INTERNAL_SCOPES else "is not a scope"
    raise InvalidURIError(_shown(text), f"{_shown(scope)!r} {kind}; the scopes are {', '.join(PUBLIC_SCOPES)}{hint}")


def _canonical_user(text: str, parts: tuple[str, ...], user: str) -> tuple[str, ...]:
    if len(parts) < 2:
        return parts
    uid = parts[1]
    if uid in USER_AREAS and uid != user:
        better = _shown(SCHEME + "~/" + "/".join(parts[1:]))
        raise InvalidURIError(_shown(text), f"{uid!r} is not a user id; use {better} or {SCHEME}user/<user id>/{uid}")
    if not is_identifier(uid):
        raise InvalidURIError(_shown(text), f"{_shown(uid)!r} is not a user id: {_IDENTIFIERS}")
    return _checked_peer(text, parts)


def _checked_peer(text: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    if len(parts) > 3 and parts[2] == "peers" and not is_identifier(parts[3]):
        raise InvalidURIError(_shown(text), f"{_shown(parts[3])!r} is not a peer id: {_IDENTIFIERS}")
    return parts


def _expand(body: str, today: date) -> str:
    if not _VARIABLE.search(body):
        return body
    known = _calendar(today)

    def value(found: re.Match[str]) -> str:
        if found[1] != "calendar" or found[2] not in known:
            raise _unknown_variable(found[0], known)
        return known[found[2]]

    expanded = _VARIABLE.sub(value, body)
    # A value inside of another pair of braces would be a variable to whoever parses the result again.
    again = _VARIABLE.search(expanded)
    if again:
        raise _unknown_variable(again[0], known)
    return expanded


def _unknown_variable(spelling: str, known: dict[str, str]) -> InvalidArgumentError:
    allowed = ", ".join(f"{{calendar:{name}}}" for name in known)
    return InvalidArgumentError(
        f"Unknown variable {_shown(spelling)!r} in a URI; known are {allowed}", variable=_shown(spelling)
    )


def _calendar(today: date) -> dict[str, str]:
    def day(moment: date) -> str:
        return f"{moment:%Y/%m/%d}"

    quarter = f"Q{(today.month + 2) // 3}"
    week_year, week, _ = today.isocalendar()
    return {
        "today": day(today),
        "yesterday": day(today - timedelta(days=1)),
        "tomorrow": day(today + timedelta(days=1)),
        "year": f"{today:%Y}",
        "month": f"{today:%m}",
        "day": f"{today:%d}",
        "ym": f"{today:%Y/%m}",
        "quarter": quarter,
        "yq": f"{today:%Y}/{quarter}",
        "week": f"W{week:02d}",
        "yw": f"{week_year}/W{week:02d}",
    }
