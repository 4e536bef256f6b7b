"""Jobs that go on while other cells run: bars with Cancel, futures, and the static output that stays."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb.notebook.errors import RunFailed
from agentsvc_nb.notebook.jobs.follower import JobResult
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
    assert not second.done()
    second.cancel()
    assert list(later.wait()["status"]) == ["cancelled", "cancelled"]


def test_nothing_hostile_gets_into_a_bar() -> None:
    for text in HOSTILE:
        _bar_is_harmless(text)


def _bar_is_harmless(text: str) -> None:
    cell = Cell()
    screen = BarsScreen(cell)
    job = Job(job_id=text, tool=text, status=text, progress=Progress(done=1, total=2, message=text))
    screen.begin([job], lambda job_id: None)
    screen.draw([job], {job.job_id: JobResult(job)}, 1.0)
    front = front_of(cell.outputs[1])
    assert offences(cell.outputs[0]["text/html"]) == offences(markup(front)) == []
    assert not [word for word in words(front) if FORBIDDEN.search(word)]
