"""Feedback over HTTP and through the client, answered beside the server (docs/api/feedback.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import RateLimitError
from agentsvc_nb.testing import RunningService, running_service
from tests.service.api.conftest import Wire, code
from tests.service.cli.test_cli import agentsvc


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """Of its own: an account may send 60 reports an hour."""
    with running_service() as running:
        yield running


def test_a_report_is_sent_read_answered_and_closed(client: AgentService, service: RunningService) -> None:
    receipt = client.feedback.send("The \x1b[31mchart is empty", category="bug", impact="major", request_id="req_1")
    assert receipt.id.startswith("fb_")
    assert receipt.id in receipt.guidance
    report = client.feedback.get(receipt.id)
    assert (report.status, report.reply, report.category, report.impact) == ("open", None, "bug", "major")
    assert (report.request_id, report.endpoint) == ("req_1", None)
    listed = agentsvc("feedback", "list", "--data", service.data, "--status", "open").stdout
    assert receipt.id in listed
    assert "\x1b" not in listed
    assert agentsvc("feedback", "reply", "--data", service.data, receipt.id, "Fixed, thank you.").returncode == 0
    answered = client.feedback.get(receipt.id)
    assert (answered.status, answered.reply) == ("answered", "Fixed, thank you.")
    assert agentsvc("feedback", "close", "--data", service.data, receipt.id).returncode == 0
    assert client.feedback.get(receipt.id).status == "closed"
    assert receipt.id in [one.id for one in client.feedback.list(status="closed")]
    assert receipt.id not in [one.id for one in client.feedback.list(status="open")]


def test_the_newest_come_first(client: AgentService) -> None:
    sent = [client.feedback.send(text).id for text in ("one", "two", "three")]
    assert [report.id for report in client.feedback.list(limit=2)] == [sent[2], sent[1]]


def test_the_command_line_refuses_in_a_sentence(service: RunningService) -> None:
    for verb in (["reply", "fb_none", "text"], ["close", "fb_none"], ["reply", "nonsense", "text"]):
        done = agentsvc("feedback", verb[0], "--data", service.data, *verb[1:])
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("agentsvc: ")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"summary": None}, "summary"),
        ({"summary": " \n "}, "summary"),
        ({"summary": "x" * 2_001}, "summary"),
        ({"summary": 5}, "summary"),
        ({"category": "rant"}, "category"),
        ({"impact": "huge"}, "impact"),
        ({"endpoint": 7}, "endpoint"),
        ({"error_code": "x" * 301}, "error_code"),
    ],
)
def test_a_wrong_report_names_its_field(wire: Wire, wrong: dict[str, Any], field: str) -> None:
    answer = wire("POST", "/feedback", json={"summary": "x", **wrong})
    assert (answer.status_code, code(answer)) == (400, "invalid_feedback")
    assert answer.json()["error"]["field"] == field


def test_what_is_not_there(wire: Wire) -> None:
    answers = [wire("GET", f"/feedback/{id}") for id in ("nonsense", "fb_none")]
    found = [(answer.status_code, code(answer)) for answer in answers]
    assert found == [(400, "invalid_feedback"), (404, "feedback_not_found")]


@pytest.mark.parametrize("query", [{"status": "lost"}, {"limit": "0"}, {"limit": "101"}, {"limit": "x"}])
def test_a_wrong_list_is_an_invalid_query(wire: Wire, query: dict[str, str]) -> None:
    assert code(wire("GET", "/feedback", params=query)) == "invalid_query"


def test_any_scope_may_send(service: RunningService) -> None:
    with AgentService(service.create_key(scopes=("mcp",)), service.base_url) as client:
        assert client.feedback.get(client.feedback.send("from mcp").id).summary == "from mcp"


def test_the_sixty_first_report_within_an_hour_is_refused() -> None:
    with running_service() as own, AgentService(own.api_key, own.base_url) as client:
        for number in range(60):
            client.feedback.send(f"report {number}")
        with pytest.raises(RateLimitError) as caught:
            client.feedback.send("one too many")
        assert len(client.feedback.list(limit=100)) == 60
    error = caught.value
    assert (error.status, error.code, error.attempts) == (429, "feedback_rate_limited", 1)
    assert error.reset_at is not None
    assert error.retry_after_seconds is not None
    assert 3_500 < error.retry_after_seconds <= 3_600, "until the first of the 60 is an hour old"
    assert (error.body["error"]["limit"], error.body["error"]["observed"]) == (60, 60)
