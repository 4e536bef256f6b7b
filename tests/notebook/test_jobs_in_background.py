"""Jobs that go on while other cells run: bars with Cancel, futures, and the static output that stays."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentsvc_nb.client.errors import JobTimeoutError
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.notebook.jobs.follower import JobResult
from agentsvc_nb.notebook.jobs.output import BARS, job_amounts
from agentsvc_nb.notebook.widgets.card import BarsScreen
from agentsvc_nb.wire.tools import Job, Progress
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import VIEW, front_of, markup, say, words
from tests.notebook.screens import Cell
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")

QUICK = '%%job echo_job --bg\nsteps: 2\nseconds: 0\nfiles: {"out/x.txt": "made"}'
SLOW = "%%job echo_job --bg\nsteps: 100\nseconds: 100"


def test_a_job_is_a_future_and_one_static_output_stays(kernel: Any) -> None:
    later = kernel.cell(f"{QUICK}", cell_id="c1")
    area = kernel.shown
    line, bar = area.outputs
    assert f"`%jobs show {later.job_id}`" in line["text/plain"]
    assert VIEW in bar
    assert ([file.path for file in later.files], list(later.files.df["path"])) == (["out/x.txt"], ["out/x.txt"])
    assert (later.done(), later.status, later.job.status) == (True, "succeeded", "succeeded")
    output, nothing = until(lambda: area.outputs, lambda outputs: not any(outputs[1].values()))
    assert "Files of this job" in output["text/html"]
    assert offences(output["text/html"]) == []
    assert not any(nothing.values())
    kernel.cell("later = _", cell_id="c2")
    kernel.cell("later", cell_id="c3")
    assert "out/x.txt" in kernel.shown.outputs[0]["text/html"]


def test_it_can_be_awaited_and_a_failed_one_is_raised_by_who_reads_it(terminal: Any) -> None:
    later = terminal.cell(QUICK)

    async def read() -> str:
        return (await later).status

    assert asyncio.run(read()) == "succeeded"
    with pytest.raises(AskError, match="tool_not_found"):
        terminal.cell("%%job no_such_tool --bg\na: 1")
    late = terminal.cell("%%job echo_job --bg --timeout 0.1\nsteps: 100\nseconds: 100")
    with pytest.raises(RunFailed, match=r"is (queued|running)"):
        late.wait()
    terminal.cell(f"%jobs cancel {late.job_id}")


def test_cancel_of_one_leaves_the_other(kernel: Any) -> None:
    first, second = kernel.cell(SLOW, cell_id="c1"), kernel.cell(SLOW, cell_id="c2")
    later = kernel.cell("%jobs watch --bg", cell_id="c3")
    line, bars = kernel.shown.outputs
    assert "2 jobs in the background" in line["text/plain"]
    front = front_of(bars)
    say(front, "cancel", job="no such job")
    say(front, "cancel", job=first.job_id)
    until(first.done)
    with pytest.raises(RunFailed, match="was cancelled"):
        first.wait()
    with pytest.raises(JobTimeoutError):
        later.wait(timeout=0.3)
    assert not second.done()
    second.cancel()
    assert list(later.wait()["status"]) == ["cancelled", "cancelled"]


def test_without_updates_the_line_says_how_to_go_on(kernel: Any) -> None:
    later = kernel.cell(QUICK)
    (output,) = kernel.shown.outputs
    assert "%jobs watch" in output["text/plain"]
    assert "progress" not in output["text/html"]
    later.wait()
    assert list(kernel.cell("%jobs watch")["job_id"]) == [later.job_id], "also what has ended meanwhile"
    assert kernel.shown.outputs == []


def test_a_job_that_nobody_has_is_said_to_be_gone(kernel: Any) -> None:
    kernel.cell(SLOW, cell_id="c1").cancel()
    session = kernel.find_line_magic("jobs").__self__.session
    session.journal.do("UPDATE jobs SET job_id = 'job_00000000', status = 'running'", [])
    table = kernel.cell("%jobs watch --bg", cell_id="c2").wait()
    assert list(table["status"]) == ["failed"]
    assert "job_not_found" in kernel.shown.outputs[0]["text/plain"]


def test_bars_are_bounded_and_those_of_unknown_length_have_no_amount() -> None:
    cell = Cell()
    screen = BarsScreen(cell)
    many = [Job(job_id=f"job_{number}", tool="draw", status="running") for number in range(BARS + 5)]
    screen.begin(many, lambda job_id: None)
    front = front_of(cell.outputs[1])
    assert len(front.parts("job/")) == BARS
    assert front.part("more") == "… 5 more"
    assert (front.part("job/job_0")["percent"], front.part("job/job_0")["state"]) == (None, "● running")
    many[0].progress = Progress(done=1, total=4, message="one of four")
    screen.draw(many, {}, 2.0)
    assert (front.part("job/job_0")["percent"], front.part("job/job_0")["state"]) == (25, "one of four")
    say(front, "cancel", job="job_0")
    screen.draw(many, {}, 2.0)
    assert front.part("job/job_0")["cancelling"]


def test_the_time_left_follows_from_what_is_done() -> None:
    began = (datetime.now(UTC) - timedelta(seconds=10)).isoformat()
    job = Job(job_id="job_1", status="running", started_at=began, progress=Progress(done=2, total=4))
    assert job_amounts(job, 10.0) == ["50 %", "10 s left"]
    job.progress = Progress(done=0, total=4)
    assert job_amounts(job, 10.0) == ["0 %", "10.0 s"]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_nothing_hostile_gets_into_a_bar(text: str) -> None:
    cell = Cell()
    screen = BarsScreen(cell)
    job = Job(job_id=text, tool=text, status=text, progress=Progress(done=1, total=2, message=text))
    screen.begin([job], lambda job_id: None)
    screen.draw([job], {job.job_id: JobResult(job)}, 1.0)
    front = front_of(cell.outputs[1])
    assert offences(cell.outputs[0]["text/html"]) == offences(markup(front)) == []
    assert not [word for word in words(front) if FORBIDDEN.search(word)]
