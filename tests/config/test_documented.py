"""docs/configuration.md says of every key of ov.conf what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from openviking.config.file import load_settings
from openviking.config.keys import KEYS, UNUSED
from openviking.config.settings import Settings
from openviking.providers.services import SERVICES

PAGE = (Path(__file__).resolve().parents[2] / "docs/configuration.md").read_text(encoding="utf-8")
ROWS = {path: default.strip(" `") for path, default in re.findall(r"^\| `([a-z_.]+)` \| ([^|]*)\|", PAGE, re.MULTILINE)}


def default_of(setting: str) -> Any:
    section, _, name = setting.rpartition(".")
    defaults = Settings()
    held = {
        "": None, "embedding": defaults.embedding, "circuit_breaker": defaults.embedding.circuit_breaker,
        "retrieval": defaults.retrieval, "server": defaults.server, "uploads": defaults.uploads, "fetch": defaults.fetch, "vlm": defaults.vlm,
        "query_planner": defaults.query_planner, "rerank": defaults.rerank, "memory": defaults.memory,
        "sessions": defaults.sessions,
    }  # fmt: skip
    return getattr(held[section], name)


@pytest.mark.parametrize("path", [path for path, key in KEYS.items() if key.setting])
def test_every_key_has_a_row_with_its_default(path: str) -> None:
    assert path in ROWS
    setting = KEYS[path].setting
    assert setting is not None
    if setting.startswith("vectordb.") or setting == "path":
        return
    default = default_of(setting)
    if isinstance(default, tuple):
        default = ", ".join(default)
    assert ROWS[path] == ("" if default in (None, "", {}) else str(default))


def test_rows_are_keys_that_do_something() -> None:
    assert all(KEYS[path].setting for path in ROWS)


def test_keys_without_an_effect_are_named_as_such() -> None:
    checked, _, unused = PAGE.partition("Checked, and nothing more")[2].partition("Accepted with a warning")
    for path, key in KEYS.items():
        if key.setting is None and not key.secret:
            assert f"`{path}`" in checked + unused, path
    assert all(f"`{name}`" in unused for name in UNUSED)


def test_every_provider_is_named() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `embedding.dense.provider`"))
    assert all(f"`{name}`" in row for name in SERVICES)


def test_the_example_is_a_file_that_can_be_read(tmp_path: Path) -> None:
    examples = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        file = tmp_path / "ov.conf"
        file.write_text(example, encoding="utf-8")
        settings = load_settings(file, env={"OPENAI_API_KEY": "k"}, home=tmp_path)
        assert settings.path == tmp_path / "notes"
        assert settings.embedding.api_key == "k"
