"""A bar, a message and a Cancel button for each job in the background, all in one output (`notebook/jobs/bars.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ipywidgets

from agentsvc_nb.notebook.display.render import Bundle, bar_html, job_amounts, job_doing
from agentsvc_nb.notebook.display.screens import SavedOutput
from agentsvc_nb.notebook.jobs.bars import BARS
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.stage import Stage
from agentsvc_nb.safe.text import label
from agentsvc_nb.wire.tools import Job


class BarsScreen:
    """Bars in the output of the cell that runs now; shown there, drawn from another thread."""

    def __init__(self, output: SavedOutput) -> None:
        self._output = output

    def show(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        self._bars = {job.job_id: JobBar(job, cancel) for job in jobs[:BARS]}
        parts = [part for bar in self._bars.values() for part in bar.parts]
        more = [design.text(f"… {len(jobs) - BARS} more", "muted")] * (len(jobs) > BARS)
        self._stage = Stage(self._output, standing(jobs), [*parts, *more])

    def draw(self, jobs: Sequence[Job], elapsed: float) -> None:
        for job in jobs:
            if job.job_id in self._bars and not job.ended:
                self._bars[job.job_id].draw(job, elapsed)

    def leave(self, job_id: str, bundle: Bundle) -> None:
        if job_id in self._bars:
            self._bars[job_id].leave(bundle)

    def finish(self, bundle: Bundle) -> None:
        self._stage.finish(bundle)


class JobBar:
    """A row that moves: Cancel, the bar, what the job does; and a place for what comes of it."""

    def __init__(self, job: Job, cancel: Callable[[str], object]) -> None:
        self._state, self._amounts = design.text(_state(job), role="status"), design.text("", "muted")
        self._meter, self._end = ipywidgets.HTML(bar_html(job)), design.place()
        self._end.layout.display = "none"
        button = design.button("Cancel", f"Stop job {label(job.job_id, 64)} ({label(job.tool, 60)}) on the service")
        design.once(button, "Cancelling", lambda: cancel(job.job_id))
        self.row = design.row([button, self._meter, self._state, self._amounts])
        self.parts = (self.row, self._end)

    def draw(self, job: Job, elapsed: float) -> None:
        design.put(self._state, _state(job), role="status")
        design.put(self._amounts, " · ".join(job_amounts(job, elapsed)), "muted")
        self._meter.value = bar_html(job)

    def leave(self, bundle: Bundle) -> None:
        self.row.layout.display = "none"
        self._end.value, self._end.layout.display = bundle["text/html"], None


def _state(job: Job) -> str:
    return " · ".join(job_doing(job))


def standing(jobs: Sequence[Job]) -> str:
    """The line that a saved notebook has of what moves."""
    if len(jobs) == 1:
        shown, what = f"%jobs show {label(jobs[0].job_id, 64)}", "shows what it made"
        return f"A job in the background. In a notebook that was opened again, `{shown}` {what}."
    return f"{len(jobs)} jobs in the background. In a notebook that was opened again, `%jobs` lists them."
