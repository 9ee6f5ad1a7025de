"""search --mode context: one block of text for a prompt, alone on standard output; what it took, beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from openviking.cli.door import opened
from openviking.cli.options import Invocation, comma_list
from openviking.cli.output import Output, wire
from openviking.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

TIERS: Final = ("abstract", "overview", "full")

LIST_ONLY: Final = ("uri", "read_content", "explain", "explain_missing", "strategy", "dedup", "rerank")
"""Options that mode context refuses: it chooses the places itself, and tells nothing of single hits."""


def _quotas(_context: click.Context, _option: click.Parameter, value: str | None) -> dict[str, int] | None:
    """``events=3,skills=1`` as numbers by category."""
    pairs = _pairs(value, "K=N,...")
    try:
        return None if pairs is None else {name: int(count) for name, count in pairs.items()}
    except ValueError:
        raise click.BadParameter(f"{value!r}: the number behind each = is a whole one.") from None


def _detail(_context: click.Context, _option: click.Parameter, value: str | None) -> str | dict[str, str] | None:
    """``full``, or ``events=full,skills=abstract``."""
    if value is None or "=" not in value:
        tiers = [] if value is None else [value]
        told: str | dict[str, str] | None = value
    else:
        told = _pairs(value, "K=TIER,...") or {}
        tiers = list(told.values())
    odd = [one for one in tiers if one not in (*TIERS, "auto")]
    if odd:
        raise click.BadParameter(f"{odd[0]!r} is none of auto, {', '.join(TIERS)}.")
    return told


def _penalty(_context: click.Context, _option: click.Parameter, value: str | None) -> float | dict[str, float] | None:
    """``0.1`` for all, or ``events=0.1,preferences=0``."""
    try:
        if value is None or "=" not in value:
            return None if value is None else float(value)
        return {name: float(one) for name, one in (_pairs(value, "K=S,...") or {}).items()}
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor K=S,... with numbers.") from None


def _pairs(value: str | None, shape: str) -> dict[str, str] | None:
    if value is None:
        return None
    pairs = [part.partition("=") for part in comma_list(value) or [""]]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise click.BadParameter(f"{value!r} is not {shape}.")
    return {name.strip(): one.strip() for name, _, one in pairs}


def context_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of mode context alone; each is None where it was not given, and the store's default holds."""
    for option in reversed(CONTEXT_OPTIONS):
        command = option(command)
    return command


CONTEXT_OPTIONS: Final = (
    click.option("--max-tokens", type=int, metavar="N", help="Context: most tokens of the block (default: 1600)."),
    click.option("--purpose", type=click.Choice(["chat", "coding"]), help="Context: what the block is for."),
    click.option(
        "--quotas", callback=_quotas, metavar="K=N,...",
        help="Context: entries of events, entities, preferences, experiences, resources, skills.",
    ),
    click.option(
        "--detail", callback=_detail, metavar="TIER|K=TIER,...", help="Context: auto, abstract, overview or full.",
    ),
    click.option("--dedup-turns", type=int, metavar="N", help="Context: not what the last N turns of the session got."),
    click.option("--exclude-uri", "exclude_uris", multiple=True, metavar="URI", help="Context: not this; may be repeated."),
    click.option("--peer-scope", type=click.Choice(["actor", "all"]), help="Context: memories of this peer, or of all."),
    click.option(
        "--other-peer-penalty", callback=_penalty, metavar="S|K=S,...", help="Context: what other peers' memories lose.",
    ),
    click.option("--rewrite", type=click.Choice(["off", "on", "auto"]), help="Context: have a model condense it."),
    click.option("--rewrite-max-bullets", type=int, metavar="N", help="Context: most points of that (default: 6)."),
    click.option("--query-expansion", type=click.Choice(["off", "auto"]), help="Context: ask with the session in mind."),
)  # fmt: skip

CONTEXT_ONLY: Final = (
    "max_tokens", "purpose", "quotas", "detail", "dedup_turns", "exclude_uris", "peer_scope", "other_peer_penalty",
    "rewrite", "rewrite_max_bullets", "query_expansion",
)  # fmt: skip
"""Those options by the names of their fields."""


def taken_out(options: dict[str, Any]) -> dict[str, Any]:
    """The options of mode context, taken out of ``options``."""
    context = {name: options.pop(name) for name in CONTEXT_ONLY}
    context["exclude_uris"] = list(context["exclude_uris"]) or None
    return context


def refuse(options: dict[str, Any], mode: str) -> None:
    """Raises `click.UsageError` for the first of ``options`` that was given: it belongs to ``mode``."""
    for name, value in options.items():
        if value not in (None, (), False):
            spelled = next(
                max(one.opts, key=len) for one in click.get_current_context().command.params if one.name == name
            )
            raise click.UsageError(f"{spelled} goes with --mode {mode} only.")


def context_command(invocation: Invocation, query: str, narrowed: dict[str, Any], context: dict[str, Any]) -> None:
    """Write the block for ``query`` alone to standard output, so that it can be piped into a prompt.

    ``narrowed`` are arguments as those of a find, ``context`` those of mode context alone. What it took, or why there
    is none, goes to standard error; in JSON all of it is the result.
    """
    if context["rewrite"] is not None:
        context["rewrite"] = {"off": False, "on": True, "auto": "auto"}[context["rewrite"]]
    with opened(invocation) as store:
        answer: dict[str, Any] = wire(store.search_context(query, **narrowed, **context))
    failed = (answer.get("stats") or {}).get("retrieval_errors")
    if failed and not answer.get("entries"):
        # An outage must not look like a store that knows nothing.
        told = "; ".join(map(str, failed))
        raise UnavailableError(f"Nothing was found, and searches failed: {told}", service="search", reason=told)
    output = Output(invocation)
    if invocation.json:
        output.result(answer, lambda _: None)
        return
    text = str(answer.get("digest") or answer.get("rendered") or "")
    if text:
        output.text(text, ended=True)
    _tell(output, answer)


def _tell(output: Output, answer: dict[str, Any]) -> None:
    """What the block took, and what it had to do without."""
    stats = answer.get("stats") or {}
    entries = answer.get("entries") or []
    if (stats.get("dedup") or {}).get("session_made"):
        output.remark("there was no such session: it is made, to know what it got", "warn")
    if entries:
        tiers = ", ".join(f"{count} {tier}" for tier, count in (stats.get("tier_counts") or {}).items() if count)
        used, most = stats.get("used_tokens"), stats.get("max_tokens")
        told = f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}"
        told += f" ({tiers})" if tiers else ""
        told += f", {used:,} of {most:,} tokens" if isinstance(used, int) and isinstance(most, int) else ""
        output.remark(told)
        for name, words in (
            ("dropped", "did not fit"),
            ("deduped", "said the same"),
            ("excluded", "left out as asked"),
        ):
            if stats.get(name):
                output.remark(f"{stats[name]} {words}")
    else:
        output.remark(f"no context: {stats.get('empty') or 'nothing relevant was found'}")
    degraded = [f"{one.get('stage')}: {one.get('reason')}" for one in stats.get("degraded") or ()]
    if not degraded and stats.get("rewrite") in {"failed", "timeout"}:
        degraded = [f"rewrite: {stats['rewrite']}; the block is as it was found"]
    for told in degraded:
        output.remark(told, "warn")
    for error in stats.get("retrieval_errors") or ():
        output.remark(str(error), "warn")
    if stats.get("ignored"):
        output.remark(f"without effect here: {', '.join(map(str, stats['ignored']))}", "warn")
