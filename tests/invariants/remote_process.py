"""A process of its own that carries out calls of `openviking.OpenViking` for a test: a JSON line in, a JSON line out.

``["write", [argument…], {keyword: value…}]`` is answered by ``{"ok": result}`` or ``{"error": code}``. An argument
``{"repeat": [text, times]}`` stands for a long text. The first line out says that the store is open.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from openviking import OpenViking
from openviking.errors import OpenVikingError


def unfolded(value: Any) -> Any:
    if isinstance(value, dict) and "repeat" in value:
        text, times = value["repeat"]
        return text * times
    return value


def say(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def main(place: str, workers: str) -> None:
    with OpenViking(place, workers=int(workers)) as ov:
        say({"ok": "open"})
        for line in sys.stdin:
            name, args, kwargs = json.loads(line)
            try:
                result = getattr(ov, name)(*map(unfolded, args), **kwargs)
            except OpenVikingError as error:
                say({"error": error.code})
            else:
                say({"ok": result.to_dict() if hasattr(result, "to_dict") else result})


if __name__ == "__main__":
    main(*sys.argv[1:])
