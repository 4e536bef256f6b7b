"""What a run costs, how many can be started a second, and how late followers are, with three replicas and three workers
on one PostgreSQL (fsync on) and one S3 server, beside a service of its own on SQLite.

python -m tests.bench.cluster [--quick] [--growth]

With `--growth`, how the costs grow with the runs and files that are stored and with those who follow.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Final

from agentsvc_nb.testing import RunningService, running_service
from tests.bench.cluster import growth
from tests.bench.cluster.server import OPTIONS, Counts, Server
from tests.bench.first_event import once
from tests.bench.following import follow_all
from tests.bench.load import Load, measure, request
from tests.bench.starts import PATH, QUEUED, START
from tests.nightly.cluster.cluster import Cluster, running_cluster
from tests.support.waiting import until

EVENTS_A_SECOND: Final = 20
SETTLE_SECONDS: Final = 6
"""The followed run says nothing at first, so that every follower is there when it begins."""
CONNECTIONS: Final = 11
"""To each replica, for a rate of starts."""


def main(quick: bool, growing: bool = False) -> None:
    with running_cluster(options=OPTIONS) as cluster, running_service() as service:
        server = Server(cluster)
        try:
            _warm(cluster, service)
            if growing:
                growth.report(
                    cluster, server, lambda count: _counted(cluster, server, count, 3 if quick else 10), quick
                )
                return
            _one_after_the_other(cluster, server, 20 if quick else 200)
            _first_events(cluster, service, 20 if quick else 200)
            _rates(cluster, server, (60,) if quick else (600, 600, 1800))
            for followers in (30,) if quick else (100, 300, 1000):
                _followers(cluster, server, followers, 3 if quick else 10)
            _beside_followers(cluster, server, *((30, 60, 5) if quick else (1000, 600, 30)))
        finally:
            server.close()


def _warm(cluster: Cluster, service: RunningService) -> None:
    """Have all connections made and all statements prepared."""
    for _ in range(3):
        for replica in cluster.replicas:
            once(replica.base_url, cluster.api_key)
        once(service.base_url, service.api_key)


def _one_after_the_other(cluster: Cluster, server: Server, runs: int) -> None:
    before = server.counts()
    for number in range(runs):
        once(cluster.replicas[number % 3].base_url, cluster.api_key)
    _show(f"{runs} runs, one after the other, followed", server.counts() - before, runs)


def _show(what: str, used: Counts, runs: int, one: str = "a run") -> None:
    print(f"{what}: {one} takes")
    print(f"{'':2}{'commits':>13} {used.commits / runs:8.2f}")
    print(f"{'':2}{'reads':>13} {used.reads / runs:8.2f}  (transactions of several statements)")
    for part, count in sorted(used.statements.items()):
        print(f"{'':2}{part:>13} {count / runs:8.2f}  statements")
    for who, seconds in zip(("replicas", "workers", "PostgreSQL"), used.cpu, strict=True):
        print(f"{'':2}{who:>13} {seconds / runs * 1000:8.2f}  ms of processor")
    print(flush=True)


def _first_events(cluster: Cluster, service: RunningService, rounds: int) -> None:
    """By turns, so that what else the machine does counts for both."""
    here: list[tuple[float, float]] = []
    there: list[tuple[float, float]] = []
    for number in range(rounds):
        here.append(once(service.base_url, service.api_key))
        there.append(once(cluster.replicas[number % 3].base_url, cluster.api_key))
    print(f"{f'{rounds} starts':24} {'SQLite ms':>10} {'cluster ms':>11} {'ratio':>6}")
    for name, own, shared in zip(
        ("first event", "first word"), zip(*here, strict=True), zip(*there, strict=True), strict=True
    ):
        alone, together = statistics.median(own) * 1000, statistics.median(shared) * 1000
        print(f"{name:24} {alone:10.1f} {together:11.1f} {together / alone:6.1f}")
    print(flush=True)


def _rates(cluster: Cluster, server: Server, rounds: Sequence[int]) -> None:
    for runs in rounds:
        there = server.ended()
        before, begin = server.counts(), time.perf_counter()
        started = _start(cluster, runs)
        until(server.ended, lambda ended: ended >= there + runs, patience=300)  # noqa: B023 - called within the round
        took = time.perf_counter() - begin
        print(f"{there} runs are there: {started:.0f} started and {runs / took:.0f} ended a second")
        _show(f"{runs} runs at once", server.counts() - before, runs)


def _start(cluster: Cluster, runs: int) -> float:
    """Start so many runs, at all replicas at once; how many a second."""
    each = runs // len(cluster.replicas)
    start = request("POST", PATH, cluster.api_key, START)
    load = Load(start, 202, QUEUED, whole=False, connections=CONNECTIONS, requests=each)
    with ThreadPoolExecutor(len(cluster.replicas)) as pool:
        found = list(pool.map(lambda replica: measure(replica.base_url, load), cluster.replicas))
    return sum(measured.rate for measured in found)


def _followers(cluster: Cluster, server: Server, followers: int, seconds: int) -> None:
    """Follow one run at all replicas; raises `WrongAnswer` for a gap."""
    used, events, late = _counted(cluster, server, followers, seconds)
    p50, p99 = (late[int(len(late) * share)] * 1000 for share in (0.5, 0.99))
    print(f"{followers} followers: no gap in {len(late)} events, p50 {p50:.0f} ms, p99 {p99:.0f} ms")
    _show(f"{events} events to {followers} followers", used, events, "an event")


def _counted(cluster: Cluster, server: Server, followers: int, seconds: int) -> tuple[Counts, int, list[float]]:
    """What a run that speaks for so many seconds took, its events, and how late they were."""
    before = server.counts()
    late = _followed(cluster, followers, seconds)
    return server.counts() - before, seconds * EVENTS_A_SECOND, late


def _followed(cluster: Cluster, followers: int, seconds: int) -> list[float]:
    count = seconds * EVENTS_A_SECOND
    lines = [f"progress {number} {count}\nwait {1 / EVENTS_A_SECOND}" for number in range(count)]
    with cluster.client(0) as client:
        run_id = client.runs.start("\n".join([f"wait {SETTLE_SECONDS}", *lines])).run_id
    follow = request("GET", f"{PATH}/{run_id}/events", cluster.api_key, accept="text/event-stream")
    each = followers // len(cluster.replicas)
    with ProcessPoolExecutor(len(cluster.replicas), multiprocessing.get_context("spawn")) as pool:
        asked = [pool.submit(follow_all, replica.base_url, follow, each) for replica in cluster.replicas]
        found = [answer.result() for answer in asked]
    ids = found[0][0]
    assert all(seen == ids for seen, _ in found), "replicas showed different events"
    return sorted(seconds for _, late in found for seconds in late)


def _beside_followers(cluster: Cluster, server: Server, followers: int, runs: int, seconds: int) -> None:
    """Commits a second of as many starts as there can be, with nobody following and with followers of a run that speaks
    for so many seconds, by turns."""
    print(f"{f'{runs} starts beside':24} {'started/s':>10} {'commits/s':>10} {'runs a commit':>14}")
    for _ in range(2):
        for beside in (0, followers):
            with ThreadPoolExecutor(1) as pool:
                following = pool.submit(_followed, cluster, beside, seconds) if beside else None
                if following is not None:
                    time.sleep(SETTLE_SECONDS)
                rate, used = _rate(cluster, server, runs)
                if following is not None:
                    following.result()
            print(f"{f'{beside} followers':24} {rate:10.0f} {used:10.0f} {rate / used:14.1f}", flush=True)


def _rate(cluster: Cluster, server: Server, runs: int) -> tuple[float, float]:
    """Runs, and commits, a second, until as many as are started have ended."""
    before, there, begin = server.counts(), server.ended(), time.perf_counter()
    _start(cluster, runs)
    until(server.ended, lambda ended: ended >= there + runs, patience=300)
    took = time.perf_counter() - begin
    return runs / took, (server.counts() - before).commits / took


if __name__ == "__main__":
    main("--quick" in sys.argv, "--growth" in sys.argv)
