"""Opening the data that a command works on."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openviking.errors import UnimplementedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openviking import OpenViking
    from openviking.cli.options import Invocation


@contextmanager
def opened(invocation: Invocation, *, create: bool = False) -> Iterator[OpenViking]:
    """The store of this call, closed at the end; background work is done by whoever waits for it.

    Raises `NotFoundError` where there is no data directory, unless ``create``: a wrong ``--path`` must not look like
    an empty store.
    """
    if invocation.actor_peer_id is not None:
        raise UnimplementedError("--actor-peer-id is not part of this version", option="--actor-peer-id")
    for option in ("path", "config"):
        if getattr(invocation, option) == "":
            kind = "directory" if option == "path" else "file"
            raise click.UsageError(f"--{option} is empty; name a {kind} or leave it out.")
    directory = None if invocation.path is None else Path(invocation.path).expanduser()
    if directory is not None and directory.exists() and not directory.is_dir():
        raise click.UsageError(f"--path {str(directory)!r} is not a directory.")
    from openviking import OpenViking

    # What is logged is shown by status; standard error is for one error, and in JSON for one line.
    logging.getLogger("openviking").addHandler(logging.NullHandler())
    account, user = invocation.account or "default", invocation.user or "default"
    with OpenViking(directory, account=account, user=user, config=invocation.config, workers=0, create=create) as store:
        yield store
