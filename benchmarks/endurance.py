"""Mixed load on a real server that is killed again and again: is everything there that it acknowledged?

    python benchmarks/endurance.py [--minutes 10] [--every 60] [--users 4] [--model] [--seed 1]

Users of two accounts write, append, batch-write, import, move, remove, find, grep, list, and talk in sessions, with keys. Every ``--every``
seconds the process is ended with SIGKILL and started anew. After each start and at the end: every acknowledged write has exactly its bytes and is
found by its own word, what was removed is gone, every acknowledged message is in exactly one place, all tasks end, and the index is as the
files are. Exit status 1 for anything that is lost.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

# One of the neighbours has the name of a package of the standard library.
sys.path[0:1] = [str(Path(__file__).resolve().parents[1] / "src")]
sys.path.append(str(Path(__file__).resolve().parent))

from ledger import ABSENT, Ledger, Tally
from server_process import Connection, ServerProcess

ROOT_KEY = "the-root-key-of-this-run"
PATIENCE_S = 120.0
SAMPLE = 400
"""Files of a user that are checked after a restart; at the end all are."""

DIRECTORIES = 12
FILLING = " ".join(f"filler{n}" for n in range(40))


class RefusedError(Exception):
    """An answer that is no success."""


class User:
    """One user of the server: what it does, and what it was promised."""

    def __init__(self, name: str, key: str, tally: Tally, seed: int) -> None:
        self.name, self.key, self.tally = name, key, tally
        self.ledger = Ledger()
        self.chance = random.Random(f"{seed}{name}")
        self.home = f"viking://resources/{name}"
        self.connection = Connection(0)

    def connect(self, port: int) -> None:
        """Talk to the server at ``port`` from now on."""
        self.connection.close()
        self.connection = Connection(port, {"X-API-Key": self.key})

    async def ask(self, method: str, path: str, body: Any = None, **kind: str) -> Any:
        """The result of a call; raises `RefusedError` and `ConnectionError`."""
        status, answer = await self.connection.ask(method, f"/api/v1/{path}", body, **kind)
        told = json.loads(answer)
        if status >= 400:
            raise RefusedError(
                f"{method} {path[:80]} {status} {told['error']['code']}: {told['error']['message'][:200]}"
            )
        return told.get("result")

    def new(self) -> tuple[str, str]:
        """A URI that was never used, and a word that is nowhere else."""
        number = f"{self.chance.getrandbits(56):014x}"
        return f"{self.home}/d{self.chance.randrange(DIRECTORIES)}/f{number}.md", self.word()

    def word(self) -> str:
        """A word that is nowhere else: of letters alone, as digits would make it several, some of them in other words."""
        return "zq" + "".join(self.chance.choices("bcdfghjklmnpqrtvwxz", k=14))

    def text(self, word: str) -> str:
        """The content of a file: its own word among others."""
        return f"# Note\n\n{word} {FILLING[: self.chance.randrange(20, 300)]}\n"

    async def work(self, until: asyncio.Event) -> None:
        """One thing after the other until told, or until the server goes away."""
        things = [
            self.write, self.write, self.replace, self.append, self.batch, self.bring, self.find, self.find, self.grep,
            self.ls, self.move, self.remove, self.talk, self.talk, self.commit,
        ]  # fmt: skip
        while not until.is_set():
            thing = self.chance.choice(things)
            try:
                await thing()
            except ConnectionError:
                self.tally.cut[thing.__name__] += 1
                return
            except RefusedError as refusal:
                self.tally.refused[thing.__name__] += 1
                if " 503 " not in str(refusal) and " 429 " not in str(refusal):
                    self.tally.lost.append(f"{self.name}: refused: {refusal}")
            else:
                self.tally.done[thing.__name__] += 1

    async def change(self, call: tuple[str, str, Any], files: dict[str, str | None]) -> None:
        """A call after which ``files`` have these contents, if it is carried out."""
        try:
            await self.ask(*call)
        except ConnectionError:
            for uri, content in files.items():
                self.ledger.unsure(uri, content)
            raise
        for uri, content in files.items():
            self.ledger.sure(uri, content)

    async def write(self) -> None:
        uri, word = self.new()
        self.ledger.words[uri] = word
        text = self.text(word)
        await self.change(("POST", "content/write", {"uri": uri, "content": text, "mode": "create"}), {uri: text})

    async def replace(self) -> None:
        uri = self.ledger.known(self.chance)
        if uri is None:
            return
        text = self.text(self.ledger.words[uri]) + "replaced\n"
        await self.change(("POST", "content/write", {"uri": uri, "content": text, "mode": "replace"}), {uri: text})

    async def append(self) -> None:
        uri = self.ledger.known(self.chance)
        if uri is None:
            return
        more = f"\nmore {self.chance.getrandbits(40):x}\n"
        body = {"uri": uri, "content": more, "mode": "append"}
        await self.change(("POST", "content/write", body), {uri: f"{self.ledger.content(uri)}{more}"})

    async def batch(self) -> None:
        files, operations = {}, []
        for _ in range(self.chance.randrange(2, 6)):
            uri, word = self.new()
            self.ledger.words[uri] = word
            files[uri] = self.text(word)
            operations.append({"uri": uri, "content": files[uri], "mode": "create"})
        body = {"root_uri": self.home, "operations": operations, "wait": False}
        await self.change(("POST", "content/batch-write", body), dict(files))

    async def bring(self) -> None:
        """Upload a zip of some files and import it."""
        number = f"{self.chance.getrandbits(56):014x}"
        root, files = f"{self.home}/import{number}", {}
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for n in range(self.chance.randrange(1, 12)):
                word = self.word()
                text = self.text(word)
                archive.writestr(f"n{n}.md", text)
                files[f"{root}/n{n}.md"] = text
                self.ledger.words[f"{root}/n{n}.md"] = word
        form = (
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="some.zip"\r\n'
            b"Content-Type: application/zip\r\n\r\n" + packed.getvalue() + b"\r\n--x--\r\n"
        )
        sent = await self.ask("POST", "resources/temp_upload", form, content_type="multipart/form-data; boundary=x")
        try:
            told = await self.ask("POST", "resources", {"temp_file_id": sent["temp_file_id"], "to": root})
        except ConnectionError:
            for uri, text in files.items():
                self.ledger.unsure(uri, text)
            raise
        self.ledger.tasks[told["task_id"]] = files
        for uri, text in files.items():
            self.ledger.unsure(uri, text)

    async def find(self) -> None:
        uri = self.ledger.known(self.chance)
        if uri is not None:
            await self.check_found(uri)

    async def check_found(self, uri: str) -> None:
        """A file is found by its own word."""
        body = {"query": self.ledger.words[uri], "target_uri": self.home, "limit": 3, "level": 2}
        hits = (await self.ask("POST", "search/find", body))["resources"]
        self.tally.checked["found by its own word"] += 1
        if uri not in [hit["uri"] for hit in hits]:
            shown = ", ".join(f"{hit['uri']} {hit['score']:.2f}" for hit in hits)
            self.tally.lost.append(f"{uri} is not found by {self.ledger.words[uri]}, but {shown}")

    async def grep(self) -> None:
        uri = self.ledger.known(self.chance)
        if uri is None:
            return
        word = self.ledger.words[uri]
        matches = (await self.ask("POST", "search/grep", {"uri": self.home, "pattern": word}))["matches"]
        self.tally.checked["found by grep"] += 1
        if [match["uri"] for match in matches] != [uri]:
            self.tally.lost.append(f"grep for {word} of {uri} gives {matches}")

    async def ls(self) -> None:
        uri = self.ledger.known(self.chance)
        if uri is None:
            return
        nodes = await self.ask("GET", f"fs/ls?uri={quote(uri.rpartition('/')[0])}&simple=true&node_limit=100000")
        self.tally.checked["listed"] += 1
        if uri not in nodes and uri.rpartition("/")[2] not in nodes:
            self.tally.lost.append(f"{uri} is not listed")

    async def move(self) -> None:
        uri = self.ledger.known(self.chance)
        if uri is None:
            return
        to, _ = self.new()
        text, word = self.ledger.content(uri), self.ledger.words[uri]
        self.ledger.words[to] = word
        await self.change(("POST", "fs/mv", {"from_uri": uri, "to_uri": to}), {uri: ABSENT, to: text})

    async def remove(self) -> None:
        if self.chance.random() < 0.5:
            return
        uri = self.ledger.known(self.chance)
        if uri is not None:
            await self.change(("DELETE", f"fs?uri={quote(uri)}", None), {uri: ABSENT})

    def session(self) -> str:
        """One of the user's sessions."""
        return f"{self.name}-s{self.chance.randrange(3)}"

    async def talk(self) -> None:
        """Messages with ids of their own; one whose answer never came is sent again later."""
        session = self.session()
        said = self.ledger.messages.setdefault(session, {})
        texts = [text for text, known in said.items() if not known]
        if not texts:
            texts = [f"said {self.chance.getrandbits(60):x}" for _ in range(self.chance.randrange(1, 5))]
            said |= dict.fromkeys(texts, False)
        messages = [{"role": "user", "content": text, "id": f"m-{text[5:]}"} for text in texts]
        await self.ask("POST", f"sessions/{session}/messages/batch", {"messages": messages})
        said |= dict.fromkeys(texts, True)

    async def commit(self) -> None:
        session = self.session()
        if self.ledger.messages.get(session):
            told = await self.ask("POST", f"sessions/{session}/commit", {"keep_recent_count": self.chance.randrange(3)})
            if told.get("task_id"):
                self.ledger.tasks[told["task_id"]] = {}

    async def check(self, some: int | None) -> None:
        """Hold the server to what it promised; ``some`` files of it, None: all."""
        await self.check_tasks()
        uris = list(self.ledger.files)
        for uri in uris if some is None or len(uris) <= some else self.chance.sample(uris, some):
            allowed = self.ledger.files[uri]
            try:
                text = await self.ask("GET", f"content/read?uri={quote(uri)}&raw=true")
            except RefusedError as refusal:
                if " 404 " not in str(refusal):
                    raise
                text = ABSENT
            self.tally.checked["read, or gone"] += 1
            if text not in allowed:
                self.tally.lost.append(f"{uri} has {text!r}, not {allowed!r}")
            self.ledger.files[uri] = {text}
            if text is not ABSENT:
                await self.check_found(uri)
        for session, said in self.ledger.messages.items():
            await self.check_session(session, said)
        audit = await self.audit()
        self.tally.checked["index compared with files"] += 1
        if not audit["ok"]:
            self.tally.lost.append(f"{self.name}: consistency: {json.dumps(audit)[:600]}")

    async def audit(self) -> dict[str, Any]:
        """The audit of everything that the user may see."""
        body: dict[str, Any] = {"uri": "viking://"}
        while True:
            audit: dict[str, Any] = await self.ask("POST", "system/consistency", body)
            if not audit.get("next_cursor"):
                return audit
            body["cursor"] = audit["next_cursor"]

    async def check_tasks(self) -> None:
        """All tasks end, and what they were to bring is there."""
        end = time.monotonic() + PATIENCE_S
        for task, files in list(self.ledger.tasks.items()):
            while True:
                status = (await self.ask("GET", f"tasks/{task}"))["status"]
                if status in {"completed", "failed", "cancelled"}:
                    break
                if time.monotonic() > end:
                    self.tally.lost.append(f"{self.name}: task {task} is {status} after {PATIENCE_S:g} s")
                    return
                await asyncio.sleep(0.02)
            del self.ledger.tasks[task]
            self.tally.checked["tasks that ended"] += 1
            if status != "completed":
                self.tally.lost.append(f"{self.name}: task {task} is {status}")
            for uri, text in files.items():
                self.ledger.sure(uri, text)

    async def check_session(self, session: str, said: dict[str, bool]) -> None:
        """Every message is in exactly one place."""
        try:
            context = await self.ask("GET", f"sessions/{session}/context?token_budget=100000000")
        except RefusedError as refusal:
            if " 404 " not in str(refusal):
                raise
            context = {"messages": []}
        places = [message["parts"][0]["text"] for message in context["messages"]]
        number = 0
        while True:
            number += 1
            try:
                archive = await self.ask("GET", f"sessions/{session}/archives/archive_{number:03d}")
            except RefusedError as refusal:
                if " 404 " not in str(refusal):
                    raise
                break
            places += [message["parts"][0]["text"] for message in archive["messages"]]
        for text, known in said.items():
            self.tally.checked["messages in one place"] += 1
            times = places.count(text)
            if times != 1 and (known or times):
                self.tally.lost.append(f"{session}: {text!r} is there {times} times")


async def settle(users: list[User], some: int | None) -> None:
    """Check all users, at once."""
    await asyncio.gather(*(user.check(some) for user in users))


async def register(server: ServerProcess, count: int, tally: Tally, seed: int) -> list[User]:
    """Users with keys, in two accounts."""
    root = User("root", ROOT_KEY, tally, seed)
    root.connect(server.port)
    users = []
    for number in range(count):
        account, name = f"acme{number % 2}", f"user{number}"
        if number < 2:
            made = await root.ask("POST", "admin/accounts", {"account_id": account, "admin_user_id": name})
        else:
            made = await root.ask("POST", f"admin/accounts/{account}/users", {"user_id": name, "role": "user"})
        users.append(User(name, made["user_key"], tally, seed))
    root.connection.close()
    return users


async def stretch(server: ServerProcess, users: list[User], seconds: float) -> None:
    """Work for ``seconds``, then kill the server in the midst of it."""
    until = asyncio.Event()
    workers = [asyncio.create_task(user.work(until)) for user in users]
    await asyncio.sleep(seconds)
    server.kill()
    until.set()
    await asyncio.gather(*workers)


def run(data: Path, *, minutes: float, every: float, users: int, model: bool, seed: int) -> Tally:
    """The whole of it; what was done and what was lost."""
    tally = Tally()
    embedding = {"dense": {"provider": "builtin" if model else "none"}}
    server = ServerProcess(data, embedding=embedding, server={"root_api_key": ROOT_KEY}).start()
    try:
        people = asyncio.run(register(server, users, tally, seed))
        asyncio.run(_homes(server, people))
        kills = max(1, round(minutes * 60 / every))
        for kill in range(1, kills + 1):
            asyncio.run(_stretch(server, people, every))
            server.start()
            tally.checked["kills and restarts"] += 1
            asyncio.run(_settle(server, people, SAMPLE if kill < kills else None))
            print(
                f"kill {kill}: {sum(tally.done.values()):,} calls acknowledged,"
                f" healthy again after {server.healthy_s:.2f} s, {len(tally.lost)} wrong", file=sys.stderr,
            )  # fmt: skip
    finally:
        server.stop()
    return tally


async def _homes(server: ServerProcess, users: list[User]) -> None:
    for user in users:
        user.connect(server.port)
        for number in range(DIRECTORIES):
            await user.ask("POST", "fs/mkdir", {"uri": f"{user.home}/d{number}"})
        user.connection.close()


async def _stretch(server: ServerProcess, users: list[User], seconds: float) -> None:
    for user in users:
        user.connect(server.port)
    await stretch(server, users, seconds)


async def _settle(server: ServerProcess, users: list[User], some: int | None) -> None:
    for user in users:
        user.connect(server.port)
    await settle(users, some)
    for user in users:
        user.connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="of load; checks come on top")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between kills")
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--model", action="store_true", help="with the built-in embedding model")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        tally = run(
            Path(place, "data"), minutes=given.minutes, every=given.every, users=given.users, model=given.model,
            seed=given.seed,
        )  # fmt: skip
    print("\n".join(tally.rows()))
    for one in tally.lost[:50]:
        print(f"LOST: {one}")
    return 1 if tally.lost else 0


if __name__ == "__main__":
    sys.exit(main())
