"""`ask`, and starts that wait for a busy chat."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from agentsvc_nb import ChatBusyError, JobFailedError, JobTimeoutError, ToolResultError
from agentsvc_nb.client.options import WaitNotice
from tests.unit.client.conftest import RUN_ID, Networks, answer, failure, run

DATA = {"answer": "42", "chat": "chat_1", "app_url": "http://a/b", "run_id": RUN_ID, "steps": 3}
RESULT = {"object": "tool_result", "tool": "ask_stefanbrain", "is_error": False, "data": DATA, "chat": "chat_1"}
HANDLE = {"type": "tool_job", "family": "mcp_ask", "job_id": "j", "chat": "chat_1", "status": "queued"}
AWAY = {"code": "brain_gone", "message": "Away."}


def ask(client: Any) -> Any:
    return client.ask("?")


def job(status: str, **more: Any) -> httpx.Response:
    return answer(200, {"job_id": "j", "chat": "chat_1", "status": status, **more})


def busy(holder: str | None = RUN_ID) -> httpx.Response:
    return failure("agent_run_rejected", 409, top={"activeRunId": holder})


@pytest.mark.rule("`ask` returns answer, chat, URL, run id and steps.")
def test_an_answer_in_time(network: Networks) -> None:
    net = network(answer(200, RESULT))
    got = net.call(lambda client: client.ask("?", chat="new", session="s", file_ids=["upload_1"]))
    assert (got.answer, got.chat, got.app_url, got.run_id, got.steps) == ("42", "chat_1", "http://a/b", RUN_ID, 3)
    assert got.raw["tool"] == "ask_stefanbrain"
    assert [json.loads(request.content) for request in net.requests] == [
        {"input": {"message": "?", "file_ids": ["upload_1"]}, "chat": "new", "session": "s"}
    ]
    assert net.requests[0].extensions["timeout"]["read"] == 130


@pytest.mark.rule("`ask` polls a handle for up to 20 minutes.")
def test_a_handle_is_looked_at_until_the_turn_has_ended(both: Networks) -> None:
    looks = [job("running"), job("running", recommended_poll_after_ms=700), job("succeeded")]
    net = both(answer(202, HANDLE), *looks, job("succeeded", kind="inline", data=DATA))
    got = net.call(ask)
    assert (got.answer, got.raw["job_id"], net.slept) == ("42", "j", [2, 0.7])


@pytest.mark.rule("`ask` refuses more than 10 attachments and sends nothing.")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"message": " "}, "message_required"),
        ({"message": "?", "file_ids": ["upload_1"] * 6, "image_urls": ["https://x/y.png"] * 5}, "too_many_attachments"),
        ({"message": "?", "idempotency_key": "a b"}, "invalid_idempotency_key"),
    ],
)
def test_what_cannot_work_is_not_sent(network: Networks, given: dict[str, Any], code: str) -> None:
    assert network().error(lambda client: client.ask(**given)).code == code


@pytest.mark.rule("`ask` raises `ChatBusyError` for a busy chat.")
def test_a_busy_chat_is_an_error_of_its_own(network: Networks) -> None:
    error = network(busy()).error(lambda client: client.ask("?", chat="chat_1"))
    assert (type(error), error.active_run_id, error.status, error.method) == (ChatBusyError, RUN_ID, 409, "POST")


def test_a_turn_that_failed(network: Networks) -> None:
    error = network(answer(200, {**RESULT, "is_error": True, "error": AWAY}, x_request_id="req_1")).error(ask)
    assert (type(error), error.body["data"]["answer"], error.request_id) == (ToolResultError, "42", "req_1")
    ended = job("failed", error=AWAY)
    ended.headers["x-request-id"] = "req_2"
    error = network(answer(202, HANDLE), ended).error(ask)
    assert (type(error), error.request_id, "Away" in str(error)) == (JobFailedError, "req_2", True)


@pytest.mark.rule("A start without an answer raises `JobTimeoutError` without a job id.")
def test_a_start_without_an_answer_has_no_job_id(network: Networks) -> None:
    net = network(*[httpx.ReadTimeout("")] * 2)
    error = net.error(lambda client: client.ask("?", idempotency_key="k", timeout=1))
    assert (type(error), error.job_id, len(net.requests)) == (JobTimeoutError, None, 2)
    assert "may have started" in str(error)


def start(client: Any) -> Any:
    return client.runs.start("hello", chat="chat_1", on_busy="wait")


@pytest.mark.rule('`on_busy="wait"` waits for the active run, then starts.')
def test_a_start_waits_for_the_turn_that_holds_the_chat(both: Networks) -> None:
    net = both(busy(), answer(200, run("completed")), busy("other"), answer(200, run("failed")), answer(202, run()))
    told: list[WaitNotice] = []
    assert net.call(start, on_wait=told.append).status == "queued"
    assert [notice.id for notice in told if notice.reason == "chat_busy"] == [RUN_ID, "other"]
    starts = [request.content for request in net.requests if request.method == "POST"]
    assert starts == [b'{"message":"hello","chat":"chat_1"}'] * 3
    assert net.slept == []
