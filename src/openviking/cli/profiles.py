"""The files of ``ovcli.conf`` and its saved copies: read, told without their secrets, and written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from pathlib import Path
from typing import Any, Final

from openviking.cli.connection import ConfigurationError, client_file
from openviking.errors import OpenVikingError

SECRETS: Final = frozenset(("api_key", "root_api_key", "gateway_token", "ldap_password", "oidc_token"))
HIDDEN: Final = "********"
PREFIX: Final = "ovcli.conf."
MODE: Final = 0o600

_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")


class UnwritableError(OpenVikingError):
    """A configuration file that can't be written or removed."""

    code = "INTERNAL"


def place_of(name: str) -> Path:
    """The file of a saved configuration, whether there is one or not. Raises `ConfigurationError` for a bad name."""
    if not _NAME.fullmatch(name) or name.endswith(".tmp"):
        raise ConfigurationError(f"{name!r} is no name of a configuration: letters, digits, - _ and . are right.")
    return client_file().parent / f"{PREFIX}{name}"


def saved() -> dict[str, Path]:
    """The saved configurations by name, in the order of names."""
    with contextlib.suppress(OSError):
        files = sorted(client_file().parent.glob(f"{PREFIX}*"))
        names = [(file.name.removeprefix(PREFIX), file) for file in files if file.is_file()]
        return {name: file for name, file in names if _NAME.fullmatch(name) and not name.endswith(".tmp")}
    return {}


def read(file: Path) -> dict[str, Any]:
    """What a file says. Raises `ConfigurationError`."""
    from openviking_sdk.errors import InvalidArgumentError
    from openviking_sdk.settings import read_config

    try:
        return read_config(file)
    except InvalidArgumentError as error:
        raise ConfigurationError(error.message) from error


def is_active(file: Path) -> bool:
    """Whether a saved file is the one in use: the same values; False for what can't be read."""
    try:
        return file.exists() and client_file().exists() and read(file) == read(client_file())
    except ConfigurationError:
        return False


def redacted(conf: dict[str, Any]) -> dict[str, Any]:
    """The values without secrets; of headers only their names."""
    shown: dict[str, Any] = {}
    for key, value in conf.items():
        if key in SECRETS and value:
            shown[key] = HIDDEN
        elif key in {"extra_headers", "extra_header"} and isinstance(value, dict):
            shown[key] = dict.fromkeys(value, HIDDEN)
        elif key == "url" and isinstance(value, str) and "@" in value:
            shown[key] = HIDDEN
        else:
            shown[key] = value
    return shown


def write(file: Path, conf: dict[str, Any]) -> None:
    """Put the values in a file that only its owner may read; whoever reads meanwhile sees the old or the new one.

    Raises `UnwritableError`.
    """
    text = json.dumps(conf, indent=2, ensure_ascii=False) + "\n"
    try:
        # What a link names is replaced, not the link, from a place in the same file system.
        target = file.resolve()
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = target.with_name(f"{target.name}.{secrets.token_hex(8)}.tmp")
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:  # the latter for links that lead to themselves
        reason = getattr(error, "strerror", None) or error
        raise UnwritableError(f"{file} can't be written: {reason}", resource=str(file)) from error


def is_open(file: Path) -> bool:
    """Whether others than its owner can read a file that holds a secret; False where that can't be told."""
    with contextlib.suppress(OSError, ConfigurationError):
        holds = any(read(file).get(key) for key in (*SECRETS, "extra_headers", "extra_header"))
        return holds and os.name == "posix" and bool(file.stat().st_mode & 0o077)
    return False


def remove(file: Path) -> bool:
    """Remove a file; whether there was one. Raises `UnwritableError`."""
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UnwritableError(f"{file} can't be removed: {error.strerror or error}", resource=str(file)) from error
    return True
