"""Every setting with its default: a working system needs none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

DEFAULT_PATH: Final = "~/.openviking/data"
"""The data directory where none is named."""


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When questions stop waiting for a model that fails (``embedding.circuit_breaker`` of ov.conf).

    After ``failure_threshold`` failures in a row nobody asks it for ``reset_timeout`` seconds; then one question tries,
    and if that fails too the pause doubles, up to ``max_reset_timeout``.
    """

    failure_threshold: int = 2
    reset_timeout: float = 10.0
    max_reset_timeout: float = 600.0


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Which embedding model is used (``embedding`` and ``embedding.dense`` of ov.conf).

    ``provider`` is ``builtin`` (no key, no network), ``none`` (words only), or the name of a service that speaks the
    OpenAI protocol. ``threads`` make vectors with the built-in model (0: half of the cores, at least one).
    ``max_concurrent`` calls of ``batch_size`` texts run at once, ``timeout`` seconds each, and one that fails is
    repeated up to ``max_retries`` times; a question has ``query_timeout`` seconds, then the words answer alone.
    ``dimension`` 0 takes what the model gives. Texts of more than ``max_input_tokens`` (estimated) are embedded in
    parts. ``cosine_range`` are the cosines that mean "nothing in common" and "the same", None for what suits the
    model's family. ``query_param`` and ``document_param`` are sent beside a question or stored texts, ``extra_body``
    beside both. Vectors are kept under ``model_id``; empty: the model's name and the host it was asked at. What may hold
    a secret is not in the ``repr``: key, address, headers, body.
    """

    provider: str = "builtin"
    model: str = ""
    model_id: str = ""
    api_base: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    dimension: int = 0
    batch_size: int = 32
    max_concurrent: int = 4
    max_retries: int = 3
    max_input_tokens: int = 4096
    timeout: float = 60.0
    query_timeout: float = 2.0
    query_prefix: str = ""
    passage_prefix: str = ""
    query_param: Mapping[str, Any] = field(default_factory=dict)
    document_param: Mapping[str, Any] = field(default_factory=dict)
    cosine_range: tuple[float, float] | None = None
    encoding_format: str = "float"
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    threads: int = 0
    circuit_breaker: BreakerSettings = field(default_factory=BreakerSettings)


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """How words and vectors are weighed.

    ``dense_weight`` is the vectors' share, 0 for words alone, 1 for vectors alone. None: for a question in a whole
    sentence 0.35 for memories and 0.7 for resources and skills, for a shorter one less, down to 0.2 for a single word or
    an exact name (`openviking.index.fusion.fusion`).
    """

    dense_weight: float | None = None


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How the HTTP server is reached (``server`` of ov.conf) and how keys are kept (``encryption.api_key_hashing``).

    ``host`` ``all`` is every address of the machine. ``auth_mode`` "" means api_key with a ``root_api_key``, else dev.
    ``threads`` calls run at once and ``queue`` more wait; beyond that the server says that it is busy. A connection
    without a request is kept ``timeout_keep_alive`` seconds.
    """

    host: str = "127.0.0.1"
    port: int = 1933
    auth_mode: str = ""
    root_api_key: str | None = field(default=None, repr=False)
    cors_origins: tuple[str, ...] = ("*",)
    timeout_keep_alive: int = 5
    hashed_keys: bool = True
    threads: int = 16
    queue: int = 128
    default_account: str = "default"
    default_user: str = "default"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one OpenViking; see docs/configuration.md.

    ``path`` is the data directory. ``workers`` threads do background work (0: only `wait_processed` does it).
    ``grep_timeout`` are the seconds that one pattern may burn beyond a plain scan. ``poll_interval`` are the seconds
    between looks for work that another process queued. ``file`` is the configuration file that was read, None without
    one; ``unused`` are the keys in it that have no effect in this version.
    """

    path: Path = field(default_factory=lambda: Path(DEFAULT_PATH).expanduser())
    workers: int = 1
    grep_timeout: float = 1.5
    poll_interval: float = 2.0
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    file: Path | None = field(default=None, compare=False)
    unused: tuple[str, ...] = field(default=(), compare=False)
