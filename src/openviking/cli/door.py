"""Opening the data that a command works on."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openviking.config.settings import DEFAULT_PATH
from openviking.errors import UnimplementedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openviking import OpenViking
    from openviking.cli.options import Invocation


def data_directory(invocation: Invocation) -> Path:
    """The directory that the call means: ``--path``, ``$OPENVIKING_PATH`` or the default place."""
    return Path(invocation.path or DEFAULT_PATH).expanduser()


@contextmanager
def opened(invocation: Invocation, *, create: bool = False) -> Iterator[OpenViking]:
    """The store of this call, closed at the end; background work is done by whoever waits for it.

    Raises `NotFoundError` where there is no data directory, unless ``create``: a wrong ``--path`` must not look like
    an empty store.
    """
    if invocation.actor_peer_id is not None:
        raise UnimplementedError("--actor-peer-id is not part of this version", option="--actor-peer-id")
    if invocation.path == "":
        raise click.UsageError("--path is empty; name a directory or leave it out.")
    directory = data_directory(invocation)
    if directory.exists() and not directory.is_dir():
        raise click.UsageError(f"--path {str(directory)!r} is not a directory.")
    from openviking import OpenViking

    account, user = invocation.account or "default", invocation.user or "default"
    with OpenViking(directory, account=account, user=user, workers=0, create=create) as store:
        yield store
