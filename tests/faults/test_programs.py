"""kill -9 of the service while a model's program runs: no process of it is left, and the run goes on with a new one."""

from __future__ import annotations

import os
import signal

import pytest

from agentsvc_nb.tools.programs import confinement
from tests.faults.crashing_server import crashing_server
from tests.faults.test_tool_effects import call, ended, files, start
from tests.support.waiting import until
from tests.unit.tools.test_program_escapes import living

CODE = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
time.sleep(2)
open('out.txt', 'w').write('whole')
print(open('in.txt').read())
"""


@pytest.mark.skipif(bool(confinement.lacking()), reason=str(confinement.lacking()))
def test_a_program_that_was_cut_off_is_run_again() -> None:
    with crashing_server() as service:
        service.start("--point", "never never 0")
        run = start(service, f"write in.txt x\n{call('run_python', {'code': CODE})}")
        # The service, bubblewrap, the first process of the sandbox, the program and its child.
        until(lambda: len(living(service.pid)) >= 5)
        processes = living(service.pid)
        os.kill(service.pid, signal.SIGKILL)
        until(lambda: not any(_runs(pid) for pid in processes), patience=10)
        service.see_it_die()
        service.start("--point", "never never 0")
        events = ended(service, run)
        results = [event["payload"] for event in events if event["type"] == "tool.result"]
        assert [(one["is_error"], one["content"][0]["text"]) for one in results] == [
            (False, "x\n\nFiles written: out.txt.")
        ]
        assert sorted(path for path, _ in files(service, run)) == ["in.txt", "out.txt"]


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
