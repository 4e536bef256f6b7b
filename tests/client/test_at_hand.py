"""What callers expect to be there: text alone, options of the constructor, ids of requests, records in place of ids."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import agentsvc_nb
from agentsvc_nb import AgentService, AsyncAgentService, JobAccepted, StefanBrainError, ToolResult, WorkspaceFile
from agentsvc_nb.client.events import OtherEvent, RunEnded, TextDelta, parse_event
from agentsvc_nb.client.log import log, write_to_stderr
from agentsvc_nb.wire.files import Project, StagedFile
from agentsvc_nb.wire.runs import Event, EventType
from tests.client.conftest import KEY, RUN_ID, Network, answer, run
from tests.client.cutting import CuttingServer, events

Networks = Callable[..., Network]


def spoken(count: int) -> str:
    return "".join(event["payload"].get("text", "") for event in events(count))


# -- streams -------------------------------------------------------------------------------------------------------


def test_the_text_of_a_stream_alone() -> None:
    with (
        CuttingServer(20) as server,
        AgentService(KEY, server.base_url) as client,
        client.runs.attach(RUN_ID) as stream,
    ):
        assert "".join(stream.text) == spoken(20)
        assert stream.final_status().output == "done"


def test_an_async_stream_is_entered_without_a_second_await() -> None:
    async def read(base_url: str) -> tuple[str, list[int]]:
        async with AsyncAgentService(KEY, base_url) as client:
            async with client.runs.attach(RUN_ID) as stream:
                text = "".join([piece async for piece in stream.text])
            again = await client.runs.attach(RUN_ID)  # and may be awaited
            async with again:
                return text, [event.id async for event in again]

    with CuttingServer(20) as server:
        assert asyncio.run(read(server.base_url)) == (spoken(20), list(range(1, 21)))


def test_a_stream_that_is_never_entered_sends_nothing() -> None:
    async def dropped(base_url: str) -> int:
        async with AsyncAgentService(KEY, base_url) as client:
            client.runs.attach(RUN_ID)
            return len(client.history)

    with CuttingServer(2) as server:
        assert asyncio.run(dropped(server.base_url)) == 0


# -- events --------------------------------------------------------------------------------------------------------


def test_every_known_type_has_a_class_of_its_own() -> None:
    made = [parse_event({"id": 1, "type": kind, "payload": {}}) for kind in EventType.__args__]  # type: ignore[attr-defined]
    assert len({type(event) for event in made}) == len(made)
    assert OtherEvent not in map(type, made)


def test_the_fields_of_an_event_are_those_of_its_payload() -> None:
    event = parse_event({"id": 1, "type": "text.delta", "payload": {"text": "a", "new": 1}})
    assert isinstance(event, TextDelta)
    assert (event.text, event.payload["new"]) == ("a", 1)
    assert parse_event({"id": 1, "type": "text.delta"}).text == ""  # type: ignore[union-attr]
    new = parse_event({"id": 2, "type": "brand.new", "payload": {"who": "me"}, "since": 3})
    assert isinstance(new, OtherEvent)
    assert (new.who, new.model_extra) == ("me", {"since": 3})
    with pytest.raises(AttributeError, match=r"brand\.new"):
        _ = new.missing
    assert pickle.loads(pickle.dumps(new)) == new != Event(2, "brand.new", "", {"who": "me"})
    assert event == Event(1, "text.delta", "", {"text": "a", "new": 1})


def test_the_record_and_the_file_of_an_event() -> None:
    ended = parse_event({"id": 1, "type": "run.ended", "payload": {"run": run("completed", output="x")}})
    assert isinstance(ended, RunEnded)
    assert ended.run.output == "x"
    with pytest.raises(StefanBrainError, match=r"run\.ended"):
        _ = parse_event({"id": 1, "type": "run.ended", "payload": {"run": 5}}).run  # type: ignore[union-attr]
    written = parse_event({"id": 1, "type": "file.written", "payload": {"id": "s", "path": "a.csv"}})
    assert written.file.path == "a.csv"  # type: ignore[union-attr]


# -- ids of requests, and of records -------------------------------------------------------------------------------


def test_the_id_of_its_request_is_on_a_result(network: Networks) -> None:
    net = network(answer(200, run(), x_request_id="req_1"), answer(200, {"data": []}, x_request_id="req_2"))
    found = net.client.runs.get(RUN_ID)
    assert found._request_id == "req_1"
    assert "_request_id" not in found.model_dump()
    assert found == type(found)(**run())
    assert pickle.loads(pickle.dumps(found))._request_id == "req_1"
    assert net.client.tools.list()._request_id == "req_2"
    assert type(found)(**run())._request_id is None


def test_the_id_of_the_last_page_is_on_what_was_listed(network: Networks) -> None:
    def files(name: str, after: str | None) -> dict[str, Any]:
        return {"files": [{"id": "1", "path": name}], "next_after": after}

    pages = [answer(200, files("a", "a"), x_request_id="req_1"), answer(200, files("b", None), x_request_id="req_2")]
    found = network(*pages).client.files.list("chat_1").all()
    assert (len(found), found._request_id) == (2, "req_2")
    events = answer(200, {"data": [], "next_after": 0, "status": "completed"}, x_request_id="req_3")
    assert network(events).client.runs.iterate_events(RUN_ID).all()._request_id == "req_3"


def test_the_id_of_its_latest_request_is_on_a_stream(network: Networks) -> None:
    def part(*ids: int) -> httpx.Response:
        some = b"".join(b'id: %d\ndata: {"id": %d, "type": "x"}\n\n' % (number, number) for number in ids)
        headers = {"content-type": "text/event-stream", "x-request-id": f"req_{ids[0] + 1}"}
        return httpx.Response(200, content=iter([some]), headers=headers)

    stream = network(answer(200, run(), x_request_id="req_1"), part(1), part(2)).client.runs.attach(RUN_ID)
    assert stream._request_id == "req_1"
    assert (next(stream).id, stream._request_id) == (1, "req_2")
    assert (next(stream).id, stream._request_id) == (2, "req_3")


def test_records_stand_for_their_ids(network: Networks) -> None:
    started = network(answer(202, run())).client.runs.start("x")
    accepted = JobAccepted(family="f", job_id="job_1", chat="chat_2")
    project, staged = Project(id="proj_1"), StagedFile(id="upload_1")
    net = network(*[answer(202, run())] * 5)
    net.client.runs.get(started)
    net.client.runs.start("x", chat=started, project=project, file_ids=[staged])
    net.client.runs.start("x", chat=ToolResult(tool="t", chat="chat_3"))
    net.client.runs.cancel(net.client.runs.attach(started))
    assert net.requests[0].url.path.endswith(f"/runs/{RUN_ID}")
    begun, other = (json.loads(request.content) for request in net.requests[1:3])
    assert begun == {"message": "x", "chat": "chat_1", "project": "proj_1", "file_ids": ["upload_1"]}
    assert other["chat"] == "chat_3"
    net = network(answer(200, {"data": []}), answer(200, {"run_id": RUN_ID, "call_id": "call_1", "approved": True}))
    assert net.client.runs.tables(started) == []
    asked = parse_event({"id": 1, "type": "approval.requested", "payload": {"call_id": "call_1"}})
    assert net.client.runs.approve(started, asked).approved  # type: ignore[arg-type]
    assert [request.url.path.partition(RUN_ID)[2] for request in net.requests] == ["/events", "/calls/call_1/approval"]
    net = network(answer(200, {"job_id": "job_1", "chat": "chat_2", "status": "succeeded"}), answer(200, {"files": []}))
    net.client.jobs.wait(accepted)
    assert net.client.files.list(accepted)
    assert (net.requests[0].url.path[-6:], net.requests[0].url.params["chat"]) == ("/job_1", "chat_2")


# -- an entry says where its file is -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "asked"),
    [
        ("/api/developers/v1/files/download?chat_id=c&path=a&sign=1", "/api/developers/v1/files/download"),
        ("http://service.test/other?x=1", "/other"),
        ("http://service.test:81/other", "/api/developers/v1/files/download"),
        ("https://service.test/other", "/api/developers/v1/files/download"),
        ("//elsewhere.test/other", "/api/developers/v1/files/download"),
        ("http://[broken", "/api/developers/v1/files/download"),
        ("http://someone:else@service.test/other", "/api/developers/v1/files/download"),
        ("/other\r\nx: y", "/api/developers/v1/files/download"),
        ("/other\ud800", "/api/developers/v1/files/download"),
        ("", "/api/developers/v1/files/download"),
    ],
)
def test_a_file_is_fetched_where_its_entry_says_on_the_same_origin(network: Networks, link: str, asked: str) -> None:
    net = network(httpx.Response(200, content=iter([b"x"])), answer(404))
    file = WorkspaceFile(id="", path="a", download_url=link)
    assert net.client.files.download(file, chat="c") == b"x"
    assert (net.requests[0].url.host, net.requests[0].url.port) == ("service.test", None)
    assert net.requests[0].url.path == asked
    assert net.requests[0].url.params.get("sign") == ("1" if "sign" in link else None)
    assert net.core.history[-1].path == asked
    with pytest.raises(StefanBrainError) as caught:
        net.client.files.download(file, chat="c")
    assert (caught.value.path, net.core.history[-1].path) == (asked, asked)


# -- the constructor -----------------------------------------------------------------------------------------------


def seen_by(**options: Any) -> tuple[AgentService, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={**run(), "tool": "t"})

    return AgentService(KEY, transport=httpx.MockTransport(reply), **options), seen


def test_headers_and_a_deadline_of_the_constructor() -> None:
    client, seen = seen_by(headers={"X-Team": "blue"}, deadline=5)
    client.runs.get(RUN_ID)
    assert seen[0].headers["x-team"] == "blue"
    assert client._core.settings.deadline == 5
    assert seen[0].headers["user-agent"] == f"agentsvc-nb/{agentsvc_nb.__version__}"


def test_the_address_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSVC_BASE_URL", "https://set.test/")
    assert AgentService(KEY).base_url == AsyncAgentService(KEY).base_url == "https://set.test"
    assert AgentService(KEY, "http://given.test").base_url == "http://given.test"
    monkeypatch.delenv("AGENTSVC_BASE_URL")
    assert AgentService(KEY).base_url == "http://127.0.0.1:8787"


def test_fields_of_the_callers_own_go_along() -> None:
    client, seen = seen_by()
    client.runs.start("x", extra_body={"model": "m", "message": "y"})
    client.tools.invoke("t", {"a": 1}, extra_body={"input": {"b": 2}, "new": True})
    client.with_options(extra_body={"model": "n"}).runs.start("x", extra_body={"effort": "low"})
    client.runs.get(RUN_ID, extra_body={"model": "m"})
    assert [json.loads(request.content or b"null") for request in seen] == [
        {"message": "y", "model": "m"},
        {"input": {"a": 1, "b": 2}, "new": True},
        {"message": "x", "model": "n", "effort": "low"},
        None,
    ]


# -- the log -------------------------------------------------------------------------------------------------------


def test_the_log_has_neither_keys_nor_contents(caplog: pytest.LogCaptureFixture) -> None:
    client, _ = seen_by(headers={"x-team": "confidential"})
    with caplog.at_level(logging.DEBUG):
        client.runs.start("a secret plan", chat="chat_1", idempotency_key="k-1")
    ours = [record.getMessage() for record in caplog.records if record.name == "agentsvc"]
    assert len(ours) == 1
    assert ours[0].startswith("POST /api/developers/v1/runs: 200 in ")
    assert not [word for word in (KEY, "secret plan", "confidential", "k-1") if word in ours[0]]


LOGGED = """
import httpx
from agentsvc_nb import AgentService
transport = httpx.MockTransport(lambda request: httpx.Response(500, json={"error": {"message": "No."}}))
try: AgentService("svc_sk_x", transport=transport, max_retries=0).tools.list()
except Exception: pass
"""


@pytest.mark.parametrize(("level", "said"), [("debug", "GET /api"), ("INFO", ""), ("loud", "AGENTSVC_LOG is 'loud'")])
def test_the_log_is_switched_on_by_the_environment(level: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOGGED], env={"AGENTSVC_LOG": level}, capture_output=True, text=True, check=True
    )
    assert (said in done.stderr) if said else not done.stderr


def test_no_level_changes_nothing() -> None:
    before = list(log.handlers)
    write_to_stderr("")
    assert log.handlers == before
