"""A process of its own that talks and commits until it is killed: a line for each call that has come to its end.

``said N`` follows message N, ``kept`` each commit. It begins with message ``first``; every third call is a commit.
"""

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
        sessions.add(alice, "talk", [{"role": "user", "content": f"word{number}", "id": f"m{number}"}])
        os.write(1, f"said {number}\n".encode())
        if number % 3 == 2:
            sessions.commit(alice, "talk", keep_recent_count=number % 2)
            os.write(1, b"kept\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
