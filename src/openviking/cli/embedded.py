"""The embedded door: a data directory of this machine, opened in this process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from openviking.errors import UnimplementedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from openviking import OpenViking

_TAKES_ANY: Final = 0x08
"""The flag of a function's code that says it takes any keyword."""


class Embedded:
    """The methods of `OpenViking`; one that it does not have is an `UnimplementedError` that says so."""

    is_remote = False

    def __init__(self, store: OpenViking) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(self._call, name)

    def _call(self, method: str, /, *arguments: Any, **options: Any) -> Any:
        """What a method gives; options that are None say nothing."""
        found = getattr(self._store, method, None)
        if found is None:
            raise only_on_a_server(f"ov {method.replace('_', '-')}")
        code = found.__func__.__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        wanted = {name: value for name, value in options.items() if value is not None}
        for name in wanted:
            if name not in known and not code.co_flags & _TAKES_ANY:
                raise only_on_a_server(f"--{name.replace('_', '-')}")
        return found(*arguments, **wanted)


def only_on_a_server(what: str) -> UnimplementedError:
    """The error for what this door does not have."""
    return UnimplementedError(f"{what} needs a server: start openviking-server, and leave --path out", command=what)
