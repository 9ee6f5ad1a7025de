"""The settings of one OpenViking: what the configuration file says, and what its caller says instead."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from openviking.config.file import load_settings
from openviking.config.settings import ChatSettings, Settings
from openviking.errors import InvalidArgumentError, OpenVikingError
from openviking.providers.chat_selection import check_chat
from openviking.providers.rerank.selection import check_rerank
from openviking.providers.selection import check_settings
from openviking.service.extraction import checked_policy
from openviking.text import quoted

_log = logging.getLogger(__name__)

EMBEDDERS: Final = ("builtin", "none")
"""Embedding models that need no configuration."""


def configured(
    path: str | Path | None,
    config: str | Path | None,
    embedder: object,
    dense_weight: float | None,
    workers: int | None,
) -> Settings:
    """The settings of the configuration with what the caller says instead. Raises for what can't be, and names the file."""
    settings = load_settings(config, env=os.environ, home=Path.home())
    if path is not None:
        settings = replace(settings, path=Path(path).expanduser())
    if workers is not None:
        settings = replace(settings, workers=workers)
    if dense_weight is not None:
        settings = replace(settings, retrieval=replace(settings.retrieval, dense_weight=_share(dense_weight)))
    if isinstance(embedder, str):
        if embedder not in EMBEDDERS:
            raise InvalidArgumentError(
                f"embedder is {quoted(embedder)}, allowed are {', '.join(map(repr, EMBEDDERS))}, or an object; a service"
                " such as openai is named in ov.conf, as embedding.dense.provider (docs/configuration.md)",
                field="embedder",
                value=quoted(embedder),
            )
        # Model and dimension in the file are those of the provider there.
        embedding = replace(settings.embedding, provider=embedder, model="", dimension=0)
        settings = replace(settings, embedding=embedding)
    check_models(settings, given=not (embedder is None or isinstance(embedder, str)))
    return settings


def check_models(settings: Settings, *, given: bool = False) -> None:
    """Raises for a model that can't be as it is configured; whether it answers is found when it is asked.

    With ``given`` the caller brings the embedding model, and that of the configuration is not looked at.
    """
    with _named(settings):
        if not given:
            check_settings(settings.embedding)
        check_rerank(settings.rerank)
        checked_policy(settings.memory)
        for section in ("vlm", "query_planner"):
            if (told := getattr(settings, section)) != ChatSettings():
                check_chat(told, section)


@contextmanager
def _named(settings: Settings) -> Iterator[None]:
    """Errors name the file that is to be mended."""
    try:
        yield
    except OpenVikingError as error:
        if settings.file is None:
            raise
        raise type(error)(f"{settings.file} {error.message}", **error.details, file=str(settings.file)) from error


_told: set[str] = set()
"""The warnings that this process has logged."""


def warnings_of(settings: Settings) -> list[str]:
    """What people should know of the configuration; each is logged once."""
    if not settings.unused:
        return []
    warning = f"{settings.file}: without effect in this version: {', '.join(sorted(settings.unused))}"
    if warning not in _told:
        _told.add(warning)
        _log.warning("%s", warning)
    return [warning]


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidArgumentError(
            f"dense_weight is {quoted(value)}, it must be a number from 0 to 1",
            field="dense_weight",
            value=quoted(value),
        )
    return float(value)
