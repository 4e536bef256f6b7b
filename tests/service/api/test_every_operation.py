"""Every operation of the client against a real service, and its effect looked at past the client.

By the client for scripts alone: it runs the coroutines of the other one.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import JobFailedError, StefanBrainError
from agentsvc_nb.client.faces import BlockingResource, Resource
from tests.service.api.conftest import code
from tests.service.api.service_fixture import ServiceFixture
from tests.service.api.test_every_route import RIGHT
from tests.service.api.test_tables_http import leaving

Case = Callable[[Any, ServiceFixture], None]
CASES: Final[dict[str, Case]] = {}
CONTENT: Final = b"name,price\nlamp,12\n"
MADE: Final = {"steps": 1, "seconds": 0, "files": {"out.txt": "made", "more/out.txt": "also"}}


def case(*names: str) -> Callable[[Case], Case]:
    """The case of these operations, by their names on a client."""

    def add(function: Case) -> Case:
        CASES["+".join(names)] = function
        return function

    return add


@case("ask")
def ask(client: Any, stage: ServiceFixture) -> None:
    (staged,) = stage.wire("POST", "/files", files={"files": ("prices.csv", CONTENT)}).json()["files"]
    answer = client.ask("say hello", chat="new", file_ids=[staged["id"]], timeout=60)
    found = stage.wire("GET", f"/runs/{answer.run_id}").json()
    assert (answer.answer, answer.chat, answer.steps) == (found["output"], found["chat"], found["steps"])
    (file,) = stage.wire("GET", "/files", params={"chat_id": answer.chat}).json()["files"]
    assert file["path"].endswith("prices.csv")


@case("map")
def map_(client: Any, stage: ServiceFixture) -> None:
    out = client.map(pd.DataFrame({"text": ["one", "two"]}), "say {{text}}", salt=uuid.uuid4().hex)
    found = [stage.wire("GET", f"/runs/{run_id}").json() for run_id in out.run_id]
    assert [run["output"] for run in found] == out.answer.tolist() == ["one", "two"]


@case("runs.start", "runs.get", "runs.list")
def start(client: Any, stage: ServiceFixture) -> None:
    key = uuid.uuid4().hex
    first, again = [client.runs.start("say one", files=[("a.csv", CONTENT)], idempotency_key=key) for _ in "ab"]
    assert again.run_id == first.run_id
    held = client.runs.start("say two", sync=True)
    assert (held.status, held.output) == ("completed", "two")
    run = client.runs.get(held.run_id)
    assert run.model_dump(mode="json", exclude_unset=True) == stage.wire("GET", f"/runs/{run.run_id}").json()
    failed = stage.wire.finish("fail broken It broke.", chat=held.chat)
    found = list(client.runs.list(chat=held.chat))
    assert [(one.run_id, one.status) for one in found] == [(failed["run_id"], "failed"), (held.run_id, "completed")]
    assert [one.run_id for one in list(client.runs.list(chat=held.chat, status="failed"))] == [failed["run_id"]]


@case("runs.wait", "runs.cancel", "runs.resume", "runs.raise_limit", "runs.sent")
def wait(client: Any, stage: ServiceFixture) -> None:
    run = client.runs.wait(stage.wire.start("wait 0.1\nfail brain_gone Away.")["run_id"], timeout=60)
    assert (run.status, run.last_error) == ("failed", "brain_gone")
    run = stage.wire.start("wait 60", max_cents=5)
    assert client.runs.raise_limit(run["run_id"], 7.5).max_cents == 7.5
    run = client.runs.cancel(run["run_id"])
    assert (client.runs.wait(run.run_id)).status == "cancelled"
    failed = stage.wire.finish("say x\nstep 1\nsay y", max_steps=1)
    run = client.runs.resume(failed["run_id"], idempotency_key=uuid.uuid4().hex)
    assert (run.resumed_from, (client.runs.wait(run)).output) == (failed["run_id"], "x\ny")
    assert list(client.runs.sent(run)) == [], "`scripted` is asked here, and nobody else"


@case("runs.undo", "runs.redo")
def undo(client: Any, stage: ServiceFixture) -> None:
    run = stage.wire.finish("write a.txt words")
    [file] = (client.runs.undo(run["run_id"])).files
    assert (file.path, file.outcome) == ("a.txt", "removed")
    assert (client.runs.get(run["run_id"])).undone_at
    [file] = (client.runs.redo(run["run_id"])).files
    assert (file.path, file.outcome, file.version) == ("a.txt", "restored", 2)


@case("runs.approve", "runs.refuse")
def approve(client: Any, stage: ServiceFixture) -> None:
    run_id, call_id = stage.called()
    approved = client.runs.approve(run_id, call_id)
    assert (approved.call_id, approved.tool, approved.approved) == (call_id, "echo_job", True)
    with pytest.raises(StefanBrainError) as late:
        client.runs.refuse(run_id, call_id, reason="Too late.")
    assert late.value.code == "call_not_waiting"


@case("runs.standing_approvals", "runs.revoke_approval")
def standing(client: Any, stage: ServiceFixture) -> None:
    made = stage.standing()
    assert made in [each.id for each in list(client.runs.standing_approvals())]
    assert client.runs.revoke_approval(made).revoked
    assert made not in [each.id for each in list(client.runs.standing_approvals())]


@case("runs.events", "runs.iterate_events", "runs.attach", "runs.start_and_stream", "runs.tables")
def events(client: Any, stage: ServiceFixture) -> None:
    key = uuid.uuid4().hex
    stream, again = [client.runs.start_and_stream("say x", idempotency_key=key) for _ in "ab"]
    found = [event.id for event in list(stream)]
    assert [event.id for event in list(again)] == found
    wanted = [event["id"] for event in stage.wire.events(stream.run_id)]
    assert found == wanted == [event.id for event in list(client.runs.iterate_events(stream.run_id))]
    page = client.runs.events(stream.run_id, after=1, limit=2)
    assert ([event.id for event in page.data], page.next_after) == (wanted[1:3], wanted[2])
    attached = client.runs.attach(stream.run_id, after=2)
    assert [event.id for event in list(attached)] == wanted[2:]
    assert (attached.cursor, (attached.final_status()).output) == (wanted[-1], "x")
    tables = client.runs.tables(stage.wire.finish(leaving("a", "b"))["run_id"])
    assert [table.attrs["path"] for table in tables] == ["results/a.csv", "results/b.csv"]


@case("files.upload", "files.list", "files.search", "files.download", "files.head")
def files(client: Any, stage: ServiceFixture) -> None:
    chat, sent = stage.wire.finish("write b.txt winter")["chat"], list[int]()
    given = ("a.csv", CONTENT)
    (staged,) = client.files.upload(given, chat=chat, on_progress=lambda done, total: sent.append(done))
    assert (staged.file_name, staged.size_bytes, sent[-1] > len(CONTENT)) == ("a.csv", len(CONTENT), True)
    assert [file.path for file in list(client.files.list(chat))] == ["b.txt", "uploads/a.csv"]
    assert [one.path for one in (client.files.search("winter", chat=chat)).results] == ["b.txt"]
    place = client.files.download("b.txt", chat=chat, to=".")
    assert (place, place.read_bytes()) == (Path("b.txt"), b"winter")
    content = client.files.download("b.txt", chat=chat)
    listed = stage.wire("GET", "/files", params={"chat_id": chat}).json()["files"]
    assert hashlib.sha256(content).hexdigest() == listed[0]["id"]
    assert client.files.head("b.txt", 3, chat=chat) == b"win"


@case("files.rename", "files.versions", "files.restore")
def versions(client: Any, stage: ServiceFixture) -> None:
    chat = stage.wire.finish("write a.txt one")["chat"]
    stage.wire.finish("write a.txt two", chat=chat)
    file = client.files.rename("a.txt", "Brief", chat=chat)
    assert (file.path, file.name) == ("a.txt", "Brief")
    now, before = client.files.versions("a.txt", chat=chat)
    assert (now.version, before.version) == (2, 1)
    assert client.files.download(before) == b"one"
    assert (client.files.restore("a.txt", 1, chat=chat)).version == 3
    assert client.files.download("a.txt", chat=chat) == b"one"


@case("chats.retire", "models.list", "usage.today")
def retire(client: Any, stage: ServiceFixture) -> None:
    assert [(model.id, model.available) for model in client.models.list()] == [("scripted", True)]
    chat = stage.wire.new_chat()
    assert (client.chats.retire(chat)).id == chat
    assert code(stage.wire("POST", "/runs", json={"message": "say x", "chat": chat})) == "chat_id_retired"


@case("projects.create", "projects.update", "projects.list")
def projects(client: Any, stage: ServiceFixture) -> None:
    project = client.projects.create("Autumn", "Prices are net.")
    changed = client.projects.update(project, instructions="Prices are gross.")
    assert (changed.id, changed.name, changed.instructions) == (project.id, "Autumn", "Prices are gross.")
    assert "Autumn" in [one.name for one in client.projects.list() if one.id == project.id]
    tone = {"tone": {"SKILL.md": "---\nname: tone\ndescription: Ours.\n---\n"}}
    assert [skill.name for skill in (client.projects.update(project, skills=tone)).skills] == ["tone"]


@case("jobs.submit", "jobs.status", "jobs.list", "jobs.wait", "jobs.result", "jobs.cancel")
def jobs(client: Any, stage: ServiceFixture) -> None:
    chat, looks, key = stage.wire.new_chat(), list[Any](), uuid.uuid4().hex
    given = RIGHT["jobs.submit"](stage).options["json"] | {"input": MADE}
    accepted = client.jobs.submit(given["tool"], given["input"], chat=chat, idempotency_key=key)
    done = client.jobs.wait(accepted.job_id, chat=chat, poll=0.02, on_progress=looks.append)
    assert (done.status, looks[-1].ended) == ("succeeded", True)
    assert (client.jobs.status(accepted.job_id, chat=chat)).tool == "echo_job"
    result = client.jobs.result(accepted.job_id, chat=chat)
    assert sorted(file.path for file in result.files) == ["more/out.txt", "out.txt"]
    slow = client.jobs.submit("echo_job", {"steps": 1, "seconds": 60}, chat=chat)
    assert (client.jobs.cancel(slow.job_id, chat=chat)).job_id == slow.job_id
    with pytest.raises(JobFailedError):
        client.jobs.wait(slow.job_id, chat=chat, poll=0.02)
    listed = [(job.job_id, job.status) for job in list(client.jobs.list(chat=chat))]
    assert listed == [(slow.job_id, "cancelled"), (accepted.job_id, "succeeded")]


@case("jobs.submit_and_wait", "jobs.download_artifacts")
def submit_and_wait(client: Any, stage: ServiceFixture) -> None:
    found = client.jobs.submit_and_wait("echo_job", MADE, chat="new", poll=0.02)
    assert (found.status, found.kind, len(found.files)) == ("succeeded", "files", 2)
    places = client.jobs.download_artifacts(found.job_id, chat=found.chat, to=".")
    assert sorted((place.name, place.read_text()) for place in places) == [("out-2.txt", "also"), ("out.txt", "made")]


@case("tools.list", "tools.describe", "tools.invoke")
def tools(client: Any, stage: ServiceFixture) -> None:
    names = [tool["name"] for tool in stage.wire("GET", "/tools").json()["data"]]
    assert [tool.name for tool in client.tools.list()] == names
    tool = client.tools.describe("create_images")
    assert tool.input_schema == stage.wire("GET", "/tools/create_images").json()["input_schema"]
    answered = client.tools.invoke("ask_stefanbrain", {"message": "say x"}, chat="new")
    assert answered.data["answer"] == "x"


@case("feedback.send", "feedback.from_last_error", "feedback.list", "feedback.get")
def feedback(client: Any, stage: ServiceFixture) -> None:
    sent = client.feedback.send("More fonts", category="idea", impact="minor", endpoint="GET /tools")
    found = client.feedback.get(sent.id)
    assert (found.summary, found.category, found.impact, found.status) == ("More fonts", "idea", "minor", "open")
    with pytest.raises(StefanBrainError) as caught:
        client.tools.describe("unknown")
    last = client.feedback.from_last_error("It is gone")
    told = stage.wire("GET", f"/feedback/{last.id}").json()
    assert (told["error_code"], told["request_id"]) == ("tool_not_found", caught.value.request_id)
    assert [one.id for one in client.feedback.list(status="open", limit=2)] == [last.id, sent.id]


@case("media.get", "media.transcribe", "labels.list", "labels.get", "labels.write")
def media(client: Any, stage: ServiceFixture) -> None:
    added, page = stage.media(), stage.page()
    found = client.media.get(added)
    assert found.model_dump(mode="json", exclude_unset=True) == stage.wire("GET", f"/media/{added}").json()
    assert (client.media.transcribe(added)).text == "Hello."
    names = [label["name"] for label in stage.wire("GET", "/landing-pages/labels").json()["labels"]]
    assert [label.name for label in client.labels.list()] == names
    fresh = client.labels.get(page)
    assert (fresh.id, fresh.labels, fresh.version) == (page, {}, 1)
    assert (client.labels.write(page, {"urgency": "none"}, expected_version=1)).version == 2
    assert stage.wire("GET", f"/landing-pages/{page}").json()["labels"] == {"urgency": "none"}


@pytest.mark.parametrize("face", [AgentService, AsyncAgentService])
def test_the_cases_are_all_operations(face: type[Any]) -> None:
    client = face("svc_sk_x")
    groups = {name: group for name, group in vars(client).items() if isinstance(group, Resource | BlockingResource)}
    found = {f"{name}.{operation}" for name, group in groups.items() for operation in vars(type(group))}
    operations = {name for name in found if "._" not in name} | {"ask", "map"}
    assert operations == {name for names in CASES for name in names.split("+")}


@pytest.mark.rule("Every operation works in both clients and needs a valid key.")
@pytest.mark.parametrize("names", CASES)
def test_an_operation_does_its_work(
    names: str, client: AgentService, stage: ServiceFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    CASES[names](client, stage)
