"""Projects, and chats that are retired (docs/api/runs.md "Chats and projects")."""

from __future__ import annotations

import pytest

from agentsvc_nb.client.api import AgentService
from tests.service.api.conftest import Wire, code
from tests.service.api.test_jobs_http import QUICK, ended, submit


@pytest.mark.rule("A chat of another project is `409 chat_project_mismatch`.")
def test_a_chat_of_another_project_is_a_mismatch(wire: Wire, client: AgentService) -> None:
    """Of a run and of a job, and for a chat without a project, too."""
    mine, other = (client.projects.create(name).id for name in "ab")
    chat = wire.finish("say hello", project=mine)["chat"]
    for address in ({"chat": chat, "project": other}, {"chat": wire.new_chat(), "project": mine}):
        run = wire("POST", "/runs", json={"message": "say x", **address})
        job = wire("POST", "/jobs", json={"tool": "echo_job", "input": QUICK, **address})
        assert [(one.status_code, code(one)) for one in (run, job)] == [(409, "chat_project_mismatch")] * 2


@pytest.mark.rule("A retired chat is `409 chat_id_retired` to starts and stays readable.")
def test_a_retired_chat_takes_no_starts_and_stays_readable(wire: Wire, client: AgentService) -> None:
    run = wire.finish("write notes.txt hello")
    chat = run["chat"]
    job = submit(wire, input=QUICK, chat=chat)
    ended(wire, job)
    for _ in range(2):
        answer = wire("DELETE", f"/chats/{chat}")
        assert (answer.status_code, answer.json()) == (200, {"object": "chat", "id": chat, "retired": True})
    refused = [
        wire("POST", "/runs", json={"message": "say x", "chat": chat}),
        wire("POST", "/jobs", json={"tool": "echo_job", "input": QUICK, "chat": chat}),
        wire("POST", "/tools/ask_stefanbrain/invoke", json={"input": {"message": "say x"}, "chat": chat}),
    ]
    assert [(one.status_code, code(one)) for one in refused] == [(409, "chat_id_retired")] * 3
    assert client.runs.get(run["run_id"]).output == run["output"]
    assert client.jobs.status(job["job_id"], chat=chat).status == "succeeded"
    assert "notes.txt" in [file.path for file in client.files.list(chat)]


def test_a_session_and_the_tools_get_a_new_chat_for_a_retired_one(
    wire: Wire, client: AgentService, fresh_key: str
) -> None:
    first = wire.finish("say hello", session=fresh_key)["chat"]
    assert client.chats.retire(first).retired
    second = wire.finish("say hello", session=fresh_key)["chat"]
    assert second != first
    assert wire.finish("say again", session=fresh_key)["chat"] == second
    project = client.projects.create("tools").id
    shared = submit(wire, input=QUICK, project=project)
    client.chats.retire(shared["chat"])
    assert submit(wire, input=QUICK, project=project)["chat"] != shared["chat"]
    assert wire("GET", f"/jobs/{shared['job_id']}", params={"chat": shared["chat"]}).status_code == 200
