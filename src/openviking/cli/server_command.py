"""The ``openviking-server`` command: starts the server, writes a configuration, or says what is wrong with one.

0 stopped or all well, 1 could not start or something is wrong, 2 the call was wrong.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openviking.config.settings import Settings


def run() -> None:
    """Do what the arguments of this process say, and exit with its status."""
    raise SystemExit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Do what ``arguments`` say; the exit status."""
    from openviking.errors import OpenVikingError

    given = _parser().parse_args(arguments)
    if given.version:
        from openviking import __version__

        print(f"openviking-server {__version__}")
        return 0
    try:
        if given.command == "init":
            from openviking.cli.server_init import init

            return init(given.config, Path.home(), env=os.environ)
        if given.command == "doctor":
            from openviking.cli.server_doctor import doctor

            return doctor(given.config, given.host, given.port, Path.home(), env=os.environ)
        return _serve(settings_of(given.config, given.host, given.port))
    except OpenVikingError as error:
        print(f"openviking-server: {error.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def settings_of(config: str | None, host: str | None, port: int | None) -> Settings:
    """The settings of the configuration file, with what the flags say instead."""
    from openviking.config.file import load_settings

    settings = load_settings(config, env=os.environ, home=Path.home())
    server = settings.server
    server = replace(server, host=host or server.host, port=server.port if port is None else port)
    return replace(settings, server=server)


def _serve(settings: Settings) -> int:
    from openviking.server.main import rules_of, serve

    logging.basicConfig(
        level=os.environ.get("OPENVIKING_LOG_LEVEL", "WARNING").upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    mode = rules_of(settings).mode

    def listening(address: str) -> None:
        print(f"OpenViking listens on {address} ({mode} mode, data in {settings.path})", flush=True)

    serve(settings, listening)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="openviking-server",
        description="Serve OpenViking over HTTP; without anything on 127.0.0.1:1933, for this machine only.",
    )
    parser.add_argument("--version", action="store_true", help="say the version")
    _options(parser, None)
    parser.add_argument("--workers", type=_workers, default=1, help="1: one process serves all calls, with threads")
    commands = parser.add_subparsers(dest="command", metavar="{init,doctor}")
    for name, told in (
        ("init", "ask a few questions and write ov.conf"),
        ("doctor", "say what is wrong and what to do"),
    ):
        # What was said before the name of the command must not be lost.
        _options(commands.add_parser(name, help=told, description=told), argparse.SUPPRESS)
    return parser


def _options(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "--config", metavar="FILE", default=default,
        help="configuration (default: $OPENVIKING_CONFIG_FILE, else ~/.openviking/ov.conf, else /etc/openviking/ov.conf)",
    )  # fmt: skip
    parser.add_argument("--host", default=default, help='address to listen on, or "all" (default: 127.0.0.1)')
    parser.add_argument("--port", type=_port, default=default, help="port, 0 for any free one (default: 1933)")


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 0 to 65535")
    return int(text)


def _workers(text: str) -> int:
    if text != "1":
        raise argparse.ArgumentTypeError(
            f"{text!r} is not possible: one process serves all calls with threads (server.threads); leave it out"
        )
    return 1
