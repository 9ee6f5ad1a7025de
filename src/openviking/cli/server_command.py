"""The ``openviking-server`` command: says that this version has no HTTP server."""

from __future__ import annotations

import sys

MESSAGE = (
    "openviking-server: the HTTP server is not part of this version. "
    "Use the embedded API (from openviking import OpenViking) or `ov --path DIR …`."
)


def run() -> None:
    """Explain on standard error and exit with status 1."""
    print(MESSAGE, file=sys.stderr)
    raise SystemExit(1)
