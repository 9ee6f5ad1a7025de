"""language: accepted, because scripts call it before anything else; there is only one."""

from __future__ import annotations

import click

from openviking.cli.options import Command, Invocation
from openviking.cli.output import Output


def _language(name: str) -> click.Command:
    @click.command(name, cls=Command)
    @click.argument("code", required=False, default="en")
    @click.pass_obj
    def language(invocation: Invocation, code: str) -> None:
        """Accept a language; this version speaks English."""
        if code != "en":
            raise click.UsageError(f"There is no language {code!r} here, only en.")
        Output(invocation).rows({"language": "en"})

    return language


language_command = _language("language")
lang_command = _language("lang")
