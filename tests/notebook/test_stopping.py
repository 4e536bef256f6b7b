"""Stop cancels a run or a job on the service; a kernel that is restarted or closed leaves it going."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService, clock
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.ask import follower
from agentsvc_nb.notebook.ask.follower import SHUTDOWN_SECONDS, RunFollower
from agentsvc_nb.notebook.ask.request import AskRequest, prepare
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import Bar
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.errors import RunStopped
from agentsvc_nb.notebook.state.session import Session, recorded_jobs
from agentsvc_nb.testing import RunningService
from tests.notebook.screens import Cell
from tests.notebook.test_reuse import Kernel
from tests.support.waiting import until


@pytest.fixture
def session(service: RunningService, tmp_path: Path) -> Iterator[Session]:
    notebook = Kernel(service, tmp_path)
    yield notebook.session
    notebook.close()


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


@pytest.mark.parametrize(("twice", "closing"), [(False, False), (True, False), (False, True)])
def test_a_job(session: Session, client: AgentService, twice: bool, closing: bool) -> None:
    session.closing = lambda: closing
    with clock.use_clock(PressedClock() if twice else clock.SystemClock()), pytest.raises(RunStopped):
        commands.work(session, "echo_job", {"steps": 600, "seconds": 600}, PressedBar(Cell(), False))
    (row,) = recorded_jobs(session)
    status = client.jobs.status(row["job_id"], chat=row["chat"]).status
    assert (status in ("queued", "running")) == closing
    client.jobs.cancel(row["job_id"], chat=row["chat"])


class Screen:
    """A screen at which Stop is pressed so many times once the run is there, or with `early` at once."""

    def __init__(self, presses: int = 0, early: bool = False) -> None:
        self.presses, self.early = presses, early
        self.run_id, self.cleared = "", False

    def draw(self, view: RunView) -> None:
        self.run_id = view.run_id
        if self.presses and (self.early or view.streamed_text):
            self.presses -= 1
            raise KeyboardInterrupt

    def finish(self, bundle: Bundle, metadata: object = None) -> None:
        pass

    def clear(self) -> None:
        self.cleared = True


def follow(session: Session, screen: Screen, **options: Any) -> Any:
    request = AskRequest("say begun\nwait 60", **options)
    return RunFollower(session, prepare(session, request), screen).follow()


def test_the_first_stop_cancels_and_waits_for_the_last_word(session: Session, client: AgentService) -> None:
    with pytest.raises(RunStopped, match="was cancelled") as stopped:
        follow(session, Screen(presses=1))
    answer: Any = stopped.value.answer
    assert answer.status == client.runs.get(answer.run_id).status == "cancelled"


def test_a_kernel_that_is_restarted_or_closed_leaves_the_run_going(session: Session, client: AgentService) -> None:
    session.closing = lambda: True
    with pytest.raises(RunStopped, match="may still be active"):
        follow(session, screen := Screen(presses=1))
    assert client.runs.get(screen.run_id).status == "running"
    client.runs.cancel(screen.run_id)


def test_a_stop_that_is_not_confirmed_in_time_or_pressed_again_leaves(
    session: Session, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "CANCEL_SECONDS", 0.0)
    with pytest.raises(RunStopped, match="may still be active"):
        follow(session, screen := Screen(presses=2))
    until(lambda: client.runs.get(screen.run_id).status == "cancelled")


def test_a_run_whose_start_was_not_answered_yet_is_cancelled_when_it_is(session: Session, client: AgentService) -> None:
    busy = client.runs.start("wait 60")
    with pytest.raises(RunStopped, match="before its run started"):
        follow(session, screen := Screen(presses=1, early=True), chat=busy.chat, wait=True)
    assert screen.cleared
    client.runs.cancel(busy.run_id)
    until(lambda: [run.status for run in client.runs.list(chat=busy.chat) if not run.status.startswith("cancel")] == [])
