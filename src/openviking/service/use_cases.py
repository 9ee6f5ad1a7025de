"""The use cases on one data directory, built once for whatever door."""

from __future__ import annotations

from openviking.config.settings import Settings
from openviking.service.accounts import Accounts
from openviking.service.configured import warnings_of
from openviking.service.content import Content
from openviking.service.embedding import Embedding
from openviking.service.fs import FileSystem
from openviking.service.resources import Resources
from openviking.service.running import Running
from openviking.service.search import Search
from openviking.service.system import System
from openviking.service.worker import Worker


class UseCases:
    """What can be done; every method of each takes the caller's identity first."""

    def __init__(
        self, settings: Settings, accounts: Accounts, worker: Worker, embedding: Embedding, running: Running
    ) -> None:
        self.fs = FileSystem(accounts, worker)
        self.content = Content(accounts, worker)
        self.search = Search(accounts, settings.grep_timeout, embedding, settings.retrieval.dense_weight)
        self.resources = Resources(accounts, worker, running)
        self.system = System(accounts, worker, embedding, warnings_of(settings))
