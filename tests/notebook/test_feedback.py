"""`%feedback`: what is sent, what the last error adds to it, what the team replied; against a real service."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from agentsvc_nb import AgentService, StefanBrainError
from agentsvc_nb.client.models import columns
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.wire.resources import FeedbackReport
from tests.notebook.allowlist import offences
from tests.notebook.shells import bundle_of

pytestmark = pytest.mark.usefixtures("connected")


@pytest.fixture(autouse=True)
def no_error_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "last_value", raising=False)


def _sent(terminal: Any, client: AgentService, line: str) -> FeedbackReport:
    terminal.cell(f"%feedback send -o said {line}")
    found = re.search(r"fb_[\w-]+", terminal.user_ns["said"])
    assert found
    return client.feedback.get(found[0])


def test_a_report_is_sent_and_listed(terminal: Any, client: AgentService) -> None:
    report = _sent(terminal, client, '"The search misses <b>accents</b>"')
    assert (report.summary, report.category) == ("The search misses <b>accents</b>", None)
    table = terminal.cell("%feedback")
    assert report.id in set(table["id"])
    assert [str(kind) for kind in table.df.dtypes] == list(columns(FeedbackReport).values())
    assert offences(bundle_of(table)["text/html"]) == []


def test_the_last_refusal_goes_along(terminal: Any, client: AgentService) -> None:
    with pytest.raises(AskError, match="chat_not_found") as caught:
        terminal.cell("%%ask --chat chat_of_nobody\nsay x")
    report = _sent(terminal, client, '--error "It should be there"')
    assert (report.error_code, report.category) == ("chat_not_found", "bug")
    assert report.request_id
    assert report.request_id in str(caught.value)


def test_the_last_failed_run_goes_along(terminal: Any, client: AgentService) -> None:
    with pytest.raises(RunFailed) as caught:
        terminal.cell("%%ask\nfail agent_error It broke")
    report = _sent(terminal, client, '-e "Why?"')
    kept: Any = caught.value.answer
    assert (report.endpoint, report.error_code) == (f"GET /runs/{kept.run_id}", "agent_error")


def test_an_error_of_a_client_of_ones_own_goes_along(terminal: Any, client: AgentService) -> None:
    terminal.user_ns["client"] = client
    with pytest.raises(StefanBrainError):
        terminal.cell("client.tools.describe('no_such_tool')")
    assert _sent(terminal, client, '-e "Why?"').error_code == "tool_not_found"
