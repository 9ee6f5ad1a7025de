"""The ``ov`` command: reads the arguments, runs one command, and turns whatever happens into an exit status.

0 success, 1 the command failed, 2 the call was wrong, 130 interrupted (contract/core.md §6.2).
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from openviking.cli.options import Invocation


FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a system says where there is no room for what is written."""


def run() -> None:
    """Run the command that the arguments of this process name, and exit with its status."""
    raise SystemExit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` name; the exit status."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed: nobody wants to read it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to die
    try:
        status = _version() if list(arguments) == ["--version"] else _call(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _forget_output()
        return 0
    except OSError as error:
        _forget_output()
        print(f"error: cannot write the result: {error.strerror or error}", file=sys.stderr)
        return 1
    return status


def _version() -> int:
    """Without click, which takes longer to import than all the rest."""
    from openviking import __version__

    print(f"openviking {__version__}")
    return 0


def _call(arguments: Sequence[str]) -> int:
    import click

    from openviking.cli import failures
    from openviking.cli.options import Invocation
    from openviking.cli.program import complete, completion_instruction, program
    from openviking.errors import OpenVikingError

    if instruction := completion_instruction():
        return complete(instruction)
    if not arguments:
        print(program.get_help(click.Context(program, info_name="ov", **program.context_settings)), file=sys.stderr)
        return failures.EXIT_USAGE
    invocation = Invocation(default_output=_default_output)
    try:
        with program.make_context("ov", list(arguments), obj=invocation) as context:
            program.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        if invocation.output is None and _wants_json(arguments):
            invocation.output = "json"
        from openviking.cli.connection import ConfigurationError

        wrong = isinstance(error, ConfigurationError)
        code = "FAILED_PRECONDITION" if wrong else "INVALID_ARGUMENT"
        failures.report(invocation, code, error.format_message(), hints=[] if wrong else _usage(error))
        return failures.EXIT_USAGE
    except click.Abort:
        failures.interrupted(invocation)
        return failures.EXIT_INTERRUPTED
    except OpenVikingError as error:
        hints = failures.suggestions(invocation, error.code, error.details)
        failures.report(invocation, error.code, error.message, error.details, hints)
        return failures.EXIT_FAILURE
    except KeyboardInterrupt:
        failures.interrupted(invocation)
        return failures.EXIT_INTERRUPTED
    except UnicodeEncodeError:
        failures.report(invocation, "INVALID_ARGUMENT", "An argument has bytes that are no text in UTF-8.")
        return failures.EXIT_USAGE
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno not in FULL:
            return _failed(invocation, error)
        _forget_output()
        failures.report(invocation, "RESOURCE_EXHAUSTED", f"cannot write the result: {error.strerror}")
        return failures.EXIT_FAILURE
    except Exception as error:  # noqa: BLE001 - the edge: a fault must not show as a traceback
        return _failed(invocation, error)
    return 0


def _failed(invocation: Invocation, error: Exception) -> int:
    """Say that something went wrong which nobody foresaw."""
    import traceback

    from openviking.cli import failures

    if invocation.verbose:
        traceback.print_exception(error)
    told = f"{type(error).__name__}: {error}"
    if invocation.asked:
        # Nothing of it was checked but that it is an answer.
        told = f"What {invocation.asked} answered is not what is right there ({told})"
    failures.report(invocation, "INTERNAL", told, hints=["-v shows where it happened"])
    return failures.EXIT_FAILURE


def _default_output(invocation: Invocation) -> str:
    """What ``ovcli.conf`` says, read only when it is needed."""
    from openviking.cli.connection import configured_output

    return configured_output(invocation)


def _usage(error: click.ClickException) -> list[str]:
    context = getattr(error, "ctx", None)
    if context is None:
        return []
    return [context.get_usage(), f"Try '{context.command_path} --help'."]


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether a call that could not be read asks for JSON all the same."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    return any(
        one in {"-ojson", "--output=json"} or (one in {"-o", "--output"} and two == "json") for one, two in pairs
    )


def _forget_output() -> None:
    """Point standard output nowhere, so that the interpreter does not fail on it once more when it ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return
