"""What was left out, or is not there, is said: tags that are none, lines behind the end, paths that are no skill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openviking import OpenViking
from openviking.errors import InvalidArgumentError, NotFoundError, OpenVikingError
from openviking.ingest.background import Turn
from openviking.model.identity import Identity
from openviking.model.imports import ImportOptions
from openviking.service.accounts import Accounts
from openviking.service.import_step import carry_out_import

A = "viking://resources/a.md"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[OpenViking]:
    with OpenViking(tmp_path / "data", embedder="none", workers=0) as opened:
        opened.write(A, "one\ntwo\nthree\n", mode="create")
        yield opened


@pytest.mark.parametrize(("lines", "read"), [("L3-L99", "three\n"), ("L1", "one\n"), ("L2-L3", "two\nthree\n")])
def test_cited_lines_that_are_there_in_part_are_read(door: OpenViking, lines: str, read: str) -> None:
    assert door.read(f"{A}#{lines}") == read


def test_cited_lines_behind_the_end_are_refused(door: OpenViking) -> None:
    with pytest.raises(InvalidArgumentError, match="has 3 lines, none of L99-L120") as caught:
        door.read(f"{A}#L99-L120")
    assert caught.value.details["lines"] == 3
    # Who reads page after page comes to an end, which is no error.
    assert door.read(A, offset=99) == ""


def test_the_embedded_door_speaks_of_no_server(door: OpenViking) -> None:
    with pytest.raises(InvalidArgumentError, match=r"a path: give the text of its SKILL\.md"):
        door.validate_skill("nope.md")
    with pytest.raises(NotFoundError, match=r"Path not found: 'nope\.md'"):
        door.add_skill("nope.md")


@pytest.mark.parametrize("sent", ["loris" * 11_000, "~nobody-of-this-name/x.md", "a\0b" * 30_000])
def test_a_path_that_can_be_none_is_refused_in_few_words(door: OpenViking, sent: str) -> None:
    for call in (lambda: door.add_resource(sent), lambda: door.find("x", image=sent), lambda: door.add_skill(sent)):
        with pytest.raises(OpenVikingError) as caught:
            call()
        assert len(caught.value.message) < 500


class Heard:
    """As much of the run of a task as an import tells."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: str, _numbers: Any = None) -> None:
        self.stages.append(name)

    def cancelled(self) -> bool:
        return False


def test_only_what_comes_from_elsewhere_is_fetched(tmp_path: Path) -> None:
    sent = tmp_path / "upload.md"
    sent.write_text("# Sent")
    accounts = Accounts(tmp_path / "data")
    store = accounts.store(Identity("default", "default", "root"))
    payload = {
        "location": str(sent), "name": "a.md", "root": "resources/a", "parent": None, "upload": True,
        "options": ImportOptions.of().to_dict(),
    }  # fmt: skip
    heard = Heard()
    carry_out_import(store, Turn(payload, 0, heard.cancelled), heard)  # type: ignore[arg-type]
    assert set(heard.stages) == {"parsing", "finalizing"}
    accounts.close()
