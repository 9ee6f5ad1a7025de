"""The embedder that the settings ask for."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Final
from urllib.parse import SplitResult, urlsplit

from openviking.config.settings import EmbeddingSettings
from openviking.errors import FailedPreconditionError, InvalidArgumentError, UnimplementedError
from openviking.providers.embedder import Embedder
from openviking.providers.services import OTHER_PROTOCOLS, SERVICES, Service
from openviking.text import quoted

BUILTIN_NAMES: Final = ("builtin", "local")
BUILTIN_MODELS: Final = ("", "bge-small-en-v1.5", "bge-small-en-v1.5-int8", "BAAI/bge-small-en-v1.5")


def embedder_of(settings: EmbeddingSettings) -> Embedder | None:
    """The embedder of ``settings``, which makes no call before it is used; None if words are to answer alone.

    Raises what `check_settings` raises.
    """
    checked = check_settings(settings)
    provider = checked.provider
    if provider == "none":
        return None
    if provider in BUILTIN_NAMES:
        # Loads numbers and the model's engine.
        from openviking.providers.builtin import BuiltinEmbedder  # noqa: PLC0415

        return BuiltinEmbedder(threads=settings.threads)
    # Loads numbers and HTTP, which nobody needs who has no remote model.
    from openviking.providers.openai import OpenAIEmbedder  # noqa: PLC0415

    return OpenAIEmbedder(checked, SERVICES[provider])


def check_settings(settings: EmbeddingSettings) -> EmbeddingSettings:
    """``settings`` with provider and address as they are used; nothing is loaded and nobody is asked.

    Raises `InvalidArgumentError` for a provider, model or address that cannot be, `UnimplementedError` for a provider of
    another protocol, `FailedPreconditionError` if the key is missing.
    """
    provider = settings.provider.strip().lower()
    settings = replace(settings, provider=provider)
    if provider == "none":
        return settings
    if provider in BUILTIN_NAMES:
        _check_builtin(settings)
        return settings
    service = SERVICES.get(provider)
    if service is None:
        raise _unknown(provider)
    if not settings.model:
        raise _wrong("model", f"the provider {provider!r} needs the name of a model")
    _check_key(settings, service)
    return replace(settings, api_base=address(settings.api_base, service))


def address(api_base: str, service: Service) -> str:
    """``api_base``, or the service's own, as requests are built on it. Raises `InvalidArgumentError` if there is none."""
    given = (api_base.strip() or service.api_base).rstrip("/").removesuffix("/embeddings")
    if not given:
        raise _wrong("api_base", f"the provider {service.name!r} needs an address, such as http://localhost:8000/v1")
    try:
        parts = urlsplit(given)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, right = SplitResult("", "", "", "", ""), False
    if not right or not given.isprintable() or " " in given or parts.query or parts.fragment:
        # In front of the @ stands a password.
        told = quoted(given.rpartition("@")[2])
        raise _wrong("api_base", f"{told} is no address such as https://api.openai.com/v1")
    if service.name == "ollama" and not parts.path:
        return given + "/v1"
    return given


def _check_builtin(settings: EmbeddingSettings) -> None:
    if settings.model not in BUILTIN_MODELS:
        raise _wrong("model", f"the built-in model is bge-small-en-v1.5, not {quoted(settings.model)}")
    if settings.dimension not in (0, 384):
        raise _wrong("dimension", f"the built-in model gives 384 numbers, not {settings.dimension}")


def _unknown(provider: str) -> InvalidArgumentError | UnimplementedError:
    names = ["builtin", "none", *SERVICES]
    supported = f"supported: {', '.join(names)}"
    compatible = "a service with an address for OpenAI's protocol works as openai with its api_base"
    if provider in OTHER_PROTOCOLS:
        return UnimplementedError(
            f"embedding.dense.provider {provider!r} speaks a protocol that this version does not; {supported}; {compatible}",
            field="embedding.dense.provider",
        )
    close = difflib.get_close_matches(provider[:80], names, 1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return _wrong("provider", f"{quoted(provider)} is not known; {meant}{supported}; {compatible}")


def _check_key(settings: EmbeddingSettings, service: Service) -> None:
    if settings.api_key.startswith("$"):
        raise FailedPreconditionError(
            f"embedding.dense.api_key: the variable {quoted(settings.api_key)} is not set",
            field="embedding.dense.api_key",
        )
    named = {name.lower() for name in settings.extra_headers}
    if (
        service.needs_key
        and not settings.api_key
        and not settings.api_base
        and not named & {"authorization", "api-key"}
    ):
        raise FailedPreconditionError(
            f"embedding.dense.api_key: the provider {service.name!r} needs a key", field="embedding.dense.api_key"
        )


def _wrong(name: str, message: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"embedding.dense.{name}: {message}", field=f"embedding.dense.{name}")
