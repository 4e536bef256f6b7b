"""Where jobs in the background are watched: a bar, a message and a Cancel button for each, all in one output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import ipywidgets

from agentsvc_nb.notebook.render import Bundle, Extras, bar_html, job_amounts, job_bundle, job_doing
from agentsvc_nb.notebook.stream import Output
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.stage import Stage
from agentsvc_nb.safe.text import label
from agentsvc_nb.wire.tools import Job

BARS: Final = 20
"""So many at once; those after them are followed, too, and counted below."""


class Bars(Protocol):
    def show(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        """Begin, in the running cell. `cancel` is called with a job's id, and must be quick."""
        ...

    def draw(self, jobs: Sequence[Job], elapsed: float) -> None:
        """Show the same jobs as they stand, `elapsed` seconds after they began to be watched."""
        ...

    def leave(self, job_id: str, bundle: Bundle) -> None:
        """This one has ended; others go on."""
        ...

    def finish(self, bundle: Bundle) -> None:
        """Leave this one output."""
        ...


class BarsScreen:
    """Bars in the output of the cell that runs now; shown there, drawn from another thread."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def show(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        self._bars = {job.job_id: _Bar(job, cancel) for job in jobs[:BARS]}
        parts = [part for bar in self._bars.values() for part in bar.parts]
        more = [design.text(f"… {len(jobs) - BARS} more", "muted")] * (len(jobs) > BARS)
        self._stage = Stage(self._output, _line(jobs), [*parts, *more])

    def draw(self, jobs: Sequence[Job], elapsed: float) -> None:
        for job in jobs:
            if job.job_id in self._bars and not job.ended:
                self._bars[job.job_id].draw(job, elapsed)

    def leave(self, job_id: str, bundle: Bundle) -> None:
        if job_id in self._bars:
            self._bars[job_id].leave(bundle)

    def finish(self, bundle: Bundle) -> None:
        self._stage.finish(bundle)


class _Bar:
    def __init__(self, job: Job, cancel: Callable[[str], object]) -> None:
        self._state, self._amounts = design.text(_state(job), role="status"), design.text("", "muted")
        self._meter, self._end = ipywidgets.HTML(bar_html(job)), ipywidgets.HTML(layout={"display": "none"})
        button = design.button("Cancel", f"Stop job {label(job.job_id, 64)} ({label(job.tool, 60)}) on the service")
        design.once(button, "Cancelling", lambda: cancel(job.job_id))
        self._moving = design.row([button, self._meter, self._state, self._amounts])
        self.parts = (self._moving, self._end)

    def draw(self, job: Job, elapsed: float) -> None:
        design.put(self._state, _state(job), role="status")
        design.put(self._amounts, " · ".join(job_amounts(job, elapsed)), "muted")
        self._meter.value = bar_html(job)

    def leave(self, bundle: Bundle) -> None:
        self._moving.layout.display = "none"
        self._end.value, self._end.layout.display = bundle["text/html"], None


class StaticBars:
    """One line for each job, at the beginning: where no output is updated later, `%jobs watch` waits for their end."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def show(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        for job in jobs[:BARS]:
            self._output.show(_submitted(job))

    def draw(self, jobs: Sequence[Job], elapsed: float) -> None:
        pass

    def leave(self, job_id: str, bundle: Bundle) -> None:
        pass

    def finish(self, bundle: Bundle) -> None:
        pass


def _submitted(job: Job) -> Bundle:
    """A job that was submitted and is not followed here. No bar: it would stand still."""
    bundle = job_bundle(job, 0.0, Extras(("`%jobs watch` follows it, `%jobs cancel` stops it.",)))
    bundle["text/html"] = bundle["text/html"].partition("</progress>")[2] or bundle["text/html"]
    return bundle


def _state(job: Job) -> str:
    return " · ".join(job_doing(job))


def _line(jobs: Sequence[Job]) -> str:
    if len(jobs) == 1:
        shown, what = f"%jobs show {label(jobs[0].job_id, 64)}", "shows what it made"
        return f"A job in the background. In a notebook that was opened again, `{shown}` {what}."
    return f"{len(jobs)} jobs in the background. In a notebook that was opened again, `%jobs` lists them."
