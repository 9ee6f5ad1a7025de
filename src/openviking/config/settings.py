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
    beside both. ``input`` ``multimodal`` says that the model embeds pictures, too. Vectors are kept under ``model_id``; empty: the model's name and the host it was asked at. What may hold
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
    input: str = "text"
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    threads: int = 0
    circuit_breaker: BreakerSettings = field(default_factory=BreakerSettings)


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """How words and vectors are weighed, and whether queries are planned.

    ``dense_weight`` is the vectors' share, 0 for words alone, 1 for vectors alone. None: for a question in a whole
    sentence 0.35 for memories and 0.7 for resources and skills, for a shorter one less, down to 0.2 for a single word or
    an exact name (`openviking.index.fusion.fusion`).

    With ``enable_intent`` a chat model plans the queries of a search in a session, within ``recall_intent_timeout_s``
    seconds; then the query itself is searched for. It digests a block of context within ``recall_rewrite_timeout_s``.
    ``context_passages`` lets a context tell long texts by the lines that answer the question. ``context_floor`` True leaves
    out of a context what is too weak to be relevant (`openviking.context.relevance`), a number what does not score it.

    ``strategy`` ``hierarchical`` walks through directories, by the numbers of its ``preset`` (``classic``, ``late``), each
    of which another value here replaces (`openviking.retrieve.hierarchical.parameters.Parameters`).
    """

    dense_weight: float | None = None
    enable_intent: bool = True
    recall_intent_timeout_s: float = 5.0
    recall_rewrite_timeout_s: float = 30.0
    context_passages: bool = True
    context_floor: bool | float = True
    strategy: str = "global"
    preset: str | None = None
    score_propagation_alpha: float | None = None
    max_convergence_rounds: int | None = None
    global_search_topk: int | None = None
    children_per_directory: int | None = None
    directories_per_round: int | None = None
    hotness_alpha: float | None = None
    hotness_half_life_days: float | None = None
    max_relations: int | None = None
    directory_dominance_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """A chat model over HTTP (``vlm`` and ``query_planner`` of ov.conf); without a ``model`` there is none.

    ``provider`` names a service that speaks the OpenAI protocol, "" means ``openai``. At most ``max_concurrent`` calls run
    at once, ``timeout`` seconds each, and one that fails is repeated up to ``max_retries`` times within the time that its
    caller has. ``max_tokens`` 0 leaves the length of an answer to the service. ``extra_request_body`` is sent with each
    call. ``describe_images`` has ``vlm`` say what stored pictures show. What may hold a secret is not in the ``repr``.
    """

    provider: str = ""
    model: str = ""
    api_base: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    describe_images: bool = True
    temperature: float = 0.0
    timeout: float = 600.0
    max_retries: int = 3
    max_concurrent: int = 32
    max_tokens: int = 0
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_request_body: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """What orders the first hits of a search anew (``rerank`` of ov.conf).

    ``provider`` "" is derived: key and address → ``openai``, key alone → ``cohere``, ak and sk → ``vikingdb``, nothing →
    none; ``local`` compares with the token vectors of the built-in embedding model. A search waits ``timeout`` seconds
    for it. ``threshold`` is what a hit must exceed where a request does not say; None: 0.1 as soon as anything else here
    is set, 0 for ``local``. Query and document together have at most ``max_input_tokens`` (estimated; 0: no limit).
    """

    provider: str = ""
    model: str = ""
    api_base: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    api_secret: str = field(default="", repr=False)
    ak: str = field(default="", repr=False)
    sk: str = field(default="", repr=False)
    host: str = "api-vikingdb.vikingdb.cn-beijing.volces.com"
    model_name: str = "doubao-seed-rerank"
    model_version: str = "251028"
    timeout: float = 4.0
    threshold: float | None = None
    max_input_tokens: int = 0
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """What commits learn from conversations (``memory`` of ov.conf; `openviking.session.memories`).

    Without ``extraction_enabled`` they archive, and learn nothing. The chat model ``vlm`` is shown up to
    ``prefetch_search_topn`` memories that may already say it for each part of a conversation, and has
    ``extraction_timeout`` seconds for its answer. ``policy`` is the memory policy of sessions that say none
    (``server.user_config_defaults.memory_policy``).
    """

    extraction_enabled: bool = True
    prefetch_search_topn: int = 5
    extraction_timeout: float = 120.0
    policy: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How conversations are kept (``sessions``, ``memory.session_auto_commit``, ``server.tool_output_externalization``).

    ``scrub_secrets`` masks keys, tokens and passwords in what is said before it is stored. Sessions that say nothing of
    an auto-commit policy have the default one with ``auto_commit``. ``idle_commit`` commits sessions whose policy has an
    idle time when that is over: the clock is looked at every ``idle_interval`` seconds at least, ``idle_batch`` sessions
    at a time, with ``idle_pause`` seconds between two batches.

    A tool's output of more than ``tool_output_chars`` characters is kept beside its message, which shows
    ``tool_preview_chars`` of it; so are further ones of a turn whose outputs have ``turn_output_chars`` together. Of a
    turn ``turn_preview_chars`` are shown, and ``least_preview_chars`` of each output in any case.
    """

    scrub_secrets: bool = True
    auto_commit: bool = False
    idle_commit: bool = True
    idle_interval: float = 60.0
    idle_batch: int = 16
    idle_pause: float = 0.0
    tool_outputs_beside: bool = True
    tool_output_chars: int = 20_000
    tool_preview_chars: int = 2_000
    turn_output_chars: int = 100_000
    turn_preview_chars: int = 10_000
    least_preview_chars: int = 1_000


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How the HTTP server is reached (``server`` of ov.conf) and how keys are kept (``encryption.api_key_hashing``).

    ``host`` ``all`` is every address of the machine. ``auth_mode`` "" means api_key with a ``root_api_key``, else dev.
    ``threads`` calls run at once and ``queue`` more wait; beyond that the server says that it is busy. A connection
    without a request is kept ``timeout_keep_alive`` seconds. Links for agents begin with ``public_base_url`` ("": as the
    caller spelled it) and are good for ``upload_signed_ttl_seconds``.
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
    public_base_url: str = ""
    upload_signed_ttl_seconds: int = 600


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """What may be fetched from the network, and how much (``fetch`` of ov.conf).

    Only public addresses are asked, but for ``allowed_hosts`` (names, addresses, networks such as ``10.1.0.0/16``),
    or all private ones with ``allow_private``. An answer has at most ``max_bytes``, packed and unpacked, a repository
    ``max_repository_bytes``. Times are seconds: ``timeout`` for a page with its redirects and repetitions,
    ``git_timeout`` for a repository, ``connect_timeout`` for a connection, ``idle_timeout`` without a byte. A failure
    that may pass is repeated up to ``max_retries`` times. ``enabled`` false refuses every URL.
    ``watches`` false looks at none a second time (``enable_watch_scheduler``).
    """

    enabled: bool = True
    allow_private: bool = False
    allowed_hosts: tuple[str, ...] = ()
    max_bytes: int = 64 * 1024 * 1024
    max_repository_bytes: int = 512 * 1024 * 1024
    timeout: float = 60.0
    git_timeout: float = 300.0
    connect_timeout: float = 10.0
    idle_timeout: float = 20.0
    max_redirects: int = 5
    max_retries: int = 2
    user_agent: str = "openviking"
    watches: bool = True


@dataclass(frozen=True, slots=True)
class UploadSettings:
    """What files that are sent ahead may take (``server.temp_upload`` of ov.conf).

    An upload has at most ``max_bytes``, and its id the form of ``default_mode`` unless the request says otherwise. It
    waits ``ttl_seconds`` for the call that uses it. Of one user at most ``max_waiting`` uploads with
    ``max_waiting_bytes`` together wait at once; more are refused until some are used or expire.
    """

    default_mode: str = "local"
    max_bytes: int = 512 * 1024 * 1024
    ttl_seconds: int = 43_200
    max_waiting: int = 1_000
    max_waiting_bytes: int = 16 * 512 * 1024 * 1024


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
    vlm: ChatSettings = field(default_factory=ChatSettings)
    query_planner: ChatSettings = field(default_factory=ChatSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    uploads: UploadSettings = field(default_factory=UploadSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    file: Path | None = field(default=None, compare=False)
    unused: tuple[str, ...] = field(default=(), compare=False)
