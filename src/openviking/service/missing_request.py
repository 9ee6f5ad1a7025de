"""The URIs that a search shall account for, checked."""

from __future__ import annotations

from openviking.errors import InvalidArgumentError, PermissionDeniedError
from openviking.model.identity import Identity
from openviking.retrieve.missing import MAX_ASKED, Wanted
from openviking.service.access import resolve
from openviking.text import quoted
from openviking.uri import SIDECAR_NAMES

FIELD = "explain_missing"


def asked_for(identity: Identity, value: object) -> tuple[Wanted, ...] | None:
    """The records that ``value``, a URI or a list of them, names; None where it is None or empty.

    A hit's citation (``#L3-L9``) and a directory's sidecar are as good as the URI. What the caller may not see is named as
    what is not there. Raises `InvalidArgumentError` for more than 20 and for what is no URI.
    """
    given = [value] if isinstance(value, str) else value
    if given is None:
        return None
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise InvalidArgumentError(f"{FIELD} must be a URI or a list of URIs, not {quoted(value)}", field=FIELD)
    distinct = list(dict.fromkeys(given))
    if len(distinct) > MAX_ASKED:
        raise InvalidArgumentError(f"{FIELD} names {len(distinct)} URIs, at most {MAX_ASKED} are allowed", field=FIELD)
    return tuple(Wanted(one, _path(identity, one)) for one in distinct) or None


def _path(identity: Identity, text: str) -> str | None:
    try:
        uri = resolve(identity, text.partition("#")[0])
    except PermissionDeniedError:
        return None
    return (uri.parent if uri.name in SIDECAR_NAMES else uri).path
