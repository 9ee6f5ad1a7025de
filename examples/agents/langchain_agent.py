"""The tools of OpenViking for a LangChain agent: pip install langchain-mcp-adapters langchain.

    python langchain_agent.py "how is the queue drained"

Without a model to drive it this prints what the agent would be given; with one, the last lines run it.
"""

from __future__ import annotations

import asyncio
import os
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient

CONNECTION = {
    "openviking": {
        "transport": "streamable_http",
        "url": os.environ.get("OPENVIKING_URL", "http://127.0.0.1:1933") + "/mcp",
        "headers": {"Authorization": f"Bearer {os.environ['OPENVIKING_API_KEY']}"} if "OPENVIKING_API_KEY" in os.environ else {},
    }
}  # fmt: skip


async def main(question: str) -> None:
    """Ask, as the agent's first step would."""
    tools = await MultiServerMCPClient(CONNECTION).get_tools()
    print(", ".join(tool.name for tool in tools))
    find = next(tool for tool in tools if tool.name == "find")
    print(await find.ainvoke({"query": question, "min_score": 0}))
    # from langchain.agents import create_agent
    # agent = create_agent("anthropic:claude-sonnet-4-5", tools)
    # print(await agent.ainvoke({"messages": [("user", question)]}))


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "what is there"))
