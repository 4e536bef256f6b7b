"""Calls that wait for the run's caller, between replicas and workers: asked by one, answered at any other, whoever is
killed meanwhile (docs/api/client-tools.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService, ClientTool
from agentsvc_nb.wire.routes import ROUTES
from tests.nightly.cluster.cluster import Cluster, running_cluster
from tests.support.waiting import until

CALL = 'call look_up {"order": 7}\nsay done'
TOOL: dict[str, Any] = {
    "name": "look_up",
    "description": "Looks up an order.",
    "input_schema": {"type": "object"},
    "effect": False,
}
ANSWER = {"content": [{"type": "text", "text": "lamps"}]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(replicas=2, workers=2, approve_effects="yes") as running:
        yield running


@pytest.fixture(scope="module")
def clients(cluster: Cluster) -> Iterator[list[AgentService]]:
    found = [cluster.client(replica) for replica in range(2)]
    yield found
    for client in found:
        client.close()


def start(cluster: Cluster) -> str:
    run: str = post(cluster, 0, ROUTES["runs.start"].path, {"message": CALL, "client_tools": [TOOL]})["run_id"]
    return run


def post(cluster: Cluster, replica: int, path: str, body: dict[str, Any]) -> dict[str, Any]:
    url = cluster.replicas[replica].base_url + path
    answer = httpx.post(url, json=body, headers={"x-api-key": cluster.api_key}, timeout=30)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


def give(cluster: Cluster, replica: int, run_id: str, call_id: str, body: dict[str, Any]) -> bool:
    path = ROUTES["runs.answer"].url(run_id=run_id, call_id=call_id)
    accepted: bool = post(cluster, replica, path, body)["accepted"]
    return accepted


def asked(client: AgentService, run_id: str, times: int = 1) -> str:
    """The id of the call that was asked, once it was so often."""

    def found() -> list[str]:
        events = client.runs.events(run_id, limit=1000).data
        return [event.call_id for event in events if event.type == "client_call.waiting"]

    return until(found, lambda calls: len(calls) >= times, patience=30)[-1]


def test_a_call_is_answered_at_another_replica(clients: list[AgentService], cluster: Cluster) -> None:
    run_id = start(cluster)
    call_id = asked(clients[1], run_id)
    assert not give(cluster, 1, run_id, call_id, {"pending": True})
    assert give(cluster, 1, run_id, call_id, ANSWER)
    assert clients[0].runs.wait(run_id).output == "done"
    assert give(cluster, 0, run_id, call_id, ANSWER)


def test_a_call_of_a_killed_worker_is_asked_again_by_another(clients: list[AgentService], cluster: Cluster) -> None:
    run_id = start(cluster)
    call_id = asked(clients[1], run_id)
    worker = cluster.holder(run_id)
    worker.kill()
    assert asked(clients[1], run_id, 2) == call_id
    assert give(cluster, 1, run_id, call_id, ANSWER)
    assert clients[0].runs.wait(run_id).output == "done"
    worker.start()


def test_an_answer_counts_while_no_worker_has_the_run(clients: list[AgentService], cluster: Cluster) -> None:
    run_id = start(cluster)
    call_id = asked(clients[1], run_id)
    worker = cluster.holder(run_id)
    worker.kill()
    assert give(cluster, 1, run_id, call_id, ANSWER)
    assert clients[0].runs.wait(run_id).output == "done"
    assert asked(clients[0], run_id) == call_id
    assert [event.type for event in clients[0].runs.events(run_id).data].count("client_call.waiting") == 1
    worker.start()


def test_a_function_works_while_its_worker_dies_and_after_approval(
    clients: list[AgentService], cluster: Cluster
) -> None:
    done: list[int] = []

    def look_up(order: int) -> str:
        """Looks up an order."""
        done.append(order)
        worker = cluster.holder(stream.run_id)
        worker.kill()
        worker.start()
        return "lamps"

    with clients[0].runs.start_and_stream(CALL, client_tools=[ClientTool(look_up)]) as stream:
        for event in stream:
            if event.type == "approval.requested":
                clients[1].runs.approve(stream.run_id, event)
        assert (stream.run.output, done) == ("done", [7])
