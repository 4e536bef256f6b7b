"""Stop cancels a job on the service; a kernel that is restarted or closed leaves it going."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import Bar
from agentsvc_nb.notebook.errors import RunStopped
from agentsvc_nb.notebook.jobs import follower
from agentsvc_nb.notebook.state import session
from agentsvc_nb.testing import RunningService
from tests.notebook.kernels import Kernel
from tests.notebook.screens import Cell


@pytest.fixture
def notebook(service: RunningService, tmp_path: Path) -> Iterator[Kernel]:
    made = Kernel(service, tmp_path)
    yield made
    made.close()


class PressedBar(Bar):
    """A bar in whose drawing Stop is pressed once."""

    pressed = False

    def draw(self, bundle: Bundle) -> None:
        if not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt


@pytest.mark.parametrize(("twice", "closing"), [(False, False), (True, False), (False, True)])
def test_a_job(
    notebook: Kernel, client: AgentService, monkeypatch: pytest.MonkeyPatch, twice: bool, closing: bool
) -> None:
    def sleep(seconds: float) -> None:
        if twice:
            raise KeyboardInterrupt

    monkeypatch.setattr(follower, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    notebook.session.closing = lambda: closing
    with pytest.raises(RunStopped):
        commands.work(notebook.session, "echo_job", {"steps": 600, "seconds": 600}, PressedBar(Cell(), False))
    (row,) = session.remembered_jobs(notebook.session)
    status = client.jobs.status(row["job_id"], chat=row["chat"]).status
    assert (status in ("queued", "running")) == closing
    client.jobs.cancel(row["job_id"], chat=row["chat"])
