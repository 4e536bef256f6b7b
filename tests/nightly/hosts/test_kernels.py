"""The kernels that people have: each version of ipykernel in a folder of its own, put before the installed one.

They differ in what a cell may do while it runs (what is printed from threads, messages of widgets, interrupts), and in
what nest-asyncio does to them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb.testing import RunningService
from tests.notebook.test_kernel import ROOT, Jupyter, Run, jupyter
from tests.support.waiting import until

VERSIONS: Final = {
    "6.31": ("ipykernel==6.31.0", "nest-asyncio==1.6.0"),
    "7.4": ("ipykernel==7.4.0", "nest-asyncio2==1.7.4"),
}
ENDING: Final = {
    "input('name?')": "can't use input",
    "import sys; sys.exit(3)": "SystemExit",
    "exit()": "can't stop the kernel",
    "raise SystemExit": "SystemExit",
}
"""Code that asks or ends, and what its agent is told."""
PID: Final = "import os; print(os.getpid())"


@pytest.fixture(scope="module", params=list(VERSIONS))
def packages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The version, and the folder that it is installed in."""
    folder = tmp_path_factory.mktemp("kernel")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, *VERSIONS[request.param]], check=True)
    return request.param, folder


@pytest.fixture
def kernel(packages: tuple[str, Path], service: RunningService, tmp_path: Path) -> Iterator[Jupyter]:
    version, folder = packages
    named = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
    with jupyter(tmp_path, PYTHONPATH=f"{folder}:{ROOT}", **named) as started:
        assert started.run("import ipykernel; print(ipykernel.__version__)").printed.startswith(version)
        yield started


def shown(run: Run) -> str:
    assert run.error is None, run.error
    (output,) = run.cell.outputs
    return str(output["text/plain"])


def calling(code: str) -> str:
    return f"%%ask --kernel\ncall run_in_kernel {json.dumps({'code': code})}\nsay and on"


def test_what_code_may_not_do_leaves_the_kernel_usable(kernel: Jupyter) -> None:
    assert "✓ Ran in your kernel" in shown(kernel.run(calling("n = 6 * 7"), cell_id="c0", answers=("y",)))
    assert "■ Refused" in shown(kernel.run(calling("n = 0"), cell_id="c9", answers=("n No.",)))
    assert "as you changed it" in shown(kernel.run(calling("n = 0"), "c1", answers=("e", "n = 7", ".")))
    assert kernel.run("print(n)").printed == "7\n"
    flood = kernel.run(calling("for _ in range(2000): print('x' * 10_000)"), "c2", answers=("y",))
    assert "characters left out" in shown(flood)
    assert flood.bytes < 2_000_000
    for number, (code, said) in enumerate(ENDING.items(), 3):
        ended = shown(kernel.run(calling(code), f"c{number}", answers=("y",)))
        assert said in ended
        assert "and on" in ended
    assert kernel.run("print(n * 6)").printed == "42\n"


def test_the_second_stop_cancels_the_run(kernel: Jupyter, tmp_path: Path) -> None:
    pid = int(kernel.run(PID).printed)

    def stop() -> None:
        until((tmp_path / "begun").exists)
        os.kill(pid, signal.SIGINT)  # the manager would make an event loop for this thread

    stopping = threading.Thread(target=stop)
    stopping.start()
    cell = calling("open('begun', 'x').close()\nwhile True: pass") + "\nwait 60\nsay never"
    run = kernel.run(cell, "c1", answers=("y",), stop_when=lambda run: run.shows("and on"))
    stopping.join()
    assert run.error is not None
    assert run.error["ename"] == "RunStopped"
    assert "the user stopped the code" in run.cell.outputs[0]["text/plain"]
    assert kernel.run("print(6 * 7)").printed == "42\n"


class Killed(Exception):
    """The kernel was."""


def test_a_kernel_that_is_killed_meanwhile_runs_it_no_second_time(
    packages: tuple[str, Path], service: RunningService, tmp_path: Path
) -> None:
    named = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
    named |= {"PYTHONPATH": f"{packages[1]}:{ROOT}", "JPY_SESSION_NAME": str(tmp_path / "plan.ipynb")}
    code = "import time\nopen('ran', 'a').write('x')\nwhile True: print('under way'); time.sleep(0.2)"
    with jupyter(tmp_path, **named) as kernel:
        pid = int(kernel.run(PID).printed)

        def kill(run: Run) -> bool:
            if run.shows("under way\n"):
                os.kill(pid, signal.SIGKILL)
                raise Killed
            return False

        with pytest.raises(Killed):
            kernel.run(calling(code), "c1", answers=("y",), stop_when=kill)
    with jupyter(tmp_path, **named) as kernel:
        line = "%%ask --kernel --timeout 3 --no-raise-error"
        again = kernel.run(calling(code).replace("%%ask --kernel", line), "c1")
        assert "not asked again" in str(again.cell.outputs)
        kernel.run("_.cancel()")
        assert kernel.run("print(6 * 7)").printed == "42\n"
    assert (tmp_path / "ran").read_text() == "x"
