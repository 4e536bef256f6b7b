"""Three replicas and three workers on one database and one bucket: what is accepted is done, once, whoever is killed or
frozen meanwhile; and each replica shows and stops what any worker does."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.wire.runs import Run
from tests.nightly.cluster.cluster import Balancer, Cluster, Process, at_once, running_cluster
from tests.support.waiting import until

LONG = (
    "say one\nstep 1\nsay two\nwait 1\n"
    + "".join(f"progress {n} 80 at {n}\nwait 0.05\n" for n in range(80))
    + "say three"
)
SPOKEN = "one\ntwo\nthree"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(approve_effects="yes") as running:
        yield running


@pytest.fixture(scope="module")
def clients(cluster: Cluster) -> Iterator[list[AgentService]]:
    found = [cluster.client(replica) for replica in range(3)]
    yield found
    for client in found:
        client.close()


class Follower:
    """Reads the events of a run in a thread, as they come."""

    def __init__(self, client: AgentService, run_id: str) -> None:
        self.ids: list[int] = []
        self.types: list[str] = []
        self._thread = threading.Thread(target=self._follow, args=(client, run_id))
        self._thread.start()

    def _follow(self, client: AgentService, run_id: str) -> None:
        with client.runs.attach(run_id) as stream:
            for event in stream:
                self.ids.append(event.id)
                self.types.append(event.type)

    def ended(self) -> list[int]:
        self._thread.join()
        return self.ids


def types(client: AgentService, run_id: str) -> list[str]:
    """The types of the events of a run so far."""
    return [event.type for event in client.runs.events(run_id, limit=1000).data]


def begun(clients: list[AgentService]) -> Run:
    """A run in the midst of its second step."""
    run = clients[0].runs.start(LONG)
    until(lambda: "progress" in types(clients[1], run.run_id))
    return run


def went_on(clients: list[AgentService], run: Run, follower: Follower) -> None:
    """The run was resumed by another worker, and each event is there once, for who followed it, too."""
    ended = clients[2].runs.wait(run.run_id)
    assert (ended.status, ended.output) == ("completed", SPOKEN)
    found = types(clients[0], run.run_id)
    assert found.count("run.ended") == 1
    assert found.count("run.resumed") == 1
    assert follower.ended() == list(range(1, len(found) + 1))
    assert follower.types == found


def test_a_replica_shows_as_it_happens_what_a_worker_does(clients: list[AgentService]) -> None:
    run = clients[0].runs.start("say one\nwait 0.2\nsay two")
    followers = [Follower(client, run.run_id) for client in clients]
    assert clients[1].runs.wait(run.run_id).output == "one\ntwo"
    found = types(clients[2], run.run_id)
    for follower in followers:
        assert follower.ended() == list(range(1, len(found) + 1))
        assert follower.types[-1] == "run.ended"


def test_a_run_is_cancelled_at_another_replica(clients: list[AgentService], cluster: Cluster) -> None:
    run = clients[0].runs.start("say one\nwait 600")
    cluster.holder(run.run_id)
    clients[1].runs.cancel(run.run_id)
    assert clients[2].runs.wait(run.run_id).status == "cancelled"


def test_a_call_is_approved_at_another_replica(clients: list[AgentService]) -> None:
    run = clients[0].runs.start('call echo_job {"steps": 0}\nsay done')

    def asked() -> list[str]:
        found = clients[1].runs.events(run.run_id).data
        return [event.payload["call_id"] for event in found if event.type == "approval.requested"]

    [call] = until(asked)
    assert clients[2].runs.approve(run.run_id, call).approved
    assert clients[0].runs.wait(run.run_id).output == "done"


def test_a_revoked_key_is_refused_everywhere_at_once(clients: list[AgentService], cluster: Cluster) -> None:
    import os
    import subprocess
    import sys

    def agentsvc(*arguments: str) -> str:
        command = [sys.executable, "-m", "agentsvc_nb", *arguments, "--data", str(cluster.replicas[0].folder)]
        done = subprocess.run(command, env={**os.environ, **cluster.env}, capture_output=True, text=True, check=True)
        return done.stdout

    secret = agentsvc("keys", "create", "--name", "short").split()[-1]
    asked = [f"{replica.base_url}/api/developers/v1/tools" for replica in cluster.replicas]
    answers = [httpx.get(address, headers={"x-api-key": secret}).status_code for address in asked]
    agentsvc("keys", "revoke", "short")
    answers += [httpx.get(address, headers={"x-api-key": secret}).status_code for address in asked]
    assert answers == [200, 200, 200, 401, 401, 401]


def test_of_starts_in_one_chat_at_three_replicas_at_once_one_is_accepted(clients: list[AgentService]) -> None:
    chat = clients[0].runs.start("say hello", sync=True).chat

    def start(number: int) -> str:
        return clients[number % 3].runs.start("wait 600", chat=chat, max_retries=0).run_id

    accepted, codes = at_once(start, 12)
    assert codes == {"agent_run_rejected"}
    assert len(accepted) == 1
    clients[1].runs.cancel(accepted[0])
    assert clients[2].runs.wait(accepted[0]).status == "cancelled"


def test_a_run_of_a_killed_worker_goes_on_in_another(clients: list[AgentService], cluster: Cluster) -> None:
    run = begun(clients)
    follower = Follower(clients[2], run.run_id)
    worker = cluster.holder(run.run_id)
    worker.kill()
    went_on(clients, run, follower)
    worker.start()


def test_a_worker_that_was_frozen_writes_nothing_more(clients: list[AgentService], cluster: Cluster) -> None:
    run = begun(clients)
    follower = Follower(clients[2], run.run_id)
    worker = cluster.holder(run.run_id)
    worker.send(signal.SIGSTOP)
    until(lambda: "run.resumed" in types(clients[1], run.run_id))
    worker.send(signal.SIGCONT)
    until(lambda: "was taken over" in worker.log.read_text())
    went_on(clients, run, follower)


def test_a_worker_that_ends_hands_its_runs_over(clients: list[AgentService], cluster: Cluster) -> None:
    run = begun(clients)
    long = clients[1].runs.start("wait 600")
    worker = cluster.holder(run.run_id)
    follower = Follower(clients[2], run.run_id)
    assert worker.stop() == 0
    ended = clients[2].runs.wait(run.run_id)
    assert ended.output == SPOKEN
    assert follower.ended() == list(range(1, len(types(clients[0], run.run_id)) + 1))
    assert restarts(cluster, run) == restarts(cluster, long) == 0
    clients[0].runs.cancel(long.run_id)
    worker.start()


def restarts(cluster: Cluster, run: Run) -> int:
    import psycopg

    with psycopg.connect(cluster.env["AGENTSVC_DATABASE"]) as connection:
        row = connection.execute("SELECT restarts FROM run WHERE run_id = %s", [run.run_id])
        [(found,)] = row.fetchall()
    return int(found)


def test_runs_go_on_when_the_database_is_restarted(clients: list[AgentService], cluster: Cluster) -> None:
    runs = [client.runs.start("say one\nwait 2\nsay two") for client in clients]
    followers = [Follower(client, run.run_id) for client, run in zip(clients[::-1], runs, strict=True)]
    for run in runs:
        cluster.holder(run.run_id)
    cluster.postgres.stop()
    cluster.postgres.start()
    for run, follower in zip(runs, followers, strict=True):
        assert clients[0].runs.wait(run.run_id).output == "one\ntwo"
        ids = follower.ended()
        assert ids == list(range(1, len(ids) + 1))


def test_a_replica_is_ready_until_it_ends(cluster: Cluster) -> None:
    def ready(process: Process) -> int:
        return httpx.get(f"{process.base_url}/readyz").status_code

    assert [ready(process) for process in (*cluster.replicas, *cluster.workers)] == [200] * 6
    worker = cluster.workers[0].base_url
    assert httpx.get(f"{worker}/healthz").status_code == 200
    assert httpx.get(f"{worker}/api/developers/v1/tools").status_code == 404


def test_a_sign_in_link_of_one_replica_opens_the_others(cluster: Cluster) -> None:
    ready = json.loads((cluster.replicas[0].folder / "ready.json").read_text())
    link = ready["sign_in_url"].removeprefix(cluster.replicas[0].base_url)
    opened = httpx.get(cluster.replicas[1].base_url + link)
    assert (opened.status_code, opened.headers["location"]) == (303, "/app")
    assert httpx.get(cluster.replicas[1].base_url + link + "x").status_code == 401


def test_a_proxy_gives_each_connection_to_a_replica(clients: list[AgentService], cluster: Cluster) -> None:
    balancer = Balancer(cluster)
    try:
        for _ in range(6):
            with AgentService(cluster.api_key, balancer.base_url) as client:
                assert client.runs.start("say hello", sync=True).output == "hello"
    finally:
        balancer.close()
