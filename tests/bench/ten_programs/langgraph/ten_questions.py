import asyncio
from typing import Any

from langgraph_sdk import get_client


async def main() -> None:
    client, places = get_client(), asyncio.Semaphore(3)

    async def ask(number: int) -> str:
        question: dict[str, Any] = {"messages": [{"role": "user", "content": f"Read {number}"}]}
        async with places:
            state: Any = await client.runs.wait(None, "agent", input=question)
        return str(state["messages"][-1]["content"])

    answers = await asyncio.gather(*map(ask, range(10)), return_exceptions=True)
    print(*answers, sep="\n")


asyncio.run(main())
