"""Mistakes of users. mypy finds each: it reports a `type: ignore` that ignores nothing. Not to be run."""

from pydantic import BaseModel

from agentsvc_nb import AgentService, AsyncAgentService


class Offer(BaseModel):
    headline: str


client, other = AgentService(), AsyncAgentService()
print(client.runs.start("x").nonsense)  # type: ignore[attr-defined]
client.runs.start()  # type: ignore[call-overload]
client.runs.start("x", mesage="y")  # type: ignore[call-overload]
client.runs.start("x", on_busy="later")  # type: ignore[call-overload]
client.runs.start("x", files=[3])  # type: ignore[list-item]
client.runs.get(run="x")  # type: ignore[call-arg]
client.files.search("x")  # type: ignore[call-arg]
print(client.tools.invoke("x", {}).data)  # type: ignore[union-attr]
print(client.files.download("x", chat="c", to="x").decode())  # type: ignore[attr-defined]
print(client.files.download("x", chat="c").name)  # type: ignore[attr-defined]
number: int = client.runs.get("x").output  # type: ignore[assignment]
AgentService(on_retry=3)  # type: ignore[arg-type]
client.runs.start_and_stream("x", sync=True)  # type: ignore[call-overload]
client.ask("x", effort="huge")  # type: ignore[arg-type]
client.runs.get(client.projects.create("x"))  # type: ignore[arg-type]
client.jobs.status(client.runs.get("x"))  # type: ignore[arg-type]
offer = client.runs.start("x", output_config=Offer).data
print(offer.headline)  # type: ignore[union-attr]
print(offer.price if offer else "")  # type: ignore[attr-defined]
for event in client.runs.attach("x"):
    if event.type == "text.delta":
        print(event.txt)  # type: ignore[attr-defined]
    print(event.text)  # type: ignore[union-attr]


async def use() -> None:
    other.runs.get("x")  # type: ignore[unused-coroutine]
    print((await other.runs.get("x")).nonsense)  # type: ignore[attr-defined]
    print(other.runs.attach("x").run_id)  # type: ignore[attr-defined]
    print(await other.files.list("x"))  # type: ignore[misc]
    for event in other.runs.iterate_events("x"):  # type: ignore[attr-defined]
        print(event)
