"""kill -9 with twenty tasks of MCP, of which some have ended and others are in work: all are found again by their ids,
and none is begun or ends twice."""

from __future__ import annotations

import json

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import running_service
from agentsvc_nb.tools.echo_job import EFFECTS
from tests.service.api.mcp_caller import TASKS, McpCaller

EACH = 10
QUICK = 3
"""Of each kind: these end before the others do."""


def seconds(n: int) -> int:
    return 0 if n < QUICK else 12


def test_all_tasks_are_found_again_and_none_is_doubled() -> None:
    with running_service(model="scripted") as service:
        with McpCaller(service, capabilities=TASKS) as caller:
            asks = [
                caller.call("ask", message=f"say {n}\nstep 1\nwait {seconds(n)}\nanswer answer {n}")
                for n in range(EACH)
            ]
            jobs = [
                caller.call("echo_job", chat="new", seconds=seconds(n), files={f"{n}.txt": "x"}) for n in range(EACH)
            ]
            for task in (*asks[:QUICK], *jobs[:QUICK]):
                caller.ended(task["taskId"])
            now = [caller.ask("tasks/get", taskId=task["taskId"])["status"] for task in (*asks, *jobs)]
            assert (now.count("completed"), now.count("working")) == (2 * QUICK, 2 * (EACH - QUICK))
            service.kill()
        service.start()
        with McpCaller(service, capabilities=TASKS) as caller:
            ended = [caller.ended(task["taskId"]) for task in [*asks, *jobs]]
        with AgentService(service.api_key, service.base_url) as client:
            runs, there = list(client.runs.list()), list(client.jobs.list())
            events = [client.runs.events(task["taskId"]).data for task in asks]
        effects = (service.data / EFFECTS).read_text().splitlines()
    assert sorted(run.run_id for run in runs) == sorted(task["taskId"] for task in asks)
    assert sorted(job.job_id for job in there) == sorted(task["taskId"] for task in jobs)
    for of_run in events:
        assert [event.type for event in of_run].count("run.ended") == 1
        assert of_run[-1].type == "run.ended"
    assert [task["status"] for task in ended] == ["completed"] * 2 * EACH
    assert not [task for task in ended if task["result"]["isError"]]
    said = [task["result"]["structuredContent"]["output"] for task in ended[:EACH]]
    assert said == [f"answer {n}" for n in range(EACH)]
    made = [task["result"]["structuredContent"]["files"] for task in ended[EACH:]]
    assert [[file["path"] for file in files] for files in made] == [[f"{n}.txt"] for n in range(EACH)]
    assert sorted(json.loads(line)["files"][0] for line in effects) == sorted(f"{n}.txt" for n in range(EACH))
