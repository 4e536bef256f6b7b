"""Projects, chats, feedback, media, labels and tool calls: what they send, and when they send it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import RateLimitError, ToolResultError
from agentsvc_nb.wire.resources import Transcript
from agentsvc_nb.wire.tools import JobAccepted, ToolResult
from tests.unit.client.conftest import Network, answer, failure

Networks = Callable[..., Network]
Ask = Callable[[AgentService], Any]

JOB = {"type": "tool_job", "tool": "t", "family": "f", "job_id": "job_1", "chat": "chat_1", "status": "queued"}


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
