"""A tool with an effect waits for a yes, when the operator wants that (docs/decisions/0020-effects-wait.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.runs import Run
from tests.service.api.conftest import page, signed_in
from tests.service.api.service_fixture import CAREFUL, ServiceFixture
from tests.support.waiting import until

CALL = 'call echo_job {"steps": 0}\nsay done'


@pytest.fixture(scope="module")
def asking(stage: ServiceFixture) -> RunningService:
    return stage.other(**CAREFUL)


@pytest.fixture
def client(asking: RunningService) -> Iterator[AgentService]:
    with AgentService(asking.api_key, asking.base_url) as client:
        yield client


def of(client: AgentService, run_id: str, kind: str) -> list[dict[str, Any]]:
    return [event.payload for event in client.runs.events(run_id, limit=1000).data if event.type == kind]


def waiting(client: AgentService, run_id: str) -> str:
    until(lambda: of(client, run_id, "approval.requested") != [])
    call: str = of(client, run_id, "approval.requested")[-1]["call_id"]
    return call


def ended(client: AgentService, run_id: str) -> Run:
    return client.runs.wait(run_id, poll=0.05, timeout=30)


def effects(service: RunningService) -> int:
    log = service.data / "effects.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_the_run_waits_and_goes_on_when_it_is_approved(client: AgentService, asking: RunningService) -> None:
    before = effects(asking)
    run = client.runs.start(CALL)
    call = waiting(client, run.run_id)
    assert client.runs.get(run.run_id).status == "running"
    assert effects(asking) == before
    assert client.runs.approve(run.run_id, call).tool == "echo_job"
    assert ended(client, run.run_id).output == "done"
    assert effects(asking) == before + 1
    assert of(client, run.run_id, "approval.decided") == [{"call_id": call, "approved": True, "reason": ""}]
    assert client.runs.approve(run.run_id, call).approved, "the same verdict once more changes nothing"


def test_a_refusal_is_told_to_the_agent(client: AgentService, asking: RunningService) -> None:
    before = effects(asking)
    run = client.runs.start(CALL)
    call = waiting(client, run.run_id)
    client.runs.refuse(run.run_id, call, reason="Not before Monday.")
    with pytest.raises(StefanBrainError) as late:
        client.runs.approve(run.run_id, call)
    assert late.value.code == "call_not_waiting", "the first verdict counts"
    assert ended(client, run.run_id).output == "done", "the run goes on"
    [result] = of(client, run.run_id, "tool.result")
    assert result["is_error"] is True
    assert "Not before Monday." in result["content"][0]["text"]
    assert effects(asking) == before


def test_it_waits_over_a_crash(client: AgentService, asking: RunningService) -> None:
    run = client.runs.start(CALL)
    call = waiting(client, run.run_id)
    asking.kill()
    asking.start()
    until(lambda: len(of(client, run.run_id, "approval.requested")) == 2)
    assert waiting(client, run.run_id) == call
    client.runs.approve(run.run_id, call)
    assert ended(client, run.run_id).output == "done"


def test_it_is_approved_or_refused_on_the_page_of_the_chat(client: AgentService, asking: RunningService) -> None:
    asked = 'call echo_job {"steps": 0, "files": {"</pre><script>.txt": "\\u202e\\u3164evil"}}\nsay done'
    with signed_in(asking) as browser:
        for verdict, reason in (("approve", ""), ("refuse", "Not <b>now</b>")):
            before = effects(asking)
            run = client.runs.start(asked)
            waiting(client, run.run_id)
            path = f"/app/chats/{run.chat}"
            text = page(browser, path)
            assert "echo_job waits for your approval" in text
            assert "&lt;/pre&gt;&lt;script&gt;.txt" in text
            assert r"\u202e\u3164evil" in text, "what can't be seen stands as its escape"
            assert "http-equiv" not in text, "nobody can write a reason on a page that loads itself again"
            (url,) = set(re.findall(r'action="([^"]*/approval)"', text))
            form = {"verdict": verdict, "reason": reason}
            assert browser.post(url, data=form, headers={"Origin": "http://127.0.0.1:1"}).status_code == 403
            assert browser.post(url, data={"verdict": "perhaps"}).status_code == 400
            assert waiting(client, run.run_id) in url
            assert browser.post(url, data=form).headers["location"] == f"{path}#run_{run.run_id}"
            assert ended(client, run.run_id).output == "done"
            assert effects(asking) - before == (verdict == "approve")
            assert "waits for your approval" not in page(browser, path)
            opposite = {"verdict": "refuse" if verdict == "approve" else "approve"}
            assert browser.post(url, data=opposite).status_code == 409
    assert of(client, run.run_id, "approval.decided")[0]["reason"] == "Not <b>now</b>"
