"""Many sessions in which messages and commits cross, on a real server that is killed at random: where is each message?

    python benchmarks/commit_storm.py [--minutes 5] [--every 15] [--sessions 50] [--clients 24] [--seed 1]

Clients of two users talk in all sessions at once, alone and in batches, send again what was acknowledged, redact, and
commit, keeping nothing, some messages or some turns. After at most twice ``--every`` seconds the process is ended with SIGKILL and
started anew. After each start and at the end: every acknowledged message is in exactly one place, live or in one
archive, none twice, none that was redacted; those that were sent together are together or parted by a commit, in order;
the counters add up; every commit's task ends; and each archive that is done has one memory of its event. Exit status 1 for anything that is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

# One of the neighbours has the name of a package of the standard library.
sys.path[0:1] = [str(Path(__file__).resolve().parents[1] / "src")]
sys.path.append(str(Path(__file__).resolve().parent))

from endurance import ROOT_KEY, RefusedError
from ledger import Tally
from server_process import Connection, ServerProcess

PATIENCE_S = 120.0
READERS = 8
"""Sessions that are checked at once."""

WORDS = ("I prefer tea with milk.", "We decided to ship on Friday.", "The deploy failed at 10.42.7.9 again.", "Thanks!",
         "Remember that the door code changes in May.", "What did the parrot say?", "好的，我们明天再谈。")  # fmt: skip


@dataclass(slots=True)
class Talk:
    """One session and what its users were promised of it: of each message by id whether it was acknowledged."""

    name: str
    key: str
    said: dict[str, bool] = field(default_factory=dict)
    redacted: dict[str, bool] = field(default_factory=dict)
    together: list[list[str]] = field(default_factory=list)
    tasks: set[str] = field(default_factory=set)


class Client:
    """A connection that does one thing after the other in sessions of its user."""

    def __init__(self, talks: list[Talk], tally: Tally, seed: str) -> None:
        self.talks, self.tally, self.chance = talks, tally, random.Random(seed)
        self.connection = Connection(0)
        self.number = 0

    def connect(self, port: int) -> None:
        """Talk to the server at ``port`` from now on."""
        self.connection.close()
        self.connection = Connection(port, {"X-API-Key": self.talks[0].key})

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The result of a call; raises `RefusedError` and `ConnectionError`."""
        status, answer = await self.connection.ask(method, f"/api/v1/{path}", body)
        told = json.loads(answer)
        if status >= 400:
            raise RefusedError(
                f"{method} {path[:80]} {status} {told['error']['code']}: {told['error']['message'][:200]}",
                told["error"]["code"],
            )
        return told.get("result")

    async def work(self, until: asyncio.Event) -> None:
        """Until told, or until the server goes away."""
        things = [self.say] * 8 + [self.commit] * 4 + [self.repeat, self.redact, self.look]
        while not until.is_set():
            thing = self.chance.choice(things)
            try:
                await thing(self.chance.choice(self.talks))
            except ConnectionError:
                self.tally.cut[thing.__name__] += 1
                return
            except RefusedError as refusal:
                self.tally.refused[f"{thing.__name__}: {refusal.args[1]}"] += 1
                if refusal.args[1] not in {"UNAVAILABLE", "RESOURCE_EXHAUSTED", "CONFLICT"}:
                    self.tally.lost.append(f"refused: {refusal.args[0]}")
            else:
                self.tally.done[thing.__name__] += 1

    async def say(self, talk: Talk) -> None:
        ids = [f"m-{self.chance.getrandbits(60):x}" for _ in range(self.chance.choice((1, 1, 2, 5)))]
        talk.said |= dict.fromkeys(ids, False)
        messages = [self.message(one) for one in ids]
        if len(ids) == 1:
            await self.ask("POST", f"sessions/{talk.name}/messages", messages[0])
        else:
            await self.ask("POST", f"sessions/{talk.name}/messages/batch", {"messages": messages})
            talk.together.append(ids)
        talk.said |= dict.fromkeys(ids, True)

    def message(self, number: str) -> dict[str, Any]:
        """Its text has its id, so that it is known wherever it is."""
        role = self.chance.choice(("user", "assistant"))
        return {"id": number, "role": role, "content": f"{self.chance.choice(WORDS)} {number}"}

    async def repeat(self, talk: Talk) -> None:
        known = [one for one, acknowledged in talk.said.items() if acknowledged]
        if known:
            one = self.chance.choice(known)
            await self.ask(
                "POST", f"sessions/{talk.name}/messages", {"id": one, "role": "user", "content": f"twice {one}"}
            )

    async def redact(self, talk: Talk) -> None:
        known = [one for one, acknowledged in talk.said.items() if acknowledged and one not in talk.redacted]
        if known and self.chance.random() < 0.3:
            one = self.chance.choice(known)
            talk.redacted[one] = False
            await self.ask("DELETE", f"sessions/{talk.name}/messages/{one}")
            talk.redacted[one] = True

    async def look(self, talk: Talk) -> None:
        await self.ask("GET", f"sessions/{talk.name}/context?token_budget=2000")

    async def commit(self, talk: Talk) -> None:
        how: dict[str, Any] = self.chance.choice(
            ({}, {"keep_recent_count": 3}, {"retention_mode": "turn_budget", "keep_recent_turn_count": 1})
        )
        told = await self.ask("POST", f"sessions/{talk.name}/commit", how)
        if told["task_id"]:
            talk.tasks.add(told["task_id"])

    async def check(self, talk: Talk) -> None:
        """Hold the server to what it promised of one session."""
        await self.check_tasks(talk)
        try:
            meta = await self.ask("GET", f"sessions/{talk.name}")
        except RefusedError as refusal:
            if refusal.args[1] != "NOT_FOUND":
                raise
            self.wrong(talk, "it is gone", any(talk.said.values()))
            return
        home = f"viking://~/sessions/{talk.name}"
        live = _ids(
            (await self.ask("GET", f"content/read?uri={quote(f'{home}/messages.jsonl')}&raw=true")).splitlines()
        )
        places = [live]
        for number in range(1, meta["commit_count"] + 1):
            told = await self.ask("GET", f"sessions/{talk.name}/archives/archive_{number:03d}")
            places.append([one["id"] for one in told["messages"]])
            self.tally.checked["archives read"] += 1
        found = Counter(one for place in places for one in place)
        for one, acknowledged in talk.said.items():
            self.tally.checked["messages in one place"] += 1
            gone = talk.redacted.get(one)
            if gone is True:
                self.wrong(talk, f"{one} was redacted and is there", found[one] > 0)
            elif gone is None:
                self.wrong(
                    talk, f"{one} is there {found[one]} times", found[one] != 1 and (acknowledged or found[one] > 0)
                )
            else:
                self.wrong(talk, f"{one} is there {found[one]} times", found[one] > 1)
        self.wrong(talk, "there is what nobody said", bool(set(found) - set(talk.said)))
        in_order = [one for place in [*places[1:], live] for one in place]
        at = {one: number for number, one in enumerate(in_order)}
        for ids in talk.together:
            order = [at[one] for one in ids if one in at]
            self.wrong(talk, f"{ids} are out of order", order != sorted(order))
        sums = (meta["message_count"], meta["total_message_count"])
        self.wrong(
            talk, f"it counts {sums}, and has {len(live)} of {len(in_order)}", sums != (len(live), len(in_order))
        )
        self.tally.checked["counters that add up"] += 1

    async def check_tasks(self, talk: Talk) -> None:
        """All commits come to their end."""
        end = time.monotonic() + PATIENCE_S
        for task in list(talk.tasks):
            while (told := await self.ask("GET", f"tasks/{task}"))["status"] not in {
                "completed",
                "failed",
                "cancelled",
            }:
                if time.monotonic() > end:
                    self.wrong(talk, f"its task {task} is {told['status']} after {PATIENCE_S:g} s", True)
                    return
                await asyncio.sleep(0.05)
            talk.tasks.discard(task)
            self.tally.checked["commits that ended"] += 1
            self.wrong(talk, f"its task {task} is {told['status']}: {told['error']}", told["status"] != "completed")

    async def check_events(self) -> None:
        """Each archive has one memory of its event."""
        # Of some nobody was told the task.
        await self.ask("POST", "system/wait", {"timeout": PATIENCE_S})
        made = Counter[str]()
        for uri in await self.events():
            text = await self.ask("GET", f"content/read?uri={quote(uri)}&raw=true")
            made[json.loads(text.rpartition("MEMORY_FIELDS")[2].strip().removesuffix("-->"))["archive_uri"]] += 1
        for talk in self.talks:
            try:
                meta = await self.ask("GET", f"sessions/{talk.name}")
            except RefusedError:
                continue
            for number in range(1, meta["commit_count"] + 1):
                archive = f"{meta['uri']}/history/archive_{number:03d}"
                told = await self.ask("GET", f"sessions/{talk.name}/archives/archive_{number:03d}")
                self.tally.checked["archives with one memory of their event"] += 1
                # Who redacted all of an archive's messages before it was finished left nothing to remember.
                wrong = made[archive] > 1 or (not made[archive] and bool(told["messages"]))
                self.wrong(talk, f"{archive} has {made[archive]} memories of its event", wrong)

    async def events(self) -> list[str]:
        """The files of events of the user."""
        try:
            told = await self.ask(
                "POST", "search/glob", {"pattern": "**/*.md", "uri": "viking://~/memories/events", "node_limit": 0}
            )
        except RefusedError as refusal:
            if refusal.args[1] != "NOT_FOUND":
                raise
            return []
        return [str(one) for one in told["matches"]]

    def wrong(self, talk: Talk, what: str, it_is: bool) -> None:
        """Note what is wrong."""
        if it_is:
            self.tally.lost.append(f"{talk.name}: {what}")


def _ids(lines: list[str]) -> list[str]:
    return [json.loads(line)["id"] for line in lines if line]


async def register(server: ServerProcess, sessions: int, tally: Tally) -> list[list[Talk]]:
    """The sessions of two users, of two accounts."""
    root = Connection(server.port, {"X-API-Key": ROOT_KEY})
    talks = []
    for number in range(2):
        body = {"account_id": f"acme{number}", "admin_user_id": f"user{number}"}
        status, answer = await root.ask("POST", "/api/v1/admin/accounts", body)
        if status != 200:
            raise RuntimeError(answer.decode())
        key = json.loads(answer)["result"]["user_key"]
        talks.append([Talk(f"storm-{one}", key) for one in range(number, sessions, 2)])
        client = Client(talks[-1], tally, "")
        client.connect(server.port)
        for talk in talks[-1]:
            await client.ask("POST", "sessions", {"session_id": talk.name})
        client.connection.close()
    root.close()
    return talks


async def storm(server: ServerProcess, clients: list[Client], seconds: float) -> None:
    """Work for ``seconds``, then kill the server in the midst of it."""
    until = asyncio.Event()
    for client in clients:
        client.connect(server.port)
    workers = [asyncio.create_task(client.work(until)) for client in clients]
    await asyncio.sleep(seconds)
    server.kill()
    until.set()
    await asyncio.gather(*workers)
    for client in clients:
        client.connection.close()


async def settle(server: ServerProcess, talks: list[list[Talk]], tally: Tally, *, events: bool) -> None:
    """Check every session."""

    async def some(of: list[Talk], part: int) -> None:
        client = Client(of, tally, "")
        client.connect(server.port)
        for talk in of[part :: READERS // 2]:
            await client.check(talk)
        if events and part == 0:
            await client.check_events()
        client.connection.close()

    for of in talks:
        await asyncio.gather(*(some(of, part) for part in range(READERS // 2)))


def run(data: Path, *, minutes: float, every: float, sessions: int, clients: int, seed: int) -> Tally:
    """The whole of it; what was done and what was wrong."""
    tally, chance = Tally(), random.Random(seed)
    server = ServerProcess(data, embedding={"dense": {"provider": "none"}}, server={"root_api_key": ROOT_KEY}).start()
    try:
        talks = asyncio.run(register(server, sessions, tally))
        people = [Client(talks[number % 2], tally, f"{seed}-{number}") for number in range(clients)]
        left, kill = minutes * 60, 0
        while left > 0:
            seconds = min(chance.uniform(0.2 * every, 2 * every), left + 0.1)
            left -= seconds
            kill += 1
            asyncio.run(storm(server, people, seconds))
            server.start()
            tally.checked["kills and restarts"] += 1
            asyncio.run(settle(server, talks, tally, events=left <= 0))
            print(
                f"kill {kill}: {sum(tally.done.values()):,} calls acknowledged,"
                f" healthy again after {server.healthy_s:.2f} s, {len(tally.lost)} wrong", file=sys.stderr,
            )  # fmt: skip
    finally:
        server.stop()
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="of load; checks come on top")
    parser.add_argument("--every", type=float, default=15.0, help="seconds between kills, on average")
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        tally = run(
            Path(place, "data"), minutes=given.minutes, every=given.every, sessions=given.sessions,
            clients=given.clients, seed=given.seed,
        )  # fmt: skip
    print("\n".join(tally.rows()))
    for one in tally.lost[:50]:
        print(f"LOST: {one}")
    return 1 if tally.lost else 0


if __name__ == "__main__":
    sys.exit(main())
