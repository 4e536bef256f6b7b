"""Three replicas and three workers on one database and one bucket: what is accepted is done, once, whoever is killed,
frozen or restarted; what one replica is told holds at the others; and what all accept at once is never over a limit."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator

import httpx
import pytest

from agentsvc_nb import AgentService, ClientTool
from agentsvc_nb.wire.routes import V1
from tests.nightly.cluster.cluster import Balancer, Cluster, at_once, running_cluster
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(300)
LONG = (
    "say one\nstep 1\nsay two\nwait 1\n"
    + "".join(f"progress {n} 80 at {n}\nwait 0.05\n" for n in range(80))
    + "say three"
)


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

    def ended(self) -> list[str]:
        """The types of all events, after a check of their ids."""
        self._thread.join()
        assert self.ids == list(range(1, len(self.ids) + 1))
        return self.types


def types(client: AgentService, run_id: str) -> list[str]:
    """The types of the events of a run so far."""
    return [event.type for event in client.runs.events(run_id, limit=1000).data]


@pytest.mark.parametrize("fault", ["killed", "frozen", "stopped", "database restarted"])
def test_a_run_goes_on_in_another_worker_and_each_event_is_there_once(
    clients: list[AgentService], cluster: Cluster, fault: str
) -> None:
    run = clients[0].runs.start(LONG)
    until(lambda: "progress" in types(clients[1], run.run_id))
    follower, worker = Follower(clients[2], run.run_id), cluster.holder(run.run_id)
    if fault == "killed":
        worker.kill()
    elif fault == "frozen":
        worker.send(signal.SIGSTOP)
        until(lambda: "run.resumed" in types(clients[1], run.run_id))
        worker.send(signal.SIGCONT)
        until(lambda: "was taken over" in worker.log.read_text())
    elif fault == "stopped":
        assert worker.stop() == 0
    else:
        cluster.postgres.stop()
        cluster.postgres.start()
    ended = clients[2].runs.wait(run.run_id)
    assert (ended.status, ended.output) == ("completed", "one\ntwo\nthree")
    found = types(clients[0], run.run_id)
    assert found.count("run.ended") == 1
    assert found.count("run.resumed") == (fault != "database restarted")
    assert follower.ended() == found
    [restarts] = cluster.rows(f"SELECT restarts FROM run WHERE run_id = '{run.run_id}'")
    assert restarts["restarts"] == (fault in ("killed", "frozen"))
    if fault in ("killed", "stopped"):
        worker.start()


def test_what_one_replica_is_told_holds_at_the_others(clients: list[AgentService], cluster: Cluster) -> None:
    """A cancel, a key that is revoked, a sign-in link, and calls that are approved and answered though their worker is
    killed; of many starts in one chat at once one is accepted, and of those with one key one starts."""
    cancelled = clients[0].runs.start("say one\nwait 600")
    cluster.holder(cancelled.run_id)
    clients[1].runs.cancel(cancelled.run_id)
    assert clients[2].runs.wait(cancelled.run_id).status == "cancelled"

    secret = cluster.agentsvc("keys", "create", "--name", "short").split()[-1]
    asked = [f"{replica.base_url}{V1}/tools" for replica in cluster.replicas]
    answers = [httpx.get(address, headers={"x-api-key": secret}).status_code for address in asked]
    cluster.agentsvc("keys", "revoke", "short")
    answers += [httpx.get(address, headers={"x-api-key": secret}).status_code for address in asked]
    assert answers == [200, 200, 200, 401, 401, 401]

    ready = json.loads((cluster.replicas[0].folder / "ready.json").read_text())
    link = cluster.replicas[1].base_url + ready["sign_in_url"].removeprefix(cluster.replicas[0].base_url)
    assert [httpx.get(link).status_code, httpx.get(link + "x").status_code] == [303, 401]

    done: list[int] = []

    def look_up(order: int) -> str:
        """Looks up an order."""
        done.append(order)
        worker = cluster.holder(stream.run_id)
        worker.kill()
        worker.start()
        return "lamps"

    call = 'call look_up {"order": 7}\nsay done'
    with clients[0].runs.start_and_stream(call, client_tools=[ClientTool(look_up)]) as stream:
        for event in stream:
            if event.type == "approval.requested":
                clients[1].runs.approve(stream.run_id, event)
        assert (stream.run.output, done) == ("done", [7])

    chat = clients[0].runs.start("say hello", sync=True).chat
    accepted, codes = at_once(lambda n: clients[n % 3].runs.start("wait 600", chat=chat, max_retries=0).run_id, 12)
    assert (len(accepted), codes) == (1, {"agent_run_rejected"})
    clients[1].runs.cancel(accepted[0])
    script = "usage 1000 0\nsay once"
    answered, codes = at_once(lambda n: clients[n % 3].runs.start(script, idempotency_key="the-same").run_id, 12)
    assert (len(answered), len(set(answered)), codes) == (12, 1, set())
    assert clients[1].runs.wait(answered[0]).usage.cost_microcents == 100_000
    assert len(cluster.rows(f"SELECT run_id FROM run_message WHERE message = '{script}'")) == 1


def test_replicas_restarted_one_after_the_other_fail_no_request(cluster: Cluster) -> None:
    """Behind a proxy that asks the next one when a replica takes no connection. A stream that is open goes on at the
    other. Each ends by itself in the time that is promised, or it would be killed and its exit code be another."""
    balancer, over = Balancer(cluster), threading.Event()
    statuses: list[int] = []

    def ask() -> None:
        headers = {"Authorization": f"Bearer {cluster.api_key}"}
        while not over.is_set():
            with httpx.Client(base_url=f"{balancer.base_url}{V1}", headers=headers, timeout=60) as http:
                statuses.append(http.post("/runs", json={"message": "say hi"}).status_code)

    asking = [threading.Thread(target=ask) for _ in range(3)]
    try:
        with AgentService(cluster.api_key, balancer.base_url) as client:
            long = client.runs.start("".join(f"say {number}\nwait 0.2\n" for number in range(100)))
            follower = Follower(client, long.run_id)
            for thread in asking:
                thread.start()
            for replica in cluster.replicas:
                enough = len(statuses) + 10
                until(lambda: len(statuses), lambda asked: asked > enough)  # noqa: B023 - called in this turn
                assert replica.stop() == 0
                replica.start()
            assert all(thread.is_alive() for thread in asking), "a request had no answer"
            over.set()
            client.runs.cancel(long.run_id)
            client.runs.wait(long.run_id)
        assert follower.ended()[-1] == "run.ended"
        assert set(statuses) == {202}
    finally:
        over.set()
        balancer.close()


def test_limits_are_exact_and_what_was_accepted_without_a_worker_is_done_later() -> None:
    with running_cluster(workers=1, wallet_cents=5) as poor:
        poor.workers[0].stop()
        made = [poor.client(replica) for replica in range(3)]

        def start(number: int) -> str:
            return made[number % 3].runs.start("usage 1000 0\nsay done", max_retries=0).run_id

        accepted, codes = at_once(start, 24)
        assert (len(accepted), codes) == (5, {"api_wallet_exhausted"})
        assert {made[1].runs.get(run_id).status for run_id in accepted} == {"queued"}
        poor.workers[0].start()
        ended = [made[2].runs.wait(run_id) for run_id in accepted]
        assert {(run.output, run.usage.cost_microcents) for run in ended} == {("done", 100_000)}
        assert start(0), "what they did not use is free again"
        for client in made:
            client.close()
