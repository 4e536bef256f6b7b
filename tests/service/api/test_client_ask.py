"""The client's `ask` and `on_busy="wait"` against the real service."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import ChatBusyError, JobFailedError, JobTimeoutError, ToolResultError
from agentsvc_nb.client.options import WaitNotice
from agentsvc_nb.testing import RunningService, running_service
from tests.service.api.faces import Face


def test_a_short_and_a_long_turn_have_the_same_answer(client: AgentService) -> None:
    short = client.ask("say hello", chat="new")
    with (
        running_service(ask_handle_seconds=0) as late,
        AgentService(late.api_key, late.base_url) as other,
    ):
        long = other.ask("wait 0.2\nsay hello", chat="new")
        assert (short.answer, long.answer) == ("hello", "hello")
        assert long.raw["family"] == "mcp_ask"
        assert other.runs.get(long.run_id or "").chat == long.chat
        with pytest.raises(JobTimeoutError) as caught:
            other.ask("wait 30", chat=long.chat, timeout=0.5)
        other.jobs.cancel(caught.value.job_id or "", chat=caught.value.chat)


def test_the_async_face(service: RunningService) -> None:
    async def cell() -> str:
        async with AsyncAgentService(service.api_key, service.base_url) as client:
            return (await client.ask("say hello", chat="new")).answer

    assert asyncio.run(cell()) == "hello"


def test_a_turn_that_failed_is_raised_with_what_was_said(client: AgentService) -> None:
    with pytest.raises(ToolResultError, match="It went away") as caught:
        client.ask("say so far\nfail brain_gone It went away.", chat="new")
    assert caught.value.body["data"]["answer"] == "so far"


def test_a_tools_failure_names_its_request(face: Face) -> None:
    """The one in whose answer it was told: what the team that runs the service looks for."""
    used: list[Any] = []

    def ask(client: Any) -> Any:
        used.append(client)
        return client.ask("fail brain_gone It went away.", chat="new")

    def work(client: Any) -> Any:
        used.append(client)
        return client.jobs.submit_and_wait("echo_job", {"steps": 1, "fail": True}, chat="new", poll=0.02)

    for call, kind in ((ask, ToolResultError), (work, JobFailedError)):
        with pytest.raises(kind) as caught:
            face(call)
        last = used[-1].history[-1]
        assert caught.value.request_id
        assert (caught.value.request_id, caught.value.method) == (last.request_id, last.method)


def test_a_busy_chat_is_refused_or_waited_for(client: AgentService) -> None:
    first = client.runs.start("wait 1\nsay first")
    with pytest.raises(ChatBusyError) as caught:
        client.ask("say no", chat=first.chat)
    assert caught.value.active_run_id == first.run_id
    told: list[WaitNotice] = []
    patient = client.with_options(on_wait=told.append)
    assert patient.ask("say second", chat=first.chat, on_busy="wait").answer == "second"
    assert client.runs.get(first.run_id).status == "completed"
    assert told[0] == WaitNotice("chat_busy", first.run_id)


def test_wait_follows_a_run_to_its_end(client: AgentService) -> None:
    run = client.runs.start("say one\nwait 0.5\nsay two")
    told: list[WaitNotice] = []
    assert client.with_options(on_wait=told.append).runs.wait(run.run_id).output == "one\ntwo"
    assert all(notice.seconds is None for notice in told)
