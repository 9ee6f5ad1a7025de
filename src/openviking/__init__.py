"""OpenViking: a context database for AI agents.

Documents, code, skills and memories in one virtual filesystem that agents browse and search::

    from openviking import OpenViking

    with OpenViking(path="data") as ov:
        ov.add_resource("docs")
        for hit in ov.find("how do I roll back a release?"):
            print(hit.citation, hit.snippet)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openviking import errors as errors
    from openviking.errors import OpenVikingError as OpenVikingError
    from openviking.service.async_embedded import AsyncOpenViking as AsyncOpenViking
    from openviking.service.embedded import OpenViking as OpenViking

__version__ = "0.1.0"

_PLACES = {
    "OpenViking": "openviking.service.embedded",
    "AsyncOpenViking": "openviking.service.async_embedded",
    "OpenVikingError": "openviking.errors",
}

__all__ = ["AsyncOpenViking", "OpenViking", "OpenVikingError", "errors"]


def __getattr__(name: str) -> Any:
    # Importing the package alone stays cheap: the store and the parsers come with the first use.
    import importlib  # noqa: PLC0415

    if name == "errors":
        return importlib.import_module("openviking.errors")
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
