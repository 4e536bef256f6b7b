"""What three replicas are asked at the same moment counts as if one had been asked: requests, active runs, and starts
with one Idempotency-Key (docs/api/accounts.md, docs/api/runs.md)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from tests.nightly.cluster.cluster import Cluster, at_once, running_cluster
from tests.support.waiting import until

CAPACITY = 4
RATE = 30
"""Requests a minute of one key. The tests that do not try it need fewer."""
ENDLESS = "wait 600"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(workers=1, run_capacity=CAPACITY, rate_per_minute=RATE) as running:
        yield running


def clients(cluster: Cluster, api_key: str) -> list[AgentService]:
    """One for each replica; nothing that is refused is sent again."""
    return [AgentService(api_key, replica.base_url, max_retries=0) for replica in cluster.replicas]


def new_key(cluster: Cluster, name: str) -> str:
    command = [sys.executable, "-m", "agentsvc_nb", "keys", "create", "--name", name]
    command += ["--data", str(cluster.replicas[0].folder)]
    done = subprocess.run(command, env={**os.environ, **cluster.env}, capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


def test_requests_of_a_minute_are_counted_over_all_replicas(cluster: Cluster) -> None:
    """As many as the limit are answered, and of the others each is the next one observed, whatever replica counts."""
    found = until(lambda: asked_in_one_minute(cluster))
    assert found is not None
    answered, observed = found
    assert answered == RATE
    assert sorted(observed) == list(range(RATE + 1, RATE + 16))


def asked_in_one_minute(cluster: Cluster) -> tuple[int, list[int]] | None:
    """Of some requests too many, with a key of their own: how many were answered, and the counts that refusals name.
    None if a minute ended meanwhile."""
    minute = time.time() // 60
    made = clients(cluster, new_key(cluster, f"asking-{minute:.0f}"))
    observed: list[int] = []

    def ask(number: int) -> str:
        try:
            made[number % 3].tools.list()
        except StefanBrainError as refused:
            observed.append(refused.body["error"]["observed"])
            raise
        return "answered"

    answered, codes = at_once(ask, RATE + 15)
    for client in made:
        client.close()
    if time.time() // 60 != minute:
        return None
    assert codes == {"request_per_minute"}
    return len(answered), observed


def test_no_more_runs_are_active_than_there_is_room_for(cluster: Cluster) -> None:
    made = clients(cluster, new_key(cluster, "filling"))
    accepted, codes = at_once(lambda number: made[number % 3].runs.start(ENDLESS).run_id, 12)
    assert (len(set(accepted)), codes) == (CAPACITY, {"runtime_capacity_busy"})
    for number, run_id in enumerate(accepted):
        made[number % 3].runs.cancel(run_id)
        assert made[(number + 1) % 3].runs.wait(run_id).status == "cancelled"
    assert made[0].runs.start("say there is room", sync=True).output == "there is room"
    for client in made:
        client.close()


def test_of_starts_with_one_key_at_three_replicas_one_starts(cluster: Cluster) -> None:
    made = clients(cluster, new_key(cluster, "repeating"))
    script = "usage 1000 0\nsay once\nwait 1"
    answered, codes = at_once(lambda n: made[n % 3].runs.start(script, idempotency_key="the-same").run_id, 12)
    assert (len(answered), codes) == (12, set())
    (run_id,) = set(answered)
    ended = made[1].runs.wait(run_id)
    assert (ended.output, ended.usage.cost_microcents) == ("once", 100_000)
    assert made[2].runs.start(script, idempotency_key="the-same").run_id == run_id
    assert stored(cluster, script) == [run_id]
    for client in made:
        client.close()


def stored(cluster: Cluster, message: str) -> list[str]:
    """The runs that the database has of this message."""
    import psycopg

    sql = "SELECT run_id FROM run JOIN run_message USING (run_id) WHERE message = %s"
    with psycopg.connect(cluster.env["AGENTSVC_DATABASE"]) as connection:
        return [run_id for (run_id,) in connection.execute(sql, [message]).fetchall()]
