"""The cases of jobs and tools, feedback, media and labels."""

from __future__ import annotations

import tempfile
import uuid
from typing import Any

import pytest

from agentsvc_nb.client.errors import JobFailedError, StefanBrainError
from tests.service.api.operations import case, each, got
from tests.service.api.service_fixture import ServiceFixture

IMAGES = {"request": {"brief": "Autumn sale"}}
MADE = {"steps": 1, "seconds": 0, "files": {"out.txt": "made", "more/out.txt": "also"}}


@case("jobs.submit")
async def submit(client: Any, stage: ServiceFixture) -> None:
    key, chat = uuid.uuid4().hex, stage.wire.new_chat()
    accepted = await got(client.jobs.submit("create_images", IMAGES, chat=chat, idempotency_key=key))
    again = await got(client.jobs.submit("create_images", IMAGES, chat=chat, idempotency_key=key))
    assert (accepted.chat, again.job_id) == (chat, accepted.job_id)
    assert stage.ended({"job_id": accepted.job_id, "chat": chat})["status"] == "succeeded"


@case("jobs.status")
async def status(client: Any, stage: ServiceFixture) -> None:
    job = stage.ended(stage.job(steps=0))
    found = await got(client.jobs.status(job["job_id"], chat=job["chat"]))
    assert (found.job_id, found.tool, found.status) == (job["job_id"], "echo_job", "succeeded")


@case("jobs.list")
async def list_jobs(client: Any, stage: ServiceFixture) -> None:
    first = stage.ended(stage.job(steps=0))
    second = stage.ended(stage.job(steps=1, fail="no luck"))
    found = await each(client.jobs.list(chat=first["chat"]))  # what other tests left in it is older
    assert [(job.job_id, job.status) for job in found[:2]] == [
        (second["job_id"], "failed"),
        (first["job_id"], "succeeded"),
    ]
    assert (await each(client.jobs.list(chat=first["chat"], status="failed")))[0].job_id == second["job_id"]


@case("jobs.wait")
async def wait(client: Any, stage: ServiceFixture) -> None:
    looks: list[Any] = []
    job = stage.job(steps=2, seconds=0.1)
    found = await got(client.jobs.wait(job["job_id"], chat=job["chat"], poll=0.02, on_progress=looks.append))
    assert (found.status, looks[-1].ended) == ("succeeded", True)


@case("jobs.result")
async def result(client: Any, stage: ServiceFixture) -> None:
    job = stage.ended(stage.job(**MADE))
    found = await got(client.jobs.result(job["job_id"], chat=job["chat"]))
    assert sorted(file.file_name for file in found.files) == ["out.txt", "out.txt"]


@case("jobs.cancel")
async def cancel(client: Any, stage: ServiceFixture) -> None:
    job = stage.job(steps=1, seconds=60)
    assert (await got(client.jobs.cancel(job["job_id"], chat=job["chat"]))).job_id == job["job_id"]
    with pytest.raises(JobFailedError) as caught:
        await got(client.jobs.wait(job["job_id"], chat=job["chat"], poll=0.02))
    assert caught.value.job is not None
    assert caught.value.job.status == stage.ended(job)["status"] == "cancelled"


@case("jobs.submit_and_wait")
async def submit_and_wait(client: Any, stage: ServiceFixture) -> None:
    found = await got(client.jobs.submit_and_wait("echo_job", MADE, chat="new", poll=0.02))
    assert (found.status, found.kind, len(found.files)) == ("succeeded", "files", 2)
    assert stage.ended({"job_id": found.job_id, "chat": found.chat})["status"] == "succeeded"


@case("jobs.download_artifacts")
async def download_artifacts(client: Any, stage: ServiceFixture) -> None:
    job = stage.ended(stage.job(**MADE))
    with tempfile.TemporaryDirectory() as folder:
        places = await got(client.jobs.download_artifacts(job["job_id"], chat=job["chat"], to=folder))
        assert sorted(place.name for place in places) == ["out-2.txt", "out.txt"]
        assert sorted(place.read_text() for place in places) == ["also", "made"]


# -- tools ---------------------------------------------------------------------------------------------------------


@case("tools.list")
async def list_(client: Any, stage: ServiceFixture) -> None:
    names = [tool["name"] for tool in stage.wire("GET", "/tools").json()["data"]]
    assert [tool.name for tool in await got(client.tools.list())] == names


@case("tools.describe")
async def describe(client: Any, stage: ServiceFixture) -> None:
    tool = await got(client.tools.describe("create_images"))
    assert tool.input_schema == stage.wire("GET", "/tools/create_images").json()["input_schema"]


@case("tools.invoke")
async def invoke(client: Any, stage: ServiceFixture) -> None:
    answered = await got(client.tools.invoke("ask_stefanbrain", {"message": "say x"}, chat=stage.wire.new_chat()))
    assert answered.data["answer"] == "x"
    accepted = await got(client.tools.invoke("echo_job", {"steps": 0}))
    assert stage.ended({"job_id": accepted.job_id, "chat": accepted.chat})["status"] == "succeeded"


# -- feedback ------------------------------------------------------------------------------------------------------


def reported(stage: ServiceFixture, id: str) -> Any:
    return stage.wire("GET", f"/feedback/{id}").json()


@case("feedback.send")
async def send(client: Any, stage: ServiceFixture) -> None:
    sent = await got(client.feedback.send("More fonts", category="idea", impact="minor", endpoint="GET /tools"))
    found = reported(stage, sent.id)
    assert [found[name] for name in ("summary", "category", "impact")] == ["More fonts", "idea", "minor"]


@case("feedback.from_last_error")
async def from_last_error(client: Any, stage: ServiceFixture) -> None:
    with pytest.raises(StefanBrainError) as caught:
        await got(client.tools.describe("unknown"))
    sent = await got(client.feedback.from_last_error("It is gone"))
    found = reported(stage, sent.id)
    assert (found["error_code"], found["request_id"]) == ("tool_not_found", caught.value.request_id)
    assert found["endpoint"].startswith("GET /api/developers/v1/tools/unknown")


@case("feedback.list")
async def reports(client: Any, stage: ServiceFixture) -> None:
    sent = [stage.wire("POST", "/feedback", json={"summary": text}).json()["id"] for text in ("one", "two")]
    assert [report.id for report in await got(client.feedback.list(status="open", limit=2))] == sent[::-1]


@case("feedback.get")
async def report(client: Any, stage: ServiceFixture) -> None:
    sent = stage.wire("POST", "/feedback", json={"summary": "fine"}).json()["id"]
    found = await got(client.feedback.get(sent))
    assert (found.id, found.summary, found.status) == (sent, "fine", "open")


# -- media and labels ----------------------------------------------------------------------------------------------


@case("media.get")
async def media(client: Any, stage: ServiceFixture) -> None:
    added = stage.media()
    found = await got(client.media.get(added))
    assert found.model_dump(mode="json", exclude_unset=True) == stage.wire("GET", f"/media/{added}").json()


@case("media.transcribe")
async def transcribe(client: Any, stage: ServiceFixture) -> None:
    assert (await got(client.media.transcribe(stage.media()))).text == "Hello."


@case("labels.list")
async def labels(client: Any, stage: ServiceFixture) -> None:
    names = [label["name"] for label in stage.wire("GET", "/landing-pages/labels").json()["labels"]]
    assert [label.name for label in await got(client.labels.list())] == names


@case("labels.get")
async def page(client: Any, stage: ServiceFixture) -> None:
    added = stage.page()
    found = await got(client.labels.get(added))
    assert (found.id, found.labels, found.version) == (added, {}, 1)


@case("labels.write")
async def write(client: Any, stage: ServiceFixture) -> None:
    added = stage.page()
    found = await got(client.labels.write(added, {"urgency": "none"}, expected_version=1))
    assert found.version == 2
    assert stage.wire("GET", f"/landing-pages/{added}").json()["labels"] == {"urgency": "none"}
    with pytest.raises(StefanBrainError) as caught:
        await got(client.labels.write(added, {}, expected_version=1))
    assert caught.value.code == "version_conflict"
