import asyncio

from openai import AsyncOpenAI


async def main() -> None:
    client, places = AsyncOpenAI(), asyncio.Semaphore(3)

    async def ask(number: int) -> str:
        async with places:
            return (await client.responses.create(model="gpt-5-mini", input=f"Read {number}")).output_text

    answers = await asyncio.gather(*map(ask, range(10)), return_exceptions=True)
    print(*answers, sep="\n")


asyncio.run(main())
