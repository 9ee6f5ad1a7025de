"""Questions to whoever sits at the terminal."""

from __future__ import annotations

import sys

import click


def confirm(yes: bool, question: str) -> None:
    """Ask, unless ``yes``. Raises `click.Abort` for a no, `click.UsageError` where nobody can answer."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Nobody can answer here; --yes says so.")
    if not click.confirm(question, err=True):
        raise click.Abort
