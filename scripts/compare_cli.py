#!/usr/bin/env python3
"""Run the same commands with another `ov` program and with ours against one server, and print what is equal.

usage: compare_cli.py PROGRAM --url URL --root-key KEY [--ours PROGRAM] [--verbose]

Each program works in an account of its own, made for this and removed in the end. Compared are the exit code and the
JSON: of a success the result, of a failure the code and the message. What is never the same (ids, times, names of the
accounts) is left out. The status is 1 if there is a difference that `EXPLAINED` does not explain.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PROGRAM: Final = "import sys; sys.argv[0] = 'ov'; from openviking.cli.main import run; run()"
D: Final = "viking://resources/d"

CLIENT_CHECK: Final = "a wrong call: the other program ends with 1, ours with 2, and the words are its own"
LOCAL: Final = "about files of this machine: the form is each program's own"
ABSENT: Final = "neither has it; ours does not look at the arguments before it asks the server"
EXPLAINED: Final = {
    "version": "each says its own",
    "add-memory": "ours tells what was learned beside the result",
    "config validate": "ours gives JSON",
    "get": "ours gives JSON",
    "get onto a file": CLIENT_CHECK,
    "attrs get of no attribute": "ours is NOT_FOUND, the other INVALID_ARGUMENT",
    "find nothing": CLIENT_CHECK,
    "grep of the root": "ours searches it",
    "ls --offset": "ours also gives the total",
    "ls": "ours also gives the total",
    "ls --simple": "ours also gives the total",
    "ls -r": "ours also gives the total",
    "tree": "ours also gives the total",
    "add-resource of a folder": "ours does not send what is hidden or ignored, the other has the server leave it out",
    "add-resource of nothing": LOCAL,
    "add-memory of blanks": CLIENT_CHECK,
    "add-messages of no array": "ours refuses it, the other takes it for a text",
    "skills validate of nothing": LOCAL,
    "skills update without an answer": CLIENT_CHECK,
    "skills remove of nothing": CLIENT_CHECK,
    "snapshot commit": ABSENT,
    "privacy list": ABSENT,
    "admin list-groups": ABSENT,
}


@dataclass(frozen=True)
class Outcome:
    """What a call gave, without what is never the same."""

    status: int
    text: str


class Caller:
    """One program in an account of its own."""

    def __init__(self, command: list[str], url: str, root_key: str, account: str, home: Path) -> None:
        self.command, self.account, self.home = command, account, home
        made = post(f"{url}/api/v1/admin/accounts", root_key, {"account_id": account, "admin_user_id": "alice"})
        self.key = made["result"]["user_key"]
        conf = {"url": url, "api_key": self.key, "root_api_key": root_key, "output": "json", "echo_command": False}
        (home / "ovcli.conf").write_text(json.dumps(conf))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENVIKING_")}
        self.environment = {
            **kept, "HOME": str(home), "OPENVIKING_CLI_CONFIG_FILE": str(home / "ovcli.conf"), "NO_COLOR": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "sdk/src")]),
        }  # fmt: skip
        files(home)
        self.run("language", "en")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call the program."""
        return subprocess.run(
            [*self.command, *arguments], env=self.environment, cwd=self.home, capture_output=True, text=True, check=False,
            timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def outcome(self, *arguments: str) -> Outcome:
        """What a call gives."""
        gave = self.run(*arguments)
        return Outcome(gave.returncode, self._comparable(gave.stdout.strip() or gave.stderr.strip()))

    def _comparable(self, text: str) -> str:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        if isinstance(value, dict) and value.get("ok") is False:
            error = value["error"]
            value = {"code": error["code"], "message": error["message"], "details": error.get("details") or {}}
        plain = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
        for pattern, name in (
            (re.escape(self.account), "ACCOUNT"),
            (re.escape(str(self.home)), "HOME"),
            (re.escape(self.key), "KEY"),
            (r"\b[0-9a-f]{64}\b", "SECRET"),
            (r"\b[0-9a-f]{32}\b", "ID"),
            (r"msg_[0-9a-f]+", "MESSAGE"),
            (r"\d{8}-\d{6}-[0-9a-f]{16}", "SESSION"),
            (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
            (r'"(created_at|updated_at|duration_ms|seconds|mtime|score)": [0-9.]+', r'"\1": 0'),
            (r'"(user_key|api_key)": "[^"]+"', r'"\1": "KEY"'),
        ):
            plain = re.sub(pattern, name, plain)
        return plain


def files(home: Path) -> None:
    """What is added, the same for both."""
    (home / "guide.md").write_text("# Penguins\n\nPenguins live in Antarctica.\n\nThey eat krill and fish.\n")
    (home / "dir" / "sub").mkdir(parents=True)
    (home / "dir" / "x.md").write_text("# Xylophone\n\nmusic\n")
    (home / "dir" / "sub" / "y.txt").write_text("yodel\n")
    (home / "dir" / ".gitignore").write_text("*.log\n")
    (home / "dir" / "noise.log").write_text("noise\n")
    (home / "skill").mkdir()
    (home / "skill" / "SKILL.md").write_text(
        "---\nname: skill\ndescription: Greets people politely\n---\n\n# Greet\nsay hello\n"
    )


def steps(account: str) -> list[tuple[str, tuple[str, ...]]]:
    """The commands in their order, each with a name."""
    other = f"{account}b"
    return [
        ("version", ("version",)),
        ("health", ("health",)),
        ("system status", ("system", "status")),
        ("system health", ("system", "health")),
        ("wait", ("wait",)),
        ("system wait", ("system", "wait")),
        ("status", ("status",)),
        *((f"observer {part}", ("observer", part)) for part in ("queue", "vikingdb", "models", "retrieval", "filesystem", "system")),
        ("config show", ("config", "show")),
        ("config validate", ("config", "validate")),
        ("mkdir", ("mkdir", D, "--description", "animals")),
        ("mkdir again", ("mkdir", D)),
        ("write --mode create --wait", ("write", f"{D}/a.md", "--content", "# Zebra\n\nstripes\n", "--mode", "create", "--wait")),
        ("write onto a file that is there", ("write", f"{D}/a.md", "--content", "x", "--mode", "create")),
        ("write --append", ("write", f"{D}/a.md", "--content", "tail\n", "--append", "--wait")),
        ("write --from-file", ("write", f"{D}/g.md", "--from-file", "guide.md", "--mode", "create", "--wait")),
        ("write without the file", ("write", f"{D}/none.md", "--content", "x")),
        ("read", ("read", f"{D}/g.md")),
        ("read of nothing", ("read", f"{D}/none.md")),
        ("read of a directory", ("read", D)),
        ("ls", ("ls", D)),
        ("ls --simple", ("ls", D, "--simple")),
        ("ls -r", ("ls", "viking://resources", "-r")),
        ("ls --offset", ("ls", D, "--offset", "1")),
        ("ls of nothing", ("ls", f"{D}/none")),
        ("a wrong URI", ("ls", "nope")),
        ("tree", ("tree", "viking://resources")),
        ("stat", ("stat", f"{D}/a.md")),
        ("set-tags", ("set-tags", f"{D}/a.md", "--tags", "kind=note,team=x")),
        ("attrs get", ("attrs", "get", f"{D}/a.md")),
        ("attrs get KEY", ("attrs", "get", f"{D}/a.md", "tags")),
        ("attrs get of no attribute", ("attrs", "get", f"{D}/a.md", "none")),
        ("attrs set-tags", ("attrs", "set-tags", f"{D}/a.md", "--tags", "kind=memo", "--mode", "append")),
        ("cp", ("cp", f"{D}/a.md", f"{D}/a2.md")),
        ("cp -r", ("cp", "-r", D, f"{D}_copy")),
        ("mv", ("mv", f"{D}/a2.md", f"{D}/a3.md")),
        ("mv of nothing", ("mv", f"{D}/none.md", f"{D}/x.md")),
        ("rm", ("rm", f"{D}/a3.md")),
        ("rm without -r", ("rm", f"{D}_copy")),
        ("rm -r", ("rm", "-r", f"{D}_copy")),
        ("get", ("get", f"{D}/g.md", "dl.md")),
        ("get onto a file", ("get", f"{D}/g.md", "dl.md")),
        ("abstract", ("abstract", D)),
        ("overview", ("overview", D)),
        ("add-resource --to --wait", ("add-resource", "guide.md", "--to", f"{D}_p", "--wait")),
        ("add-resource --to again", ("add-resource", "guide.md", "--to", f"{D}_p", "--wait")),
        ("add-resource of a folder", ("add-resource", "dir", "--to", f"{D}_dir", "--wait")),
        ("add-resource -p --tags", ("add-resource", "guide.md", "-p", f"{D}_par", "--wait", "--tags", "team=bird")),
        ("add-resource --parent of nothing", ("add-resource", "guide.md", "--parent", f"{D}_none", "--wait")),
        ("add-resource of a task", ("add-resource", "guide.md", "--to", f"{D}_task")),
        ("add-resource of nothing", ("add-resource", "none.md")),
        ("reindex", ("reindex", f"{D}_p", "--wait", "true")),
        ("system consistency", ("system", "consistency", f"{D}_p")),
        ("wait for all", ("wait",)),
        ("find", ("find", "penguins eat krill", "-n", "5")),
        ("find -u -L", ("find", "penguins krill", "-u", D, "-L", "2")),
        ("find -t", ("find", "penguins", "-t", "1.01")),
        ("find --context-type", ("find", "penguins", "--context-type", "resource")),
        ("find --read-content", ("find", "penguins", "-u", f"{D}_p", "-L", "2", "--read-content")),
        ("find --tags", ("find", "penguins", "--tags", "team=bird")),
        ("find --after --before", ("find", "penguins", "-u", f"{D}_p", "--after", "1h")),
        ("find nothing", ("find",)),
        ("search", ("search", "penguins eat krill")),
        ("search --search-type", ("search", "krill", "--search-type", "keywords")),
        ("search --mode context", ("search", "penguins", "--mode", "context")),
        ("grep", ("grep", "krill", "-u", f"{D}_p")),
        ("grep -i -a -b", ("grep", "KRILL", "-i", "-a", "1", "-b", "1", "-u", f"{D}_p")),
        ("grep --tags -f", ("grep", "krill", "--tags", "team=bird", "-f", "tags", "-u", "viking://resources")),
        ("grep of the root", ("grep", "krill")),
        ("grep of a broken pattern", ("grep", "(", "-u", D)),
        ("glob", ("glob", "**/*.md", "-u", D)),
        ("glob -f", ("glob", "**/*.md", "-u", D, "-f", "name,size")),
        ("session new", ("session", "new", "--session-id", "talk")),
        ("session new again", ("session", "new", "--session-id", "talk")),
        ("session add-message", ("session", "add-message", "talk", "--role", "user", "--content", "I prefer dark mode")),
        ("session add-messages", ("session", "add-messages", "talk", '[{"role":"assistant","content":"ok"}]')),
        ("session list", ("session", "list")),
        ("session get-session-context", ("session", "get-session-context", "talk")),
        ("session config set", ("session", "config", "set", "talk", "--no-auto-commit")),
        ("session config set --event-tags", ("session", "config", "set", "talk", "--event-tags", "a=b")),
        ("search --session-id", ("search", "penguins", "--session-id", "talk")),
        ("session commit", ("session", "commit", "talk")),
        ("session get-session-archive of nothing", ("session", "get-session-archive", "talk", "none")),
        ("session get of nothing", ("session", "get", "none")),
        ("task status of nothing", ("task", "status", "none")),
        ("task cancel of nothing", ("task", "cancel", "none")),
        ("task watch ls", ("task", "watch", "ls")),
        ("task watch show of nothing", ("task", "watch", "show", "none")),
        ("session delete", ("session", "delete", "talk")),
        ("session delete again", ("session", "delete", "talk")),
        ("add-messages of no array", ("session", "add-messages", "odd", "{}")),
        ("add-memory", ("add-memory", "The owner is Alice")),
        ("add-memory of blanks", ("add-memory", " ")),
        ("skills validate", ("skills", "validate", "skill")),
        ("skills validate of nothing", ("skills", "validate", "none")),
        ("skills add", ("skills", "add", "skill", "-y", "-w")),
        ("skills list", ("skills", "list")),
        ("skills find", ("skills", "find", "greets people politely")),
        ("skills show", ("skills", "show", "skill")),
        ("skills show of nothing", ("skills", "show", "none")),
        ("skills update without an answer", ("skills", "update", "skill")),
        ("skills remove of nothing", ("skills", "remove")),
        ("skills remove", ("skills", "remove", "skill", "-y")),
        ("add-skill", ("add-skill", "skill", "--wait")),
        ("export", ("export", D, "p.ovpack")),
        ("snapshot log", ("snapshot", "log")),
        ("snapshot commit", ("snapshot", "commit", "-m", "m")),
        ("privacy list", ("privacy", "list", "skill")),
        ("acl get", ("acl", "get", D)),
        ("admin create-account", ("admin", "create-account", other, "--admin", "carol", "--sudo")),
        ("admin register-user", ("admin", "register-user", other, "dan", "--sudo")),
        ("admin list-users", ("admin", "list-users", other, "--sudo")),
        ("admin set-role", ("admin", "set-role", other, "dan", "admin", "--sudo")),
        ("admin regenerate-key", ("admin", "regenerate-key", other, "dan", "--sudo")),
        ("admin list-groups", ("admin", "list-groups", other, "--sudo")),
        ("admin remove-user", ("admin", "remove-user", other, "dan", "--sudo")),
        ("admin delete-account", ("admin", "delete-account", other, "--sudo")),
        ("admin list-accounts as a user", ("admin", "list-accounts")),
        ("rm -r of all", ("rm", "-r", D)),
    ]  # fmt: skip


def post(url: str, key: str, body: dict[str, Any] | None, method: str = "POST") -> Any:
    """The JSON that a call answers."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(url, data=data, method=method, headers=headers)  # noqa: S310 - the caller's server
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("program")
    parser.add_argument("--ours", help="our program (default: this checkout with this Python)")
    parser.add_argument("--url", default="http://127.0.0.1:1933")
    parser.add_argument("--root-key", required=True)
    parser.add_argument("--verbose", action="store_true", help="show each difference")
    given = parser.parse_args()
    mine = [given.ours] if given.ours else [sys.executable, "-c", PROGRAM]
    tag = uuid.uuid4().hex[:6]
    counts = {"equal": 0, "explained": 0, "different": 0}
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        theirs = Caller([str(Path(given.program).resolve())], given.url, given.root_key, f"cmp{tag}x", Path(one))
        ours = Caller(mine, given.url, given.root_key, f"cmp{tag}y", Path(two))
        for (name, left), (_, right) in zip(steps(theirs.account), steps(ours.account), strict=True):
            a, b = theirs.outcome(*left), ours.outcome(*right)
            verdict = "equal" if a == b else "explained" if name in EXPLAINED else "different"
            counts[verdict] += 1
            print(f"{verdict:9}  {name}" + (f"  ({EXPLAINED[name]})" if verdict == "explained" else ""))
            if verdict == "different" or (verdict == "explained" and given.verbose):
                print(f"           exit {a.status} and {b.status}")
                for line in list(difflib.unified_diff(a.text.split("\n"), b.text.split("\n"), "theirs", "ours", n=0))[
                    2:20
                ]:
                    print(f"           {line[:200]}")
        for caller in (theirs, ours):
            try:
                post(f"{given.url}/api/v1/admin/accounts/{caller.account}", given.root_key, None, "DELETE")
            except urllib.error.URLError as error:
                print(f"the account {caller.account} could not be removed: {error}")
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return int(counts["different"] > 0)


if __name__ == "__main__":
    sys.exit(main())
