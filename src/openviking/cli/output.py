"""Where results go: JSON in its envelope, or a view on a screen; remarks about them go to standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from openviking.cli.screen import Screen, harmless, harmless_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openviking.cli.options import Invocation
    from openviking.errors import OpenVikingError


class Output:
    """The results of one command on standard output, remarks about them on standard error."""

    def __init__(self, invocation: Invocation) -> None:
        self.invocation = invocation
        self.screen = Screen(sys.stdout)
        self.remarks = Screen(sys.stderr)

    def result(self, value: Any, draw: Callable[[Screen], None], **beside: Any) -> None:
        """Write ``value`` as JSON, with ``beside`` next to it in the envelope, or let ``draw`` show it."""
        if not self.invocation.json:
            draw(self.screen)
            for line in self.invocation.profile_lines:
                self.remark(line)
        elif self.invocation.profile_lines:
            profile = {"status": "ok", "result": wire(value), "profile": self.invocation.profile_lines}
            self._write_json(profile, None if self.invocation.is_compact else 2)
        elif self.invocation.is_compact:
            known = {name: one for name, one in beside.items() if one is not None}
            self._write_json({"ok": True, "result": wire(value), **known}, indent=None)
        else:
            self._write_json(wire(value), indent=2)

    def rows(self, values: Any) -> None:
        """Write a mapping as JSON, or one line per key; of a list, a table or a line per element."""
        from openviking.cli.views.cells import records, rows

        if isinstance(values, dict):
            self.result(values, lambda screen: rows(screen, values))
        elif isinstance(values, list) and all(isinstance(one, dict) for one in values):
            self.result(values, lambda screen: records(screen, values))
        else:
            self.values(values)

    def table(self, values: Any, columns: Sequence[str], entries: list[Any] | None = None, **beside: Any) -> None:
        """Write a list as JSON, or a table of these columns; ``entries`` are the rows where ``values`` holds more, ``beside`` as in `result`."""
        from openviking.cli.views.cells import records

        shown = values if entries is None else entries
        self.result(values, lambda screen: records(screen, shown, columns), **beside)

    def done(self, error: OpenVikingError) -> None:
        """Write what a call did before the wait for what follows from it failed; in JSON the error says it."""
        if "done" in error.details and not self.invocation.json:
            self.rows(error.details["done"])

    def values(self, value: Any) -> None:
        """Write a value as JSON, or bare: a list one element a line."""
        from openviking.cli.views.cells import EMPTY, value_text

        parts = value if isinstance(value, list | tuple) else [value]

        def draw(screen: Screen) -> None:
            for part in parts or [EMPTY]:
                screen.line(value_text(part))

        self.result(value, draw)

    def text(self, text: str, *, ended: bool = False) -> None:
        """Write ``text`` as UTF-8 and nothing else; on a terminal made harmless and with an end of its last line.

        With ``ended`` it has that end everywhere: it is no file whose bytes count.
        """
        if ended and not self.invocation.json and not text.endswith("\n"):
            text += "\n"
        if self.invocation.json:
            self.result(text, lambda _: None)
        elif self.screen.is_watched:
            self.stream.write(harmless(text) + ("" if not text or text.endswith("\n") else "\n"))
        else:
            self.data(text.encode(errors="backslashreplace"))  # a server may send half of a surrogate pair

    def data(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.stream.flush()
        self.stream.buffer.write(data)
        self.stream.buffer.flush()

    @property
    def stream(self) -> Any:
        """Standard output."""
        return self.screen.stream

    def remark(self, text: str, style: str = "dim") -> None:
        """Say something about the result on standard error, where it is in nobody's way."""
        self.stream.flush()
        self.remarks.line((text, style))

    def cut(self, shown: int, total: int | None, *, offset: int | None = None) -> None:
        """Say that a list was cut; ``offset`` is where it began, None if the command cannot begin elsewhere.

        ``total`` is None where a server does not tell it.
        """
        dots = self.remarks.symbol("…", "...")
        way = "use -n" if offset is None else "use -n or --offset"
        begun = f" from {offset}" if offset else ""
        whole = f"of {total} shown" if total is not None else "shown, and there are more"
        self.remark(f"{dots} {shown} {whole}{begun}; {way}", "warn")

    def _write_json(self, value: Any, indent: int | None) -> None:
        write_json(self.screen, value, indent)


def write_json(screen: Screen, value: Any, indent: int | None) -> None:
    """Write JSON and a line end; ASCII only where the stream has no Unicode."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=not screen.is_unicode, indent=indent, separators=separators)
    screen.stream.write((harmless_json(text) if screen.is_watched else text) + "\n")


def wire(value: Any) -> Any:
    """``value`` in the form that goes over the wire."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [wire(one) for one in value]
    if isinstance(value, dict):
        return {key: wire(one) for key, one in value.items()}
    return value
