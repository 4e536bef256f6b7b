"""Where jobs in the background are watched, and how where nothing moves; with widgets it is `widgets/bars.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from agentsvc_nb.notebook.display.render import Bundle, Extras, job_bundle
from agentsvc_nb.notebook.display.screens import Output
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
