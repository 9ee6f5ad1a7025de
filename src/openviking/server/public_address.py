"""The address at which a caller reaches this server, for links in answers (contract/core.md §4.1)."""

from __future__ import annotations

import os
import re
from typing import Final

from starlette.types import Scope

from openviking.config.settings import ServerSettings

VARIABLE: Final = "OPENVIKING_PUBLIC_BASE_URL"
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


def base_of(scope: Scope, settings: ServerSettings) -> str:
    """Scheme, host and port without a final slash: as configured, else as a proxy says, else as the caller spelled it."""
    configured = os.environ.get(VARIABLE) or settings.public_base_url
    if configured:
        return configured.rstrip("/")
    forwarded = _first(scope, b"x-forwarded-host")
    if _HOST.fullmatch(forwarded):
        scheme = _first(scope, b"x-forwarded-proto").lower()
        return f"{scheme if scheme in {'http', 'https'} else 'https'}://{forwarded}"
    host = _first(scope, b"host")
    if _HOST.fullmatch(host):
        return f"http://{host}"
    name, port = scope.get("server") or (settings.host, settings.port)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def _first(scope: Scope, name: bytes) -> str:
    found = next((value for key, value in scope["headers"] if key == name), b"")
    return str(found.decode("latin-1")).partition(",")[0].strip()
