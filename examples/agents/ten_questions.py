"""An agent without a model: it answers ten questions about a folder by tools alone, and says what each way costs.

    python ten_questions.py [FOLDER QUESTIONS.tsv]

Without arguments the folder is the package asyncio of the running Python. Each question is put to `find`; then the
passages of its hits are read, best first, until one holds the answer (a model would notice; here a pattern does). If none
does, `grep` looks for where the constants that they name are set. For comparison, `search` in mode context is asked for
one block of 400 tokens, then for larger ones until one holds the answer; and the whole files are read in the same order as
the passages. Tokens are estimated as four characters each; what is sent and what comes back both count.
"""

from __future__ import annotations

import asyncio
import csv
import math
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

HERE = Path(__file__).resolve().parent
OV = "import sys; from openviking.cli.main import run; sys.argv[0] = 'ov'; run()"
HITS = 5
BLOCKS = (400, 800, 1600, 4000)


@dataclass
class Counted:
    """A session that counts what its calls cost."""

    session: ClientSession
    tokens: int = 0

    async def call(self, tool: str, **arguments: object) -> str:
        """The text of a tool's answer."""
        result = await self.session.call_tool(tool, arguments)
        text = "".join(one.text for one in result.content if one.type == "text")
        self.tokens += tokens(str(arguments)) + tokens(text)
        return text

    def spent(self) -> int:
        """The tokens since this was asked last."""
        spent, self.tokens = self.tokens, 0
        return spent


def tokens(text: str) -> int:
    """Four characters are about one token of English."""
    return math.ceil(len(text) / 4)


async def by_lines(agent: Counted, question: str, answer: str) -> str:
    """The citation of the passage that answers, "" if none of the hits does."""
    found = await agent.call("find", query=question, limit=HITS, min_score=0.05, level=2)
    named: dict[str, None] = {}
    for citation in re.findall(r"viking://\S+#L\d+-L\d+", found):
        text = await agent.call("read", uris=[citation])
        if re.search(answer, text):
            return citation
        named |= dict.fromkeys(re.findall(r"\b_?[A-Z]{2,}_[A-Z_]+\b", text))
    if named:
        settings = [rf"^\s*{name} = " for name in list(named)[:20]]
        set_at = await agent.call("grep", uri="viking://resources/folder", pattern=settings, node_limit=40)
        for uri, line, text in re.findall(r"(viking://\S+)\n(?:  L\d+.*\n)*?  L(\d+)[^:]*: (.*)", set_at):
            if re.search(answer, text):
                return f"{uri}#L{line}"
    return ""


async def by_context(agent: Counted, question: str, answer: str) -> int:
    """The tokens of the block that answers, asked for together with those that were too small; 0 if none does."""
    for size in BLOCKS:
        block = await agent.call("search", query=question, mode="context", max_tokens=size)
        if re.search(answer, block):
            return size
    return 0


async def by_files(agent: Counted, question: str, answer: str) -> str:
    """The file that answers, read as a whole like its predecessors."""
    found = await agent.call("find", query=question, limit=HITS, min_score=0.05, level=2)
    for uri in re.findall(r"(viking://\S+)#L\d+-L\d+", found):
        text, cursor = "", ""
        while True:
            part = await agent.call("read", uris=[uri], cursor=cursor)
            text += part
            more = re.search(r'cursor="([^"]+)"\.\]\Z', part)
            if more is None:
                break
            cursor = more[1]
        if re.search(answer, text):
            return uri
    return ""


async def ask(folder: Path, questions: list[tuple[str, str]], size: int, data: str) -> int:
    """Print a table; how many questions were answered by reading lines."""
    server = StdioServerParameters(
        command=sys.executable, args=["-c", OV, "mcp", "--path", data], env=dict(os.environ)
    )  # fmt: skip
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = await session.list_tools()
        described = sum(tokens(one.model_dump_json(by_alias=True, exclude_none=True)) for one in tools.tools)
        agent = Counted(session)
        print(await agent.call("add_resource", path=str(folder), to="viking://resources/folder"))
        print(f"The folder has about {size // 4:,} tokens, the descriptions of the tools {described:,} (once).\n")
        print(f"{'lines':>7} {'context':>7} {'files':>7}  question → where the answer stands, the block that has it")
        answered, in_blocks = 0, 0
        together = [0, 0, 0]
        for question, answer in questions:
            agent.spent()
            where = await by_lines(agent, question, answer)
            lines = agent.spent()
            block = await by_context(agent, question, answer)
            blocks = agent.spent()
            await by_files(agent, question, answer)
            cost = (lines, blocks, agent.spent())
            together = [one + more for one, more in zip(together, cost, strict=True)]
            answered, in_blocks = answered + bool(where), in_blocks + bool(block)
            print(" ".join(f"{one:>7,}" for one in cost), f" {question} → {where or 'NOT FOUND'}, {block or 'NONE'}")
        told = " ".join(f"{one:>7,}" for one in together)
        print(f"{told}  tokens together; {answered} of {len(questions)} answered, {in_blocks} by a block of context")
        return answered


def main() -> None:
    """Ask the questions of the command line, or the ten about asyncio."""
    folder, table = map(Path, sys.argv[1:3]) if len(sys.argv) > 2 else (Path(asyncio.__file__).parent, HERE / "asyncio-questions.tsv")  # fmt: skip
    with table.open(encoding="utf-8", newline="") as file:
        questions = [
            (row["question"], row["answer"]) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
    size = sum(one.stat().st_size for one in folder.rglob("*") if one.suffix != ".pyc" and one.is_file())
    with tempfile.TemporaryDirectory() as data:
        answered = asyncio.run(ask(folder, questions, size, data))
    sys.exit(answered < len(questions))


if __name__ == "__main__":
    main()
