"""kill -9 at every point of a run that has a program, a call of another server's tool, and an effect, both approved:
nothing happens twice, nothing is lost, and what nobody can know is said (docs/decisions/0014-calls-are-kept.md)."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest

from agentsvc_nb.tools.programs import confinement
from agentsvc_nb.wire.runs import TERMINAL
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.history import check_run
from tests.faults.test_tool_effects import call, files, start
from tests.support.sampling import sampled
from tests.support.tool_server import RunningToolServer, tool_server
from tests.support.waiting import until
from tests.unit.tools.test_program_escapes import living

pytestmark = pytest.mark.skipif(bool(confinement.lacking()), reason=str(confinement.lacking()))

PROGRAM: Final = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print(open('in.txt').read())
for name in ('one.txt', 'two.txt'):
    open(name, 'w').write(name * 100_000)
time.sleep({pause})
"""
TOOLS: Final = ("run_python", "other_stamp", "stamp")


def script(pause: float, other: str) -> str:
    """A run with a program that sleeps, a tool of another server, and an effect of one of ours."""
    calls = [
        call("run_python", {"code": PROGRAM.format(pause=pause)}),
        call(f"other_{other}", {"text": "x"}),
        call("stamp", {"line": "x"}),
    ]
    return "\n".join(["write in.txt x", *calls, "say done"])


@dataclass(frozen=True)
class Kill:
    """Where the service is killed, and what is known afterwards.

    `point`: of the launcher; or else `when`: what is seen from outside. `unknown`: the tool whose call may have had an
    effect, and is reported and not repeated. `happened`: how often the other server and our tool were used.
    """

    point: str = "never never 0"
    when: str = ""
    unknown: str = ""
    happened: tuple[int, int] = (1, 1)
    pause: float = 0.0
    other: str = "stamp"


KILLS: Final = {
    "before a program is recorded": Kill("in calls.insert 1"),
    "when a program is recorded": Kill("after calls.insert 1"),
    "while a program runs": Kill(when="a program", pause=1.0),
    "before its first result has a name": Kill("blob rename 2"),
    "in the middle of a result": Kill("blob write 3"),
    "when one of its results is there": Kill("after files.put 2"),
    "before its second result is there": Kill("in files.put 3"),
    "when its results are there, and it is not recorded as done": Kill("in calls.move 1"),
    "when a program is done, and nobody was told": Kill("after calls.move 1"),
    "before a call asks for approval": Kill("in calls.wait 1"),
    "while a call waits for approval": Kill(when="an approval"),
    "before an approval is stored": Kill("in calls.decide 1"),
    "after an approval, before the call": Kill("after calls.decide 1"),
    "when a call is about to begin": Kill("in calls.move 2"),
    "when a call is begun, and not made": Kill("after calls.move 2", unknown="other_stamp", happened=(0, 1)),
    "while another server works": Kill(when="a call", unknown="other_hang", other="hang"),
    "after another server's answer": Kill("in calls.move 3", unknown="other_stamp"),
    "when the answer is stored": Kill("after calls.move 3"),
    "before an effect is approved": Kill("in calls.decide 2"),
    "after an effect is approved": Kill("after calls.decide 2"),
    "when an effect is about to happen": Kill("after calls.move 4", unknown="stamp", happened=(1, 0)),
    "after an effect": Kill("in calls.move 5", unknown="stamp"),
    "when an effect is stored": Kill("after calls.move 5"),
    "before the run's end is stored": Kill("in runs.finish 1"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningToolServer]:
    with tool_server() as found:
        yield found


@pytest.mark.parametrize(
    "name",
    sampled(
        KILLS,
        "while a program runs",
        "after an approval, before the call",
        "after another server's answer",
        "when an effect is about to happen",
    ),
)
def test_nothing_twice_and_nothing_lost(name: str, server: RunningToolServer) -> None:
    kill = KILLS[name]
    (server.folder / "calls.log").unlink(missing_ok=True)
    given = {"mcp_servers": f"other={server.url}", "mcp_allow": server.authority, "approve_effects": "yes"}
    with crashing_server(*(part for pair in given.items() for part in ("--set", "=".join(pair)))) as service:
        service.start("--point", kill.point)
        run = start(service, script(kill.pause, kill.other))
        processes = killed(service, run["run_id"], kill, server)
        until(lambda: not any(map(_runs, processes)), patience=10)
        service.start()
        approve_until(service, run["run_id"], lambda: ended(service, run["run_id"]))
        record, events = service.get(f"/runs/{run['run_id']}"), service.events(run["run_id"])
        check_run(record, events)
        assert (record["status"], record["output"]) == ("completed", "done")
        assert (len(server.calls()), len(service.stamps())) == kill.happened
        check_calls(events, kill)
        written = dict(files(service, run))
        assert sorted(path for path, _ in files(service, run)) == ["in.txt", "one.txt", "two.txt"]
        assert len(set(written.values())) == 3
        assert len(living(service.pid)) == 1 or not any(_in_sandbox(pid) for pid in living(service.pid))


def killed(service: CrashingServer, run_id: str, kill: Kill, server: RunningToolServer) -> set[int]:
    """Approve what the run asks until the service is dead; all its processes of before."""
    seen: set[int] = set()

    def is_there() -> bool:
        seen.update(living(service.pid))
        match kill.when:
            case "a program":
                return sum(map(_in_sandbox, living(service.pid))) >= 3  # the supervisor, the program, and its child
            case "an approval":
                return bool(asked(service, run_id))
            case "a call":
                return bool(server.calls())
        return service.has_died()

    if kill.when == "an approval":
        until(is_there)
    else:
        approve_until(service, run_id, is_there)
    if kill.when:
        os.kill(service.pid, signal.SIGKILL)
    service.see_it_die()
    return seen - {service.pid}


def approve_until(service: CrashingServer, run_id: str, over: Callable[[], bool]) -> None:
    """Approve each call that waits, as somebody at a screen would, until this is true."""

    def is_over() -> bool:
        if over():
            return True
        with contextlib.suppress(httpx.TransportError, AssertionError):  # it dies, or has just ended
            for call_id in asked(service, run_id):
                service.post(f"/runs/{run_id}/calls/{call_id}/approval", {"approved": True})
        return False

    until(is_over, patience=60)


def asked(service: CrashingServer, run_id: str) -> list[str]:
    """The calls that wait for approval, by their ids."""
    with contextlib.suppress(httpx.TransportError):
        events = service.events(run_id)
        decided = {event["payload"]["call_id"] for event in events if event["type"] == "approval.decided"}
        ids = {event["payload"]["call_id"] for event in events if event["type"] == "approval.requested"}
        return sorted(ids - decided)
    return []


def ended(service: CrashingServer, run_id: str) -> bool:
    return service.get(f"/runs/{run_id}")["status"] in TERMINAL


def check_calls(events: list[dict[str, Any]], kill: Kill) -> None:
    """Each of the three calls is told once, with one result, of what counts; and the one that is not known says so."""
    counted: list[dict[str, Any]] = []
    for event in events:
        if event["type"] == "run.resumed":
            counted = [one for one in counted if one["id"] <= event["payload"]["discard_after"]]
        counted.append(event)
    results = {one["payload"]["tool"]: one["payload"] for one in counted if one["type"] == "tool.result"}
    for kind in ("tool.call", "tool.result"):
        told = Counter(one["payload"]["tool"] for one in counted if one["type"] == kind)
        assert told == {"run_python": 1, f"other_{kill.other}": 1, "stamp": 1}, kind
    for tool, result in results.items():
        said = result["content"][0]["text"]
        assert result["is_error"] == (tool == kill.unknown), said
        assert ("not known" in said) == (tool == kill.unknown), said
    assert results["run_python"]["content"][0]["text"] == "x\n\nFiles written: one.txt, two.txt."
    approvals = Counter(one["payload"]["call_id"] for one in events if one["type"] == "approval.decided")
    assert len(approvals) == 2


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _in_sandbox(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid")
    except OSError:
        return False
