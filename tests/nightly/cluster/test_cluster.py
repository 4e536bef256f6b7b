"""Three replicas and three workers on one database and one bucket: what one is told holds at the others, and what all
accept at once is never over a limit."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from agentsvc_nb import AgentService, ClientTool
from agentsvc_nb.wire.routes import V1
from tests.nightly.cluster.cluster import Cluster, running_cluster
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(300)
LONG = (
    "say one\nstep 1\nsay two\nwait 1\n"
    + "".join(f"progress {n} 80 at {n}\nwait 0.05\n" for n in range(80))
    + "say end"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(approve_effects="yes") as running:
        yield running


@pytest.fixture(scope="module")
def clients(cluster: Cluster) -> Iterator[list[AgentService]]:
    with cluster.client(0) as one, cluster.client(1) as two, cluster.client(2) as three:
        yield [one, two, three]


def at_once(start: Callable[[int], str], times: int) -> tuple[list[str], set[str]]:
    """What so many calls at once return, and the codes of those that are refused."""
    with ThreadPoolExecutor(12) as pool:
        calls = [pool.submit(start, number) for number in range(times)]
    codes = {str(getattr(call.exception(), "code", "none")) for call in calls if call.exception()}
    return [call.result() for call in calls if not call.exception()], codes


@pytest.mark.parametrize("fault", ["killed", "frozen", "stopped"])
def test_a_run_goes_on_in_another_worker(clients: list[AgentService], cluster: Cluster, fault: str) -> None:
    def types() -> list[str]:
        return [event.type for event in clients[1].runs.events(run.run_id, limit=1000).data]

    run = clients[0].runs.start(LONG)
    until(lambda: "progress" in types())
    worker = cluster.holder(run.run_id)
    if fault == "frozen":
        worker.send(signal.SIGSTOP)
    else:
        assert worker.end({"killed": signal.SIGKILL, "stopped": signal.SIGTERM}[fault]) == (
            -9 if fault == "killed" else 0
        )
    # Within 10 s, as is promised, and the times between two looks.
    until(lambda: "run.resumed" in types(), patience=12)
    if fault == "frozen":
        worker.send(signal.SIGCONT)
        until(lambda: "took over" in worker.log.read_text())
    else:
        worker.start()
    ended = clients[2].runs.wait(run.run_id)
    assert (ended.status, ended.output) == ("completed", "one\ntwo\nend")
    assert [types().count(name) for name in ("run.resumed", "run.ended")] == [1, 1]
    [stored] = cluster.rows(f"SELECT restarts FROM run WHERE run_id = '{run.run_id}'")
    assert stored["restarts"] == (fault != "stopped")


def test_what_one_replica_is_told_holds_at_the_others(clients: list[AgentService], cluster: Cluster) -> None:
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


def test_a_call_is_approved_and_answered_though_its_worker_is_killed(
    clients: list[AgentService], cluster: Cluster
) -> None:
    done: list[int] = []

    def look_up(order: int) -> str:
        """Looks up an order."""
        done.append(order)
        worker = cluster.holder(stream.run_id)
        worker.end()
        worker.start()
        return "lamps"

    call = 'call look_up {"order": 7}\nsay done'
    with clients[0].runs.start_and_stream(call, client_tools=[ClientTool(look_up)]) as stream:
        for event in stream:
            if event.type == "approval.requested":
                clients[1].runs.approve(stream.run_id, event)
        assert (stream.run.output, done) == ("done", [7])


def test_of_starts_at_once_one_begins_in_a_chat_and_one_with_a_key(
    clients: list[AgentService], cluster: Cluster
) -> None:
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
    """Each ends by itself in the time that is promised, and a stream that is open goes on at another."""
    statuses: list[int] = []
    over = threading.Event()

    def ask(address: str) -> None:
        headers = {"Authorization": f"Bearer {cluster.api_key}"}
        while not over.is_set():
            with httpx.Client(base_url=f"{address}{V1}", headers=headers, timeout=60) as http:
                statuses.append(http.post("/runs", json={"message": "say hi"}).status_code)

    with cluster.balanced() as address, AgentService(cluster.api_key, address) as client, ThreadPoolExecutor(4) as pool:
        long = client.runs.start("".join(f"say {number}\nwait 0.2\n" for number in range(300)))
        following = pool.submit(lambda: [event.id for event in client.runs.attach(long.run_id)])
        asking = [pool.submit(ask, address) for _ in range(3)]
        try:
            for replica in cluster.replicas:
                enough = len(statuses) + 10
                until(lambda: len(statuses), lambda asked: asked > enough)  # noqa: B023 - called in this turn
                assert replica.end(signal.SIGTERM) == 0
                replica.start()
        finally:
            over.set()
            client.runs.cancel(long.run_id)
        assert [task.result() for task in asking] == [None] * 3
        assert set(statuses) == {202}
        ids = following.result()
        assert ids == list(range(1, len(ids) + 1))


def test_limits_are_exact_and_what_was_accepted_without_a_worker_is_done_later() -> None:
    with running_cluster(workers=1, wallet_cents=5) as poor, poor.client(0) as one, poor.client(1) as two:
        poor.workers[0].end(signal.SIGTERM)

        def start(number: int) -> str:
            return [one, two][number % 2].runs.start("usage 1000 0\nsay done", max_retries=0).run_id

        accepted, codes = at_once(start, 24)
        assert (len(accepted), codes) == (5, {"api_wallet_exhausted"})
        assert {two.runs.get(run_id).status for run_id in accepted} == {"queued"}
        poor.workers[0].start()
        ended = [two.runs.wait(run_id) for run_id in accepted]
        assert {(run.output, run.usage.cost_microcents) for run in ended} == {("done", 100_000)}
        assert start(0), "what they did not use is free again"
