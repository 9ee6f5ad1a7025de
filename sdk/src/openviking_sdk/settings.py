"""What a client works with: arguments before environment variables before ``ovcli.conf`` before defaults."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from openviking_sdk.errors import InvalidArgumentError

DEFAULT_URL: Final = "http://127.0.0.1:1933"
DEFAULT_TIMEOUT_S: Final = 60.0
CONFIG_FILE_VARIABLE: Final = "OPENVIKING_CLI_CONFIG_FILE"
MAX_CONFIG_BYTES: Final = 1_000_000

_UPLOAD_KEYS: Final = frozenset(("ignore_dirs", "include", "exclude", "mode"))
_KEYS: Final = frozenset(
    (
        "url", "api_key", "root_api_key", "account", "user", "actor_peer_id", "agent_id", "extra_headers", "extra_header",
        "gateway_token", "timeout", "output", "echo_command", "show_progress", "verbose", "profile", "upload", "auth_mode",
        "ldap_username", "ldap_password", "oidc_token", "plugin",
    )
)  # fmt: skip
_UPLOAD_MODES: Final = ("local", "shared")
_OWN_HEADERS: Final = frozenset(("content-type", "content-length", "transfer-encoding", "host"))
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class UploadDefaults:
    """What holds for every upload: comma-separated lists, joined with those of a call, and where it is kept."""

    ignore_dirs: str = ""
    include: str = ""
    exclude: str = ""
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a client; ``timeout`` in seconds, ``url`` without a final slash."""

    url: str = DEFAULT_URL
    api_key: str | None = field(default=None, repr=False)
    account: str | None = None
    user: str | None = None
    actor_peer_id: str | None = None
    timeout: float = DEFAULT_TIMEOUT_S
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    profile: bool = False
    upload: UploadDefaults = UploadDefaults()


def resolved(
    *,
    url: str | None = None,
    api_key: str | None = None,
    account: str | None = None,
    user: str | None = None,
    actor_peer_id: str | None = None,
    timeout: float | None = None,
    extra_headers: Mapping[str, str] | None = None,
    profile: bool | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """The settings for these arguments; None takes the environment's, then ``ovcli.conf``'s value, then the default.

    The file is that of ``OPENVIKING_CLI_CONFIG_FILE``, else ``~/.openviking/ovcli.conf``; one that does not exist says
    nothing. An empty string turns a value off that a file sets. Raises `InvalidArgumentError` for an unknown key and a
    value of the wrong kind (contract/core.md §3.19, §5.6).
    """
    environ = os.environ if environ is None else environ
    file = config_file(environ)
    conf = read_config(file)
    where = str(file)

    def chosen(argument: str | None, variable: str, *keys: str) -> str | None:
        if argument is not None:
            return argument or None
        return environ.get(f"OPENVIKING_{variable}") or next(
            (_text(conf, key, where) for key in keys if conf.get(key)), None
        )

    return Settings(
        url=_url(chosen(url, "URL", "url") or DEFAULT_URL),
        api_key=header_value("api_key", chosen(api_key, "API_KEY", "api_key", "root_api_key")),
        account=header_value("account", chosen(account, "ACCOUNT", "account")),
        user=header_value("user", chosen(user, "USER", "user")),
        actor_peer_id=header_value(
            "actor_peer_id", chosen(actor_peer_id, "ACTOR_PEER_ID", "actor_peer_id", "agent_id")
        ),
        timeout=_seconds(timeout, environ.get("OPENVIKING_TIMEOUT"), conf.get("timeout"), where),
        extra_headers={**_headers(conf, where), **_checked_headers(extra_headers or {})},
        profile=_flag(conf, "profile", where) if profile is None else profile,
        upload=_upload(conf, environ.get("OPENVIKING_UPLOAD_MODE"), where),
    )


def config_file(environ: Mapping[str, str]) -> Path:
    """The file that the settings are read from, whether there is one or not."""
    named = environ.get(CONFIG_FILE_VARIABLE)
    return Path(named).expanduser() if named else Path("~/.openviking/ovcli.conf").expanduser()


def read_config(file: Path) -> dict[str, Any]:
    """What an ``ovcli.conf`` says, key by key; nothing if it does not exist.

    Raises `InvalidArgumentError` for what is no JSON object, an unknown key, and two keys that mean the same. Values are
    checked by `resolved`.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_CONFIG_BYTES + 1)
        if len(data) > MAX_CONFIG_BYTES:
            raise InvalidArgumentError(f"{file} has more than {MAX_CONFIG_BYTES:,} bytes; is it the right file?")
        # Some editors begin what they save as UTF-8 with a mark that says so.
        text = data.decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"{file} can't be read: {error}") from error
    try:
        conf = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise InvalidArgumentError(f"{file} is no JSON: {error}") from error
    except RecursionError as error:
        raise InvalidArgumentError(f"{file} is nested too deeply") from error
    if not isinstance(conf, dict):
        raise InvalidArgumentError(f"{file} must hold a JSON object, not {type(conf).__name__}")
    _refuse_unknown(conf, _KEYS, str(file))
    for one, other in (("actor_peer_id", "agent_id"), ("extra_headers", "extra_header")):
        if conf.get(one) and conf.get(other):
            raise InvalidArgumentError(f"{file} has both {one} and {other}, which mean the same; keep {one}")
    if conf.get("auth_mode") in {"ldap", "oidc"}:
        raise InvalidArgumentError(f"{file}: auth_mode {conf['auth_mode']!r} is not supported here; use an api_key")
    return conf


def _refuse_unknown(conf: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    for key in conf:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}"
            raise InvalidArgumentError(f"{where}: unknown key {key!r}; {hint}", details={"key": key})


def _text(conf: Mapping[str, Any], key: str, where: str) -> str:
    value = conf[key]
    if not isinstance(value, str):
        # The value itself may be a key.
        raise InvalidArgumentError(f"{where}: {key} must be a string, not {type(value).__name__}")
    return value


def _flag(conf: Mapping[str, Any], key: str, where: str) -> bool:
    value = conf.get(key) or False
    if not isinstance(value, bool):
        raise InvalidArgumentError(f"{where}: {key} must be true or false, not {value!r}")
    return value


def _seconds(argument: float | None, variable: str | None, configured: Any, where: str) -> float:
    value: Any = argument
    source = "timeout"
    if value is None and variable:
        value, source = variable, "OPENVIKING_TIMEOUT"
    elif value is None and configured is not None:
        value, source = configured, f"{where}: timeout"
    elif value is None:
        return DEFAULT_TIMEOUT_S
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    if not (0 < seconds < math.inf):
        raise InvalidArgumentError(f"{source} must be a number of seconds above 0, not {value!r}")
    return seconds


def _url(url: str) -> str:
    if "@" in url or "?" in url or "#" in url:  # before anything that repeats it: it may hold a secret
        raise InvalidArgumentError("url must have no user, no query and no fragment; a key goes into api_key")
    try:
        parts = urlsplit(url)
        port_is_a_number = parts.port is None or parts.port >= 0
    except ValueError as error:
        raise InvalidArgumentError(f"url {url!r} can't be read: {error}") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_a_number:
        raise InvalidArgumentError(f"url must begin with http:// or https:// and name a host, not {url!r}")
    # The paths of the routes begin with it themselves.
    return url.rstrip("/").removesuffix("/api/v1")


def header_value(name: str, value: str | None) -> str | None:
    """The value; raises `InvalidArgumentError` if no header can carry it."""
    if value is not None and not _HEADER_VALUE.fullmatch(value):
        raise InvalidArgumentError(f"{name} has characters that no HTTP header can carry; printable ASCII is right")
    return value


def _headers(conf: Mapping[str, Any], where: str) -> dict[str, str]:
    value = conf.get("extra_headers") or conf.get("extra_header") or {}
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{where}: extra_headers must be an object of strings, not {type(value).__name__}")
    return _checked_headers(value)


def _checked_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    for name, value in headers.items():
        if not isinstance(value, str) or not _HEADER_NAME.fullmatch(name):
            raise InvalidArgumentError(f"extra_headers must be an object of strings; look at {name!r}")
        if name.lower() in _OWN_HEADERS:
            raise InvalidArgumentError(f"extra_headers can't have {name!r}, which each request needs for itself")
        header_value(f"extra_headers[{name!r}]", value)
    return dict(headers)


def _upload(conf: Mapping[str, Any], mode: str | None, where: str) -> UploadDefaults:
    value = {} if conf.get("upload") is None else conf["upload"]
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{where}: upload must be an object, not {value!r}")
    _refuse_unknown(value, _UPLOAD_KEYS, f"{where}: upload")
    texts = {key: _text(value, key, f"{where}: upload") for key in value if value[key]}
    mode = mode or texts.get("mode")
    if mode is not None and mode not in _UPLOAD_MODES:
        raise InvalidArgumentError(f"upload mode must be local or shared, not {mode!r}")
    return UploadDefaults(texts.get("ignore_dirs", ""), texts.get("include", ""), texts.get("exclude", ""), mode)
