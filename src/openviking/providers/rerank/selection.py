"""The reranker that the settings ask for."""

from __future__ import annotations

import difflib
from typing import Final

from openviking.config.settings import RerankSettings
from openviking.errors import FailedPreconditionError, InvalidArgumentError
from openviking.providers.addresses import checked_address
from openviking.providers.builtin import BuiltinEmbedder
from openviking.providers.rerank import cohere, compatible, dashscope, jina
from openviking.providers.rerank.cohere import Cohere
from openviking.providers.rerank.compatible import Compatible
from openviking.providers.rerank.dashscope import DashScope
from openviking.providers.rerank.jina import Jina
from openviking.providers.rerank.reranker import Reranker
from openviking.providers.rerank.volcengine import Volcengine
from openviking.providers.rerank.wire import Wire
from openviking.text import quoted

PROVIDERS: Final = ("vikingdb", "cohere", "jina", "openai", "dashscope", "litellm", "local", "none")
ALIASES: Final = {"volcengine": "vikingdb"}
KEYLESS: Final = frozenset({"openai", "jina", "cohere", "litellm"})
"""With an address of their own they may be asked without a key."""


def provider_of(settings: RerankSettings) -> str:
    """The provider, derived from what is there if it is not named; ``none`` for no reranker.

    Raises `InvalidArgumentError` for one that is not known.
    """
    name = ALIASES.get(settings.provider, settings.provider)
    if name:
        if name not in PROVIDERS:
            close = difflib.get_close_matches(name[:80], PROVIDERS, 1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise _wrong("provider", f"{quoted(name)} is not known; {meant}supported: {', '.join(PROVIDERS)}")
    elif settings.ak and settings.sk:
        name = "vikingdb"
    elif settings.api_key:
        name = "openai" if settings.api_base else "cohere"
    else:
        return "none"
    # Its native format is known by its address, whatever the provider is called.
    return "dashscope" if name == "openai" and dashscope.ROUTE in settings.api_base else name


def reranker_of(settings: RerankSettings, embedder: BuiltinEmbedder | None = None) -> Reranker | None:
    """The reranker of ``settings``, which asks nobody before it is used; None if there is none.

    ``embedder`` is the built-in model if it is in use anyway, else `local` loads one. Raises what `check_rerank` raises.
    """
    provider = check_rerank(settings)
    if provider == "none":
        return None
    if provider == "local":
        # Loads numbers.
        from openviking.providers.late import LateReranker  # noqa: PLC0415

        return LateReranker(embedder)
    # Loads HTTP.
    from openviking.providers.rerank.service import RerankService  # noqa: PLC0415

    return RerankService(provider, _wire(provider, settings), settings)


def check_rerank(settings: RerankSettings) -> str:
    """The provider; nothing is loaded and nobody is asked.

    Raises `InvalidArgumentError` for a provider or address that cannot be, `FailedPreconditionError` if a key is missing.
    """
    provider = provider_of(settings)
    if provider in ("local", "none"):
        return provider
    for name in ("api_key", "api_secret", "ak", "sk"):
        if (held := getattr(settings, name)).startswith("$"):
            raise FailedPreconditionError(
                f"rerank.{name}: the variable {quoted(held)} is not set", field=f"rerank.{name}"
            )
    if provider in ("openai", "litellm") and not settings.api_base:
        raise _wrong("api_base", f"the provider {provider!r} needs an address, such as http://localhost:8000/rerank")
    if provider == "litellm" and not settings.model:
        raise _wrong("model", "the provider 'litellm' needs the name of a model")
    if provider == "vikingdb":
        pair = _pair(settings)
        if not all(pair):
            raise FailedPreconditionError("rerank.ak and rerank.sk: both are needed to sign a call", field="rerank.ak")
    elif not settings.api_key and not (provider in KEYLESS and settings.api_base) and not settings.extra_headers:
        raise FailedPreconditionError(f"rerank.api_key: the provider {provider!r} needs a key", field="rerank.api_key")
    _wire(provider, settings)
    return provider


def _wire(provider: str, settings: RerankSettings) -> Wire:
    given = settings.api_base.strip()
    base = checked_address(given, "rerank.api_base", "http://localhost:8000/rerank") if given else ""
    if provider == "vikingdb":
        host = base or settings.host
        if not base:
            checked_address(f"https://{host}", "rerank.host", "api-vikingdb.vikingdb.cn-beijing.volces.com")
        ak, sk = _pair(settings)
        return Volcengine(host, settings.model_name, settings.model_version, ak=ak, sk=sk)
    if provider == "jina":
        return Jina(base or jina.API_BASE, settings.model or jina.MODEL)
    if provider == "openai":
        # As it is given: a slash at its end may matter.
        return Compatible(given, settings.model or compatible.MODEL)
    if provider == "dashscope":
        return DashScope(base or dashscope.API_BASE, settings.model or compatible.MODEL)
    return Cohere(base or cohere.API_BASE, settings.model or cohere.MODEL)


def _pair(settings: RerankSettings) -> tuple[str, str]:
    """The two keys of a signature, in the present spelling or the old one."""
    return settings.ak or settings.api_key, settings.sk or settings.api_secret


def _wrong(name: str, message: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"rerank.{name}: {message}", field=f"rerank.{name}")
