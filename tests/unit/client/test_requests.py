"""What each operation puts on the wire, and whether it is sent again when its answer is lost."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import httpx
import pandas as pd
import pytest

from agentsvc_nb import AgentService, AsyncAgentService
from tests.unit.client.conftest import HOST, KEY, RUN_ID, V1, Call, Networks, Scripted, answer
from tests.unit.client.streams import events, frames, sse

R = f"/runs/{RUN_ID}"
IN = {"chat": "chat_1"}
EVERYTHING: dict[str, Any] = {
    "run_id": RUN_ID, "status": "completed", "chat": "chat_1", "job_id": "job_1", "id": "id_1", "path": "a/b.txt",
    "call_id": "call_1", "name": "x", "tool": "t", "family": "f", "approved": True, "version": 4, "kind": "video",
    "media_id": "media_1", "retired": True,
}  # fmt: skip
"""Fields for any operation: an answer may have more fields than the client knows."""
TOLD = {"category": "idea", "impact": "minor", "endpoint": "e", "error_code": "x", "request_id": "r"}
START = {"chat": "chat_1", "project": "proj_1", "model": "m", "effort": "low", "max_steps": 3, "max_cents": 0.5}
KEYED = {"idempotency_key": "a-key:1.x_Y"}
TURN = {**EVERYTHING, "data": {"answer": "42", "chat": "chat_1"}}
CONTENT = sse(b"product,price\n" * 9)
ANSWER = answer(200, EVERYTHING)
JOB = answer(200, {**EVERYTHING, "status": "succeeded"})
BYTES = "GET /files/download?chat_id=chat_1&path=a%2Fb.txt"


class Sent(NamedTuple):
    """A call, the first request that it sends, and whether a lost one is sent again."""

    call: Call
    request: str
    body: Any = None
    again: bool = True
    answer: httpx.Response = ANSWER

    def answers(self, name: str) -> list[Scripted]:
        """Return an answer for each request of the call."""
        streams = name in ("runs.attach", "runs.start_and_stream")
        return [self.answer, sse(frames(events(2)))] if streams else [self.answer] * 3


def read(request: str, call: Call, **more: Any) -> Sent:
    return Sent(call, f"GET {request}", **more)


def once(request: str, call: Call, body: Any = None, **more: Any) -> Sent:
    """An operation whose work would be done twice."""
    return Sent(call, request, body, again=False, **more)


REQUESTS: dict[str, Sent] = {
    "runs.get": read(R, lambda c: c.runs.get(RUN_ID)),
    "runs.list": read("/runs?chat=chat_1&status=failed", lambda c: c.runs.list(chat="chat_1", status="failed")),
    "runs.events": read(f"{R}/events?after=2&limit=3", lambda c: c.runs.events(RUN_ID, after=2, limit=3)),
    "runs.iterate_events": read(f"{R}/events?after=1&limit=500", lambda c: c.runs.iterate_events(RUN_ID, after=1)),
    "runs.attach": read(R, lambda c: c.runs.attach(RUN_ID)),
    "runs.wait": read(R, lambda c: c.runs.wait(RUN_ID)),
    "runs.sent": read(f"{R}/sent", lambda c: c.runs.sent(RUN_ID)),
    "runs.tables": read(R, lambda c: c.runs.tables(RUN_ID)),
    "files.list": read("/files?chat_id=chat_1", lambda c: c.files.list("chat_1")),
    "files.search": read("/files/search?chat_id=chat_1&q=%22a+b%22+%C3%A4%26%3D",
                         lambda c: c.files.search('"a b" ä&=', chat="chat_1")),
    "files.versions": read("/files/versions?chat_id=chat_1&path=a%2Fb.txt",
                           lambda c: c.files.versions("a/b.txt", chat="chat_1")),
    "files.download": Sent(lambda c: c.files.download("a/b.txt", chat="chat_1"), BYTES, answer=CONTENT),
    "files.head": Sent(lambda c: c.files.head("a/b.txt", 20, chat="chat_1"), BYTES, answer=CONTENT),
    "tools.list": read("/tools", lambda c: c.tools.list()),
    "tools.describe": read("/tools/web_search", lambda c: c.tools.describe("web_search")),
    "jobs.list": read("/jobs?status=running", lambda c: c.jobs.list(status="running")),
    "jobs.status": read("/jobs/job_1?project=proj_1&session=s+1",
                        lambda c: c.jobs.status("job_1", project="proj_1", session="s 1")),
    "jobs.result": read("/jobs/job_1/result?chat=chat_1", lambda c: c.jobs.result("job_1", **IN)),
    "jobs.wait": read("/jobs/job_1?chat=chat_1", lambda c: c.jobs.wait("job_1", **IN), answer=JOB),
    "jobs.download_artifacts": read("/jobs/job_1/result?chat=chat_1",
                                    lambda c: c.jobs.download_artifacts("job_1", to=".", **IN)),
    "feedback.list": read("/feedback?status=open&limit=5", lambda c: c.feedback.list(status="open", limit=5)),
    "feedback.get": read("/feedback/fb_1", lambda c: c.feedback.get("fb_1")),
    "media.get": read("/media/media_1", lambda c: c.media.get("media_1")),
    "labels.list": read("/landing-pages/labels", lambda c: c.labels.list()),
    "labels.get": read("/landing-pages/page_1", lambda c: c.labels.get("page_1")),
    "projects.list": read("/projects", lambda c: c.projects.list()),
    "usage.today": read("/usage", lambda c: c.usage.today()),
    "models.list": read("/models", lambda c: c.models.list()),
    "runs.cancel": Sent(lambda c: c.runs.cancel(RUN_ID), f"POST {R}/cancel"),
    "jobs.cancel": Sent(lambda c: c.jobs.cancel("job_1", **IN), "POST /jobs/job_1/cancel?chat=chat_1"),
    "files.upload": Sent(lambda c: c.files.upload(("a.txt", b"abc"), chat="chat_1"), "POST /files?chat_id=chat_1"),
    "files.rename": Sent(lambda c: c.files.rename("a", "b", chat="chat_1"),
                         "PATCH /files?chat_id=chat_1&path=a", {"name": "b"}),
    "files.restore": Sent(lambda c: c.files.restore("a", 2, chat="chat_1"),
                          "POST /files/restore?chat_id=chat_1&path=a", {"version": 2}),
    "projects.update": Sent(lambda c: c.projects.update("proj_1", name="x"), "PATCH /projects/proj_1", {"name": "x"}),
    "chats.retire": Sent(lambda c: c.chats.retire("chat_1"), "DELETE /chats/chat_1"),
    "runs.approve": once(f"POST {R}/calls/call_1/approval", lambda c: c.runs.approve(RUN_ID, "call_1"),
                         {"approved": True}),
    "runs.approve more": once(f"POST {R}/calls/call_1/approval",
                              lambda c: c.runs.approve(RUN_ID, "call_1", input={"a": 1}, lasts="run", folder="b"),
                              {"approved": True, "input": {"a": 1}, "standing": {"lasts": "run", "folder": "b"}}),
    "runs.standing_approvals": read("/standing-approvals", lambda c: c.runs.standing_approvals()),
    "runs.revoke_approval": once("DELETE /standing-approvals/id_1", lambda c: c.runs.revoke_approval("id_1")),
    "runs.refuse": once(f"POST {R}/calls/call_1/approval", lambda c: c.runs.refuse(RUN_ID, "call_1", reason="no"),
                        {"approved": False, "reason": "no"}),
    "feedback.send": once("POST /feedback", lambda c: c.feedback.send("s", **TOLD), {"summary": "s", **TOLD}),
    "media.transcribe": once("POST /media/media_1/transcript", lambda c: c.media.transcribe("media_1")),
    "labels.write": once("PUT /landing-pages/page_1/labels", lambda c: c.labels.write("page_1", {"tone": "dry"}, 3),
                         {"labels": {"tone": "dry"}, "expected_version": 3}),
    "projects.create": once("POST /projects", lambda c: c.projects.create("x"), {"name": "x"}),
    "runs.start": once("POST /runs", lambda c: c.runs.start("Hi ä\u2028", **START), {"message": "Hi ä\u2028", **START}),
    "runs.start with key": Sent(lambda c: c.runs.start("Hi", **KEYED), "POST /runs", {"message": "Hi"}),
    "runs.start_and_stream": once("POST /runs", lambda c: c.runs.start_and_stream("Hi"), {"message": "Hi"}),
    "runs.raise_limit": Sent(lambda c: c.runs.raise_limit(RUN_ID, 7.5), f"POST {R}/limits", {"max_cents": 7.5}),
    "runs.resume": once(f"POST {R}/resume", lambda c: c.runs.resume(RUN_ID, max_steps=3), {"max_steps": 3}),
    "runs.undo": Sent(lambda c: c.runs.undo(RUN_ID), f"POST {R}/undo", {"force": False}),
    "runs.redo": Sent(lambda c: c.runs.redo(RUN_ID, force=True), f"POST {R}/undo", {"force": True, "redo": True}),
    "runs.resume with key": Sent(lambda c: c.runs.resume(RUN_ID, **KEYED), f"POST {R}/resume", {}),
    "tools.invoke": once("POST /tools/t/invoke", lambda c: c.tools.invoke("t", {"a": 1}, **IN),
                         {"input": {"a": 1}, **IN}),
    "tools.invoke with key": Sent(lambda c: c.tools.invoke("t", {}, **KEYED), "POST /tools/t/invoke", {"input": {}}),
    "tools.invoke research": once("POST /tools/research_shortform/invoke",
                                  lambda c: c.tools.invoke("research_shortform", {}, **KEYED), {"input": {}}),
    "ask": once("POST /tools/ask_stefanbrain/invoke", lambda c: c.ask("Hi", image_urls=["https://x/y.png"], **IN),
                {"input": {"message": "Hi", "image_urls": ["https://x/y.png"]}, **IN}, answer=answer(200, TURN)),
    "ask with key": Sent(lambda c: c.ask("Hi", **KEYED), "POST /tools/ask_stefanbrain/invoke",
                         {"input": {"message": "Hi"}}, answer=answer(200, TURN)),
    "jobs.submit": once("POST /jobs", lambda c: c.jobs.submit("t", {"a": 1}, **IN),
                        {"tool": "t", "input": {"a": 1}, **IN}),
    "jobs.submit with key": Sent(lambda c: c.jobs.submit("t", {}, **KEYED), "POST /jobs", {"tool": "t", "input": {}}),
    "jobs.submit research": once("POST /jobs", lambda c: c.jobs.submit("research_shortform", {}, **KEYED)),
    "jobs.submit_and_wait": once("POST /jobs", lambda c: c.jobs.submit_and_wait("t", {}), {"tool": "t", "input": {}},
                                 answer=JOB),
    "map": Sent(lambda c: c.map(pd.DataFrame({"x": ["a"]}), "{{x}}!"), "POST /runs", {"message": "a!", "sync": True}),
}  # fmt: skip


def operations_of(client: AgentService | AsyncAgentService) -> set[str]:
    """The names of all that a client can do."""
    groups = {name: group for name, group in vars(client).items() if not name.startswith("_")}
    named = {f"{name}.{each}" for name, group in groups.items() for each in dir(group) if each[0] != "_"}
    return {*named, "ask", "map"}


def test_the_table_has_every_operation_of_both_clients() -> None:
    named = {name.partition(" ")[0] for name in REQUESTS} | {"feedback.from_last_error"}
    assert operations_of(AgentService(KEY)) == operations_of(AsyncAgentService(KEY)) == named


@pytest.mark.parametrize("name", REQUESTS)
def test_an_operation_sends_its_request(name: str, both: Networks) -> None:
    sent = REQUESTS[name]
    net = both(*sent.answers(name))
    net.call(sent.call)
    first = net.requests[0]
    assert f"{first.method} {first.url}".replace(HOST + V1, "") == sent.request
    assert first.headers["authorization"] == f"Bearer {KEY}"
    keyed = "with key" in name or "research" in name
    assert first.headers.get("idempotency-key") == (KEYED["idempotency_key"] if keyed else None) or name == "map"
    if sent.body is not None:
        assert json.loads(first.content) == sent.body


@pytest.mark.rule("The client repeats reads, cancels and staging, and never feedback.")
@pytest.mark.parametrize("name", [name for name in REQUESTS if name != "map"])  # its rows tell their own errors
def test_each_route_is_sent_again_as_its_row_says(name: str, network: Networks) -> None:
    """Reads, cancels and staging always; starts with a key; what would be done twice never."""
    sent = REQUESTS[name]
    net = network(httpx.ReadError("reset"), *sent.answers(name))
    if sent.again:
        net.call(sent.call)
        one, two = net.requests[:2]
        assert (one.method, one.url, one.headers.get("idempotency-key")) == (
            two.method, two.url, two.headers.get("idempotency-key")
        )  # fmt: skip
        assert sent.body is None or one.content == two.content
    else:
        assert "may have started" in str(net.error(sent.call))
        assert len(net.requests) == 1


IDS = ["../keys", "..", "", "a/b", "a?b=c", "a#b", "%2e%2e", "a b", "a\r\nX-Evil: 1", "\\..\\x", "//evil.example/x"]


@pytest.mark.parametrize("id_", IDS)
def test_an_id_stays_one_part_of_its_address(id_: str, network: Networks) -> None:
    net = network(answer(404))
    net.error(lambda client: client.runs.approve(RUN_ID, id_))
    for request in net.requests:
        target = request.url.raw_path.decode()
        assert re.fullmatch(f"{V1}{R}/calls/[^/]+/approval", target), target
        assert not re.search(r"/\.\.?(/|$)", target)
        assert "x-evil" not in request.headers
