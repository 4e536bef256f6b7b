"""Feedback over HTTP and through the client, answered beside the server (docs/api/feedback.md)."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Wire, code
from tests.service.cli.test_cli import agentsvc


@pytest.mark.rule("A feedback report gets an `fb_` receipt, a status and the team's reply.")
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


@pytest.mark.rule("A wrong report is `invalid_feedback` and names the field.")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"summary": "x" * 2_001}, "summary"),
        ({"category": "rant"}, "category"),
    ],
)
def test_a_wrong_report_names_its_field(wire: Wire, wrong: dict[str, Any], field: str) -> None:
    answer = wire("POST", "/feedback", json={"summary": "x", **wrong})
    assert (answer.status_code, code(answer)) == (400, "invalid_feedback")
    assert answer.json()["error"]["field"] == field


@pytest.mark.parametrize("query", [{"status": "lost"}, {"limit": "0"}, {"limit": "101"}])
def test_a_wrong_list_is_an_invalid_query(wire: Wire, query: dict[str, str]) -> None:
    assert code(wire("GET", "/feedback", params=query)) == "invalid_query"
