"""The keys of ov.conf: what each may hold, and which setting it is."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from openviking.uri import is_identifier

Check = Callable[[Any], Any]
"""Gives a value as the setting wants it; raises `ValueError` that says what would be right."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a key holds and the setting it is, None if it sets nothing. Secrets are never shown.

    ``unused``: the documented format has it, and in this version it has no effect.
    """

    check: Check
    setting: str | None = None
    secret: bool = False
    unused: bool = False


def _whole(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return value

    return check


def _number(low: float, high: float) -> Check:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return float(value)

    return check


def _ratio(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or (value != 0 and not 1 <= value <= 1_000):
        raise ValueError("0, or a number from 1 to 1000")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text in quotes")  # noqa: TRY004
    return value


def _no_blank(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not blank")
    return value


def _provider(value: Any) -> str:
    name = str(_no_blank(value)).strip().lower()
    return "builtin" if name == "local" else name


def _service(value: Any) -> str:
    return str(_no_blank(value)).strip().lower()


def _visible(value: Any) -> str:
    # A control character in a header would end it and begin another.
    if not isinstance(value, str) or not value.isprintable() or not value.isascii():
        raise ValueError("a text of visible ASCII characters")
    return value.strip()


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError("an object in braces")  # noqa: TRY004
    return value


def _headers(value: Any) -> dict[str, str]:
    try:
        return {_visible(name): _visible(held) for name, held in _object(value).items()}
    except ValueError:
        raise ValueError("an object of header names and texts of visible ASCII characters") from None


def _parameters(value: Any) -> Any:
    """An object; or ``name=value,name=value``; or one text, which the provider knows a name for."""
    if isinstance(value, dict):
        return value
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    if len(parts) == 1 and parts[0] and "=" not in parts[0]:
        return {"": parts[0]}
    pairs = [part.partition("=") for part in parts]
    if not pairs or not all(name.strip() and equals for name, equals, _ in pairs):
        raise ValueError('an object such as {"task": "retrieval.query"}, or "task=retrieval.query"')
    return {name.strip(): held.strip() for name, _, held in pairs}


def _range(value: Any) -> tuple[float, float]:
    numbers = isinstance(value, list) and len(value) == 2 and all(type(one) in (int, float) for one in value)
    if not numbers or not -1 <= value[0] < value[1] <= 1:
        raise ValueError("two numbers [low, high] with -1 ≤ low < high ≤ 1")
    return float(value[0]), float(value[1])


def _one_of(*names: str, meaning: str = "") -> Check:
    def check(value: Any) -> str:
        if value not in names:
            raise ValueError(" or ".join(f'"{name}"' for name in names) + meaning)
        return str(value)

    return check


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004
    return value


def _floor(value: Any) -> bool | float:
    if isinstance(value, bool):
        return value
    if not isinstance(value, int | float) or not 0 < value < 1:
        raise ValueError("true, false, or a number between 0 and 1")
    return float(value)


def _never(why: str) -> Check:
    """A switch that can only be off."""

    def check(value: Any) -> bool:
        if value is not False:
            raise ValueError(f"false: {why}")
        return False

    return check


def _one_worker(value: Any) -> int:
    if value != 1 or isinstance(value, bool):
        raise ValueError("1: one process serves all calls, with threads")
    return 1


def _root_key(value: Any) -> str:
    key = _visible(value)
    if re.fullmatch(r"\$(?:\{\w+\}|\w+)", key):
        raise ValueError(f"a key: the environment variable {key} is not set")
    return key


def _origins(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError('a list of origins such as ["https://app.example.com"], or ["*"] for all')  # noqa: TRY004
    return tuple(_visible(one) for one in value)


def _hosts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError('a list of host names, addresses and networks such as ["wiki.example.org", "10.1.0.0/16"]')  # noqa: TRY004
    return tuple(_host(one) for one in value)


def _host(value: Any) -> str:
    text = _visible(value).lower().rstrip(".")
    if re.fullmatch(r"[0-9a-f.:]*[.:][0-9a-f.:]*(?:/[0-9]+)?", text):
        try:
            return str(ipaddress.ip_network(text, strict=False))
        except ValueError:
            raise ValueError(f"addresses and networks that exist, and {text} does not") from None
    if not re.fullmatch(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*", text):
        raise ValueError("names without scheme, port and path, addresses, and networks such as 10.1.0.0/16")
    return text


def _name(value: Any) -> str:
    if not isinstance(value, str) or not is_identifier(value):
        raise ValueError("a name of letters, digits and _ . @ -, with at most one @")
    return value


def _account_name(value: Any) -> str:
    if _name(value).startswith("_"):
        raise ValueError("a name that does not begin with _")
    return str(value)


def _absent(why: str) -> Key:
    """A key of the documented format that this version cannot serve: silence would be a wrong answer."""

    def check(_: Any) -> None:
        raise ValueError(f"left out: {why}")

    return Key(check, secret=True)


def _unused(check: Check) -> Key:
    return Key(check, unused=True)


def _window(value: Any) -> int:
    if value == 0 and not isinstance(value, bool):
        return 0
    try:
        return int(_whole(128, 1_000_000)(value))
    except ValueError:
        raise ValueError("0 for no limit, or a whole number from 128 to 1000000") from None


def _chat(section: str) -> dict[str, Key]:
    """The keys of a section that names a chat model."""
    keys = {
        "provider": Key(_service, f"{section}.provider"),
        "model": Key(_no_blank, f"{section}.model"),
        "api_base": Key(_text, f"{section}.api_base"),
        "api_key": Key(_visible, f"{section}.api_key", secret=True),
        "temperature": Key(_number(0, 2), f"{section}.temperature"),
        "timeout": Key(_number(0.05, 3600), f"{section}.timeout"),
        "max_retries": Key(_whole(0, 10), f"{section}.max_retries"),
        "max_concurrent": Key(_whole(1, 256), f"{section}.max_concurrent"),
        "max_tokens": Key(_whole(0, 10_000_000), f"{section}.max_tokens"),
        "extra_headers": Key(_headers, f"{section}.extra_headers", secret=True),
        "extra_request_body": Key(_object, f"{section}.extra_request_body", secret=True),
        "thinking": _unused(_flag),
        "stream": _unused(_flag),
        "media": _unused(_object),
        "backup": Key(_object, secret=True, unused=True),
        "api_version": _absent(_OTHER_PROTOCOL),
        "credentials": _absent(_LATER),
        "failback_timeout_seconds": _absent(_LATER),
        "failback_request_count": _absent(_LATER),
    }
    return {f"{section}.{name}": key for name, key in keys.items()}


_LATER: Final = "this version does not have it"
_OTHER_PROTOCOL: Final = "it belongs to a protocol that this version does not speak"
_DENSE: Final = "embedding.dense."

KEYS: Final[Mapping[str, Key]] = {
    "embedding.max_concurrent": Key(_whole(1, 64), "embedding.max_concurrent"),
    "embedding.max_retries": Key(_whole(0, 10), "embedding.max_retries"),
    "embedding.max_input_tokens": Key(_whole(64, 1_000_000), "embedding.max_input_tokens"),
    "embedding.text_source": Key(_one_of("content_only", meaning=", as this version embeds the text itself")),
    "embedding.circuit_breaker.failure_threshold": Key(_whole(1, 1000), "circuit_breaker.failure_threshold"),
    "embedding.circuit_breaker.reset_timeout": Key(_number(0.05, 86_400), "circuit_breaker.reset_timeout"),
    "embedding.circuit_breaker.max_reset_timeout": Key(_number(0.05, 86_400), "circuit_breaker.max_reset_timeout"),
    _DENSE + "provider": Key(_provider, "embedding.provider"),
    _DENSE + "model": Key(_no_blank, "embedding.model"),
    _DENSE + "model_id": Key(_no_blank, "embedding.model_id"),
    _DENSE + "api_base": Key(_text, "embedding.api_base"),
    _DENSE + "api_key": Key(_visible, "embedding.api_key", secret=True),
    _DENSE + "dimension": Key(_whole(0, 16_384), "embedding.dimension"),
    _DENSE + "batch_size": Key(_whole(1, 2048), "embedding.batch_size"),
    _DENSE + "timeout": Key(_number(0.05, 3600), "embedding.timeout"),
    _DENSE + "query_timeout": Key(_number(0.05, 60), "embedding.query_timeout"),
    _DENSE + "query_prefix": Key(_text, "embedding.query_prefix"),
    _DENSE + "passage_prefix": Key(_text, "embedding.passage_prefix"),
    _DENSE + "query_param": Key(_parameters, "embedding.query_param"),
    _DENSE + "document_param": Key(_parameters, "embedding.document_param"),
    _DENSE + "cosine_range": Key(_range, "embedding.cosine_range"),
    _DENSE + "encoding_format": Key(_one_of("float", "base64"), "embedding.encoding_format"),
    _DENSE + "extra_headers": Key(_headers, "embedding.extra_headers", secret=True),
    _DENSE + "extra_body": Key(_object, "embedding.extra_body", secret=True),
    _DENSE + "threads": Key(_whole(0, 1024), "embedding.threads"),
    _DENSE + "input": Key(_one_of("text", "multimodal"), "embedding.input"),
    _DENSE + "api_version": _absent(_OTHER_PROTOCOL),
    _DENSE + "ak": _absent(_OTHER_PROTOCOL),
    _DENSE + "sk": _absent(_OTHER_PROTOCOL),
    _DENSE + "region": _absent(_OTHER_PROTOCOL),
    _DENSE + "host": _absent(_OTHER_PROTOCOL),
    _DENSE + "model_path": _absent("the built-in model brings its own file"),
    _DENSE + "cache_dir": _absent("the built-in model brings its own file"),
    _DENSE + "credentials": _absent(_LATER),
    _DENSE + "failback_timeout_seconds": _absent(_LATER),
    _DENSE + "failback_request_count": _absent(_LATER),
    "embedding.sparse": _absent("the words are indexed without a model"),
    "embedding.hybrid": _absent("the words are indexed without a model"),
    "retrieval.dense_weight": Key(_number(0, 1), "retrieval.dense_weight"),
    "retrieval.strategy": Key(_one_of("global", "hierarchical"), "retrieval.strategy"),
    "retrieval.preset": Key(_one_of("classic", "late"), "retrieval.preset"),
    "retrieval.score_propagation_alpha": Key(_number(0, 1), "retrieval.score_propagation_alpha"),
    "retrieval.max_convergence_rounds": Key(_whole(1, 1_000), "retrieval.max_convergence_rounds"),
    "retrieval.global_search_topk": Key(_whole(1, 10_000), "retrieval.global_search_topk"),
    "retrieval.children_per_directory": Key(_whole(0, 1_000), "retrieval.children_per_directory"),
    "retrieval.directories_per_round": Key(_whole(1, 64), "retrieval.directories_per_round"),
    "retrieval.hotness_alpha": Key(_number(0, 1), "retrieval.hotness_alpha"),
    "retrieval.hotness_half_life_days": Key(_number(0.001, 100_000), "retrieval.hotness_half_life_days"),
    "retrieval.max_relations": Key(_whole(0, 100), "retrieval.max_relations"),
    "retrieval.directory_dominance_ratio": Key(_ratio, "retrieval.directory_dominance_ratio"),
    "retrieval.enable_intent": Key(_flag, "retrieval.enable_intent"),
    "retrieval.recall_intent_timeout_s": Key(_number(0.05, 3600), "retrieval.recall_intent_timeout_s"),
    "retrieval.recall_rewrite_timeout_s": Key(_number(0.05, 3600), "retrieval.recall_rewrite_timeout_s"),
    "retrieval.context_passages": Key(_flag, "retrieval.context_passages"),
    "retrieval.context_floor": Key(_floor, "retrieval.context_floor"),
    **_chat("vlm"),
    "vlm.describe_images": Key(_flag, "vlm.describe_images"),
    **_chat("query_planner"),
    "rerank.provider": Key(_service, "rerank.provider"),
    "rerank.model": Key(_no_blank, "rerank.model"),
    "rerank.api_base": Key(_text, "rerank.api_base"),
    "rerank.api_key": Key(_visible, "rerank.api_key", secret=True),
    "rerank.api_secret": Key(_visible, "rerank.api_secret", secret=True),
    "rerank.ak": Key(_visible, "rerank.ak", secret=True),
    "rerank.sk": Key(_visible, "rerank.sk", secret=True),
    "rerank.host": Key(_no_blank, "rerank.host"),
    "rerank.model_name": Key(_no_blank, "rerank.model_name"),
    "rerank.model_version": Key(_no_blank, "rerank.model_version"),
    "rerank.timeout": Key(_number(0.05, 3600), "rerank.timeout"),
    "rerank.threshold": Key(_number(0, 1), "rerank.threshold"),
    "rerank.max_input_tokens": Key(_window, "rerank.max_input_tokens"),
    "rerank.extra_headers": Key(_headers, "rerank.extra_headers", secret=True),
    "memory.extraction_enabled": Key(_flag, "memory.extraction_enabled"),
    "memory.prefetch_search_topn": Key(_whole(0, 20), "memory.prefetch_search_topn"),
    "memory.extraction_timeout": Key(_number(0.05, 3600), "memory.extraction_timeout"),
    "memory.session_skill_extraction_enabled": _unused(_flag),
    "memory.link_enabled": _unused(_flag),
    "memory.custom_templates_dir": _unused(_text),
    "memory.version": _unused(lambda value: value),
    "memory.session_auto_commit.default_enabled": Key(_flag, "sessions.auto_commit"),
    "memory.session_auto_commit.idle_enabled": Key(_flag, "sessions.idle_commit"),
    "memory.session_auto_commit.check_interval_seconds": Key(_number(0.05, 86_400), "sessions.idle_interval"),
    "memory.session_auto_commit.scan_batch_size": Key(_whole(1, 1_000), "sessions.idle_batch"),
    "memory.session_auto_commit.scan_batch_pause_seconds": Key(_number(0, 3600), "sessions.idle_pause"),
    "sessions.scrub_secrets": Key(_flag, "sessions.scrub_secrets"),
    "storage.workspace": Key(_no_blank, "path"),
    "storage.skip_process_lock": _unused(_flag),
    "storage.agfs": _unused(_object),
    "storage.transaction": _unused(_object),
    "storage.task_tracker": _unused(_object),
    "storage.vectordb.backend": Key(_one_of("local", meaning=", the only one of this version")),
    "storage.vectordb.name": _unused(_text),
    "storage.vectordb.project_name": _unused(_text),
    "storage.vectordb.url": _absent('it belongs to the backend "http", which this version does not have'),
    "storage.vectordb.distance_metric": Key(_one_of("cosine", meaning=", the only one of this version")),
    "storage.vectordb.dimension": Key(_whole(0, 16_384), "vectordb.dimension"),
    "storage.vectordb.sparse_weight": Key(_number(0, 1), "vectordb.sparse_weight"),
    "default_account": Key(_account_name, "server.default_account"),
    "default_user": Key(_name, "server.default_user"),
    "server.host": Key(_no_blank, "server.host"),
    "server.port": Key(_whole(0, 65_535), "server.port"),
    "server.workers": Key(_one_worker),
    "server.timeout_keep_alive": Key(_whole(1, 3600), "server.timeout_keep_alive"),
    "server.auth_mode": Key(
        _one_of("dev", "api_key", "trusted", meaning=", the modes of this version"), "server.auth_mode"
    ),
    "server.root_api_key": Key(_root_key, "server.root_api_key", secret=True),
    "server.cors_origins": Key(_origins, "server.cors_origins"),
    "server.threads": Key(_whole(1, 256), "server.threads"),
    "server.queue": Key(_whole(0, 100_000), "server.queue"),
    "server.profile_enabled": Key(_never(_LATER)),
    "server.with_bot": Key(_never(_LATER)),
    "server.bot_api_url": Key(_text),
    "server.public_base_url": Key(_text, "server.public_base_url"),
    "server.upload_signed_ttl_seconds": Key(_whole(1, 86_400), "server.upload_signed_ttl_seconds"),
    "server.temp_upload.default_mode": Key(_one_of("local", "shared"), "uploads.default_mode"),
    "server.temp_upload.shared_max_size_bytes": Key(_whole(1, 2**40), "uploads.max_bytes"),
    "server.temp_upload.ttl_seconds": Key(_whole(60, 30 * 86_400), "uploads.ttl_seconds"),
    "server.temp_upload.max_waiting": Key(_whole(1, 1_000_000), "uploads.max_waiting"),
    "server.temp_upload.max_waiting_bytes": Key(_whole(1, 2**50), "uploads.max_waiting_bytes"),
    "server.user_config_defaults.add_targets": Key(_object),
    "server.user_config_defaults.memory_policy": Key(_object, "memory.policy"),
    "server.agent_evolution": Key(_object),
    "server.tool_output_externalization.enabled": Key(_flag, "sessions.tool_outputs_beside"),
    "server.tool_output_externalization.threshold_chars": Key(_whole(1, 10_000_000), "sessions.tool_output_chars"),
    "server.tool_output_externalization.preview_chars": Key(_whole(0, 1_000_000), "sessions.tool_preview_chars"),
    "server.tool_output_externalization.assistant_turn_inline_budget_chars": Key(
        _whole(0, 100_000_000), "sessions.turn_output_chars"
    ),
    "server.tool_output_externalization.assistant_turn_preview_budget_chars": Key(
        _whole(0, 100_000_000), "sessions.turn_preview_chars"
    ),
    "server.tool_output_externalization.min_preview_chars": Key(_whole(0, 1_000_000), "sessions.least_preview_chars"),
    "server.tool_output_externalization.failure_mode": Key(
        _one_of("preserve_raw", meaning=", the only one: whole outputs are stored with their message, or nothing is")
    ),
    "server.observability": Key(_object),
    "server.api_key_watch_enabled": Key(_flag),
    "server.api_key_watch_interval_seconds": Key(_number(1, 86_400)),
    "server.usage_reporter": _absent(_LATER),
    "server.oidc": _absent(_LATER),
    "server.ldap": _absent(_LATER),
    "fetch.enabled": Key(_flag, "fetch.enabled"),
    "fetch.allow_private": Key(_flag, "fetch.allow_private"),
    "fetch.allowed_hosts": Key(_hosts, "fetch.allowed_hosts"),
    "fetch.max_bytes": Key(_whole(1_000, 512 * 1024 * 1024), "fetch.max_bytes"),
    "fetch.max_repository_bytes": Key(_whole(1_000, 64 * 1024**3), "fetch.max_repository_bytes"),
    "fetch.timeout": Key(_number(0.05, 3600), "fetch.timeout"),
    "fetch.git_timeout": Key(_number(0.05, 86_400), "fetch.git_timeout"),
    "fetch.connect_timeout": Key(_number(0.05, 3600), "fetch.connect_timeout"),
    "fetch.idle_timeout": Key(_number(0.05, 3600), "fetch.idle_timeout"),
    "fetch.max_redirects": Key(_whole(0, 20), "fetch.max_redirects"),
    "fetch.max_retries": Key(_whole(0, 10), "fetch.max_retries"),
    "fetch.user_agent": Key(_visible, "fetch.user_agent"),
    "enable_watch_scheduler": Key(_flag, "fetch.watches"),
    "allow_private_networks": Key(_flag, "fetch.allow_private"),
    "encryption.enabled": Key(_never("this version does not encrypt what it stores; use an encrypted disk")),
    "encryption.provider": Key(_text),
    "encryption.api_key_hashing.enabled": Key(_flag, "server.hashed_keys"),
}
"""Every key of the sections that this version reads, by its dotted path."""

SECTIONS: Final = frozenset(path.rsplit(".", depth)[0] for path in KEYS for depth in range(1, path.count(".") + 1))
"""The sections themselves, such as ``embedding`` and ``embedding.dense``."""

UNUSED: Final = frozenset(
    """grep git oauth log semantic
    queue_workers reindex pdf code image audio video markdown excel html text directory feishu webfeed parser_api
    connector prompts telemetry ingest auto_generate_l0 auto_generate_l1
    default_search_mode default_search_limit output_language_override language_fallback""".split()
)
"""Top-level keys of the documented format that this version accepts and does nothing with (contract/core.md §5.1)."""


def finite(text: str) -> float:
    """A JSON number as a float; raises `ValueError` if it is too large to be one."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number
