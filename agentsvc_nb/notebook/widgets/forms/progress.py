"""A job of a form: it moves and can be cancelled in the form, and what comes of it stays below."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ipywidgets

from agentsvc_nb.notebook.display.render import Bundle, note_bundle
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.bars import JobBar, standing
from agentsvc_nb.wire.tools import Job


class FormBars:
    """`jobs.bars.Bars` of one job, drawn in `place`; `below` shows what stays. Called in any thread."""

    def __init__(self, place: ipywidgets.VBox, below: Callable[[Bundle], None]) -> None:
        self._place, self._below = place, below

    def show(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        self._bar = JobBar(jobs[0], cancel)
        self._below(note_bundle(standing(jobs)))
        self._place.children = (self._bar.row,)

    def draw(self, jobs: Sequence[Job], elapsed: float) -> None:
        self._bar.draw(jobs[0], elapsed)

    def leave(self, job_id: str, bundle: Bundle) -> None:
        pass

    def finish(self, bundle: Bundle) -> None:
        self._place.children = ()
        for part in self._bar.parts:
            design.discard(part)
        self._below(bundle)
