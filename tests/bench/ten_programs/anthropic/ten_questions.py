import asyncio

from anthropic import AsyncAnthropic


async def main() -> None:
    client, places = AsyncAnthropic(), asyncio.Semaphore(3)

    async def ask(number: int) -> str:
        async with places:
            message = await client.messages.create(
                model="claude-sonnet-4-5", max_tokens=1_000, messages=[{"role": "user", "content": f"Read {number}"}]
            )
        return "".join(block.text for block in message.content if block.type == "text")

    answers = await asyncio.gather(*map(ask, range(10)), return_exceptions=True)
    print(*answers, sep="\n")


asyncio.run(main())
