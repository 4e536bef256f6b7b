"""kill -9 around a resume: nothing is done twice, nothing is lost (docs/api/runs.md "Resume")."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.support.sampling import sampled

NEVER = ("--point", "never never 0")
AWAY = "fail model_unavailable Away."


def stamp(line: str, dies: str | None = None, tool: str = "stamp") -> str:
    return f"call {tool} {json.dumps({'line': line, 'dies': dies})}"


def finished(service: CrashingServer, script: str) -> dict[str, Any]:
    return service.ended(service.post("/runs", {"message": script}).json()["run_id"])


@pytest.mark.parametrize("tool", sampled(["stamp", "post"], "post"))
def test_effects_of_the_run_before_are_not_repeated(tool: str) -> None:
    with crashing_server() as service:
        service.start(*NEVER)
        old = finished(service, f"say x\nstep 1\n{stamp('a', tool=tool)}\n{AWAY}")
        new = service.ended(service.post(f"/runs/{old['run_id']}/resume").json()["run_id"])
        assert (new["last_error"], new["output"]) == ("model_unavailable", "x")
        assert len(service.stamps()) == 1


@pytest.mark.parametrize("point", ["in runs.insert_resumed 1", "after calls.take_over 1"])
def test_a_crash_within_a_resume_leaves_nothing_and_the_key_starts_one(point: str) -> None:
    with crashing_server() as service:
        service.start("--point", point)
        old = finished(service, f"say x\nstep 1\n{stamp('a')}\n{AWAY}")
        with pytest.raises(httpx.TransportError):
            service.post(f"/runs/{old['run_id']}/resume", key="k")
        service.see_it_die()
        service.start(*NEVER)
        first = service.post(f"/runs/{old['run_id']}/resume", key="k")
        new = service.ended(first.json()["run_id"])
        assert service.post(f"/runs/{old['run_id']}/resume", key="k").json() == new
        assert (new["resumed_from"], len(service.stamps())) == (old["run_id"], 1)


def test_a_crash_of_the_resumed_run_goes_on_with_it() -> None:
    with crashing_server() as service:
        service.start(*NEVER)
        script = f"say x\nstep 1\n{stamp('a')}\nfail limit_reached Enough."
        old = finished(service, script)
        service.kill()
        service.start("--point", "in runs.finish 1")
        run_id = service.post(f"/runs/{old['run_id']}/resume").json()["run_id"]
        service.see_it_die()
        service.start(*NEVER)
        new = service.ended(run_id)
        assert (new["last_error"], new["output"], len(service.stamps())) == ("limit_reached", "x", 1)
        ids = {event["payload"]["call_id"] for event in service.events(run_id) if event["type"] == "tool.call"}
        assert len(ids) == 1
