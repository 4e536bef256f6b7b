"""Mistakes of users. mypy finds each: it reports a `type: ignore` that ignores nothing. Not to be run."""

from agentsvc_nb import AgentService, AsyncAgentService

client, other = AgentService(), AsyncAgentService()
print(client.runs.start("x").nonsense)  # type: ignore[attr-defined]
client.runs.start()  # type: ignore[call-arg]
client.runs.start("x", mesage="y")  # type: ignore[call-arg]
client.runs.start("x", on_busy="later")  # type: ignore[arg-type]
client.runs.start("x", files=[3])  # type: ignore[list-item]
client.runs.get("x", timeout="5")  # type: ignore[arg-type]
client.runs.get(run="x")  # type: ignore[call-arg]
client.files.search("x")  # type: ignore[call-arg]
client.with_options(dead=3)  # type: ignore[call-arg]
print(client.tools.invoke("x", {}).data)  # type: ignore[union-attr]
client.runs.get("x", deadline=None, retries=3)  # type: ignore[call-arg]
print(client.files.download("x", chat="c").decode())  # type: ignore[union-attr]
number: int = client.runs.get("x").output  # type: ignore[assignment]
AgentService(on_retry=3)  # type: ignore[arg-type]


async def use() -> None:
    other.runs.get("x")  # type: ignore[unused-coroutine]
    print((await other.runs.get("x")).nonsense)  # type: ignore[attr-defined]
    for event in other.runs.iterate_events("x"):  # type: ignore[attr-defined]
        print(event)
