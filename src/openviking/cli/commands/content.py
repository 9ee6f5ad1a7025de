"""read, abstract, overview, write and get."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openviking.cli.door import opened
from openviking.cli.embedded import Embedded
from openviking.cli.options import Command, Invocation, comma_list
from openviking.cli.output import Output
from openviking.errors import OpenVikingError, ResourceExhaustedError

if TYPE_CHECKING:
    from openviking.cli.remote import Remote

STDIN = "-"


@click.command("read", cls=Command)
@click.argument("uri")
@click.option("--offset", type=int, default=0, metavar="N", help="Begin after so many lines.")
@click.option("-n", "--limit", type=int, default=-1, metavar="N", help="So many lines; -1 (default): all.")
@click.option("--raw", is_flag=True, help="Hidden fields as well.")
@click.pass_obj
def read_command(invocation: Invocation, uri: str, offset: int, limit: int, raw: bool) -> None:
    """Print the text of a file; URI#L3-L9 gives those lines."""
    with opened(invocation) as store:
        text = store.read(uri, offset, limit, raw)
    Output(invocation).text(text)


@click.command("abstract", cls=Command)
@click.argument("uri")
@click.pass_obj
def abstract_command(invocation: Invocation, uri: str) -> None:
    """Print the abstract (L0) of a directory."""
    with opened(invocation) as store:
        text = store.abstract(uri)
    Output(invocation).text(text, ended=True)


@click.command("overview", cls=Command)
@click.argument("uri")
@click.pass_obj
def overview_command(invocation: Invocation, uri: str) -> None:
    """Print the overview (L1) of a directory."""
    with opened(invocation) as store:
        text = store.overview(uri)
    Output(invocation).text(text, ended=True)


@click.command("write", cls=Command)
@click.argument("uri")
@click.option("--content", metavar="TEXT", help="The text.")
@click.option("--from-file", metavar="PATH", help="A file with the text in UTF-8; - is standard input.")
@click.option("--append", is_flag=True, help="The same as --mode append.")
@click.option("--mode", type=click.Choice(["replace", "append", "create"]), help="replace (default), append, create.")
@click.option("--wait", is_flag=True, help="Return when the summaries above are up to date.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Longest --wait.")
@click.option(
    "--processing-mode",
    type=click.Choice(["semantic_and_vectors", "vectors_only"]),
    help="What is made of it (server only).",
)
@click.option("--tags", metavar="K=V,...", help="Tags for the file (server only).")
@click.option(
    "--tag-mode", type=click.Choice(["replace", "append"]), help="What becomes of those it has (server only)."
)
@click.pass_obj
def write_command(
    invocation: Invocation,
    uri: str,
    content: str | None,
    from_file: str | None,
    append: bool,
    mode: str | None,
    wait: bool,
    timeout: float | None,
    processing_mode: str | None,
    tags: str | None,
    tag_mode: str | None,
) -> None:
    """Write a file: replace, append to, or create it.

    replace and append need a file that is there.
    """
    if (content is None) == (from_file is None):
        raise click.UsageError("Give exactly one of --content and --from-file.")
    if append and mode not in {None, "append"}:
        raise click.UsageError(f"--append and --mode {mode} exclude each other.")
    text = content if content is not None else file_text(from_file or "")
    if wait:
        invocation.interrupted = (
            f"if it was written it stays, and what follows from it goes on: {invocation.command_line('wait')}"
        )
    try:
        with opened(invocation, create=True) as store:
            written = store.write(
                uri, text, "append" if append else mode or "replace", wait=wait, timeout=timeout,
                processing_mode=processing_mode, tags=comma_list(tags), tag_mode=tag_mode,
            )  # fmt: skip
    except OpenVikingError as error:
        Output(invocation).done(error)
        raise
    Output(invocation).rows(written)


@click.command("get", cls=Command)
@click.argument("uri")
@click.argument("local", required=False)
@click.pass_obj
def get_command(invocation: Invocation, uri: str, local: str | None) -> None:
    """Save the original bytes of a file as LOCAL.

    The default is its own name in the working directory; - is standard output. LOCAL must not exist.
    """
    output = Output(invocation)
    if local == STDIN:
        with opened(invocation) as store:
            data = store.download(uri)
        output.data(data)
        return
    target = Path(local) if local is not None else Path(uri.partition("?")[0].rstrip("/").rpartition("/")[2])
    if local is not None:
        _refuse_existing(target)
    with opened(invocation) as store:
        if isinstance(store, Embedded):
            data = store.download(uri)
            _save(target, data)
            size = len(data)
        else:
            size = _streamed(store, uri, target)
    output.rows({"uri": uri, "path": str(target.absolute()), "bytes": size})


def _streamed(server: Remote, uri: str, target: Path) -> int:
    """The size of a file that was written as it came; nothing is left of a broken transfer."""
    _refuse_existing(target)
    try:
        return server.save(uri, target)
    except OSError as error:
        raise _unwritten(target, error) from error


def file_text(name: str, option: str = "--from-file") -> str:
    """The text of a file of this machine, its line ends as they are."""
    try:
        data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise click.UsageError(f"{option} {name!r}: {error.strerror or error}.") from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(
            f"{option} {name!r} is not text in UTF-8 (byte {error.start}); add-resource takes any file."
        ) from error


def _refuse_existing(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise click.UsageError(f"{str(target)!r} exists already; name a file that does not.")


def _save(target: Path, data: bytes) -> None:
    from openviking_sdk.files import Download

    _refuse_existing(target)
    try:
        with Download(target).open() as file:
            file.write(data)
    except OSError as error:
        raise _unwritten(target, error) from error


def _unwritten(target: Path, error: OSError) -> Exception:
    """What keeps a file from being written: a place that was named wrongly, or a disk that has no room or is broken."""
    told = f"Cannot write {str(target)!r}: {error.strerror or error}."
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}:
        return ResourceExhaustedError(told, resource=str(target))
    return click.UsageError(told)
