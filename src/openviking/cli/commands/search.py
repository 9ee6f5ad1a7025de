"""find, grep and glob."""

from __future__ import annotations

import click

from openviking.cli.door import opened
from openviking.cli.options import Command, Invocation, comma_list
from openviking.cli.output import Output
from openviking.uri import SCHEME

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


@click.command("find", cls=Command)
@click.argument("query", required=False, default="")
@click.option("-u", "--uri", multiple=True, metavar="URI", help="Only at and below this place; may be repeated.")
@click.option("-n", "--node-limit", "--limit", "limit", type=int, default=10, show_default=True, help="Most hits.")
@click.option("-t", "--threshold", type=float, help="Only scores above this (0 to 1).")
@click.option("-L", "--level", callback=levels, metavar="0,1,2", help="Abstracts (0), overviews (1), files (2).")
@click.option("--context-type", metavar="A,B", help="memory, resource, skill.")
@click.option("--tags", metavar="K=V,...", help=TAGS_HELP)
@click.option("--after", metavar="TIME", help="Not older than: 2h, 7d, a date or an ISO time.")
@click.option("--before", metavar="TIME", help="Not newer than.")
@click.option("--time-field", type=click.Choice(["updated_at", "created_at"]), help="The time that is meant.")
@click.option("--read-content", is_flag=True, help="Each hit with its whole text.")
@click.option("--explain", is_flag=True, help="What each score is made of.")
@click.pass_obj
def find_command(
    invocation: Invocation,
    query: str,
    uri: tuple[str, ...],
    limit: int,
    threshold: float | None,
    level: list[int] | None,
    context_type: str | None,
    tags: str | None,
    after: str | None,
    before: str | None,
    time_field: str | None,
    read_content: bool,
    explain: bool,
) -> None:
    """Find the passages that answer QUERY, best first.

    Without QUERY the newest that --tags, --context-type, --after or --before leave.
    """
    if not query.strip() and not any((tags, context_type, after, before)):
        raise click.UsageError("Missing argument 'QUERY': words to find, or a filter such as --tags.")
    with opened(invocation) as store:
        result = store.find(
            query, uri[0] if len(uri) == 1 else list(uri) or "", limit=limit, score_threshold=threshold, level=level,
            context_type=comma_list(context_type), tags=comma_list(tags), since=after, until=before,
            time_field=time_field, read_content=read_content, explain=explain,
        )  # fmt: skip
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
