"""Which branches and tags a repository has, from what its server tells any client that asks.

It is asked by our own HTTP client, so that redirects, addresses, sizes and times are checked as for every page; git
itself then goes to the place that was found and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openviking.errors import InvalidArgumentError
from openviking.ingest.fetch.failures import FetchFailedError
from openviking.ingest.fetch.origin import Origin
from openviking.ingest.fetch.web_address import WebAddress
from openviking.text import quoted

if TYPE_CHECKING:
    from openviking.ingest.fetch.client import Client

MAX_BYTES: Final = 64 * 1024 * 1024
_SERVICE: Final = "info/refs?service=git-upload-pack"
_SMART: Final = "application/x-git-upload-pack-advertisement"
_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LISTED: Final = 10


@dataclass(frozen=True, slots=True)
class Wanted:
    """A state of a repository: the commit, the name it is asked for by, the directory in it ("": all of it).

    ``smart`` says that its server can give that state without the history.
    """

    address: WebAddress
    commit: str
    name: str
    below: str
    smart: bool


def wanted(client: Client, origin: Origin, cancelled: Callable[[], bool]) -> Wanted:
    """The state that an origin means, as its server has it now.

    Raises `InvalidArgumentError` for a repository, branch or commit that is not there, and what `Client.get` raises.
    """
    asked = _below(origin.address, _SERVICE)
    try:
        answer = client.get(
            asked, headers={"User-Agent": "git/2.40 (openviking)", "Accept": f"{_SMART}, */*"}, cancelled=cancelled,
            progress=_nobody, max_bytes=MAX_BYTES,
        )  # fmt: skip
    except FetchFailedError as error:
        status = error.details.get("http_status")
        if error.code != "PROCESSING_ERROR":
            raise
        said = {401: "there is none, or it is not public", 404: "there is none", 403: "it is not for everybody"}
        why = said.get(status or 0, error.message)
        raise InvalidArgumentError(
            f"The repository {origin.address} can't be fetched: {why}", **error.details
        ) from error
    smart = answer.headers.get("content-type", "").partition(";")[0].strip().lower() == _SMART
    refs, head = _advertised(answer.body) if smart else _plain(answer.body)
    end = answer.where.target.rfind("/info/refs")
    if end < 0:
        raise InvalidArgumentError(
            f"{origin.address} redirects to {answer.where.shown}, which is no repository", field="path"
        )
    address = WebAddress(answer.where.scheme, answer.where.host, answer.where.port, answer.where.target[:end])
    if not smart and not head:
        head = _head(client, address, cancelled)
    if not refs:
        raise InvalidArgumentError(f"{origin.address} is an empty repository, or none at all", field="path")
    return _chosen(origin, address, refs, head, smart=smart)


def _chosen(origin: Origin, address: WebAddress, refs: dict[str, str], head: str, *, smart: bool) -> Wanted:
    if origin.commit:
        return Wanted(address, origin.commit, origin.commit, "", smart)
    if origin.branch:
        name = _named(refs, origin.branch)
        if name:
            return Wanted(address, refs[name], name, "", smart)
        raise _unknown(origin, origin.branch, refs)
    if origin.tail:
        parts = origin.tail.split("/")
        for count in range(len(parts), 0, -1):
            name = _named(refs, "/".join(parts[:count]))
            if name:
                return Wanted(address, refs[name], name, "/".join(parts[count:]), smart)
        if _ID.fullmatch(parts[0]):
            return Wanted(address, parts[0], parts[0], "/".join(parts[1:]), smart)
        raise _unknown(origin, origin.tail, refs)
    name = head if head in refs else next((one for one in ("refs/heads/main", "refs/heads/master") if one in refs), "")
    name = name or next((one for one in sorted(refs) if one.startswith("refs/heads/")), "")
    if not name:
        raise InvalidArgumentError(f"{origin.address} has no branch", field="path")
    return Wanted(address, refs[name], name, "", smart)


def _named(refs: dict[str, str], name: str) -> str:
    return next(
        (one for one in (f"refs/heads/{name}", f"refs/tags/{name}", name) if one.startswith("refs/") and one in refs),
        "",
    )


def _unknown(origin: Origin, name: str, refs: dict[str, str]) -> InvalidArgumentError:
    branches = sorted(one.removeprefix("refs/heads/") for one in refs if one.startswith("refs/heads/"))
    shown = ", ".join(branches[:_LISTED]) + (" …" if len(branches) > _LISTED else "")
    return InvalidArgumentError(
        f"{origin.address} has no branch or tag {quoted(name)}; its branches: {shown or 'none'}", field="path"
    )


def _advertised(body: bytes) -> tuple[dict[str, str], str]:
    """Refs by name and the name behind HEAD, from the smart protocol's list (git's http-protocol, "Smart Server Response")."""
    refs: dict[str, str] = {}
    head = ""
    at = 0
    while at + 4 <= len(body):
        try:
            size = int(body[at : at + 4], 16)
        except ValueError:
            break
        line = body[at + 4 : at + size] if size >= 4 else b""
        at += max(size, 4)
        told, _, capabilities = line.rstrip(b"\n").partition(b"\0")
        if capabilities and (found := re.search(rb"symref=HEAD:(\S+)", capabilities)):
            head = found[1].decode("utf-8", "replace")
        _take(refs, told.decode("utf-8", "replace"), " ")
    return refs, head


def _plain(body: bytes) -> tuple[dict[str, str], str]:
    """The same from a file that a server of plain files has."""
    refs: dict[str, str] = {}
    for line in body[:MAX_BYTES].decode("utf-8", "replace").splitlines():
        _take(refs, line, "\t")
    return refs, ""


def _take(refs: dict[str, str], line: str, separator: str) -> None:
    commit, _, name = line.partition(separator)
    # A tag that is signed or described is listed twice; what it points at is behind it with ^{}.
    if _ID.fullmatch(commit) and name.startswith("refs/") and _harmless(name):
        refs[name.removesuffix("^{}")] = commit


def _harmless(name: str) -> bool:
    """Whether a name is one that git itself would make (git-check-ref-format)."""
    plain = name.removesuffix("^{}")
    return (
        len(plain) <= 250
        and ".." not in plain
        and not re.search(r"[\x00-\x20\x7f~^:?*\[\\]|@\{|//|/$|\.lock$|/\.", plain)
    )


def _head(client: Client, address: WebAddress, cancelled: Callable[[], bool]) -> str:
    try:
        told = client.get(
            _below(address, "HEAD"), headers={}, cancelled=cancelled, progress=_nobody, max_bytes=4096
        ).body.decode("utf-8", "replace")
    except FetchFailedError:
        return ""
    return told.removeprefix("ref:").strip() if told.startswith("ref:") else ""


def _below(address: WebAddress, name: str) -> WebAddress:
    return WebAddress(address.scheme, address.host, address.port, f"{address.target.rstrip('/')}/{name}")


def _nobody(_: int) -> None:
    """Nobody wants to know."""
