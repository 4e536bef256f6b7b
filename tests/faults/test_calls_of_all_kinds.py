"""kill -9 in a run that has a program, a call of another server's tool, and an effect, both approved: nothing happens
twice, nothing is lost, and what nobody can know is said (docs/decisions/07)."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter
from typing import Any, Final

import httpx
import pytest

from agentsvc_nb.tools.programs import confinement
from agentsvc_nb.wire.runs import TERMINAL
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.history import check_run
from tests.faults.test_tool_effects import call, files, with_settings
from tests.support.sampling import sampled
from tests.support.tool_server import tool_server
from tests.support.waiting import until
from tests.unit.tools.test_program_escapes import living

pytestmark = pytest.mark.skipif(bool(confinement.missing_requirement()), reason=str(confinement.missing_requirement()))

PROGRAM: Final = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print(open('in.txt').read())
for name in ('one.txt', 'two.txt'):
    open(name, 'w').write(name * 100_000)
time.sleep(1)
"""
SCRIPT: Final = "\n".join(
    [
        "write in.txt x",
        call("run_python", {"code": PROGRAM}),
        call("other_stamp", {"text": "x"}),
        call("stamp", {"line": "x"}),
        "say done",
    ]
)
KILLS: Final = {
    "a program": ("", (1, 1)),
    "an approval": ("", (1, 1)),
    "blob write 3": ("", (1, 1)),  # in the middle of a result of the program
    "in calls.move 1": ("", (1, 1)),  # when its results are there, and it is not recorded as done
    "after calls.decide 1": ("", (1, 1)),
    "after calls.move 2": ("other_stamp", (0, 1)),  # when a call is begun, and not made
    "in calls.move 3": ("other_stamp", (1, 1)),  # after another server's answer
    "after calls.move 4": ("stamp", (1, 0)),  # when an effect is about to happen
    "in calls.move 5": ("stamp", (1, 1)),
}
"""By the point, or what runs or waits, when the service is killed: the tool whose call may have had an effect, and is
reported and not repeated; how often the other server and our tool were used."""


@pytest.mark.parametrize("kill", sampled(KILLS, "a program", "after calls.decide 1", "in calls.move 3"))
def test_nothing_twice_and_nothing_lost(kill: str) -> None:
    unknown, happened = KILLS[kill]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(tool_server())
        settings = with_settings(mcp_servers=f"other={server.url}", mcp_allow=server.authority, approve_effects="yes")
        service = stack.enter_context(crashing_server(*settings))
        service.start(*([] if kill in ("a program", "an approval") else ["--point", kill]))
        run = service.post("/runs", {"message": SCRIPT}).json()
        sandboxed = go_on_until_dead(service, run["run_id"], kill)
        until(lambda: not any(map(in_sandbox, sandboxed)))
        service.start()
        until(lambda: approve(service, run["run_id"]) in TERMINAL)
        record, events = service.get(f"/runs/{run['run_id']}"), service.events(run["run_id"])
        check_run(record, events)
        assert (record["status"], record["output"]) == ("completed", "done")
        assert (len(server.calls()), len(service.stamps())) == happened
        check_calls(events, unknown)
        assert sorted(path for path, _ in files(service, run)) == ["in.txt", "one.txt", "two.txt"]


def go_on_until_dead(service: CrashingServer, run_id: str, kill: str) -> set[int]:
    """Approve what the run asks until the service is dead, and return the processes of its programs."""
    seen: set[int] = set()

    def is_dead() -> bool:
        seen.update(pid for pid in living(service.pid) if in_sandbox(pid))
        with contextlib.suppress(httpx.TransportError, AssertionError):  # it dies
            if (kill == "a program" and len(seen) >= 3) or (kill == "an approval" and asked(service, run_id)):
                os.kill(service.pid, signal.SIGKILL)
            approve(service, run_id)
        return service.has_died()

    until(is_dead)
    return seen


def approve(service: CrashingServer, run_id: str) -> str:
    """Approve each call that waits, and return the run's status."""
    for call_id in asked(service, run_id):
        service.post(f"/runs/{run_id}/calls/{call_id}/approval", {"approved": True})
    return str(service.get(f"/runs/{run_id}")["status"])


def asked(service: CrashingServer, run_id: str) -> set[str]:
    events = service.events(run_id)
    requested, decided = (
        {event["payload"]["call_id"] for event in events if event["type"] == kind}
        for kind in ("approval.requested", "approval.decided")
    )
    return requested - decided


def check_calls(events: list[dict[str, Any]], unknown: str) -> None:
    """Each of the three calls is told once, with one result, of what counts; and the one that is not known says so."""
    counted: list[dict[str, Any]] = []
    for event in events:
        if event["type"] == "run.resumed":
            counted = [one for one in counted if one["id"] <= event["payload"]["discard_after"]]
        counted.append(event)
    for kind in ("tool.call", "tool.result"):
        told = Counter(one["payload"]["tool"] for one in counted if one["type"] == kind)
        assert told == {"run_python": 1, "other_stamp": 1, "stamp": 1}, kind
    for result in (one["payload"] for one in counted if one["type"] == "tool.result"):
        said = result["content"][0]["text"]
        assert result["is_error"] == ("may have had an effect" in said) == (result["tool"] == unknown), said
    assert len({one["payload"]["call_id"] for one in events if one["type"] == "approval.decided"}) == 2


def in_sandbox(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid")
    except OSError:
        return False
