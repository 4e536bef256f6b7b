"""Stop cancels a run or a job on the service; a kernel that is restarted or closed leaves it going."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService, clock
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.ask.follower import SHUTDOWN_SECONDS
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import Bar, StaticScreen
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.errors import RunStopped
from agentsvc_nb.notebook.state import session
from agentsvc_nb.testing import RunningService
from tests.notebook.kernels import Kernel
from tests.notebook.screens import Cell
from tests.support.waiting import until


@pytest.fixture
def notebook(service: RunningService, tmp_path: Path) -> Iterator[Kernel]:
    made = Kernel(service, tmp_path)
    yield made
    made.close()


class PressedScreen(StaticScreen):
    """A screen in whose drawing Stop is pressed once the run has spoken."""

    pressed = False

    def draw(self, view: RunView) -> None:
        if view.said and not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt


class PressedBar(Bar):
    """A bar in whose drawing Stop is pressed once."""

    pressed = False

    def draw(self, bundle: Bundle) -> None:
        if not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt


class PressedClock(clock.SystemClock):
    """The machine's clock, where Stop is pressed again in the wait for a shutdown of the kernel."""

    def sleep(self, seconds: float) -> None:
        if seconds == SHUTDOWN_SECONDS:
            raise KeyboardInterrupt
        super().sleep(seconds)


@pytest.mark.parametrize("closing", [False, True])
def test_a_run(notebook: Kernel, client: AgentService, closing: bool) -> None:
    notebook.session.closing = lambda: closing
    with pytest.raises(RunStopped) as stopped:
        commands.ask(notebook.session, AskRequest("say begun\nwait 60"), PressedScreen(Cell()))
    answer: Any = stopped.value.answer
    assert client.runs.get(answer.run_id).status == ("running" if closing else "cancelled")
    client.runs.cancel(answer.run_id)
    until(lambda: client.runs.get(answer.run_id).ended)


@pytest.mark.parametrize(("twice", "closing"), [(False, False), (True, False), (False, True)])
def test_a_job(notebook: Kernel, client: AgentService, twice: bool, closing: bool) -> None:
    notebook.session.closing = lambda: closing
    with clock.replaced(PressedClock() if twice else clock.SystemClock()), pytest.raises(RunStopped):
        commands.work(notebook.session, "echo_job", {"steps": 600, "seconds": 600}, PressedBar(Cell(), False))
    (row,) = session.remembered_jobs(notebook.session)
    status = client.jobs.status(row["job_id"], chat=row["chat"]).status
    assert (status in ("queued", "running")) == closing
    client.jobs.cancel(row["job_id"], chat=row["chat"])
