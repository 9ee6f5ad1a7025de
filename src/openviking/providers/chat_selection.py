"""The chat model that the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from openviking.config.settings import ChatSettings
from openviking.errors import FailedPreconditionError, InvalidArgumentError, UnimplementedError
from openviking.providers.addresses import checked_address
from openviking.providers.chat import ROUTE, Chat
from openviking.text import quoted

CHAT_SERVICES: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "ollama": "http://localhost:11434/v1",
    "volcengine": "https://ark.cn-beijing.volces.com/api/v3",
    "dashscope": "https://dashscope.aliyuncs.com/compatible-mode/v1",
    "kimi": "https://api.moonshot.cn/v1",
    "glm": "https://open.bigmodel.cn/api/paas/v4",
    "litellm": "",
    "vllm": "",
}
"""Where each service is asked unless configured; "" if that has to be said."""

KEYLESS: Final = frozenset({"ollama", "litellm", "vllm"})
"""Services that may be asked without a key."""

OTHER_PROTOCOLS: Final = frozenset({"azure", "openai-codex", "gemini", "anthropic"})
"""Providers that speak a protocol of their own."""


def chat_of(settings: ChatSettings, section: str) -> Chat | None:
    """The chat model of ``settings``, which makes no call before it is used; None where nothing is said of one.

    Raises what `check_chat` raises; ``section`` of the configuration is named in it.
    """
    if settings == ChatSettings():
        return None
    provider, base = check_chat(settings, section)
    # Loads HTTP, which nobody needs who has no such model.
    from openviking.providers.chat_client import ChatClient  # noqa: PLC0415

    return ChatClient(settings, provider, base)


def check_chat(settings: ChatSettings, section: str) -> tuple[str, str]:
    """Provider and address as they are used; nobody is asked.

    Raises `InvalidArgumentError` for a provider, model or address that cannot be, `UnimplementedError` for a provider of
    another protocol, `FailedPreconditionError` if the key is missing.
    """
    provider = settings.provider or "openai"
    if provider in OTHER_PROTOCOLS:
        raise UnimplementedError(
            f"{section}.provider {provider!r} speaks a protocol that this version does not; supported: {_supported()}",
            field=f"{section}.provider",
        )
    if provider not in CHAT_SERVICES:
        raise InvalidArgumentError(
            f"{section}.provider: {quoted(provider)} is not known; supported: {_supported()}",
            field=f"{section}.provider",
        )
    if not settings.model:
        raise InvalidArgumentError(f"{section}.model: the name of a model is missing", field=f"{section}.model")
    if settings.api_key.startswith("$"):
        raise FailedPreconditionError(
            f"{section}.api_key: the variable {quoted(settings.api_key)} is not set", field=f"{section}.api_key"
        )
    named = {name.lower() for name in settings.extra_headers}
    if not settings.api_key and not settings.api_base and provider not in KEYLESS and "authorization" not in named:
        raise FailedPreconditionError(
            f"{section}.api_key: the provider {provider!r} needs a key", field=f"{section}.api_key"
        )
    given = settings.api_base.strip() or CHAT_SERVICES[provider]
    base = checked_address(given, f"{section}.api_base", "https://api.openai.com/v1").removesuffix(ROUTE)
    return provider, base + "/v1" if provider == "ollama" and not base.partition("://")[2].partition("/")[2] else base


def _supported() -> str:
    return (
        f"{', '.join(CHAT_SERVICES)}; a service with an address for OpenAI's protocol works as openai with its api_base"
    )
