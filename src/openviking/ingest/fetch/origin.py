"""What a caller means by an address: a page, or a repository with a branch and a directory in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal
from urllib.parse import quote, unquote

from openviking.errors import InvalidArgumentError, UnimplementedError
from openviking.ingest.fetch.naming import leaf
from openviking.ingest.fetch.web_address import WebAddress, web_address
from openviking.ingest.reserve import DEFAULT_PARENT, document_stem
from openviking.names import root_name
from openviking.text import quoted

REMOTE: Final = re.compile(
    r"\s*(?:(?:https?|ssh|git|git\+https?)://|[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:(?!//))", re.IGNORECASE
)
"""How every address begins that is fetched rather than opened."""

_SHELL: Final = re.compile(r"(?P<user>[A-Za-z0-9_.-]+)@(?P<host>[A-Za-z0-9_.-]+):(?P<path>(?!//)[^:]+)")
_SSH: Final = re.compile(
    r"(?:ssh|git)://(?:(?P<user>[A-Za-z0-9_.-]+)@)?(?P<host>[A-Za-z0-9_.-]+)(?::22|:9418)?/(?P<path>.+)", re.IGNORECASE
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HOSTS: Final = {
    "github.com": "github", "www.github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "gitea", "gitea.com": "gitea",
    "bitbucket.org": "bitbucket", "gitee.com": "github",
}  # fmt: skip
_NO_OWNERS: Final = frozenset(
    """about account apps blog collections contact customer-stories dashboard enterprise events explore features help issues
    join login logout marketplace new notifications orgs pricing pulls readme search security settings signup site sponsors
    stars team topics trending users""".split()
)
_ONE_PAGE: Final = ("site", "depth", "max_pages", "include_paths", "exclude_paths", "allow_external_links")
_TEXTS: Final = ("branch", "commit")


@dataclass(frozen=True, slots=True)
class Origin:
    """What is to be fetched.

    ``given`` is what the caller said, ``location`` what the source is known by. Of a repository ``commit`` or ``branch``
    says which state (both "": the default branch), ``tail`` is what followed ``/tree/``: a branch, which may have
    slashes, and then a directory. ``stem`` names the root, ``home`` is the directory for it (a store path).
    """

    kind: Literal["page", "repository"]
    given: str
    address: WebAddress
    location: str
    stem: str
    home: str = DEFAULT_PARENT
    branch: str = ""
    commit: str = ""
    tail: str = ""
    warnings: tuple[str, ...] = ()


def origin_of(path: str, args: Mapping[str, Any] | None = None) -> Origin:
    """The origin that ``path`` names.

    ``args`` may hold ``branch`` and ``commit`` of a repository. Raises `InvalidArgumentError`, and
    `UnimplementedError` for credentials.
    """
    told = dict(args or {})
    if told.get("auth_config"):
        raise UnimplementedError(
            "Sources that ask for credentials (args.auth_config) are not part of this version", field="args"
        )
    given = path.strip()
    address, warnings = _address(given)
    warnings += [f"args.{name} has no effect: one page is fetched" for name in _ONE_PAGE if told.get(name)]
    branch, commit = (_text(told, name) for name in _TEXTS)
    if commit and not _COMMIT.fullmatch(commit):
        raise InvalidArgumentError(
            f"args.commit must be a full commit id of 40 or 64 hexadecimal digits, not {quoted(commit)}", field="args"
        )
    found = _repository(given, address)
    if found is None:
        if branch or commit:
            raise InvalidArgumentError(
                f"{address.shown} is a page, and args.branch and args.commit are for repositories, whose address ends in .git",
                field="args",
            )
        page = _raw(address)
        return Origin("page", given, page, str(page), document_stem(leaf(page)), warnings=tuple(warnings))
    repository = replace(found, given=given, branch=branch, commit=commit, tail="" if branch or commit else found.tail)
    # A line break ends the location in the store's list of sources, and no argument of a program holds a NUL.
    if _CONTROL.search(repository.tail):
        raise InvalidArgumentError(
            f"The branch or directory {quoted(repository.tail)} has control characters", field="path"
        )
    wanted = commit or branch or repository.tail
    location = f"git+{repository.address}" + (f"#{wanted}" if wanted else "")
    return replace(repository, location=location, warnings=tuple(warnings))


def _text(args: Mapping[str, Any], name: str) -> str:
    value = args.get(name)
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) > 250 or re.search(r"[\x00-\x20\x7f\ud800-\udfff~^:?*\[\\]", value):
        raise InvalidArgumentError(
            f"args.{name} must be the name of a branch, tag or commit, not {quoted(value)}", field="args"
        )
    return value.strip()


def _address(given: str) -> tuple[WebAddress, list[str]]:
    """The web address, and what is to be said if another protocol was asked for."""
    plain = re.sub(r"^git\+(?=https?://)", "", given, flags=re.IGNORECASE)
    found = _SHELL.fullmatch(given) if "://" not in given else _SSH.fullmatch(given)
    if found is None:
        if re.match(r"(?:ssh|git)://", given, re.IGNORECASE) or "://" not in plain:
            # What stands before an @ may be a password.
            raise InvalidArgumentError(
                f"{quoted(given.rpartition('@')[2])} can't be fetched: repositories are fetched over https, without keys; give their https address",
                field="path",
            )
        return web_address(plain), []
    path = found["path"].strip("/")
    address = web_address(f"https://{found['host']}/{path if path.endswith('.git') else path + '.git'}")
    return address, [f"{address} was fetched over https: no ssh keys are used"]


def _repository(given: str, address: WebAddress) -> Origin | None:
    """The repository that an address names; None if it is a page."""
    parts = [unquote(part) for part in address.path.split("/") if part]
    forced = given.lower().startswith("git+")
    flavour = _HOSTS.get(address.host, "")
    if parts and (parts[-1].endswith(".git") or forced):
        return _origin(address, parts, "")
    if not flavour or len(parts) < 2 or parts[0].lower() in _NO_OWNERS:
        return None
    if flavour == "gitlab":
        marker = parts.index("-") if "-" in parts else len(parts)
        rest = parts[marker + 1 :]
        if marker < 2 or (rest and rest[0] != "tree"):
            return None
        return _origin(address, parts[:marker], "/".join(rest[1:]))
    rest = parts[2:]
    if not rest:
        return _origin(address, parts, "")
    if rest[0] == "tree" and flavour == "github" and len(rest) > 1:
        return _origin(address, parts[:2], "/".join(rest[1:]))
    if rest[0] == "src" and flavour == "gitea" and len(rest) > 2 and rest[1] in {"branch", "tag", "commit"}:
        # A file is shown at the same kind of address as a directory: what it is, the repository says.
        return _origin(address, parts[:2], "/".join(rest[2:]))
    return None


def _origin(address: WebAddress, parts: list[str], tail: str) -> Origin:
    name = parts[-1].removesuffix(".git") or address.host
    path = "/".join(quote(part, safe="-._~") for part in parts)
    home = f"{DEFAULT_PARENT}/{root_name(parts[-2])}" if len(parts) > 1 else DEFAULT_PARENT
    clean = WebAddress(address.scheme, address.host, address.port, f"/{path}")
    return Origin("repository", "", clean, "", name, home, tail=tail)


def _raw(address: WebAddress) -> WebAddress:
    """Where the file itself is that a page of a code host shows."""
    parts = address.target.split("/")
    if address.host in {"github.com", "www.github.com"} and len(parts) > 5 and parts[3] == "blob":
        return WebAddress(address.scheme, "raw.githubusercontent.com", address.port, "/".join([*parts[:3], *parts[4:]]))
    if address.host == "gitlab.com" and "/-/blob/" in address.target:
        return WebAddress(address.scheme, address.host, address.port, address.target.replace("/-/blob/", "/-/raw/", 1))
    return address
