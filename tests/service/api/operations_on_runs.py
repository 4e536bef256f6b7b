"""The cases of runs, of `ask`, and of files."""

from __future__ import annotations

import hashlib
import tempfile
import uuid
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agentsvc_nb.client.errors import StefanBrainError
from tests.service.api.conftest import code
from tests.service.api.leaving import leaving
from tests.service.api.operations import case, each, got
from tests.service.api.service_fixture import ServiceFixture

CONTENT = b"name,price\nlamp,12\n"


@case("ask")
async def ask(client: Any, stage: ServiceFixture) -> None:
    (staged,) = stage.wire("POST", "/files", files={"files": ("prices.csv", CONTENT)}).json()["files"]
    answer = await got(client.ask("say hello", chat="new", file_ids=[staged["id"]], timeout=60))
    found = stage.wire("GET", f"/runs/{answer.run_id}").json()
    assert (answer.answer, answer.chat, answer.steps) == (found["output"], found["chat"], found["steps"])
    assert answer.raw["data"]["answer"] == "hello"
    (file,) = stage.wire("GET", "/files", params={"chat_id": answer.chat}).json()["files"]
    assert file["path"].endswith("prices.csv")


@case("map")
async def map_(client: Any, stage: ServiceFixture) -> None:
    asked = pd.DataFrame({"text": ["one", "two"]})
    out = await got(client.map(asked, "say {{text}}", salt=uuid.uuid4().hex))
    found = [stage.wire("GET", f"/runs/{run_id}").json() for run_id in out.run_id]
    assert [run["output"] for run in found] == out.answer.tolist() == ["one", "two"]
    assert len({run["chat"] for run in found}) == 2


@case("runs.start")
async def start(client: Any, stage: ServiceFixture) -> None:
    key = uuid.uuid4().hex
    first = await got(client.runs.start("say one", files=[("a.csv", CONTENT)], idempotency_key=key))
    again = await got(client.runs.start("say one", files=[("a.csv", CONTENT)], idempotency_key=key))
    assert again.run_id == first.run_id
    held = await got(client.runs.start("say two", sync=True))
    assert (held.status, held.output) == ("completed", "two")
    assert stage.wire("GET", f"/runs/{held.run_id}").json()["output"] == "two"


@case("runs.get")
async def get(client: Any, stage: ServiceFixture) -> None:
    ended = stage.wire.finish("say x")
    run = await got(client.runs.get(ended["run_id"]))
    assert run.model_dump(mode="json", exclude_unset=True) == stage.wire("GET", f"/runs/{run.run_id}").json()


@case("runs.wait")
async def wait(client: Any, stage: ServiceFixture) -> None:
    run = await got(client.runs.wait(stage.wire.start("wait 0.1\nfail brain_gone Away.")["run_id"], timeout=60))
    assert (run.status, run.last_error) == ("failed", "brain_gone")


@case("runs.cancel")
async def cancel(client: Any, stage: ServiceFixture) -> None:
    run = await got(client.runs.cancel(stage.wire.start("wait 60")["run_id"]))
    assert run.status in ("cancelling", "cancelled")
    assert (await got(client.runs.wait(run.run_id))).status == "cancelled"


@case("runs.approve")
async def approve(client: Any, stage: ServiceFixture) -> None:
    run_id, call_id = stage.called()
    assert (await got(client.runs.approve(run_id, call_id))).model_dump() == {
        "object": "call_approval",
        "run_id": run_id,
        "call_id": call_id,
        "tool": "echo_job",
        "approved": True,
        "reason": "",
    }


@case("runs.refuse")
async def refuse(client: Any, stage: ServiceFixture) -> None:
    run_id, call_id = stage.called()
    try:
        await got(client.runs.refuse(run_id, call_id, reason="Too late."))
    except StefanBrainError as error:
        if error.code != "call_not_waiting":
            raise
    else:
        pytest.fail("the call was made already")


@case("runs.list")
async def list_runs(client: Any, stage: ServiceFixture) -> None:
    first = stage.wire.finish("say x")
    second = stage.wire.finish("fail broken It broke.", chat=first["chat"])
    found = await each(client.runs.list(chat=first["chat"]))
    assert [(run.run_id, run.message, run.status) for run in found] == [
        (second["run_id"], "fail broken It broke.", "failed"),
        (first["run_id"], "say x", "completed"),
    ]
    assert [run.run_id for run in await each(client.runs.list(chat=first["chat"], status="failed"))] == [
        second["run_id"]
    ]


@case("runs.events")
async def events(client: Any, stage: ServiceFixture) -> None:
    ended = stage.wire.finish("say x")
    page = await got(client.runs.events(ended["run_id"], after=1, limit=2))
    wanted = stage.wire.events(ended["run_id"], after=1, limit=2)
    assert [(event.id, event.type) for event in page.data] == [(event["id"], event["type"]) for event in wanted]
    assert page.next_after == wanted[-1]["id"]


@case("runs.iterate_events")
async def iterate_events(client: Any, stage: ServiceFixture) -> None:
    run = stage.wire.start("say x\nwait 0.1\nsay y")
    found = await each(client.runs.iterate_events(run["run_id"]))
    assert [event.id for event in found] == [event["id"] for event in stage.wire.events(run["run_id"])]
    assert found[-1].type == "run.ended"


@case("runs.tables")
async def tables(client: Any, stage: ServiceFixture) -> None:
    run = stage.wire.finish(leaving("a", "b"))
    found = await got(client.runs.tables(run["run_id"]))
    assert [table.attrs["path"] for table in found] == ["results/a.csv", "results/b.csv"]


@case("runs.attach")
async def attach(client: Any, stage: ServiceFixture) -> None:
    ended = stage.wire.finish("say x")
    stream = await got(client.runs.attach(ended["run_id"], after=2))
    found = await each(stream)
    assert [event.id for event in found] == [event["id"] for event in stage.wire.events(ended["run_id"], after=2)]
    assert (stream.cursor, (await got(stream.final_status())).output) == (found[-1].id, "x")


@case("runs.start_and_stream")
async def start_and_stream(client: Any, stage: ServiceFixture) -> None:
    key = uuid.uuid4().hex
    stream = await got(client.runs.start_and_stream("say x", idempotency_key=key, timeout=60))
    found = [event.id for event in await each(stream)]
    assert found == [event["id"] for event in stage.wire.events(stream.run_id)]
    again = await got(client.runs.start_and_stream("say x", idempotency_key=key))
    assert [event.id for event in await each(again)] == found
    assert (await got(again.final_status())).run_id == stream.run_id


# -- files ---------------------------------------------------------------------------------------------------------


def listed(stage: ServiceFixture, chat: str) -> dict[str, Any]:
    """The chat's files by path."""
    return {file["path"]: file for file in stage.wire("GET", "/files", params={"chat_id": chat}).json()["files"]}


@case("files.upload")
async def upload(client: Any, stage: ServiceFixture) -> None:
    chat, told = stage.wire.new_chat(), list[int]()
    (staged,) = await got(
        client.files.upload(("a.csv", CONTENT), chat=chat, on_progress=lambda done, total: told.append(done))
    )
    assert (staged.file_name, staged.size_bytes) == ("a.csv", len(CONTENT))
    assert list(listed(stage, chat)) == ["uploads/a.csv"]
    assert told
    assert told[-1] > len(CONTENT), "the whole of the request went out"


@case("files.list")
async def list_(client: Any, stage: ServiceFixture) -> None:
    chat = stage.wire.finish("\n".join(f"write {name}.txt words" for name in "cab"))["chat"]
    assert [file.path for file in await each(client.files.list(chat))] == ["a.txt", "b.txt", "c.txt"]


@case("files.search")
async def search(client: Any, stage: ServiceFixture) -> None:
    chat = stage.wire.finish("write a.txt summer sale\nwrite b.txt winter")["chat"]
    found = await got(client.files.search('"summer sale"', chat=chat))
    assert [result.path for result in found.results] == ["a.txt"]


@case("files.download")
async def download(client: Any, stage: ServiceFixture) -> None:
    chat = stage.wire.finish("write a.txt words")["chat"]
    with tempfile.TemporaryDirectory() as folder:
        place = await got(client.files.download("a.txt", chat=chat, to=folder))
        assert (place, place.read_bytes()) == (Path(folder) / "a.txt", b"words")
    content = await got(client.files.download("a.txt", chat=chat))
    assert hashlib.sha256(content).hexdigest() == listed(stage, chat)["a.txt"]["id"]


@case("files.head")
async def head(client: Any, stage: ServiceFixture) -> None:
    chat = stage.wire.finish("write a.txt words\nwrite empty.txt")["chat"]
    assert await got(client.files.head("a.txt", 3, chat=chat)) == b"wor"
    assert await got(client.files.head("a.txt", 99, chat=chat)) == b"words"
    assert await got(client.files.head("empty.txt", 3, chat=chat)) == b""


@case("files.rename")
async def rename(client: Any, stage: ServiceFixture) -> None:
    chat = stage.wire.finish("write a.txt words")["chat"]
    file = await got(client.files.rename("a.txt", "Brief", chat=chat))
    assert (file.path, file.name) == ("a.txt", "Brief")
    assert listed(stage, chat)["a.txt"]["name"] == "Brief"


@case("files.versions")
async def versions(client: Any, stage: ServiceFixture) -> None:
    chat = stage.wire.finish("write a.txt one")["chat"]
    stage.wire.finish("write a.txt two", chat=chat)
    now, before = await got(client.files.versions("a.txt", chat=chat))
    assert (now.version, before.version) == (2, 1)
    assert await got(client.files.download(before)) == b"one"


@case("files.restore")
async def restore(client: Any, stage: ServiceFixture) -> None:
    chat = stage.wire.finish("write a.txt one")["chat"]
    stage.wire.finish("write a.txt two", chat=chat)
    assert (await got(client.files.restore("a.txt", 1, chat=chat))).version == 3
    assert await got(client.files.download("a.txt", chat=chat)) == b"one"
    for version in (7, 0):
        with pytest.raises(StefanBrainError):
            await got(client.files.restore("a.txt", version, chat=chat))


# -- chats and projects --------------------------------------------------------------------------------------------


@case("chats.retire")
async def retire(client: Any, stage: ServiceFixture) -> None:
    chat = stage.wire.new_chat()
    assert (await got(client.chats.retire(chat))).id == chat
    refused = stage.wire("POST", "/runs", json={"message": "say x", "chat": chat})
    assert code(refused) == "chat_id_retired"


@case("models.list")
async def models(client: Any, stage: ServiceFixture) -> None:
    assert [(model.id, model.available) for model in await got(client.models.list())] == [("scripted", True)]


@case("runs.resume")
async def resume(client: Any, stage: ServiceFixture) -> None:
    failed = stage.wire.finish("say x\nstep 1\nsay y", max_steps=1)
    run = await got(client.runs.resume(failed["run_id"], idempotency_key=uuid.uuid4().hex))
    assert (run.resumed_from, run.chat) == (failed["run_id"], failed["chat"])
    assert (await got(client.runs.wait(run))).output == "x\ny"


@case("runs.sent")
async def sent(client: Any, stage: ServiceFixture) -> None:
    run = await got(client.runs.start("say x", sync=True))
    assert list(await got(client.runs.sent(run))) == [], "`scripted` is asked here, and nobody else"
    with pytest.raises(StefanBrainError, match="run"):
        await got(client.runs.sent(str(uuid.uuid4())))


@case("projects.create")
async def create(client: Any, stage: ServiceFixture) -> None:
    project = await got(client.projects.create("Autumn"))
    assert project.id in [made["id"] for made in stage.wire("GET", "/projects").json()["data"]]
    with pytest.raises(StefanBrainError, match="project"):
        await got(client.runs.start("say x", project="proj_unknown"))


@case("projects.update")
async def change(client: Any, stage: ServiceFixture) -> None:
    project = await got(client.projects.create("Autumn", "Prices are net."))
    changed = await got(client.projects.update(project, instructions="Prices are gross."))
    assert (changed.id, changed.name, changed.instructions) == (project.id, "Autumn", "Prices are gross.")
    renamed = await got(client.projects.update(project.id, name="Winter"))
    assert (renamed.name, renamed.instructions) == ("Winter", "Prices are gross.")
    tone = {"tone": {"SKILL.md": "---\nname: tone\ndescription: Ours.\n---\n"}}
    assert [skill.name for skill in (await got(client.projects.update(project, skills=tone))).skills] == ["tone"]
    assert (await got(client.projects.update(project, instructions=""))).instructions == ""
    with pytest.raises(StefanBrainError) as refused:
        await got(client.projects.update(project, instructions="x" * 20_001))
    assert refused.value.code == "invalid_json"
    with pytest.raises(StefanBrainError) as unknown:
        await got(client.projects.update("proj_unknown", name="x"))
    assert unknown.value.code == "project_not_found"


@case("projects.list")
async def projects(client: Any, stage: ServiceFixture) -> None:
    made = stage.wire("POST", "/projects", json={"name": "Winter"}).json()["id"]
    assert [project.name for project in await got(client.projects.list()) if project.id == made] == ["Winter"]
