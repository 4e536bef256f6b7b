"""The classes at the root of the package are those that operations give, and those that they raise."""

from __future__ import annotations

from typing import Any

import pytest

import agentsvc_nb
from agentsvc_nb import AgentService, AsyncAgentService, JobFailedError
from agentsvc_nb.testing import RunningService
from tests.service.api.operations import got
from tests.service.api.test_client_streams import FACES, use


@FACES
def test_runs(face: Any, service: RunningService) -> None:
    async def every(client: Any) -> list[Any]:
        run = await got(client.runs.start("say a"))
        stream = await got(client.runs.start_and_stream("say b"))
        return [
            run,
            await got(client.runs.get(run.run_id)),
            await got(client.runs.wait(run)),
            await got(client.runs.cancel(run.run_id)),
            stream.run,
            await got(stream.final_status()),
        ]

    assert {type(run) for run in use(face, service.api_key, service.base_url, every)} == {agentsvc_nb.Run}


@FACES
def test_jobs(face: Any, service: RunningService) -> None:
    told: list[Any] = []

    async def every(client: Any) -> list[Any]:
        given = {"steps": 1}
        job = await got(client.jobs.submit_and_wait("echo_job", given, chat="new", poll=0.02, on_progress=told.append))
        at = {"chat": job.chat}
        with pytest.raises(JobFailedError) as failed:
            await got(client.jobs.submit_and_wait("echo_job", given | {"fail": True}, **at, poll=0.02))
        return [
            job,
            await got(client.jobs.status(job.job_id, **at)),
            await got(client.jobs.wait(job.job_id, **at)),
            await got(client.jobs.result(job.job_id, **at)),
            await got(client.jobs.cancel(job.job_id, **at)),
            failed.value.job,
        ]

    assert {type(job) for job in [*use(face, service.api_key, service.base_url, every), *told]} == {agentsvc_nb.Job}


def test_clients_and_notices(service: RunningService) -> None:
    told: list[Any] = []
    with AgentService(service.api_key, service.base_url, on_wait=told.append) as client:
        client.runs.wait(client.runs.start("wait 0.2\nsay a"))
        assert type(client.with_options(timeout=5)) is agentsvc_nb.AgentService
    assert {type(notice) for notice in told} == {agentsvc_nb.WaitNotice}
    assert type(AsyncAgentService("svc_sk_x").with_options(timeout=5)) is agentsvc_nb.AsyncAgentService
