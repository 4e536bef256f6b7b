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
from tests.notebook.jupyter import ROOT, Jupyter, Run, jupyter
from tests.waiting import until

pytestmark = [pytest.mark.hosts, pytest.mark.slow]

VERSIONS: Final = {
    "6.31": ("ipykernel==6.31.0", "nest-asyncio==1.6.0"),
    "7.3": ("ipykernel==7.3.0", "nest-asyncio2==1.7.4"),
    "7.4": ("ipykernel==7.4.0", "nest-asyncio2==1.7.4"),
}
NESTED: Final = "import nest_asyncio2; nest_asyncio2.apply()"


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


def test_a_cell_streams_and_leaves_one_output(kernel: Jupyter) -> None:
    run = kernel.run("%%ask -o answer\nsay one\nsay\nwait 0.5\nsay two", cell_id="c1")
    assert run.cell.messages > 3
    assert shown(run).startswith("one\n\ntwo")
    assert kernel.run("print(answer.text.split())").printed == "['one', 'two']\n"


def test_a_run_in_the_background_is_waited_for_in_another_cell(kernel: Jupyter) -> None:
    kernel.run("%%ask --bg -o later\nwait 0.5\nsay later", cell_id="c1")
    assert kernel.run("print(later.text)").printed.splitlines()[-1] == "later"
    assert kernel.run("print((await later).text)").printed.splitlines()[-1] == "later"


def test_stop_cancels_and_the_kernel_goes_on(kernel: Jupyter) -> None:
    run = kernel.run("%%ask\nsay begun\nwait 60", cell_id="c1", stop_when=lambda run: run.shows("begun"))
    assert run.error is not None
    assert run.error["ename"] == "RunStopped"
    assert kernel.run("print(6 * 7)").printed == "42\n"


def calling(code: str) -> str:
    return f"%%ask --kernel\ncall run_in_kernel {json.dumps({'code': code})}\nsay and on"


def test_code_in_the_kernel_is_asked_for_with_a_prompt(kernel: Jupyter) -> None:
    assert "✓ Ran in your kernel" in shown(kernel.run(calling("n = 6 * 7"), cell_id="c1", answers=("y",)))
    assert "■ Refused" in shown(kernel.run(calling("n = 0"), cell_id="c2", answers=("n", "No.")))
    assert kernel.run("print(n)").printed == "42\n"


def test_stop_stops_the_code_and_the_agent_goes_on(kernel: Jupyter, tmp_path: Path) -> None:
    pid = int(kernel.run("import os; print(os.getpid())").printed)

    def stop_when_begun() -> None:
        until((tmp_path / "begun").exists)
        os.kill(pid, signal.SIGINT)  # the manager's own function makes an event loop for this thread, and leaves it

    stopping = threading.Thread(target=stop_when_begun)
    stopping.start()
    run = kernel.run(calling("open('begun', 'x').close()\nwhile True: pass"), "c1", answers=("y",))
    stopping.join()
    assert "and on" in shown(run)
    assert kernel.run("print(6 * 7)").printed == "42\n"


def test_rows_are_asked_many_at_once(kernel: Jupyter) -> None:
    kernel.run("import pandas as pd; df = pd.DataFrame({'text': [f't{n}' for n in range(12)]})")
    assert "12 of 12 rows answered" in shown(kernel.run("%%ask --each df -o out\nwait 0.1\nsay {{text}}", cell_id="c1"))
    assert kernel.run("print(out.answer.equals(df.text.astype('string')))").printed == "True\n"


@pytest.mark.parametrize("before", [True, False])
def test_nest_asyncio_of_the_user_changes_nothing(kernel: Jupyter, before: bool) -> None:
    if not before:
        assert shown(kernel.run("%%ask\nsay first", cell_id="c0")).startswith("first")
    assert kernel.run(NESTED).error is None
    nested = (
        "import asyncio\nasync def own():\n    await asyncio.sleep(0.01)\n    return 'own'\nprint(asyncio.run(own()))"
    )
    assert kernel.run(nested).printed == "own\n"
    assert shown(kernel.run("%%ask\nsay one\nwait 0.3\nsay two", cell_id="c1")).startswith("one")
    kernel.run("%%ask --bg -o later\nwait 0.3\nsay later", cell_id="c2")
    assert kernel.run("print((await later).text)").printed.splitlines()[-1] == "later"
    assert kernel.run("print(6 * 7)").printed == "42\n"
