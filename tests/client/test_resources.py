"""Projects, chats, feedback, media, labels and tool calls: what they send, and when they send it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import APIConnectionError, RateLimitError, StefanBrainError, ToolResultError
from agentsvc_nb.wire.resources import Transcript
from agentsvc_nb.wire.tools import JobAccepted, ToolResult
from tests.client.conftest import Network, answer, failure

Networks = Callable[..., Network]
Ask = Callable[[AgentService], Any]

JOB = {"type": "tool_job", "tool": "t", "family": "f", "job_id": "job_1", "chat": "chat_1", "status": "queued"}


@pytest.mark.parametrize(
    ("ask", "sent", "body"),
    [
        (lambda client: client.projects.create("Autumn"), "POST /projects", {"name": "Autumn"}),
        (
            lambda client: client.projects.create("A", "Net."),
            "POST /projects",
            {"name": "A", "instructions": "Net."},
        ),
        (lambda client: client.projects.update("proj_1", name="B"), "PATCH /projects/proj_1", {"name": "B"}),
        (lambda client: client.projects.list(), "GET /projects", None),
        (lambda client: client.models.list(), "GET /models", None),
        (lambda client: client.chats.retire("chat_1"), "DELETE /chats/chat_1", None),
        (
            lambda client: client.feedback.send("x", category="bug", request_id="req_1"),
            "POST /feedback",
            {"summary": "x", "category": "bug", "request_id": "req_1"},
        ),
        (lambda client: client.feedback.list(status="open", limit=5), "GET /feedback?status=open&limit=5", None),
        (lambda client: client.feedback.get("fb_1"), "GET /feedback/fb_1", None),
        (lambda client: client.media.get("media_1"), "GET /media/media_1", None),
        (lambda client: client.media.transcribe("media_1"), "POST /media/media_1/transcript", None),
        (lambda client: client.labels.list(), "GET /landing-pages/labels", None),
        (lambda client: client.labels.get("a/b"), "GET /landing-pages/a%2Fb", None),
        (
            lambda client: client.labels.write("page_1", {}, 3),
            "PUT /landing-pages/page_1/labels",
            {"labels": {}, "expected_version": 3},
        ),
        (
            lambda client: client.tools.invoke("web_search", {"query": "x"}, session="s"),
            "POST /tools/web_search/invoke",
            {"input": {"query": "x"}, "session": "s"},
        ),
    ],
)
def test_each_operation_sends_its_request(network: Networks, ask: Ask, sent: str, body: Any) -> None:
    net = network(answer(200, {"id": "x", "media_id": "x", "tool": "x"}))
    ask(net.client)
    (request,) = net.requests
    assert f"{request.method} {request.url.raw_path.decode().removeprefix('/api/developers/v1')}" == sent
    assert (net.bodies[0] if request.content else None) == body


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.projects.create("Autumn"),
        lambda client: client.feedback.send("x"),
        lambda client: client.media.transcribe("media_1"),
        lambda client: client.labels.write("page_1", {}, 1),
        lambda client: client.tools.invoke("echo_job", {}),
        lambda client: client.tools.invoke("research_shortform", {}, idempotency_key="k"),
    ],
)
@pytest.mark.parametrize("trouble", [httpx.ReadError("reset"), failure("brain_unavailable", 503)])
def test_what_would_be_done_twice_is_sent_once(network: Networks, ask: Ask, trouble: Any) -> None:
    net = network(trouble)
    with pytest.raises(StefanBrainError):
        ask(net.client)
    assert len(net.requests) == 1


def test_reads_a_retiring_and_a_keyed_call_are_sent_again(network: Networks) -> None:
    asks: list[Ask] = [
        lambda client: client.chats.retire("chat_1"),
        lambda client: client.feedback.get("fb_1"),
        lambda client: client.tools.invoke("create_images", {}, idempotency_key="k"),
    ]
    for ask in asks:
        net = network(httpx.ReadError("reset"), answer(200, {"id": "x", "tool": "x"}))
        ask(net.client)
        assert len(net.requests) == 2
    assert [request.headers["idempotency-key"] for request in net.requests] == ["k", "k"]


def test_a_report_too_many_is_not_waited_for(network: Networks) -> None:
    net = network(failure("feedback_rate_limited", 429, retry_after="7"))
    with pytest.raises(RateLimitError) as caught:
        net.client.feedback.send("x")
    assert (caught.value.retry_after_seconds, net.slept) == (7, [])


def test_a_call_is_its_result_or_an_acceptance(network: Networks) -> None:
    net = network(answer(200, {"tool": "t", "data": {"n": 1}, "chat": "chat_1"}), answer(202, JOB))
    result = net.client.tools.invoke("t", {})
    accepted = net.client.tools.invoke("t", {})
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
        net.client.tools.invoke("t", {})
    found = caught.value
    assert (found.message, found.code, found.status, found.request_id) == (message, code, 200, "req_7")
    assert (found.method, found.path.rpartition("/v1")[2]) == ("POST", "/tools/t/invoke")
    assert (found.body["content"], found.body["more"]) == (body["content"], 1)


def test_a_transcript_is_stored_or_made_by_a_job(network: Networks) -> None:
    net = network(answer(200, {"media_id": "media_1", "text": "hi"}), answer(202, JOB))
    stored, accepted = (net.client.media.transcribe("media_1") for _ in "ab")
    assert isinstance(stored, Transcript)
    assert isinstance(accepted, JobAccepted)
    assert (stored.text, accepted.job_id) == ("hi", "job_1")


def test_a_lost_connection_says_that_it_may_be_done(network: Networks) -> None:
    with pytest.raises(APIConnectionError, match="may have"):
        network(httpx.ReadError("reset")).client.tools.invoke("t", {})
