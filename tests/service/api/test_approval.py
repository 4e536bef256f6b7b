"""A tool with an effect waits for a yes, when the operator wants that (docs/decisions/09)."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.cli.approvals import decide_here
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.runs import Run
from tests.service.api.conftest import page, signed_in
from tests.service.api.service_fixture import CAREFUL, ServiceFixture
from tests.service.cli.test_cli import agentsvc
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


@pytest.mark.rule("With `AGENTSVC_APPROVE_EFFECTS`, a run waits for approval before an effect.")
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


CHANGED = {"steps": 0, "files": {"net.txt": "net"}}


@pytest.mark.rule("An approval may change the arguments; the agent learns of the change.")
def test_a_changed_call_is_made_as_approved_and_the_agent_is_told(client: AgentService) -> None:
    gross = '{"steps": 0, "seconds": 0, "files": {"gross.txt": "gross"}, "fail": null}'
    run = client.runs.start(f"call echo_job {gross}\nsay done")
    call = waiting(client, run.run_id)
    for wrong in ({"steps": "many"}, {"steps": 0, "files": {"a.txt": "x" * 256_000}}):
        with pytest.raises(StefanBrainError) as misfit:
            client.runs.approve(run.run_id, call, input=wrong)
        assert misfit.value.code == "invalid_approval"
    assert client.runs.approve(run.run_id, call, input=CHANGED).input == CHANGED
    assert client.runs.approve(run.run_id, call, input=CHANGED).input == CHANGED, "the same verdict changes nothing"
    for another in (None, {"steps": 1}):
        with pytest.raises(StefanBrainError) as late:
            client.runs.approve(run.run_id, call, input=another)
        assert late.value.code == "call_not_waiting"
    assert ended(client, run.run_id).output == "done"
    [decided] = of(client, run.run_id, "approval.decided")
    assert decided == {"call_id": call, "approved": True, "reason": "", "input": CHANGED}
    assert [file["path"] for file in of(client, run.run_id, "file.written")] == ["net.txt"]
    [result] = of(client, run.run_id, "tool.result")
    assert '(null means removed): {"files": {"net.txt": "net"}, "seconds": null}' in result["content"][0]["text"]


def test_arguments_are_changed_in_an_editor(client: AgentService, asking: RunningService) -> None:
    run = client.runs.start('call echo_job {"steps": 0, "files": {"a.txt": "gross"}}\nsay done')
    waiting(client, run.run_id)
    command = ("runs", "approve", run.run_id, "--edit", "--for", "run", "--data", asking.data)
    assert "The editor failed" in agentsvc(*command, EDITOR="false").stderr
    assert '"a.txt": "net"' in agentsvc(*command, EDITOR="sed -i s/gross/net/").stdout
    assert ended(client, run.run_id).output == "done"
    assert client.files.download("a.txt", chat=run.chat) == b"net"


def test_a_person_at_a_terminal_is_asked_until_the_answer_fits(
    client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = client.runs.start('call echo_job {"steps": 5}\nsay done')
    call = waiting(client, run.run_id)
    answers = iter(["perhaps", "e", "{", "e", '{"steps": -1}', "e", '{"steps": 0}'])
    monkeypatch.setattr("builtins.input", lambda: next(answers))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    decide_here(client, run.run_id, call)
    assert ended(client, run.run_id).output == "done"
    assert of(client, run.run_id, "approval.decided")[0]["input"] == {"steps": 0}
    decide_here(client, run.run_id, call)  # asks nothing: it was decided


def test_a_change_that_changes_nothing_is_a_plain_approval(client: AgentService) -> None:
    run = client.runs.start(CALL)
    call = waiting(client, run.run_id)
    assert client.runs.approve(run.run_id, call, input={"steps": 0}).input is None
    assert client.runs.approve(run.run_id, call).approved
    assert ended(client, run.run_id).output == "done"
    assert "input" not in of(client, run.run_id, "approval.decided")[0]


def test_a_changed_call_is_made_once_as_approved_after_a_crash(client: AgentService, asking: RunningService) -> None:
    before = effects(asking)
    run = client.runs.start('call echo_job {"steps": 0}\nsay done')
    call = waiting(client, run.run_id)
    client.runs.approve(run.run_id, call, input={"steps": 1, "seconds": 1})
    asking.kill()
    asking.start()
    assert ended(client, run.run_id).output == "done"
    assert effects(asking) == before + 1
    [job_id] = {job["job_id"] for job in of(client, run.run_id, "job.submitted")}
    assert client.jobs.status(job_id, chat=run.chat).data == {"steps": 1, "files": []}
    assert "changed this call" in of(client, run.run_id, "tool.result")[-1]["content"][0]["text"]
    told = of(client, run.run_id, "tool.call")[-1]
    assert (told["input"], told["changed"]) == ({"steps": 1, "seconds": 1}, True), "the verdict is not told again"


@pytest.mark.rule("A standing approval covers further calls of a tool until it is revoked.")
def test_further_calls_of_the_run_are_approved_in_advance(client: AgentService) -> None:
    run = client.runs.start('call echo_job {"steps": 0}\ncall echo_job {"steps": 1}\nsay done')
    call = waiting(client, run.run_id)
    assert of(client, run.run_id, "approval.requested")[0]["standing"] == ["run", "hour"]
    made = client.runs.approve(run.run_id, call, lasts="run").standing
    assert made is not None
    assert client.runs.approve(run.run_id, call, lasts="run").standing is None, "a repeated verdict makes no other"
    assert ended(client, run.run_id).output == "done"
    assert len(of(client, run.run_id, "approval.requested")) == 1
    _, told = of(client, run.run_id, "approval.decided")
    assert (told["approved"], told["standing"]) == (True, made.model_dump())
    assert list(client.runs.standing_approvals()) == [], "it ended with its run"
    later = client.runs.start(CALL, chat=run.chat)
    waiting(client, later.run_id)
    client.runs.cancel(later.run_id)


def test_calls_in_a_folder_of_the_chat_are_approved_for_an_hour_or_until_that_is_revoked(
    client: AgentService, asking: RunningService
) -> None:
    def start(path: str, chat: str | None = None) -> Run:
        return client.runs.start(f'call echo_job {{"steps": 0, "path": "{path}"}}\nsay done', chat=chat)

    def waits(path: str, chat: str | None) -> bool:
        run = start(path, chat)
        until(lambda: of(client, run.run_id, "approval.requested") + of(client, run.run_id, "run.ended") != [])
        client.runs.cancel(run.run_id)
        ended(client, run.run_id)
        return of(client, run.run_id, "approval.requested") != []

    run = start("reports/a.txt")
    call = waiting(client, run.run_id)
    with pytest.raises(StefanBrainError) as elsewhere:
        client.runs.approve(run.run_id, call, lasts="hour", folder="invoices")
    assert elsewhere.value.code == "invalid_approval"
    made = client.runs.approve(run.run_id, call, lasts="hour", folder="reports/").standing
    ended(client, run.run_id)
    assert made is not None
    assert list(client.runs.standing_approvals()) == [made]
    paths = ("reports/2026/b.txt", "reports/../b.txt", "reports", "/reports/b.txt", "reportsx/b.txt")
    assert [waits(path, run.chat) for path in paths] == [False, True, True, True, True]
    assert waits("reports/a.txt", None), "another chat"
    with signed_in(asking) as browser:
        text = page(browser, f"/app/chats/{run.chat}")
        assert "for files in reports" in text
        [url] = re.findall(r'action="([^"]*/revoke)"', text)
        assert browser.post(url).headers["location"] == f"/app/chats/{run.chat}"
    assert waits("reports/a.txt", run.chat)


def test_a_rule_is_remembered_for_later_chats_once_it_is_approved(client: AgentService) -> None:
    project = client.projects.create("Sales", "Be brief.").id

    def told() -> str:
        return next(each.instructions for each in client.projects.list() if each.id == project)

    run = client.runs.start('call remember {"rule": "Revenue means gross."}\nsay done', project=project)
    call = waiting(client, run.run_id)
    [requested] = of(client, run.run_id, "approval.requested")
    assert requested["diff"] == " Be brief.\n+- Revenue means gross."
    assert told() == "Be brief."
    for wrong in ({"lasts": "run"}, {"input": {"rule": "Two\nlines"}}):
        with pytest.raises(StefanBrainError) as refused:
            client.runs.approve(run.run_id, call, **wrong)
        assert refused.value.code == "invalid_approval"
    client.runs.approve(run.run_id, call, input={"rule": "Revenue means net."})
    ended(client, run.run_id)
    assert told() == "Be brief.\n- Revenue means net."
    replacing = '{"rule": "Revenue means gross.", "replaces": "Revenue means net."}'
    run = client.runs.start(f"call remember {replacing}\nsay done", project=project)
    call = waiting(client, run.run_id)
    [requested] = of(client, run.run_id, "approval.requested")
    assert requested["diff"].splitlines()[1:] == ["-- Revenue means net.", "+- Revenue means gross."]
    client.projects.update(project, instructions="Be kind.")
    client.runs.approve(run.run_id, call)
    ended(client, run.run_id)
    assert of(client, run.run_id, "tool.result")[0]["is_error"] is True, "what it replaces was changed meanwhile"
    assert told() == "Be kind."


@pytest.mark.rule("A wait for approval survives a crash.")
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
    shown = re.compile(r"<textarea[^>]*>\n(.*?)</textarea>", re.DOTALL)
    with signed_in(asking) as browser:
        for verdict, reason in (("approve", ""), ("refuse", "Not <b>now</b>"), ("edit", "")):
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
            [given] = shown.findall(text)
            assert json.loads(html.unescape(given))["files"] == {"</pre><script>.txt": "\u202e\u3164evil"}
            form = {"verdict": verdict, "reason": reason}
            if verdict == "edit":
                form = {"verdict": "approve", "input": html.unescape(given).replace("evil", "good")}
            assert browser.post(url, data=form, headers={"Origin": "http://127.0.0.1:1"}).status_code == 403
            assert browser.post(url, data={"verdict": "perhaps"}).status_code == 400
            for wrong in ("{", "[]", '{"steps": "many"}'):
                assert browser.post(url, data={"verdict": "approve", "input": wrong}).status_code == 400
            assert waiting(client, run.run_id) in url
            assert browser.post(url, data=form).headers["location"] == f"{path}#run_{run.run_id}"
            assert ended(client, run.run_id).output == "done"
            assert effects(asking) - before == (verdict != "refuse")
            assert "waits for your approval" not in page(browser, path)
            opposite = {"verdict": "approve" if verdict == "refuse" else "refuse"}
            assert browser.post(url, data=opposite).status_code == 409
            [decided] = of(client, run.run_id, "approval.decided")
            assert decided["reason"] == reason
    assert decided["input"]["files"] == {"</pre><script>.txt": "\u202e\u3164good"}
