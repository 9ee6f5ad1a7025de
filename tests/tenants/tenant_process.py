"""A process of its own with accounts and users, that carries out calls for a test: a JSON line in, a JSON line out.

``["root" or a key, "admin.users", [argument…], {keyword: value…}]`` is answered by ``{"ok": result}`` or
``{"error": code}``. The first line out says that it is open and has made good what others left.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from openviking.errors import OpenVikingError
from openviking.model.identity import Identity
from openviking.service.content import Content
from openviking.service.fs import FileSystem
from openviking.service.tenancy import Tenancy


def say(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def main(place: str, workers: str) -> None:
    tenancy = Tenancy(Path(place), "api_key", workers=int(workers), interval=0.2)
    tenancy.recovery.run()
    tenancy.worker.wake()
    services = SimpleNamespace(
        admin=tenancy.admin,
        tasks=tenancy.tasks,
        content=Content(tenancy.accounts, tenancy.worker),
        fs=FileSystem(tenancy.accounts, tenancy.worker),
    )
    say({"ok": "open"})
    for line in sys.stdin:
        who, name, args, kwargs = json.loads(line)
        try:
            identity = Identity("default", "default", "root") if who == "root" else tenancy.keys.identify(who)
            service, _, method = name.partition(".")
            result = getattr(getattr(services, service), method)(identity, *args, **kwargs)
        except OpenVikingError as error:
            say({"error": error.code})
        else:
            say({"ok": result})
    tenancy.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
