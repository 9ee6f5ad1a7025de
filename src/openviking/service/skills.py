"""Skills: adding, finding, showing, changing and checking them (contract/core.md §3.5)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from openviking.errors import InvalidArgumentError, NotFoundError, OpenVikingError, UnimplementedError
from openviking.index.limits import whole_number
from openviking.ingest.prepare import prepare
from openviking.ingest.sidecars import CurrentSidecars
from openviking.model.hit import Hit
from openviking.model.identity import Identity
from openviking.model.skill import FILE, Finding, Skill, findings, name_findings
from openviking.model.task import new_task_id
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.processed import queue_status
from openviking.service.search import Search
from openviking.service.skill_packages import Package, Sending, package_of_data, packages_of_file, skill_of
from openviking.service.skill_views import best_of, definition, described, file_entry, packages_in, summary
from openviking.service.worker import Worker, time_limit
from openviking.store.batch import MakeDirectory, Operation, PutFile, Remove
from openviking.store.port import AccountStore, View
from openviking.text import quoted
from openviking.uri import URI, from_path

SHARED: Final = URI(("agent", "skills"))
"""The skills of the whole account."""

SOURCE: Final = ".source.json"
"""Where a package keeps what is said of its source; hidden, and no part of what is found."""

MAX_SOURCE_CHARS: Final = 65_536
_WIDTH: Final = 4
"""Hits that are looked at for each wanted package at first: a package has several records."""


class Upload(Protocol):
    """A file that a client sent ahead."""

    @property
    def id(self) -> str:
        """What the client calls it by."""
        ...

    @property
    def name(self) -> str:
        """What the client called the file."""
        ...


class Uploads(Protocol):
    """Where such files wait: `find` one, `take` it for good, and `remove` it when it was used."""

    def find(self, identity: Identity, temp_file_id: object) -> Upload:
        """An upload of the caller."""
        ...

    def take(self, identity: Identity, temp_file_id: object, task_id: str) -> Path:
        """Its file, which is the task's from now on."""
        ...

    def settle(self, taken: Path) -> None:
        """Forget whose upload a file was that `take` gave."""
        ...

    def remove(self, taken: Path) -> None:
        """Remove a file that was taken."""
        ...


class Skills:
    """The skills of the caller, and those that the account shares; ``uploads`` None where there are none."""

    def __init__(self, accounts: Accounts, worker: Worker, search: Search, uploads: Uploads | None = None) -> None:
        self._accounts = accounts
        self._worker = worker
        self._search = search
        self._uploads = uploads

    def add(
        self,
        identity: Identity,
        data: Any = None,
        temp_file_id: str | None = None,
        *,
        skills: Sequence[str] | None = None,
        list_only: bool = False,
        source_metadata: Mapping[str, Any] | None = None,
        target_uri: str | None = None,
        wait: bool = False,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Store a skill, or those of an upload (of which ``skills`` may name some); one of the same name is replaced.

        It is found by its words when this returns, with ``wait`` also by its vectors. ``list_only`` tells what an
        upload holds and uses nothing up. Raises `InvalidArgumentError` for a skill without a name or with faults,
        `PermissionDeniedError` for a path and for another's upload.
        """
        time_limit(timeout)
        root = self._root(identity, target_uri) or _own(identity)
        store = self._accounts.store(identity)
        source = _source(source_metadata)
        sending, taken = self._sending(identity, data, temp_file_id, take=not list_only)
        try:
            chosen = _chosen(sending, skills)
            if list_only:
                listed = [described(one.skill, root) for one in chosen]
                return {"skills": listed, "total": len(listed), **_refused(sending)}
            store.apply([one for package in chosen for one in _stored(root, package, source)])
        finally:
            self._used_up(taken)
        return self._finished(store, root, chosen, sending, wait=wait, timeout=timeout)

    def update(
        self,
        identity: Identity,
        name: str,
        data: Any = None,
        temp_file_id: str | None = None,
        *,
        from_source: bool = False,
        source_metadata: Mapping[str, Any] | None = None,
        target_uri: str | None = None,
        wait: bool = False,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Replace all files of an existing skill. Raises `NotFoundError`, `InvalidArgumentError` for another name."""
        time_limit(timeout)
        if from_source:
            raise UnimplementedError(
                "Fetching a skill from its source is not part of this version", field="from_source"
            )
        store = self._accounts.store(identity)
        with store.read() as view:
            root = self._found(view, identity, name, target_uri).parent
        source = _source(source_metadata)
        sending, taken = self._sending(identity, data, temp_file_id, take=True)
        try:
            chosen = [one for one in sending.packages if one.skill.name == name]
            if not chosen:
                others = ", ".join(one.skill.name for one in sending.packages)
                raise InvalidArgumentError(f"The new skill is called {others}, not {name}", field="name")
            store.apply(_stored(root, chosen[0], source))
        finally:
            self._used_up(taken)
        done = self._finished(store, root, chosen, sending, wait=wait, timeout=timeout)
        return {**done, "action": "update"}

    def ls(self, identity: Identity, *, node_limit: int = 1000, target_uri: str | None = None) -> dict[str, Any]:
        """The skills by name, the caller's own first; ``total`` counts all that there are."""
        limit = whole_number(node_limit, "node_limit", minimum=1)
        roots = self._roots(identity, target_uri)
        with self._accounts.store(identity).read() as view:
            packages = [path for root in roots for path in packages_in(view, root)]
            listed = [summary(view, from_path(path)) for path in packages[:limit]]
        return {"skills": listed, "total": len(packages), **_named(roots, target_uri)}

    def find(
        self,
        identity: Identity,
        query: str,
        *,
        limit: int = 10,
        score_threshold: float | None = None,
        level: int | str | Sequence[int] | None = None,
        target_uri: str | None = None,
    ) -> dict[str, Any]:
        """The best skills for a question, each once. Raises `InvalidArgumentError` for a blank one."""
        wanted = whole_number(limit, "limit", minimum=1)
        if not query.strip():
            raise InvalidArgumentError("query must not be empty", field="query")
        roots = self._roots(identity, target_uri)
        store = self._accounts.store(identity)
        with store.read() as view:
            there = [str(root) for root in roots if view.get(root.path) is not None]
        width = _WIDTH * wanted
        best: dict[str, Hit] = {}
        retrieval: dict[str, Any] = {}
        while there:
            found = self._search.find(
                identity, query, there, limit=width, score_threshold=score_threshold, context_type="skill", level=level
            )
            hits = [hit for hit in found if hit.context_type == "skill"]
            best = best_of(hits, roots)
            retrieval = {"retrieval": found.to_dict()["retrieval"]}
            if len(best) >= wanted or len(hits) < width:
                break
            width *= 4
        told = []
        with store.read() as view:
            for path, hit in list(best.items())[:wanted]:
                if view.get(f"{path}/{FILE}") is not None:
                    beside = {"score": hit.score, "match_reason": hit.match_reason, "level": hit.level}
                    abstract = CurrentSidecars(view).of(path).abstract
                    told.append({**summary(view, from_path(path)), **beside, "abstract": abstract})
        return {**_named(roots, target_uri), "skills": told, "total": len(told), **retrieval}

    def show(
        self,
        identity: Identity,
        name: str,
        *,
        target_uri: str | None = None,
        include_content: bool | None = None,
        include_files: bool = True,
        include_integrity: bool = False,
        include_source: bool = False,
        level: int | None = None,
    ) -> dict[str, Any]:
        """A skill: the caller's own, else the shared one of that name.

        ``level`` 0 gives its abstract, 1 the overview too, 2 (and none) the content too, unless ``include_content``
        says otherwise. Raises `NotFoundError`, `InvalidArgumentError` for another level.
        """
        if level is not None and (isinstance(level, bool) or level not in (0, 1, 2)):
            raise InvalidArgumentError(f"level must be 0, 1 or 2, not {quoted(level)}", field="level")
        with self._accounts.store(identity).read() as view:
            package = self._found(view, identity, name, target_uri)
            sidecars = CurrentSidecars(view).of(package.path)
            told = summary(view, package) | {"abstract": sidecars.abstract}
            if level != 0:
                told["overview"] = sidecars.overview
            if include_content if include_content is not None else level in (None, 2):
                told["content"] = definition(view, package)
            entries = [one.node for one in view.walk(package.path) if one.node.name != SOURCE]
            if include_files:
                told["files"] = [file_entry(package, node, integrity=include_integrity) for node in entries]
            if include_integrity:
                hashes = {node.uri.below(package): node.hash.hex() for node in entries if node.hash is not None}
                told["content_sha256"] = hashes.get(FILE)
                joined = "".join(f"{path}\0{digest}\n" for path, digest in sorted(hashes.items()))
                told["revision"] = hashlib.sha256(joined.encode()).hexdigest()
            if include_source:
                node = view.get(package.child(SOURCE).path)
                told["source"] = None if node is None else json.loads(view.data(node))
        return told

    def delete(self, identity: Identity, name: str, *, target_uri: str | None = None) -> dict[str, Any]:
        """Remove a skill with all its files. Raises `NotFoundError`."""
        store = self._accounts.store(identity)
        with store.read() as view:
            package = self._found(view, identity, name, target_uri)
        removed = store.apply([Remove(package.path, recursive=True)]).outcomes[0].count
        self._worker.wake()
        return {
            "name": name,
            "uri": str(package),
            "root_uri": str(package.parent),
            "estimated_deleted_count": removed,
            "privacy_deleted": False,
        }

    def validate(
        self,
        identity: Identity,
        data: Any,
        *,
        strict: bool = False,
        source_path: str | None = None,
        skill_dir_name: str | None = None,
        target_uri: str | None = None,
    ) -> dict[str, Any]:
        """Which rules a skill breaks; nothing is stored, and a broken one is no error."""
        self._root(identity, target_uri)
        try:
            skill = skill_of(data)
        except OpenVikingError as error:
            skill = Skill("", fault=error.message)
        errors, warnings = findings(skill, strict=strict, directory=skill_dir_name or "")
        return {
            "valid": not errors,
            "strict": strict,
            "name": skill.name,
            "description": skill.description,
            "tags": list(skill.tags),
            "allowed_tools": list(skill.allowed_tools),
            "body_lines": skill.body_lines,
            "source_path": source_path,
            "skill_dir_name": skill_dir_name,
            "errors": list(map(Finding.to_dict, errors)),
            "warnings": list(map(Finding.to_dict, warnings)),
        }

    def _sending(
        self, identity: Identity, data: Any, temp_file_id: str | None, *, take: bool
    ) -> tuple[Sending, Path | None]:
        """What was sent, and the file of an upload that is used up by it."""
        if (data is None) == (temp_file_id is None):
            raise InvalidArgumentError("Give either data or temp_file_id", field="data")
        if temp_file_id is None:
            return Sending((package_of_data(data),)), None
        if self._uploads is None:
            raise UnimplementedError("There are no uploads here: give data", field="temp_file_id")
        upload = self._uploads.find(identity, temp_file_id)
        if not take:
            raise UnimplementedError("list_only is not part of this version", field="list_only")
        taken = self._uploads.take(identity, upload.id, new_task_id())
        self._uploads.settle(taken)
        try:
            return packages_of_file(taken, upload.name), taken
        except BaseException:
            self._used_up(taken)
            raise

    def _used_up(self, taken: Path | None) -> None:
        if taken is not None and self._uploads is not None:
            self._uploads.remove(taken)

    def _finished(
        self,
        store: AccountStore,
        root: URI,
        chosen: Sequence[Package],
        sending: Sending,
        *,
        wait: bool,
        timeout: float | None,
    ) -> dict[str, Any]:
        told = []
        for package in chosen:
            uri = root.child(package.skill.name)
            if wait:
                self._worker.drain(store, timeout, below=uri.path)
            told.append(
                {"root_uri": str(root), "uri": str(uri), "name": uri.name, "auxiliary_files": len(package.files)}
            )
        self._worker.wake()
        first = told[0] if len(told) == 1 else {"root_uri": str(root), "skills": told, "total": len(told)}
        answer = {"status": "success", **first, **_refused(sending)}
        if wait:
            count = sum(len(package.files) + 1 for package in chosen)
            answer["queue_status"] = queue_status(semantic=count, embedding=count)
        return answer

    def _root(self, identity: Identity, target_uri: str | None) -> URI | None:
        """The root that ``target_uri`` names; raises `InvalidArgumentError` unless it is one for skills."""
        if not target_uri:
            return None
        target = resolve(identity, target_uri)
        if target not in (_own(identity), SHARED):
            raise InvalidArgumentError(
                f"target_uri must be {_own(identity)} or {SHARED}, not {target}", field="target_uri"
            )
        return target

    def _roots(self, identity: Identity, target_uri: str | None) -> list[URI]:
        root = self._root(identity, target_uri)
        return [_own(identity), SHARED] if root is None else [root]

    def _found(self, view: View, identity: Identity, name: str, target_uri: str | None) -> URI:
        """The directory of a skill; raises `NotFoundError`."""
        for root in self._roots(identity, target_uri):
            if name and not name_findings(name):
                node = view.get(root.child(name, FILE).path)
                if node is not None and not node.is_dir:
                    return root.child(name)
        raise NotFoundError(name, "skill")


def _own(identity: Identity) -> URI:
    return URI(("user", identity.user, "skills"))


def _stored(root: URI, package: Package, source: str | None) -> list[Operation]:
    """The writing of a package in place of whatever was there."""
    directory = root.child(package.skill.name)
    files = {FILE: package.skill.text.encode(), **package.files}
    if source is not None:
        files[SOURCE] = source.encode()
    return [
        Remove(directory.path, recursive=True),
        MakeDirectory(directory.path, description=package.skill.abstract),
        *(PutFile(f"{directory.path}/{name}", prepare(name.rpartition("/")[2], data)) for name, data in files.items()),
    ]


def _chosen(sending: Sending, names: Sequence[str] | None) -> list[Package]:
    if names is None:
        return list(sending.packages)
    known = {one.skill.name: one for one in sending.packages}
    missing = [name for name in names if name not in known]
    if missing or not names:
        raise InvalidArgumentError(
            f"There is no skill {quoted(missing[0]) if missing else ''} among {', '.join(known)}", field="skills"
        )
    return [known[name] for name in dict.fromkeys(names)]


def _refused(sending: Sending) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if sending.refused:
        told["refused"] = list(sending.refused)
    if sending.left_out:
        told["warnings"] = list(sending.left_out)
    return told


def _source(metadata: Mapping[str, Any] | None) -> str | None:
    if metadata is None:
        return None
    try:
        text = json.dumps(metadata, ensure_ascii=True, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidArgumentError("source_metadata must be a JSON object", field="source_metadata") from error
    if len(text) > MAX_SOURCE_CHARS:
        raise InvalidArgumentError(
            f"source_metadata has {len(text)} characters, at most {MAX_SOURCE_CHARS} are kept", field="source_metadata"
        )
    return text


def _named(roots: Sequence[URI], target_uri: str | None) -> dict[str, Any]:
    return {"root_uri": str(roots[0])} if target_uri else {"root_uris": [str(root) for root in roots]}
