"""``openviking-server init``: a few questions, and the configuration that comes of the answers."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from openviking.config.file import VARIABLE, load_settings
from openviking.errors import AlreadyExistsError, UnavailableError

Ask = Callable[[str, str], str]
"""Gives the answer to a question; a blank one is its default."""

_EVERYBODY: Final = "all"


def init(config: str | None, home: Path, *, env: Mapping[str, str], ask: Ask | None = None) -> int:
    """Write the configuration to where the server will look for it; the exit status.

    Raises `AlreadyExistsError` where there is one: nothing is ever overwritten.
    """
    file = Path(config or env.get(VARIABLE) or home / ".openviking" / "ov.conf").expanduser()
    if file.exists():
        raise _there_already(file)
    told = questions(ask or _asked, home)
    write_private(file, json.dumps(told, indent=2) + "\n")
    load_settings(file, env=env, home=home)
    print(f"Written: {file}")
    key = told.get("server", {}).get("root_api_key")
    if key:
        print(f"Your root key: {key}")
        print("It makes accounts, whose users have keys of their own; it reads nobody's data.")
    print("Next: openviking-server doctor, then openviking-server")
    return 0


def questions(ask: Ask, home: Path) -> dict[str, Any]:
    """What ov.conf is to hold, after the answers."""
    told: dict[str, Any] = {}
    place = ask("Where shall the data be?", str(home / ".openviking" / "data"))
    told["storage"] = {"workspace": place}
    who = _choice(ask, "Who shall reach the server: this machine (local) or others too (all)?", ("local", _EVERYBODY))
    keys = (
        who == _EVERYBODY
        or _choice(ask, "Keys for users (yes), or one user without a key (no)?", ("no", "yes")) == "yes"
    )
    server: dict[str, Any] = {}
    if who == _EVERYBODY:
        server["host"] = _EVERYBODY
    if keys:
        server["root_api_key"] = secrets.token_hex(32)
    if server:
        told["server"] = server
    provider = _choice(
        ask, "Embedding model: the one that comes along (builtin), a service (openai), or words alone (none)?",
        ("builtin", "openai", "none"),
    )  # fmt: skip
    dense: dict[str, Any] = {"provider": provider}
    if provider == "openai":
        dense["model"] = ask("Which model?", "text-embedding-3-small")
        dense["api_base"] = ask("At which address?", "https://api.openai.com/v1")
        dense["api_key"] = ask("Its key, or the variable that holds it?", "$OPENAI_API_KEY")
    told["embedding"] = {"dense": dense}
    return told


def write_private(file: Path, text: str) -> None:
    """Write a new file that only its owner can read; raises `AlreadyExistsError`, `UnavailableError`."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError as error:
        raise _there_already(file) from error
    except OSError as error:
        reason = str(error.strerror)
        raise UnavailableError(f"{file} can't be written: {reason}", service="disk", reason=reason) from error


def _there_already(file: Path) -> AlreadyExistsError:
    error = AlreadyExistsError(str(file), "configuration")
    error.message += (
        ": nothing is overwritten. Edit it and call openviking-server doctor, or name another with --config"
    )
    return error


def _choice(ask: Ask, question: str, choices: tuple[str, ...]) -> str:
    while True:
        answer = ask(question, choices[0]).lower()
        if answer in choices:
            return answer
        print(f"Please answer {' or '.join(choices)}.")


def _asked(question: str, default: str) -> str:
    try:
        return input(f"{question} [{default}] ").strip() or default
    except EOFError:
        # Nobody is there to answer: the defaults make a working server.
        print(file=sys.stdout)
        return default
