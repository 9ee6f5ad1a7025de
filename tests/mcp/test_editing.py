"""Edits keep what they do not name: hidden fields, other writers' changes, line ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.errors import InvalidArgumentError
from openviking.model.identity import Identity
from openviking.service.authentication import Rules
from openviking.service.services import Services

ROOT = Identity(account="default", user="default", role="root")
F = "viking://resources/a.md"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    settings = Settings(path=tmp_path / "data", workers=0, embedding=EmbeddingSettings(provider="none"))
    services = Services(settings, Rules.of("dev", None, "127.0.0.1")).start()
    try:
        yield services
    finally:
        services.begin_to_stop()
        services.close()


def test_hidden_fields_of_a_memory_stay_and_are_not_edited(services: Services) -> None:
    uri = "viking://user/default/memories/tea.md"
    fields = '<!-- MEMORY_FIELDS\n{"tea": "green"}\n-->'
    services.content.write(ROOT, uri, f"I like tea.\n\n{fields}", "create")
    services.editing.edit(ROOT, uri, "tea", "green tea")
    assert services.content.read(ROOT, uri) == "I like green tea.\n"
    assert services.content.read(ROOT, uri, raw=True) == f"I like green tea.\n\n{fields}"
    with pytest.raises(InvalidArgumentError, match="was not found"):
        services.editing.edit(ROOT, uri, "MEMORY_FIELDS", "x")


def test_edits_at_once_are_all_kept(services: Services) -> None:
    services.content.write(ROOT, F, "".join(f"<{number}>\n" for number in range(8)), "create")
    threads = [
        threading.Thread(target=services.editing.edit, args=(ROOT, F, f"<{number}>", f"[{number}]"))
        for number in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert services.content.read(ROOT, F) == "".join(f"[{number}]\n" for number in range(8))


def test_places_and_line_ends(services: Services) -> None:
    services.content.write(ROOT, F, "a b\r\na b\r\n", "create")
    with pytest.raises(InvalidArgumentError, match="stands 2 times"):
        services.editing.edit(ROOT, F, "a", "c")
    done = services.editing.edit(ROOT, F, "a", "c", replace_all=True)
    assert (done["replaced"], done["written_bytes"]) == (2, 10)
    assert services.content.download(ROOT, F) == b"c b\r\nc b\r\n"
    assert services.editing.edit(ROOT, F, "c b\r\nc", "c", wait=True, timeout=10)["semantic_status"] == "complete"
    assert services.editing.is_directory(ROOT, "viking://resources")
    assert not services.editing.is_directory(ROOT, F)
