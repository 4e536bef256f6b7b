"""Projects, chats, feedback, media, labels and tool calls: what they send, and when they send it again."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

from agentsvc_nb.client import resources, tools
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.errors import APIConnectionError, RateLimitError, StefanBrainError, ToolResultError
from agentsvc_nb.client.transport.io import run_sync
from agentsvc_nb.wire.resources import Transcript
from agentsvc_nb.wire.tools import JobAccepted, ToolResult
from tests.client.conftest import Network, answer, failure

Networks = Callable[..., Network]
Ask = Callable[[Core], Coroutine[Any, Any, Any]]

JOB = {"type": "tool_job", "tool": "t", "family": "f", "job_id": "job_1", "chat": "chat_1", "status": "queued"}


@pytest.mark.parametrize(
    ("ask", "sent", "body"),
    [
        (lambda core: resources.create_project(core, "Autumn"), "POST /projects", {"name": "Autumn"}),
        (
            lambda core: resources.create_project(core, "A", "Net."),
            "POST /projects",
            {"name": "A", "instructions": "Net."},
        ),
        (lambda core: resources.update_project(core, "proj_1", name="B"), "PATCH /projects/proj_1", {"name": "B"}),
        (lambda core: resources.list_projects(core), "GET /projects", None),
        (lambda core: resources.list_models(core), "GET /models", None),
        (lambda core: resources.retire_chat(core, "chat_1"), "DELETE /chats/chat_1", None),
        (
            lambda core: resources.send_feedback(core, "x", category="bug", request_id="req_1"),
            "POST /feedback",
            {"summary": "x", "category": "bug", "request_id": "req_1"},
        ),
        (lambda core: resources.list_feedback(core, status="open", limit=5), "GET /feedback?status=open&limit=5", None),
        (lambda core: resources.get_feedback(core, "fb_1"), "GET /feedback/fb_1", None),
        (lambda core: resources.get_media(core, "media_1"), "GET /media/media_1", None),
        (lambda core: resources.transcribe(core, "media_1"), "POST /media/media_1/transcript", None),
        (lambda core: resources.list_labels(core), "GET /landing-pages/labels", None),
        (lambda core: resources.get_landing_page(core, "a/b"), "GET /landing-pages/a%2Fb", None),
        (
            lambda core: resources.write_labels(core, "page_1", {}, 3),
            "PUT /landing-pages/page_1/labels",
            {"labels": {}, "expected_version": 3},
        ),
        (
            lambda core: tools.invoke(core, "web_search", {"query": "x"}, session="s"),
            "POST /tools/web_search/invoke",
            {"input": {"query": "x"}, "session": "s"},
        ),
    ],
)
def test_each_operation_sends_its_request(network: Networks, ask: Ask, sent: str, body: Any) -> None:
    net = network(answer(200, {"id": "x", "media_id": "x", "tool": "x"}))
    run_sync(ask(net.core))
    (request,) = net.requests
    assert f"{request.method} {request.url.raw_path.decode().removeprefix('/api/developers/v1')}" == sent
    assert (net.bodies[0] if request.content else None) == body


@pytest.mark.parametrize(
    "ask",
    [
        lambda core: resources.create_project(core, "Autumn"),
        lambda core: resources.send_feedback(core, "x"),
        lambda core: resources.transcribe(core, "media_1"),
        lambda core: resources.write_labels(core, "page_1", {}, 1),
        lambda core: tools.invoke(core, "echo_job", {}),
        lambda core: tools.invoke(core, "research_shortform", {}, idempotency_key="k"),
    ],
)
@pytest.mark.parametrize("trouble", [httpx.ReadError("reset"), failure("brain_unavailable", 503)])
def test_what_would_be_done_twice_is_sent_once(network: Networks, ask: Ask, trouble: Any) -> None:
    net = network(trouble)
    with pytest.raises(StefanBrainError):
        run_sync(ask(net.core))
    assert len(net.requests) == 1


def test_reads_a_retiring_and_a_keyed_call_are_sent_again(network: Networks) -> None:
    asks: list[Ask] = [
        lambda core: resources.retire_chat(core, "chat_1"),
        lambda core: resources.get_feedback(core, "fb_1"),
        lambda core: tools.invoke(core, "create_images", {}, idempotency_key="k"),
    ]
    for ask in asks:
        net = network(httpx.ReadError("reset"), answer(200, {"id": "x", "tool": "x"}))
        run_sync(ask(net.core))
        assert len(net.requests) == 2
    assert [request.headers["idempotency-key"] for request in net.requests] == ["k", "k"]


def test_a_report_too_many_is_not_waited_for(network: Networks) -> None:
    net = network(failure("feedback_rate_limited", 429, retry_after="7"))
    with pytest.raises(RateLimitError) as caught:
        run_sync(resources.send_feedback(net.core, "x"))
    assert (caught.value.retry_after_seconds, net.io.slept) == (7, [])


def test_a_call_is_its_result_or_an_acceptance(network: Networks) -> None:
    net = network(answer(200, {"tool": "t", "data": {"n": 1}, "chat": "chat_1"}), answer(202, JOB))
    result = run_sync(tools.invoke(net.core, "t", {}))
    accepted = run_sync(tools.invoke(net.core, "t", {}))
    assert isinstance(result, ToolResult)
    assert isinstance(accepted, JobAccepted)
    assert (result.data, accepted.job_id) == ({"n": 1}, "job_1")


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        ({"code": "not_configured", "message": "Set X."}, "t failed: Set X.", "not_configured"),
        ({"code": "odd"}, "t failed: odd", "odd"),
        (None, "t failed.", None),
    ],
)
def test_a_result_that_is_an_error_is_raised_whole(network: Networks, error: Any, message: str, code: Any) -> None:
    body = {"tool": "t", "is_error": True, "error": error, "content": [{"type": "text", "text": "x"}], "more": 1}
    net = network(answer(200, body, x_request_id="req_7"))
    with pytest.raises(ToolResultError) as caught:
        run_sync(tools.invoke(net.core, "t", {}))
    found = caught.value
    assert (found.message, found.code, found.status, found.request_id) == (message, code, 200, "req_7")
    assert (found.method, found.path.rpartition("/v1")[2]) == ("POST", "/tools/t/invoke")
    assert (found.body["content"], found.body["more"]) == (body["content"], 1)


def test_a_transcript_is_stored_or_made_by_a_job(network: Networks) -> None:
    net = network(answer(200, {"media_id": "media_1", "text": "hi"}), answer(202, JOB))
    stored, accepted = (run_sync(resources.transcribe(net.core, "media_1")) for _ in "ab")
    assert isinstance(stored, Transcript)
    assert isinstance(accepted, JobAccepted)
    assert (stored.text, accepted.job_id) == ("hi", "job_1")


def test_a_lost_connection_says_that_it_may_be_done(network: Networks) -> None:
    with pytest.raises(APIConnectionError, match="may have"):
        run_sync(tools.invoke(network(httpx.ReadError("reset")).core, "t", {}))
