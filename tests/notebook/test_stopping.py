"""Stop cancels a job on the service; a kernel that is restarted or closed leaves it going."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.display.screens import Bar
from agentsvc_nb.notebook.errors import RunStopped
from agentsvc_nb.notebook.state import session
from agentsvc_nb.testing import RunningService
from tests.notebook.kernels import Kernel
from tests.notebook.screens import Cell


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
