"""`ask`, and starts that wait for a busy chat."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.errors import (
    APIConnectionError,
    ChatBusyError,
    JobFailedError,
    JobTimeoutError,
    StefanBrainError,
    ToolResultError,
)
from agentsvc_nb.client.options import WaitNotice
from tests.client.conftest import RUN_ID, Network, answer, failure, run

Networks = Callable[..., Network]
DATA = {"answer": "42", "chat": "chat_1", "app_url": "http://a/b", "run_id": RUN_ID, "steps": 3}
RESULT = {"object": "tool_result", "tool": "ask_stefanbrain", "is_error": False, "data": DATA, "chat": "chat_1"}
HANDLE = {"type": "tool_job", "family": "mcp_ask", "job_id": "j", "chat": "chat_1", "status": "queued"}


def job(status: str, **more: Any) -> httpx.Response:
    return answer(200, {"job_id": "j", "chat": "chat_1", "status": status, **more})


def busy(holder: str | None = RUN_ID) -> httpx.Response:
    return failure("agent_run_rejected", 409, top={"activeRunId": holder})


# -- ask -----------------------------------------------------------------------------------------------------------


def test_an_answer_in_time(network: Networks) -> None:
    net = network(answer(200, RESULT))
    got = net.client.ask("?", chat="new", session="s", file_ids=["upload_1"], image_urls=["https://x/y.png"])
    assert (got.answer, got.chat, got.app_url, got.run_id, got.steps) == ("42", "chat_1", "http://a/b", RUN_ID, 3)
    assert got.raw["tool"] == "ask_stefanbrain"
    given = {"message": "?", "file_ids": ["upload_1"], "image_urls": ["https://x/y.png"]}
    assert net.bodies == [{"input": given, "chat": "new", "session": "s"}]
    assert net.requests[0].extensions["timeout"]["read"] == 130


def test_a_handle_is_looked_at_until_the_turn_has_ended(network: Networks) -> None:
    looks = [job("running"), job("running", recommended_poll_after_ms=700), job("succeeded")]
    net = network(answer(202, HANDLE), *looks, job("succeeded", kind="inline", data=DATA))
    got = net.client.ask("?")
    assert (got.answer, got.raw["job_id"], net.io.slept) == ("42", "j", [2, 0.7])


def test_the_interval_may_be_the_callers(network: Networks) -> None:
    net = network(answer(202, HANDLE), job("running"), *[job("succeeded", data=DATA)] * 2)
    net.client.ask("?", poll=9)
    assert net.io.slept == [9]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"message": " "}, "message_required"),
        ({"message": "?", "file_ids": ["upload_1"] * 6, "image_urls": ["https://x/y.png"] * 5}, "too_many_attachments"),
        ({"message": "?", "idempotency_key": "a b"}, "invalid_idempotency_key"),
    ],
)
def test_what_cannot_work_is_not_sent(network: Networks, given: dict[str, Any], code: str) -> None:
    with pytest.raises(StefanBrainError) as caught:
        network().client.ask(**given)
    assert caught.value.code == code


def test_a_busy_chat_is_an_error_of_its_own(network: Networks) -> None:
    with pytest.raises(ChatBusyError) as caught:
        network(busy()).client.ask("?", chat="chat_1")
    assert (caught.value.active_run_id, caught.value.status, caught.value.method) == (RUN_ID, 409, "POST")


def test_a_turn_that_failed(network: Networks) -> None:
    broken = {**RESULT, "is_error": True, "error": {"code": "brain_gone", "message": "Away."}}
    with pytest.raises(ToolResultError, match="Away") as caught:
        network(answer(200, broken, x_request_id="req_1")).client.ask("?")
    assert (caught.value.body["data"]["answer"], caught.value.request_id) == ("42", "req_1")
    ended = job("failed", error={"code": "brain_gone", "message": "Away."})
    ended.headers["x-request-id"] = "req_2"
    with pytest.raises(JobFailedError, match="Away") as later:
        network(answer(202, HANDLE), ended).client.ask("?")
    assert later.value.request_id == "req_2"


def test_a_turn_that_takes_too_long_can_be_waited_for_again(network: Networks) -> None:
    net = network(answer(202, HANDLE), *[job("running")] * 3)
    with pytest.raises(JobTimeoutError) as caught:
        net.client.ask("?", timeout=4)
    assert (caught.value.job_id, caught.value.chat, net.io.slept) == ("j", "chat_1", [2, 2])


def test_a_start_without_an_answer_has_no_job_id(network: Networks) -> None:
    net = network(*[httpx.ReadTimeout("")] * 2)
    with pytest.raises(JobTimeoutError, match="may have started") as caught:
        net.client.ask("?", idempotency_key="k", timeout=1)
    assert (caught.value.job_id, len(net.requests)) == (None, 2)


def test_a_keyless_ask_is_sent_once(network: Networks) -> None:
    net = network(httpx.ReadError("reset"))
    with pytest.raises(APIConnectionError, match="may have started"):
        net.client.ask("?", idempotency_key="")
    assert "idempotency-key" not in net.requests[0].headers


def test_an_answer_without_its_field_is_named(network: Networks) -> None:
    with pytest.raises(StefanBrainError, match="`answer`: Field required"):
        network(answer(200, {**RESULT, "data": {}})).client.ask("?")


# -- on_busy="wait" ------------------------------------------------------------------------------------------------


def test_a_start_waits_for_the_turn_that_holds_the_chat(network: Networks) -> None:
    net = network(busy(), answer(200, run("completed")), busy("other"), answer(200, run("failed")), answer(202, run()))
    told: list[WaitNotice] = []
    client = net.client.with_options(on_wait=told.append)
    assert client.runs.start("hello", chat="chat_1", on_busy="wait").status == "queued"
    assert [notice.id for notice in told if notice.reason == "chat_busy"] == [RUN_ID, "other"]
    starts = [json.loads(request.content) for request in net.requests if request.method == "POST"]
    assert starts == [{"message": "hello", "chat": "chat_1"}] * 3
    assert net.io.slept == []


def test_an_ask_waits_too(network: Networks) -> None:
    net = network(busy(), answer(200, run("completed")), answer(200, RESULT))
    assert net.client.ask("?", on_busy="wait").answer == "42"


def test_start_and_stream_waits_too(network: Networks) -> None:
    net = network(busy(), answer(200, run("completed")), answer(202, run()))
    assert net.client.runs.start_and_stream("hello", chat="chat_1", on_busy="wait").run.run_id == RUN_ID


@pytest.mark.parametrize("holder", [None, RUN_ID])
def test_a_holder_that_cannot_be_seen_is_asked_around(network: Networks, holder: str | None) -> None:
    looks = [failure("run_not_found", 404)] if holder else []
    net = network(busy(holder), *looks, answer(202, run()))
    net.client.runs.start("hello", chat="chat_1", on_busy="wait")
    assert net.io.slept == [3]


def test_a_chat_that_stays_busy_after_its_run_is_not_stormed(network: Networks) -> None:
    net = network(busy(), answer(200, run("completed")), busy(), answer(202, run()))
    net.client.runs.start("hello", chat="chat_1", on_busy="wait")
    assert net.io.slept == [3]


@pytest.mark.parametrize(("operation", "kind"), [("runs.start", StefanBrainError), ("ask", ChatBusyError)])
def test_a_chat_that_does_not_become_free_is_the_refusal(
    network: Networks, operation: str, kind: type[StefanBrainError]
) -> None:
    running, none = answer(200, run("running")), failure("not_found", 404)
    net = network(busy(), running, none, running, running)
    with pytest.raises(kind) as caught:
        attrgetter(operation)(net.client)("hello", chat="chat_1", on_busy="wait", deadline=6)
    assert (type(caught.value), caught.value.code, net.io.now()) == (kind, "agent_run_rejected", 6)
