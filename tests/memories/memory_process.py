"""A process of its own that states facts and commits until it is killed: ``said N`` follows fact N, ``kept N`` its commit."""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

from openviking.model.identity import Identity
from openviking.service.accounts import Accounts
from openviking.service.sessions import Sessions, session_steps
from openviking.service.worker import Worker


def main(place: str, first: str) -> None:
    accounts = Accounts(Path(place))
    worker = Worker(accounts.open_stores, session_steps(), 1, 0.2)
    sessions = Sessions(accounts, worker)
    alice = Identity("acme", "alice", "user")
    for number in count(int(first)):
        told = (f"My favourite color{number} is blue{number}", f"I prefer tea from garden{number}")
        messages = [{"role": "user", "content": text, "id": f"m{number}-{place}"} for place, text in enumerate(told)]
        sessions.add(alice, "talk", messages)
        os.write(1, f"said {number}\n".encode())
        sessions.commit(alice, "talk")
        os.write(1, f"kept {number}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
