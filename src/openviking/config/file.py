"""Reading of ov.conf: where it lies, what it may say, and the settings that come of it (contract/core.md §5.1)."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

from openviking.config.keys import KEYS, SECTIONS, UNUSED, finite
from openviking.config.settings import (
    BreakerSettings,
    ChatSettings,
    EmbeddingSettings,
    FetchSettings,
    MemorySettings,
    RerankSettings,
    RetrievalSettings,
    ServerSettings,
    SessionSettings,
    Settings,
    UploadSettings,
)
from openviking.errors import InvalidArgumentError
from openviking.text import quoted

VARIABLE: Final = "OPENVIKING_CONFIG_FILE"
"""The environment variable that names the file."""

SYSTEM_FILE: Final = Path("/etc/openviking/ov.conf")
"""Where the file of a machine lies, for those who have none of their own."""

MAX_BYTES: Final = 1_000_000

_STRING_OR_REST = re.compile(r'"(?:[^"\\]|\\.)*"|[^"]+|"', re.DOTALL)
_REFERENCE = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))")
_MEANT: Final = {"storage.path": "storage.workspace", "storage.directory": "storage.workspace"}
"""Keys that others call otherwise."""


def load_settings(
    path: str | Path | None, *, env: Mapping[str, str], home: Path, system: Path = SYSTEM_FILE
) -> Settings:
    """The settings of the first file there is: ``path``, the one that the environment names, the home's, the system's.

    With none of them every setting has its default. ``$NAME`` and ``${NAME}`` stand for variables of ``env``; one that
    is not set stays as it is. Raises `InvalidArgumentError` that names the file, the key, the value and what would be
    right; also if ``path`` or the environment name a file that cannot be read.
    """
    file = find_file(path, env=env, home=home, system=system)
    if file is None:
        return Settings()
    return _Reader(file).settings(env, home)


def find_file(
    path: str | Path | None, *, env: Mapping[str, str], home: Path, system: Path = SYSTEM_FILE
) -> Path | None:
    """The file that `load_settings` reads, None if there is none; one that is named is given whether it exists or not."""
    if named := path or env.get(VARIABLE):
        return _expanded(str(named), home)
    return next((one for one in (home / ".openviking" / "ov.conf", system) if one.exists()), None)


class _Reader:
    """Reads one file, and names it in every error."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._unused: list[str] = []

    def settings(self, env: Mapping[str, str], home: Path) -> Settings:
        held: dict[str, dict[str, Any]] = {
            "": {},
            "embedding": {},
            "circuit_breaker": {},
            "retrieval": {},
            "vectordb": {},
            "server": {},
            "uploads": {},
            "fetch": {},
            "vlm": {},
            "query_planner": {},
            "rerank": {},
            "memory": {},
            "sessions": {},
        }
        for setting, value in self._walk(self._parsed(env), ""):
            section, _, name = setting.rpartition(".")
            held[section][name] = value
        settings = Settings(
            embedding=EmbeddingSettings(
                **self._with_dimension(held["embedding"], held["vectordb"].get("dimension", 0)),
                circuit_breaker=self._breaker(held["circuit_breaker"]),
            ),
            retrieval=_retrieval(held["retrieval"], held["vectordb"].get("sparse_weight")),
            vlm=ChatSettings(**held["vlm"]),
            query_planner=ChatSettings(**held["query_planner"]),
            rerank=RerankSettings(**held["rerank"]),
            memory=MemorySettings(**held["memory"]),
            sessions=SessionSettings(**held["sessions"]),
            server=ServerSettings(**held["server"]),
            uploads=UploadSettings(**held["uploads"]),
            fetch=FetchSettings(**held["fetch"]),
            file=self._file,
            unused=tuple(self._unused),
        )
        return replace(settings, path=_expanded(held[""]["path"], home)) if held[""] else settings

    def _with_dimension(self, embedding: dict[str, Any], stored: int) -> dict[str, Any]:
        asked = embedding.get("dimension", 0)
        if asked and stored and asked != stored:
            self._refuse("storage.vectordb.dimension", stored, f"{asked}, as embedding.dense.dimension, or left out")
        return {**embedding, "dimension": asked or stored}

    def _breaker(self, told: dict[str, Any]) -> BreakerSettings:
        breaker = BreakerSettings(**told)
        if breaker.max_reset_timeout >= breaker.reset_timeout:
            return breaker
        if "max_reset_timeout" in told:
            path, least = "embedding.circuit_breaker.max_reset_timeout", f"{breaker.reset_timeout:g}"
            self._refuse(path, breaker.max_reset_timeout, f"at least reset_timeout, which is {least}")
        return replace(breaker, max_reset_timeout=breaker.reset_timeout)

    def _parsed(self, env: Mapping[str, str]) -> dict[str, Any]:
        if self._file.exists() and not (self._file.is_file() or self._file.is_dir()):
            # Opening a pipe would wait for somebody to write into it.
            self._fail("is no file")
        try:
            with self._file.open("rb") as opened:
                data = opened.read(MAX_BYTES + 1)
        except OSError as error:
            self._fail(f"cannot be read: {error.strerror or error}")
        if len(data) > MAX_BYTES:
            self._fail(f"exceeds {MAX_BYTES:,} bytes")
        try:
            told = json.loads(
                substituted(data.decode("utf-8-sig"), env),
                object_pairs_hook=self._distinct,
                parse_constant=finite,
                parse_float=finite,
            )
        except UnicodeDecodeError as error:
            self._fail(f"is not UTF-8: {error.reason} at byte {error.start}")
        except json.JSONDecodeError as error:
            self._fail(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}")
        except ValueError as error:
            self._fail(f"is not JSON: {error}")
        except RecursionError:
            self._fail("is not JSON that can be read: it is nested too deeply")
        if not isinstance(told, dict):
            self._fail(f"must hold one JSON object in braces, not {quoted(told)}")
        return told

    def _walk(self, told: Mapping[str, Any], section: str) -> Iterator[tuple[str, Any]]:
        """The settings in ``told``, which is the section of that dotted path; null is as good as absent."""
        for name, value in told.items():
            path = f"{section}.{name}" if section else name
            if path in KEYS:
                if value is not None:
                    yield from self._setting(path, value)
            elif path in SECTIONS:
                if value is not None and not isinstance(value, dict):
                    self._refuse(path, value, "an object in braces")
                yield from self._walk(value or {}, path)
            elif section or name not in UNUSED:
                self._unknown(section, name)
            elif value is not None:
                self._refuse_encryption(name, value)
                self._unused.append(name)

    def _setting(self, path: str, value: Any) -> Iterator[tuple[str, Any]]:
        key = KEYS[path]
        try:
            checked = key.check(value)
        except ValueError as error:
            self._refuse(path, value, str(error), secret=key.secret)
        if key.unused:
            self._unused.append(path)
        if key.setting is not None:
            yield key.setting, checked

    def _refuse_encryption(self, name: str, value: Any) -> None:
        """Of all that has no effect this must not pass: who asks for it believes that nobody can read the data."""
        if name == "encryption" and (value.get("enabled") if isinstance(value, dict) else value):
            self._fail(
                "asks for encryption, and this version does not encrypt what it stores: encryption.enabled must be false"
                " or left out",
                key="encryption.enabled",
            )

    def _distinct(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        told = dict(pairs)
        if len(told) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            self._fail(f"has the key {quoted(twice)} twice in one object", key=twice)
        return told

    def _unknown(self, section: str, name: str) -> NoReturn:
        paths = [*KEYS, *SECTIONS, *UNUSED]
        siblings = {path.rpartition(".")[2]: path for path in paths if path.rpartition(".")[0] == section}
        # Of several the first: most names of models are those of the embedding model.
        anywhere = {path.rpartition(".")[2]: path for path in reversed(paths)}
        close = difflib.get_close_matches(name[:80], siblings, 1)
        # At the top a whole section is often left out: its key is meant rather than one that is spelled like it.
        meant = (not section and anywhere.get(name)) or (siblings[close[0]] if close else anywhere.get(name, ""))
        if not meant and (far := difflib.get_close_matches(name[:80], anywhere, 1, cutoff=0.8)):
            meant = anywhere[far[0]]
        path = f"{section}.{name}" if section else name
        meant = _MEANT.get(path, meant)
        known = f"did you mean {meant!r}?" if meant else f"known here: {', '.join(sorted(siblings))}"
        self._fail(f"has an unknown key {quoted(path)}; {known}", key=path[:200])

    def _refuse(self, path: str, value: Any, right: str, *, secret: bool = False) -> NoReturn:
        told = "what it holds" if secret else quoted(value)
        self._fail(f"{path} must be {right}, not {told}", key=path)

    def _fail(self, message: str, **details: Any) -> NoReturn:
        raise InvalidArgumentError(f"{self._file} {message}".replace("\n", " "), file=str(self._file), **details)


def substituted(text: str, env: Mapping[str, str]) -> str:
    """JSON ``text`` with its variables; within quotes a value cannot end them, whatever characters it has."""

    def within(part: re.Match[str]) -> str:
        inside = part[0].startswith('"')

        def value(reference: re.Match[str]) -> str:
            held = env.get(reference[1] or reference[2])
            return reference[0] if held is None else json.dumps(held)[1:-1] if inside else held

        return _REFERENCE.sub(value, part[0])

    return _STRING_OR_REST.sub(within, text)


def _retrieval(told: dict[str, Any], sparse_weight: float | None) -> RetrievalSettings:
    if sparse_weight is not None:
        told = {"dense_weight": 1 - sparse_weight, **told}
    return RetrievalSettings(**told)


def _expanded(path: str, home: Path) -> Path:
    first, _, rest = path.partition("/")
    return home / rest if first == "~" else Path(path)
