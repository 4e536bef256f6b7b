"""kill -9 of the service, with real processes: nothing is stuck, nothing doubled."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.faults.history import counted_text
from tests.support.waiting import until


@pytest.fixture
def crashing_server() -> Iterator[RunningService]:
    """A service of its own, to be killed."""
    with running_service(model="scripted") as running:
        yield running


@pytest.fixture
def client(crashing_server: RunningService) -> Iterator[AgentService]:
    with AgentService(crashing_server.api_key, crashing_server.base_url) as made:
        yield made


def until_said(client: AgentService, run_id: str, times: int) -> None:
    """Wait until the run's attempts together have said so many things."""
    until(lambda: sum(event.type == "text.delta" for event in client.runs.events(run_id).data) == times)


@pytest.mark.rule("After `kill -9`, a run continues at its last step.")
def test_a_run_goes_on_at_its_last_step(crashing_server: RunningService, client: AgentService) -> None:
    run = client.runs.start("say first step\nstep 1\nsay second step\nwait 1.5\nsay end")
    until_said(client, run.run_id, 2)
    crashing_server.kill()
    crashing_server.start()
    ended = client.runs.wait(run.run_id, poll=0.05)
    assert (ended.status, ended.output) == ("completed", "first step\nsecond step\nend")
    events = [
        {"id": event.id, "type": event.type, "payload": event.payload}
        for event in client.runs.iterate_events(run.run_id)
    ]
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert counted_text(events) == "first step\nsecond step\nend\n"
    assert ended.steps == 2


def test_a_run_near_its_limit_does_not_say_so_again(crashing_server: RunningService, client: AgentService) -> None:
    run = client.runs.start("usage 41000 0\nstep 1\nsay warned\nwait 1.5\nsay end", max_cents=5)
    until_said(client, run.run_id, 1)
    crashing_server.kill()
    crashing_server.start()
    assert client.runs.wait(run.run_id, poll=0.05).output == "warned\nend"
    kinds = [event.type for event in client.runs.iterate_events(run.run_id)]
    assert (kinds.count("run.resumed"), kinds.count("limit.near")) == (1, 1)


@pytest.mark.rule("A run that was being cancelled at a crash ends cancelled.")
def test_a_run_being_cancelled_when_killed_is_cancelled(crashing_server: RunningService, client: AgentService) -> None:
    runs = [client.runs.start("say x\nwait 60") for _ in range(5)]
    for run in runs:
        client.runs.cancel(run.run_id)
    crashing_server.kill()
    crashing_server.start()
    assert {client.runs.wait(run.run_id, poll=0.05).status for run in runs} == {"cancelled"}


@pytest.mark.rule("After a crash a job runs again, unless its effect may have happened.")
def test_a_job_runs_again_and_is_seen_to(crashing_server: RunningService, client: AgentService) -> None:
    given = {"steps": 20, "seconds": 1, "files": {"a.txt": "x"}}
    job = client.jobs.submit("echo_job", given)
    until(lambda: client.jobs.status(job.job_id, chat=job.chat).status == "running")
    crashing_server.kill()
    crashing_server.start()
    done = client.jobs.wait(job.job_id, chat=job.chat)
    assert done.status == "succeeded"
    effects = (crashing_server.data / "effects.log").read_text().splitlines()
    assert 1 <= len(effects) <= 2
    assert all(json.loads(line) for line in effects)


def test_work_that_is_cut_off_again_and_again_ends(crashing_server: RunningService, client: AgentService) -> None:
    run = client.runs.start("say x\nwait 60")
    for attempt in range(1, 5):
        until_said(client, run.run_id, attempt)
        crashing_server.kill()
        crashing_server.start()
    ended = client.runs.wait(run.run_id, poll=0.05)
    assert (ended.status, ended.last_error) == ("failed", "attempts_exhausted")


def test_stops_in_good_order_do_not_count_against_a_run(crashing_server: RunningService, client: AgentService) -> None:
    run = client.runs.start("say x\nwait 60")
    for attempt in range(1, 5):
        until_said(client, run.run_id, attempt)
        crashing_server.stop()
        crashing_server.start()
    until_said(client, run.run_id, 5)
    client.runs.cancel(run.run_id)
    assert client.runs.wait(run.run_id, poll=0.05).status == "cancelled"


def test_another_model_does_not_finish_a_run() -> None:
    with running_service() as service, AgentService(service.api_key, service.base_url) as client:
        run = client.runs.start("say begun\nstep 1\nwait 60")
        until_said(client, run.run_id, 1)
        service.stop()
        service.model = "offline"
        service.start()
        ended = client.runs.wait(run.run_id, poll=0.05)
        assert (ended.status, ended.last_error) == ("failed", "model_changed")
        assert "scripted" in (ended.last_error_message or "")
        assert client.runs.start("say", chat=ended.chat, sync=True).status == "completed"
