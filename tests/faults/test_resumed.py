"""kill -9 around a resume: nothing is done twice, nothing is lost (docs/api/runs.md "Resume")."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from agentsvc_nb.wire.runs import TERMINAL
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.effects import STAMPS
from tests.support.sampling import sampled
from tests.support.waiting import until

NEVER = ("--point", "never never 0")
AWAY = "fail model_unavailable Away."


def stamp(line: str, dies: str | None = None, tool: str = "stamp") -> str:
    return f"call {tool} {json.dumps({'line': line, 'dies': dies})}"


def ended(service: CrashingServer, run_id: str) -> dict[str, Any]:
    until(lambda: service.get(f"/runs/{run_id}")["status"] in TERMINAL)
    return service.get(f"/runs/{run_id}")


def finished(service: CrashingServer, script: str) -> dict[str, Any]:
    return ended(service, service.post("/runs", {"message": script}).json()["run_id"])


def stamps(service: CrashingServer) -> list[str]:
    log = service.data / STAMPS
    return [line.partition(" ")[0] for line in log.read_text().splitlines()] if log.exists() else []


@pytest.mark.parametrize("tool", sampled(["stamp", "post"], "post"))
def test_effects_of_the_run_before_are_not_repeated(tool: str) -> None:
    with crashing_server() as service:
        service.start(*NEVER)
        old = finished(service, f"say x\nstep 1\n{stamp('a', tool=tool)}\n{AWAY}")
        new = ended(service, service.post(f"/runs/{old['run_id']}/resume").json()["run_id"])
        assert (new["last_error"], new["output"]) == ("model_unavailable", "x")
        assert stamps(service) == ["a"]


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
        new = ended(service, first.json()["run_id"])
        assert service.post(f"/runs/{old['run_id']}/resume", key="k").json() == new
        assert (new["resumed_from"], stamps(service)) == (old["run_id"], ["a"])


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
        new = ended(service, run_id)
        assert (new["last_error"], new["output"], stamps(service)) == ("limit_reached", "x", ["a"])
        ids = {event["payload"]["call_id"] for event in service.events(run_id) if event["type"] == "tool.call"}
        assert len(ids) == 1
