"""kill -9 around a resume: nothing is done twice, nothing is lost (docs/api/runs.md "Resume")."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.test_calls import call


def failed(service: CrashingServer, ending: str) -> dict[str, Any]:
    """A run that failed after an effect."""
    script = f"say x\nstep 1\n{call('stamp')}\nfail {ending}"
    return service.ended(service.post("/runs", {"message": script}).json()["run_id"])


def test_a_crash_within_a_resume_leaves_nothing_and_the_key_starts_one() -> None:
    with crashing_server() as service:
        service.start("--point", "after calls.take_over 1")
        old = failed(service, "model_unavailable Away.")
        with pytest.raises(httpx.TransportError):
            service.post(f"/runs/{old['run_id']}/resume", key="k")
        service.see_it_die()
        service.start()
        first = service.post(f"/runs/{old['run_id']}/resume", key="k")
        new = service.ended(first.json()["run_id"])
        assert service.post(f"/runs/{old['run_id']}/resume", key="k").json() == new
        assert (new["resumed_from"], len(service.stamps())) == (old["run_id"], 1)


def test_a_crash_of_the_resumed_run_goes_on_with_it() -> None:
    with crashing_server() as service:
        service.start()
        old = failed(service, "limit_reached Enough.")
        service.kill()
        service.start("--point", "in runs.finish 1")
        run_id = service.post(f"/runs/{old['run_id']}/resume").json()["run_id"]
        service.see_it_die()
        service.start()
        new = service.ended(run_id)
        assert (new["last_error"], new["output"], len(service.stamps())) == ("limit_reached", "x", 1)
        ids = {event["payload"]["call_id"] for event in service.events(run_id) if event["type"] == "tool.call"}
        assert len(ids) == 1
