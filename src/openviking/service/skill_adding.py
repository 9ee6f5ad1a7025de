"""Adding and replacing skills: what was sent becomes packages, stored whole (contract/core.md §3.5)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from openviking.errors import InvalidArgumentError, UnimplementedError
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.model.skill import FILE
from openviking.model.task import new_task_id
from openviking.service.accounts import Accounts
from openviking.service.processed import queue_status
from openviking.service.search import Search
from openviking.service.skill_desk import SOURCE, SkillDesk, own_skills
from openviking.service.skill_packages import Package, Sending, package_of_data, packages_of_file, packages_of_path
from openviking.service.skill_secrets import without_secrets
from openviking.service.skill_views import described
from openviking.service.worker import Worker, time_limit
from openviking.session.scrubbing import scrubbed_value
from openviking.store.batch import MakeDirectory, Operation, PutFile, Remove
from openviking.store.port import AccountStore
from openviking.text import quoted
from openviking.uri import URI

MAX_SOURCE_CHARS: Final = 65_536


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
    """Where such files wait: `find` one, `look` into it, `take` it for good, and `remove` it when it was used."""

    def find(self, identity: Identity, temp_file_id: object) -> Upload:
        """An upload of the caller."""
        ...

    def look(self, identity: Identity, temp_file_id: object) -> Path:
        """Its file, to be read and left there."""
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


class SkillAdding(SkillDesk):
    """Stores skills; ``uploads`` None where there are none."""

    def __init__(self, accounts: Accounts, worker: Worker, search: Search, uploads: Uploads | None = None) -> None:
        super().__init__(accounts, worker, search)
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
        upload holds and uses nothing up. ``data`` as a `Path` is a SKILL.md, zip or folder of this machine, which only a
        door in the same process can give. Raises `InvalidArgumentError` for a skill without a name or with faults,
        `PermissionDeniedError` for a path and for another's upload.
        """
        time_limit(timeout)
        root = self._root(identity, target_uri) or own_skills(identity)
        store = self._accounts.store(identity)
        source = _source(source_metadata)
        sending, taken = self._sending(identity, data, temp_file_id, take=not list_only)
        try:
            chosen = [without_secrets(one) for one in _chosen(sending, skills)]
            if list_only:
                listed = [described(one.skill, root) for one in chosen]
                return {"skills": listed, "total": len(listed), **_refused(sending, chosen)}
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
            chosen = list(map(without_secrets, chosen))
            store.apply(_stored(root, chosen[0], source))
        finally:
            self._used_up(taken)
        done = self._finished(store, root, chosen, sending, wait=wait, timeout=timeout)
        return {**done, "action": "update"}

    def _sending(
        self, identity: Identity, data: Any, temp_file_id: str | None, *, take: bool
    ) -> tuple[Sending, Path | None]:
        """What was sent, and the file of an upload that is used up by it."""
        if (data is None) == (temp_file_id is None):
            raise InvalidArgumentError("Give either data or temp_file_id", field="data")
        if isinstance(data, Path):
            return packages_of_path(data), None
        if temp_file_id is None:
            return Sending((package_of_data(data),)), None
        if self._uploads is None:
            raise UnimplementedError("There are no uploads here: give data", field="temp_file_id")
        upload = self._uploads.find(identity, temp_file_id)
        if not take:
            return packages_of_file(self._uploads.look(identity, upload.id), upload.name), None
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
            one = {"root_uri": str(root), "uri": str(uri), "name": uri.name, "auxiliary_files": len(package.files)}
            if package.masked:
                one["masked"] = [each.to_dict() for each in package.masked]
            told.append(one)
        self._worker.wake()
        first = told[0] if len(told) == 1 else {"root_uri": str(root), "skills": told, "total": len(told)}
        answer = {"status": "success", **first, **_refused(sending, chosen)}
        if wait:
            count = sum(len(package.files) + 1 for package in chosen)
            answer["queue_status"] = queue_status(semantic=count, embedding=count)
        return answer


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


def _refused(sending: Sending, chosen: Sequence[Package]) -> dict[str, Any]:
    """What of a sending is not stored, or not as it was sent."""
    told: dict[str, Any] = {}
    if sending.refused:
        told["refused"] = list(sending.refused)
    masked = [f"{package.skill.name}: {one.told}" for package in chosen for one in package.masked]
    if sending.left_out or masked:
        told["warnings"] = [*sending.left_out, *masked]
    return told


def _source(metadata: Mapping[str, Any] | None) -> str | None:
    if metadata is None:
        return None
    try:
        text = json.dumps(scrubbed_value(dict(metadata))[0], ensure_ascii=True, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidArgumentError("source_metadata must be a JSON object", field="source_metadata") from error
    if len(text) > MAX_SOURCE_CHARS:
        raise InvalidArgumentError(
            f"source_metadata has {len(text)} characters, at most {MAX_SOURCE_CHARS} are kept", field="source_metadata"
        )
    return text
