"""find, search, grep and glob."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from openviking.cli.commands.context import LIST_ONLY, context_command, context_options, refuse, taken_out
from openviking.cli.door import opened
from openviking.cli.options import Command, Invocation, comma_list
from openviking.cli.output import Output
from openviking.uri import SCHEME

if TYPE_CHECKING:
    from collections.abc import Callable

TAGS_HELP = "Only what has all these tags."
GLOB_FIELDS = ("name", "uri", "path", "type", "size", "mode", "mtime", "locked", "id", "tags")


def levels(_context: click.Context, _option: click.Parameter, value: str | None) -> list[int] | None:
    """``0,1,2`` as numbers."""
    if value is None:
        return None
    parts = comma_list(value) or [""]
    if not set(parts) <= {"0", "1", "2"}:
        raise click.BadParameter(f"{value!r} is not a list of 0 (abstracts), 1 (overviews) and 2 (files).")
    return [int(part) for part in parts]


def strategy(_context: click.Context, _option: click.Parameter, value: str | None) -> str | dict[str, Any] | None:
    """A name, or an object in JSON with parameters."""
    if value is None or not value.lstrip().startswith("{"):
        return value
    try:
        told: dict[str, Any] = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"it is no JSON: {error}.") from error
    return told


def search_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that find and search share."""
    for option in reversed(
        (
            click.option("--image", metavar="PATH|URI", help="Like this picture (needs a model for pictures)."),
            click.option("-u", "--uri", multiple=True, metavar="URI", help="Only at and below this place; may be repeated."),
            click.option(
                "-n", "--node-limit", "--limit", "limit", type=int, default=10, show_default=True, help="Most hits."
            ),
            click.option("-t", "--threshold", type=float, help="Only scores above this (0 to 1)."),
            click.option("-L", "--level", callback=levels, metavar="0,1,2", help="Abstracts (0), overviews (1), files (2)."),
            click.option("--context-type", metavar="A,B", help="memory, resource, skill."),
            click.option("--tags", metavar="K=V,...", help=TAGS_HELP),
            click.option("--after", metavar="TIME", help="Not older than: 2h, 7d, a date or an ISO time."),
            click.option("--before", metavar="TIME", help="Not newer than."),
            click.option("--time-field", type=click.Choice(["updated_at", "created_at"]), help="The time that is meant."),
            click.option("--read-content", is_flag=True, help="Each hit with its whole text."),
            click.option(
                "--events-time-decay-protection", "--events_time_decay_protection", metavar="TIME",
                help="Events fade with time, but not within this: 0, 30m, 12h, 7d.",
            ),
            click.option(
                "--strategy", callback=strategy, metavar="NAME|JSON",
                help="global, hierarchical, classic, late, or an object with its parameters.",
            ),
            click.option("--explain", is_flag=True, help="What each score is made of."),
            click.option(
                "--explain-missing", multiple=True, metavar="URI", help="Why this is not among the hits; may be repeated."
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def _asked(uri: tuple[str, ...], explain_missing: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """The arguments of a find or search for the options of the command line."""
    return {
        "target_uri": uri[0] if len(uri) == 1 else list(uri) or "",
        **_narrowed(**options),
        "explain_missing": list(explain_missing) or None,
    }


def _narrowed(
    threshold: float | None, context_type: str | None, tags: str | None, after: str | None, before: str | None,
    **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """The arguments that every way of finding has."""
    return {
        "score_threshold": threshold,
        "context_type": comma_list(context_type),
        "tags": comma_list(tags),
        "since": after,
        "until": before,
        **options,
    }


def _need_something(query: str, options: dict[str, Any]) -> None:
    wanted = ("image", "tags", "context_type", "after", "before")
    if not query.strip() and not any(options[name] for name in wanted):
        raise click.UsageError("Missing argument 'QUERY': words to find, or a filter such as --tags.")


@click.command("find", cls=Command)
@click.argument("query", required=False, default="")
@search_options
@click.pass_obj
def find_command(invocation: Invocation, /, query: str, **options: Any) -> None:
    """Find the passages that answer QUERY, best first.

    Without QUERY the newest that --tags, --context-type, --after or --before leave.
    """
    _need_something(query, options)
    with opened(invocation) as store:
        result = store.find(query, **_asked(**options))
    _show_hits(invocation, query, result)


@click.command("search", cls=Command)
@click.argument("query", required=False, default="")
@click.option("--session-id", metavar="ID", help="The conversation that the question belongs to.")
@click.option(
    "--mode", type=click.Choice(["list", "context"]), default="list", show_default=True,
    help="Hits, or one block of text for a prompt.",
)  # fmt: skip
@click.option("--search-type", type=click.Choice(["semantic", "keywords"]), help="keywords: by words alone.")
@click.option("--dedup/--no-dedup", default=None, help="List: the hits of several queries as one list, each once.")
@click.option("--rerank/--no-rerank", default=None, help="List: with the rerank model, or without.")
@search_options
@context_options
@click.pass_obj
def search_command(invocation: Invocation, /, query: str, mode: str, **options: Any) -> None:
    """Find with a conversation in mind, or gather context.

    --mode context writes one block of text for a prompt, ready to be piped; what it took goes to standard error.
    """
    _need_something(query, options)
    context = taken_out(options)
    if mode == "list":
        refuse(context, "context")
        with opened(invocation) as store:
            result = store.search(query, **_asked(**options))
        _show_hits(invocation, query, result)
        return
    refuse({name: options.pop(name) for name in LIST_ONLY}, "list")
    if options.pop("level") is not None and not invocation.json:
        Output(invocation).remark("without effect here: level")
    if _limit_is_default():
        options["limit"] = None
    context_command(invocation, query, _narrowed(**options), context)


def _limit_is_default() -> bool:
    """Whether nobody said how many hits; then the store's own quotas hold."""
    return click.get_current_context().get_parameter_source("limit") is not click.core.ParameterSource.COMMANDLINE


def _show_hits(invocation: Invocation, query: str, result: Any) -> None:
    from openviking.cli.views.hits import draw_hits

    Output(invocation).result(result, lambda screen: draw_hits(screen, query, result))


@click.command("grep", cls=Command)
@click.argument("pattern")
@click.option("-u", "--uri", default=SCHEME, show_default=True, metavar="URI", help="Where to look.")
@click.option("-x", "--exclude-uri", metavar="URI", help="A place to leave out.")
@click.option("-i", "--ignore-case", is_flag=True, help="Letters match in either case.")
@click.option("-n", "--node-limit", "--limit", "limit", type=int, default=256, show_default=True, help="Most lines.")
@click.option("-L", "--level-limit", type=int, default=10, show_default=True, help="Greatest depth of a file.")
@click.option("-b", "--before-context", type=int, default=0, metavar="N", help="Lines to show before each match.")
@click.option("-a", "--after-context", type=int, default=0, metavar="N", help="Lines to show after each match.")
@click.option("--tags", metavar="K=V,...", help=TAGS_HELP)
@click.option("-f", "--fields", type=click.Choice(["tags"]), help="Show each file's tags as well.")
@click.pass_obj
def grep_command(
    invocation: Invocation,
    pattern: str,
    uri: str,
    exclude_uri: str | None,
    ignore_case: bool,
    limit: int,
    level_limit: int,
    before_context: int,
    after_context: int,
    tags: str | None,
    fields: str | None,
) -> None:
    """Show the lines that match PATTERN, a regular expression."""
    with opened(invocation) as store:
        result = store.grep(
            uri, pattern, case_insensitive=ignore_case, exclude_uri=exclude_uri, node_limit=limit,
            level_limit=level_limit, before_context=before_context, after_context=after_context,
            tags=comma_list(tags), include_tags=fields is not None,
        )  # fmt: skip
    from openviking.cli.views.matches import draw_grep

    output = Output(invocation)
    output.result(result, lambda screen: draw_grep(screen, result, pattern, ignore_case=ignore_case))
    if result.truncated:
        output.cut(result.count, result.total)


def glob_fields(_context: click.Context, _option: click.Parameter, value: str | None) -> list[str]:
    """The names of ``-f``; an unknown one is refused, because a missing column would go unnoticed."""
    names = comma_list(value) or []
    unknown = [name for name in names if name not in GLOB_FIELDS]
    if unknown:
        raise click.BadParameter(f"{', '.join(map(repr, unknown))}: there is only {', '.join(GLOB_FIELDS)}.")
    return names


@click.command("glob", cls=Command)
@click.argument("pattern")
@click.option("-u", "--uri", default=SCHEME, show_default=True, metavar="URI", help="Where to look.")
@click.option(
    "-n", "--node-limit", "--limit", "limit", type=int, default=256, show_default=True, help="Most matches; 0: all."
)
@click.option("-f", "--fields", callback=glob_fields, metavar="A,B", help=f"Columns: {', '.join(GLOB_FIELDS)}.")
@click.option("-s", "--simple", is_flag=True, help="Bare lines for scripts: fields joined by commas, no header.")
@click.option("--tags", metavar="K=V,...", help=TAGS_HELP)
@click.pass_obj
def glob_command(
    invocation: Invocation, pattern: str, uri: str, limit: int, fields: list[str], simple: bool, tags: str | None
) -> None:
    """List files and directories by PATTERN (*, **, ?, [ab]).

    The pattern is about the whole path below --uri.
    """
    extra = [name for name in fields if name != "tags"]
    with opened(invocation) as store:
        result = store.glob(
            pattern,
            uri,
            node_limit=limit,
            extra_fields=extra or None,
            tags=comma_list(tags),
            include_tags="tags" in fields,
        )
    from openviking.cli.views.matches import draw_glob

    output = Output(invocation)
    output.result(result, lambda screen: draw_glob(screen, result, fields, simple=simple))
    if result.truncated:
        output.cut(result.count, result.total)
