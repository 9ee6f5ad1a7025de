"""Who may touch which URI, and how (contract/core.md §1.8, §2.7, §2.8)."""

from __future__ import annotations

from datetime import UTC, datetime

from openviking.errors import InvalidArgumentError, PermissionDeniedError
from openviking.index.relations import NAME as LINKS_NAME
from openviking.model.identity import Identity
from openviking.uri import AGENT_AREAS, RESERVED_NAMES, URI, USER_AREAS, check_new_name, parse, parse_new

WRITABLE_USER_AREAS = frozenset({"memories", "resources"})


def resolve(identity: Identity, text: str) -> URI:
    """The canonical URI of ``text``, which the caller may read.

    Raises `InvalidURIError` for a bad spelling and `PermissionDeniedError` for another user's tree or peer, and for the
    file in which a directory's links are.
    """
    uri = parse(text, user=identity.user, today=datetime.now(tz=UTC).date())
    check_readable(identity, uri)
    if uri.name == LINKS_NAME and identity.role != "root":
        # It names what others linked to, which is theirs perhaps.
        raise PermissionDeniedError(
            f"Access denied for {uri}: relations tells the links of a directory", resource=str(uri)
        )
    return uri


def resolve_new(identity: Identity, text: str) -> URI:
    """As `resolve`, for something that is to be written, made or moved there.

    Also raises `InvalidArgumentError` for ``?``, ``#``, percent-encoded traversal and names that can't be given.
    """
    uri = parse_new(text, user=identity.user, today=datetime.now(tz=UTC).date())
    check_readable(identity, uri)
    return uri


def check_readable(identity: Identity, uri: URI) -> None:
    """Raises `PermissionDeniedError` unless the caller may see ``uri``."""
    if uri.scope != "user" or len(uri.parts) < 2:
        return
    if identity.role != "root" and uri.parts[1] != identity.user:
        raise _denied(uri)
    peer = _peer(uri)
    if identity.actor_peer is not None and peer is not None and peer != identity.actor_peer:
        raise PermissionDeniedError(
            f"Access denied for {uri}: it belongs to another peer than {identity.actor_peer}", resource=str(uri)
        )


def check_new_directory(identity: Identity, uri: URI) -> None:
    """Raises unless the caller may make a directory at ``uri``."""
    _check_place(identity, uri)
    _check_names(uri)


def check_writable(identity: Identity, uri: URI) -> None:
    """Raises unless the caller may write the text of a file at ``uri``."""
    _check_place(identity, uri)
    _check_names(uri)
    _check_frame(uri)
    if uri.scope == "user" and len(uri.parts) > 3 and not _is_content(uri):
        raise InvalidArgumentError(
            f"{uri} can't be written: in a user's tree only memories/, resources/ and files at its root can",
            resource=str(uri),
        )
    if uri.scope == "agent":
        raise InvalidArgumentError(
            f"{uri} can't be written as a file: skills and tools are added whole", resource=str(uri)
        )


def check_import_target(identity: Identity, uri: URI, field: str) -> None:
    """Raises unless resources may be imported to ``uri``; ``field`` names the parameter."""
    _check_place(identity, uri, whole_scope=True)
    inside = uri.scope == "resources" or (uri.scope == "user" and _area(uri) == "resources")
    if not inside:
        raise InvalidArgumentError(
            f"{field} must target resource content, such as viking://resources/docs, not {uri}",
            resource=str(uri),
            field=field,
        )
    _check_names(uri)


def check_movable(identity: Identity, source: URI, target: URI) -> None:
    """Raises unless the caller may move ``source`` to ``target``."""
    check_changeable(identity, source)
    # A session is at its place: what is known of it beside its files is not moved along.
    if len(source.parts) < 2 or (source.scope == "user" and len(source.parts) < 3) or _area(source) == "sessions":
        raise _denied(source)
    _check_target(identity, target)


def check_copyable(identity: Identity, source: URI, target: URI) -> None:
    """Raises unless the caller may copy ``source`` to ``target``."""
    check_readable(identity, source)
    if not source.parts or source.parts in {("user",), ("agent",)}:
        raise _denied(source)
    _check_target(identity, target)


def _check_target(identity: Identity, target: URI) -> None:
    check_new_directory(identity, target)
    _check_frame(target)
    if target.scope == "user" and len(target.parts) > 3 and not _is_content(target):
        raise InvalidArgumentError(f"{target} can't be the target of a move or copy", resource=str(target))


def check_changeable(identity: Identity, uri: URI) -> None:
    """Raises unless the caller may change or remove ``uri`` with all that is below."""
    check_readable(identity, uri)
    whole_tree = uri.parts == ("resources",) or (uri.scope == "user" and len(uri.parts) == 2)
    if not uri.parts or uri.parts in {("user",), ("agent",)} or (whole_tree and identity.role != "root"):
        raise _denied(uri)
    if (
        identity.actor_peer is not None
        and uri.scope == "user"
        and (len(uri.parts) == 2 or (_area(uri) == "peers" and not _peer(uri)))
    ):
        raise _denied(uri)


def _check_place(identity: Identity, uri: URI, *, whole_scope: bool = False) -> None:
    check_readable(identity, uri)
    if not uri.parts or uri.parts in {("user",), ("agent",)} or (uri.parts == ("resources",) and not whole_scope):
        raise _denied(uri)
    if uri.scope == "agent" and uri.parts[1] not in AGENT_AREAS:
        raise _denied(uri)
    if _area(uri) == "sessions":
        raise _denied(uri)
    if uri.name in RESERVED_NAMES:
        raise InvalidArgumentError(f"The name {uri.name!r} is reserved", resource=str(uri))


def _check_frame(uri: URI) -> None:
    """Raises for what every account or user has as a directory: a file of that name would lock its owner out."""
    home = uri.scope == "user" and (len(uri.parts) == 2 or (len(uri.parts) == 3 and uri.name in USER_AREAS))
    if home or (uri.scope == "agent" and len(uri.parts) == 2):
        raise InvalidArgumentError(
            f"{uri} is a directory, not a file", resource=str(uri), expected="file", actual="directory"
        )


def _check_names(uri: URI) -> None:
    for depth in range(2, len(uri.parts) + 1):
        check_new_name(URI(uri.parts[:depth]))


def _is_content(uri: URI) -> bool:
    if _area(uri) == "peers":
        return len(uri.parts) > 5 and uri.parts[4] in WRITABLE_USER_AREAS
    return _area(uri) in WRITABLE_USER_AREAS


def _area(uri: URI) -> str:
    return uri.parts[2] if uri.scope == "user" and len(uri.parts) > 2 else ""


def _peer(uri: URI) -> str | None:
    return uri.parts[3] if _area(uri) == "peers" and len(uri.parts) > 3 else None


def _denied(uri: URI) -> PermissionDeniedError:
    return PermissionDeniedError(f"Access denied for {uri}", resource=str(uri))
