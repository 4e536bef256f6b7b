"""Stop cancels a job and variants on the service; a kernel that is restarted or closed leaves them going."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.ask import several
from agentsvc_nb.notebook.ask.question import Question
from agentsvc_nb.notebook.ask.several import VariantsOutput
from agentsvc_nb.notebook.display.screens import Bar
from agentsvc_nb.notebook.errors import RunStopped
from agentsvc_nb.notebook.state import session
from agentsvc_nb.testing import RunningService
from tests.notebook.kernels import Kernel
from tests.notebook.screens import Cell
from tests.waiting import until


@pytest.fixture
def notebook(service: RunningService, tmp_path: Path) -> Iterator[Kernel]:
    made = Kernel(service, tmp_path)
    yield made
    made.close()


class Presses:
    """A `sleep` in which Stop is pressed so many times."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, seconds: float) -> None:
        if self.left:
            self.left -= 1
            raise KeyboardInterrupt
        time.sleep(0.01)


@pytest.mark.parametrize(("presses", "closing"), [(1, False), (2, False), (1, True)])
def test_a_job(notebook: Kernel, client: AgentService, presses: int, closing: bool) -> None:
    notebook.session.closing = lambda: closing
    with pytest.raises(RunStopped):
        commands.work(
            notebook.session, "echo_job", {"steps": 600, "seconds": 600}, Bar(Cell(), False), sleep=Presses(presses)
        )
    (row,) = session.remembered_jobs(notebook.session)
    status = client.jobs.status(row["job_id"], chat=row["chat"]).status
    assert (status in ("queued", "running")) == closing
    client.jobs.cancel(row["job_id"], chat=row["chat"])


@pytest.mark.parametrize(("presses", "closing"), [(1, False), (2, False), (1, True)])
def test_variants(
    notebook: Kernel, client: AgentService, monkeypatch: pytest.MonkeyPatch, presses: int, closing: bool
) -> None:
    notebook.session.closing = lambda: closing
    pressed = Presses(presses)

    def sleep(seconds: float) -> None:
        until(lambda: len([row for row in notebook.session.journal.runs(None) if row["run_id"]]) == 2)
        pressed(seconds)

    monkeypatch.setattr(several, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    with pytest.raises(RunStopped):
        commands.ask_variants(notebook.session, Question("wait 60", typed="wait 60"), 2, VariantsOutput(Cell(), False))
    for row in notebook.session.journal.runs(None):
        if closing:
            assert client.runs.get(row["run_id"]).status in ("queued", "running")
            client.runs.cancel(row["run_id"])
        assert client.runs.wait(row["run_id"], poll=0.05).status == "cancelled"
