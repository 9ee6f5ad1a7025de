"""The use cases on one data directory, built once for whatever door."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from openviking.config.settings import Settings
from openviking.service.accounts import Accounts
from openviking.service.configured import warnings_of
from openviking.service.content import Content
from openviking.service.embedding import Embedding
from openviking.service.fs import FileSystem
from openviking.service.planning import Planning
from openviking.service.relations import Relations
from openviking.service.reranking import Reranking, builtin_of
from openviking.service.resources import Resources
from openviking.service.running import Running
from openviking.service.search import Search
from openviking.service.system import System
from openviking.service.worker import Worker

if TYPE_CHECKING:
    from openviking.service.context_search import ContextSearch


class UseCases:
    """What can be done; every method of each takes the caller's identity first."""

    def __init__(
        self, settings: Settings, accounts: Accounts, worker: Worker, embedding: Embedding, running: Running
    ) -> None:
        self._accounts, self._worker, self._retrieval = accounts, worker, settings.retrieval
        self.fs = FileSystem(accounts, worker)
        self.content = Content(accounts, worker)
        self.planning = Planning(settings.retrieval, settings.query_planner, settings.vlm)
        self.reranking = Reranking(settings.rerank, lambda: builtin_of(settings.embedding, embedding))
        self.search = Search(
            accounts, settings.grep_timeout, embedding, settings.retrieval.dense_weight, self.planning, self.reranking,
            settings.retrieval, settings.fetch,
        )  # fmt: skip
        self.relations = Relations(accounts)
        self.resources = Resources(accounts, worker, running, settings.fetch)
        self.system = System(accounts, worker, embedding, warnings_of(settings))

    @functools.cached_property
    def context(self) -> ContextSearch:
        """Context for prompts, loaded when it is first asked for: most commands assemble nothing."""
        from openviking.service.context_search import ContextSearch  # noqa: PLC0415

        return ContextSearch(self._accounts, self._worker, self.search, self.planning, self._retrieval)

    def close(self) -> None:
        """Release the models that plan and rerank; searches under way do without them."""
        self.planning.close()
        self.reranking.close()
