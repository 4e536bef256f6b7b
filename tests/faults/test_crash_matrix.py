"""kill -9 at named points of a morning's work: nothing acknowledged is lost, nothing doubled, no chat stuck.

The points are those of `tests/faults/engines.py`. A design rule bounds what may happen twice: a crash repeats at most
the step in flight, so the effects of a job that was under way may be there once more per crash, and of no other.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.scenario import Morning
from tests.support.sampling import sampled
from tests.support.waiting import until

POINTS = [
    "in idempotency.remember 1",  # the key and its run are written, not committed
    "after idempotency.remember 1",  # committed; nobody was told, nobody has begun
    "after idempotency.remember 2",  # the same, with a staged file attached
    "in runs.claim 1",
    "after runs.claim 1",
    "in events.insert_event 5",  # the k-th event
    "after events.insert_event 5",
    "after files.put 1",  # the run's file is there, its event is not
    "in runs.checkpoint 2",  # between what a step did and its checkpoint
    "after runs.checkpoint 2",
    "in runs.finish 1",  # before the terminal event
    "after runs.finish 1",
    "blob write 2",  # during the upload
    "blob rename 2",
    "blob kept 2",
    "in files.stage 1",
    "after files.stage 1",
    "in jobs.insert 1",
    "after jobs.insert 1",  # committed; nobody was told, nobody has begun
    "after jobs.claim 1",
    "in jobs.finish 1",  # the effect is out, the end is not written
    "after jobs.finish 1",
    "in jobs.finish 2",  # the tool of a run: between the tool and its result
    "after jobs.finish 2",
    "in runs.cancelling 1",
    "after runs.cancelling 1",
    "in runs.finish 3",  # the agent has stopped, the run is not ended
]
AT_MOST = {"in jobs.finish 1": 3, "in jobs.finish 2": 3, "after jobs.finish 2": 3}
"""Effects, where a job was in flight: one more than the two that the morning asks for."""


@pytest.mark.parametrize(
    "point",
    sampled(
        POINTS,
        "after idempotency.remember 1",
        "in events.insert_event 5",
        "in runs.checkpoint 2",
        "in runs.finish 1",
        "blob rename 2",
        "in jobs.finish 1",
        "after runs.cancelling 1",
    ),
)
def test_the_service_may_die_anywhere(point: str) -> None:
    with crashing_server() as service:
        morning = die_at(service, point)
        service.start()
        morning.see_to_the_rest()
        assert morning.effects() <= AT_MOST.get(point, 2)


@pytest.mark.parametrize(
    "point", sampled(["in runs.restarted 1", "after runs.restarted 1", "in runs.resume 1"], "after runs.restarted 1")
)
def test_it_may_die_again_while_it_recovers(point: str) -> None:
    with crashing_server() as service:
        morning = die_at(service, "after runs.checkpoint 1")
        service.launch("--point", point)
        service.see_it_die()
        service.start()
        morning.see_to_the_rest()


def die_at(service: CrashingServer, point: str) -> Morning:
    """The morning's work until the service dies there."""
    service.start("--point", point)
    morning = Morning(service)
    with pytest.raises(httpx.TransportError):
        morning.work()
    service.see_it_die()
    return morning


def test_a_group_commit_is_whole_or_nothing() -> None:
    """Twenty starts, which wait for each other; the service dies among them."""
    with crashing_server() as service:
        service.start("--group", "20", "--point", "in runs.insert 12")
        keys = [f"key-{number}" for number in range(20)]

        def start(key: str) -> str | None:
            try:
                return str(service.post("/runs", {"message": "say hello"}, key).json()["run_id"])
            except httpx.TransportError:
                return None

        with ThreadPoolExecutor(len(keys)) as pool:
            acknowledged = dict(zip(keys, pool.map(start, keys), strict=True))
        service.see_it_die()
        service.start()
        again = {key: start(key) for key in keys}
        assert len(set(again.values())) == 20
        for key, run_id in acknowledged.items():
            assert run_id in (None, again[key])
        until(lambda: {service.get(f"/runs/{run_id}")["status"] for run_id in again.values()} == {"completed"})
