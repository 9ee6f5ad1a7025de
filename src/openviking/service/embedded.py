"""OpenViking in one's own process: the wiring, and the use cases as flat methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from openviking.model.identity import Identity
from openviking.model.imports import ImportOptions, ImportReport, Progress
from openviking.model.listing import Listing
from openviking.providers.embedder import Embedder
from openviking.providers.selection import embedder_of
from openviking.service.accounts import Accounts
from openviking.service.configured import configured
from openviking.service.describing import Describing
from openviking.service.embedded_relations import RelationMethods
from openviking.service.embedded_search import SearchMethods
from openviking.service.embedded_session import Session
from openviking.service.embedded_session_waiting import SessionWaiting
from openviking.service.embedded_sessions import SessionMethods
from openviking.service.embedded_skills import SkillMethods
from openviking.service.embedded_upkeep import UpkeepMethods
from openviking.service.embedded_watches import WatchMethods
from openviking.service.embedded_watching import Asked, Watching, import_work
from openviking.service.embedding import Embedding
from openviking.service.erasing import Erasing, erasing_steps
from openviking.service.extraction import Extraction
from openviking.service.idle_sessions import IdleSessions
from openviking.service.reindex import Reindexing
from openviking.service.reindex_work import ReindexWork
from openviking.service.running import Running
from openviking.service.sessions import Sessions, session_steps
from openviking.service.skills import Skills
from openviking.service.tasks import Tasks
from openviking.service.use_cases import UseCases
from openviking.service.vector_lane import VectorLane
from openviking.service.worker import Worker

CLOSING_S: Final = 10.0
"""Seconds that closing waits for the imports of other threads to stop."""


class OpenViking(
    SearchMethods, SessionMethods, SessionWaiting, SkillMethods, UpkeepMethods, WatchMethods, RelationMethods
):
    """A context database in a directory; several processes and threads may use it at once.

    ``path`` is the data directory (default: the one that the configuration names, else ``~/.openviking/data``),
    ``account`` and ``user`` whose data are meant. Without ``create`` a directory that holds no data yet is a
    `NotFoundError`.

    ``config`` is a configuration file; None takes the first of ``$OPENVIKING_CONFIG_FILE``, ``~/.openviking/ov.conf``
    and ``/etc/openviking/ov.conf`` that there is. ``embedder`` is the embedding model: ``"builtin"``, ``"none"`` (words
    alone), or an object with the methods of `openviking.providers.embedder.Embedder`, which stays yours to close; None
    leaves it to the configuration, and without one it is the built-in model. ``dense_weight`` is the vectors' share of
    a score, 0 for words alone, 1 for vectors alone; None: as configured, else 0.35 for memories and 0.7 for the rest,
    and less for a question that is shorter than a sentence.

    ``workers`` threads do background work (None: as configured, else 1), and one more makes vectors; 0 leaves both to
    other processes and to `wait_processed`. Use it as a context manager, or call `close`. Raises
    `InvalidArgumentError` for a configuration that can't be used.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        account: str = "default",
        user: str = "default",
        *,
        config: str | Path | None = None,
        embedder: Embedder | str | None = None,
        dense_weight: float | None = None,
        workers: int | None = None,
        create: bool = True,
    ) -> None:
        settings = configured(path, config, embedder, dense_weight, workers)
        self._identity = Identity(account=account, user=user, role="root")
        given = None if embedder is None or isinstance(embedder, str) else embedder
        self._embedding = Embedding(settings.embedding, embedder_of, given)
        self._accounts = Accounts(settings.path, create=create, introduce=self._embedding.introduce)
        try:
            self._accounts.store(self._identity)
        except BaseException:
            self._accounts.close()
            self._embedding.close()
            raise
        stores = self._accounts.open_stores
        self._extraction = Extraction(settings.memory, settings.vlm)
        vectors = VectorLane(stores, self._embedding, running=settings.workers > 0, interval=settings.poll_interval)
        steps = {
            **import_work(self._accounts, settings.fetch), **session_steps(self._extraction),
            **ReindexWork(self._embedding).steps(), **erasing_steps(),
        }  # fmt: skip
        self._worker = Worker(
            stores, steps, settings.workers, settings.poll_interval, vectors, Describing(settings.vlm),
            self._extraction.slow,
        )  # fmt: skip
        self._running = Running()
        cases = self._cases = UseCases(settings, self._accounts, self._worker, self._embedding, self._running)
        self._fs, self._content, self._search = cases.fs, cases.content, cases.search
        self._resources, self._system, self._relations = cases.resources, cases.system, cases.relations
        self._idle_sessions = IdleSessions(self._accounts.open_accounts, self._worker.wake, settings.sessions)
        self._sessions = Sessions(
            self._accounts, self._worker, settings.sessions, self._idle_sessions.clock.expect, self._extraction
        )
        if settings.workers > 0:
            self._idle_sessions.start()
        self._skills = Skills(self._accounts, self._worker, self._search)
        self._tasks = Tasks(self._accounts, self._worker)
        self._erasing = Erasing(self._accounts, self._worker, self._tasks)
        self._watching = Watching(self._accounts, self._worker, settings.fetch, running=settings.workers > 0)
        self._watches = self._watching.watches
        self._reindexing = Reindexing(self._accounts, self._worker, self._running, self._tasks)

    def close(self) -> None:
        """Stop background work and release the store; nothing queued is lost.

        An import of another thread ends at its next piece and is carried on by the next OpenViking on the store.
        """
        self._watching.stop()
        self._idle_sessions.stop()
        self._worker.stop()
        self._running.wait(CLOSING_S)
        self._cases.close()
        self._extraction.close()
        self._accounts.close()
        self._embedding.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def session(self, session_id: str) -> Session:
        """A session as an object; nothing is made or looked for."""
        return Session(self, session_id)

    def add_resource(
        self,
        path: str | Path,
        to: str | None = None,
        parent: str | None = None,
        *,
        create_parent: bool = False,
        strict: bool = False,
        include: str | Sequence[str] | None = None,
        exclude: str | Sequence[str] | None = None,
        ignore_dirs: str | Sequence[str] | None = None,
        reason: str = "",
        instruction: str = "",
        tags: Sequence[str] | None = None,
        watch_interval: float | None = None,
        wait: bool = False,
        timeout: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> ImportReport:
        """Import a local folder, file or zip, or what a URL names; or update what it made before.

        Its words are found when this returns. A URL of http or https is fetched: a page becomes Markdown beside its
        HTML, other files stay as they are, and the address of a repository (``https://…/name.git``, or of one at a
        known code host, also with ``/tree/BRANCH/DIRECTORY``) its tree.

        ``to`` is the exact target URI, ``parent`` the directory to put it in (``create_parent``: made if missing).
        Where the source fills that place already, it is updated there; without both its first place is, or a new one
        is made in ``viking://resources``. The report's ``updated_root`` says whether there was one.

        ``include`` and ``exclude`` are file name patterns, ``ignore_dirs`` directory names, each a list or separated
        by commas. Directories of tools and build results (``build``, ``dist``, ``target``, ``bin``, ``node_modules``,
        …) and those whose name starts with a dot are left out, unless an include that ends in ``/`` names them:
        ``build/``, ``doc/build/``, ``.github/``. With only such includes all files are taken. ``strict`` refuses a
        folder with binary files. ``reason`` and ``instruction`` are for models and have no effect without one.

        With a ``watch_interval`` above 0 a URL is looked at again every so many minutes, and what it fills brought up to
        date: by this or any other process that has the store open. Without one a watch of the same URL goes on; 0 pauses it,
        and so does another source for its target, which the report's ``warnings`` say.

        ``tags`` go to the root and to what this import makes or updates. ``wait`` also awaits summaries and vectors of
        what lies at the root, for ``timeout`` seconds at most; without it the report's ``vectors_waiting`` says how
        many vectors are to come. Raises `NotFoundError`, `ProcessingError`, `InvalidArgumentError`,
        `DeadlineExceededError`, and with ``wait`` what `wait_processed` raises.
        """
        asked = Asked(
            path if isinstance(path, str) else None, watch_interval, reason, instruction, strict=strict, include=include,
            exclude=exclude, ignore_dirs=ignore_dirs, tags=tags,
        )  # fmt: skip
        options = ImportOptions.of(strict=strict, include=include, exclude=exclude, ignore_dirs=ignore_dirs)
        with self._watching.addition(self._identity, asked, to, parent, self._running) as watched:
            report = self._resources.add_resource(
                self._identity, path, to, parent, create_parent=create_parent, options=options, tags=tags,
                wait=wait, timeout=timeout, progress=progress,
            )  # fmt: skip
            told = watched(report.root_uri)
        return replace(report, warnings=(*report.warnings, *told)) if told else report

    def ls(
        self,
        uri: str = "viking://",
        *,
        simple: bool = False,
        recursive: bool = False,
        output: str = "agent",
        abs_limit: int = 256,
        show_all_hidden: bool = False,
        node_limit: int = 1000,
        offset: int = 0,
        sort_by: str | None = None,
        sort_order: str = "asc",
    ) -> Listing:
        """The children of a directory as dicts (``simple``: as URIs), with ``total`` and ``has_more``.

        Raises `NotFoundError`, `FailedPreconditionError` for a file, `InvalidArgumentError`.
        """
        return self._fs.ls(
            self._identity, uri, simple=simple, recursive=recursive, output=output, abs_limit=abs_limit,
            show_all_hidden=show_all_hidden, node_limit=node_limit, offset=offset, sort_by=sort_by,
            sort_order=sort_order,
        )  # fmt: skip

    def tree(
        self,
        uri: str,
        *,
        simple: bool = False,
        output: str = "agent",
        abs_limit: int = 256,
        show_all_hidden: bool = False,
        node_limit: int = 1000,
        offset: int = 0,
        level_limit: int = 3,
    ) -> Listing:
        """Everything below a directory, flat and in pre-order, with ``rel_path``. Raises as `ls` does."""
        return self._fs.tree(
            self._identity, uri, simple=simple, output=output, abs_limit=abs_limit, show_all_hidden=show_all_hidden,
            node_limit=node_limit, offset=offset, level_limit=level_limit,
        )  # fmt: skip

    def stat(self, uri: str) -> dict[str, Any]:
        """Name, size, time of change and kind of a node, for a directory also the ``count`` of records below."""
        return self._fs.stat(self._identity, uri)

    def attrs(self, uri: str) -> dict[str, Any]:
        """Context type, tags and how the summaries of a node were made."""
        return self._fs.attrs(self._identity, uri)

    def set_tags(
        self, uri: str, tags: Sequence[str], *, mode: str = "replace", recursive: bool = False
    ) -> dict[str, Any]:
        """Change tags (``key=value``) of a node, or of all below it; ``mode`` is replace, append or clear."""
        return self._fs.set_tags(self._identity, uri, tags, mode=mode, recursive=recursive)

    def mkdir(self, uri: str, description: str | None = None) -> dict[str, Any]:
        """Make a directory with its parents. Raises `ConflictError` if it exists."""
        return self._fs.mkdir(self._identity, uri, description)

    def rm(
        self, uri: str, recursive: bool = False, *, wait: bool = False, timeout: float | None = None
    ) -> dict[str, Any]:
        """Remove a file, or with ``recursive`` a directory and all below; a missing node is no error.

        ``wait`` awaits the summaries above and their vectors, and raises what `wait_processed` raises.
        """
        return self._fs.rm(self._identity, uri, recursive=recursive, wait=wait, timeout=timeout)

    def mv(self, from_uri: str, to_uri: str) -> dict[str, Any]:
        """Move or rename a file or directory. Raises `NotFoundError`, `AlreadyExistsError`, `InvalidArgumentError`."""
        return self._fs.mv(self._identity, from_uri, to_uri)

    def cp(self, from_uri: str, to_uri: str, recursive: bool = False) -> dict[str, Any]:
        """Copy a file, or with ``recursive`` a directory and all below; tags go along, vectors need not be made again.

        Raises `NotFoundError`, `AlreadyExistsError`, `FailedPreconditionError` for a directory without ``recursive``,
        `InvalidArgumentError`.
        """
        return self._fs.cp(self._identity, from_uri, to_uri, recursive=recursive)

    def read(self, uri: str, offset: int = 0, limit: int = -1, raw: bool = False) -> str:
        """The text of a file, or ``limit`` lines of it from line ``offset``; ``uri#L3-L9`` gives those lines."""
        return self._content.read(self._identity, uri, offset, limit, raw=raw)

    def download(self, uri: str) -> bytes:
        """The original bytes of a file."""
        return self._content.download(self._identity, uri)

    def abstract(self, uri: str) -> str:
        """The L0 of a directory, for a file that of its parent."""
        return self._content.abstract(self._identity, uri)

    def overview(self, uri: str) -> str:
        """The L1 of a directory, for a file that of its parent."""
        return self._content.overview(self._identity, uri)

    def write(
        self, uri: str, content: str, mode: str = "replace", *, wait: bool = False, timeout: float | None = None
    ) -> dict[str, Any]:
        """Write a file's text; ``mode`` is replace, append (both need the file), create (needs it missing) or upsert.

        ``append`` keeps all text; a file that is not in UTF-8 becomes UTF-8 by it. ``wait`` awaits the file's vectors,
        the summaries above and their vectors, and raises what `wait_processed` raises. Raises `NotFoundError`,
        `AlreadyExistsError`, `InvalidArgumentError`.
        """
        return self._content.write(self._identity, uri, content, mode, wait=wait, timeout=timeout)

    def wait_processed(
        self, timeout: float | None = None, *, progress: Callable[[Progress], None] | None = None
    ) -> dict[str, Any]:
        """Await what was queued before the call, and what that queues, and help; the state of the account then.

        Raises `DeadlineExceededError` after ``timeout`` seconds; nothing is lost then. Raises `InternalError` for work
        that was given up, `InvalidArgumentError` for a bad ``timeout``; without one `UnavailableError` if the
        embedding model fails for good. Passages that the model refuses are no error: `status` lists them.
        """
        return self._system.wait_processed(self._identity, timeout, progress)

    def status(self) -> dict[str, Any]:
        """Counts of files, records and passages, what is waiting, and the state of the vectors (``embedding``)."""
        return self._system.status(self._identity)

    def check(self) -> list[str]:
        """What is inconsistent in the store, a sentence each; empty when all is well."""
        return self._system.check(self._identity)
