"""What an operator does and sees: replicas restarted one after the other behind a proxy, and the trace of a run whose
worker was killed."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.wire.routes import V1
from tests.nightly.cluster.cluster import Balancer, Cluster, running_cluster
from tests.nightly.cluster.test_cluster import Follower
from tests.support.otlp import Collector, Span, collector
from tests.support.waiting import until

START = f"POST {V1}/runs"
SPOKEN = "".join(f"say {number}\nwait 0.2\n" for number in range(100))


@pytest.fixture(scope="module")
def collected() -> Iterator[Collector]:
    with collector() as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.endpoint)
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield found


@pytest.fixture(scope="module")
def cluster(collected: Collector) -> Iterator[Cluster]:
    with running_cluster(2, 2) as running:
        yield running


def test_after_kill_9_of_its_worker_the_trace_of_a_run_is_whole(cluster: Cluster, collected: Collector) -> None:
    """Request, run, both attempts and what they did in one trace, though three processes sent it; the second attempt is
    linked to the first, whose span the other worker sends."""
    with cluster.client(0) as client:
        started = client.runs.start("usage 10 5\nsay one\nstep 1\nwait 2\nsay two\nstep 1\nsay three")
        until(lambda: named(collected, "chat scripted", started.run_id))
        worker = cluster.holder(started.run_id)
        worker.kill()
        assert client.runs.wait(started.run_id).output == "one\ntwo\nthree"
    worker.start()
    until(lambda: named(collected, "run", started.run_id))
    (run,) = named(collected, "run", started.run_id)
    (request,) = [span for span in collected.named(START) if span.trace == run.trace]
    killed, resumed = sorted(named(collected, "invoke_agent", started.run_id), key=lambda span: span.began)
    assert (killed.error, killed.attributes["error.type"], killed.links) == (True, "interrupted", ())
    assert (resumed.error, resumed.links) == (False, (killed.id,))
    assert [span.attributes["agentsvc.attempt"] for span in (killed, resumed)] == [1, 2]
    assert (killed.parent, resumed.parent, run.parent) == (run.id, run.id, request.id)
    calls = named(collected, "chat scripted", started.run_id)
    assert {span.parent for span in calls} == {killed.id, resumed.id}
    assert {span.trace for span in (*calls, killed, resumed)} == {run.trace}
    assert len({span.id for span in collected.spans}) == len(collected.spans), "no span is sent twice"


def named(collected: Collector, name: str, run_id: str) -> list[Span]:
    return [span for span in collected.named(name) if span.attributes.get("run_id") == run_id]


def test_replicas_restarted_one_after_the_other_fail_no_request(cluster: Cluster) -> None:
    """Behind a proxy that asks the next one when a replica takes no connection. A stream that is open goes on at the
    other. Each ends by itself in the time that is promised, or it would be killed and its exit code be another."""
    balancer = Balancer(cluster)
    try:
        with AgentService(cluster.api_key, balancer.base_url) as client:
            long = client.runs.start(SPOKEN)
            follower = Follower(client, long.run_id)
            asking = Asking(balancer.base_url, cluster.api_key)
            for replica in cluster.replicas:
                enough = len(asking.statuses) + 10
                until(lambda: len(asking.statuses), lambda asked: asked > enough)  # noqa: B023 - called in this turn
                assert replica.stop() == 0
                replica.start()
            assert set(asking.ended()) == {200, 202}
            client.runs.cancel(long.run_id)
            client.runs.wait(long.run_id)
        ids = follower.ended()
        assert ids == list(range(1, len(ids) + 1))
        assert follower.types[-1] == "run.ended"
    finally:
        balancer.close()


class Asking:
    """Starts runs and reads all the time, each request by a connection of its own and none twice."""

    def __init__(self, base_url: str, api_key: str) -> None:
        self.statuses: list[int] = []
        self._failures: list[httpx.TransportError] = []
        self._url = f"{base_url}{V1}"
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(3)]
        for thread in self._threads:
            thread.start()

    def ended(self) -> list[int]:
        """The statuses of all answers. Raises for a request without one."""
        self._done.set()
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]
        return self.statuses

    def _ask(self) -> None:
        while not self._done.is_set():
            try:
                started = httpx.post(f"{self._url}/runs", json={"message": "say hi"}, headers=self._headers, timeout=60)
                read = httpx.get(f"{self._url}/tools", headers=self._headers, timeout=60)
            except httpx.TransportError as error:
                self._failures.append(error)
            else:
                self.statuses += [started.status_code, read.status_code]
