"""What is known of an address before its import is queued."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.stubs.web import SilentResolver, ToldResolver

from openviking.config.settings import FetchSettings
from openviking.errors import DeadlineExceededError, InvalidArgumentError, PermissionDeniedError
from openviking.ingest.fetch.fetcher import Fetcher
from openviking.ingest.fetch.origin import origin_of
from openviking.ingest.fetch.resolver import Resolver
from openviking.service.remote_imports import look_ahead

NAMES = ToldResolver({"site.example": [["93.184.215.14"]], "inside.example": [["93.184.215.14", "10.1.2.3"]]})


class DownResolver:
    """A name service that can't be reached."""

    def addresses(self, host: str, port: int) -> Sequence[str]:
        del port
        raise socket.gaierror(socket.EAI_AGAIN, f"{host}: try again")


def ahead(place: Path, url: str, names: Resolver = NAMES, deadline: float | None = None) -> None:
    look_ahead(Fetcher(FetchSettings(), place, names), origin_of(url), deadline, lambda: False)


def test_a_host_that_is_not_there_is_told_before_anything_is_queued(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"There is no host nowhere\.example") as caught:
        ahead(tmp_path, "https://nowhere.example/a.md")
    assert (caught.value.details["field"], caught.value.details["host"]) == ("path", "nowhere.example")


def test_a_name_with_a_private_address_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(PermissionDeniedError, match=r"inside\.example"):
        ahead(tmp_path, "https://inside.example/a.md")


def test_what_may_be_there_is_queued(tmp_path: Path) -> None:
    ahead(tmp_path, "https://site.example/a.md")
    ahead(tmp_path, "https://nowhere.example/a.md", DownResolver())


def test_the_callers_time_counts(tmp_path: Path) -> None:
    silent = SilentResolver()
    try:
        with pytest.raises(DeadlineExceededError, match="nothing was queued"):
            ahead(tmp_path, "https://slow.example/a.md", silent, time.monotonic() + 0.2)
    finally:
        silent.released.set()
