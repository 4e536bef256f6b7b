"""Money across replicas: what several accept at the same moment is never more than the wallet has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.nightly.cluster.cluster import Cluster, at_once, running_cluster


@pytest.fixture(scope="module")
def poor() -> Iterator[Cluster]:
    """Replicas whose worker has ended, and a wallet of five cents."""
    with running_cluster(workers=1, wallet_cents=5) as running:
        running.workers[0].stop()
        yield running


def test_the_wallet_is_exact_and_what_was_accepted_without_a_worker_is_done_later(poor: Cluster) -> None:
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
