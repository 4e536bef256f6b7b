"""Cards of runs and bars of jobs in the background: live output for a finished cell, then one static bundle."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import ipywidgets

from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.display.render import Bundle, amounts, doing, note_bundle, standin_bundle
from agentsvc_nb.notebook.display.screens import STATUS_SECONDS, SavedOutput
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.display.waiting_calls import call_bundle
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.jobs.background import BARS
from agentsvc_nb.notebook.jobs.foreground import bar_html, job_amounts, job_doing
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.approvals import Decide
from agentsvc_nb.notebook.widgets.kernel_cards import KernelCards
from agentsvc_nb.wire.limits import REASON_CHARS
from agentsvc_nb.wire.text import label, plain
from agentsvc_nb.wire.tools import Job


class LiveOutput:
    """Live output for a finished cell: a static line, and below it widgets.

    Create it in the cell; its methods may be called from any thread, as they only set traits and update outputs.
    """

    def __init__(self, output: SavedOutput, line: str, parts: Sequence[ipywidgets.Widget]) -> None:
        self._output = output
        self._line = line
        self._line_id = secrets.token_hex(4)
        self._box_id = secrets.token_hex(4)
        self._parts = tuple(parts)
        self._end = design.place()
        self._end.layout.display = "none"
        box = design.frame([*self._parts, self._end])
        box.add_class("asvc-live")
        output.keep(standin_bundle(line), display_id=self._line_id)
        output.show({**box._repr_mimebundle_(), "text/plain": ""}, display_id=self._box_id)

    def say(self, line: str) -> None:
        """Change the static line."""
        if line != self._line:
            self._line = line
            self._output.update(standin_bundle(line), self._line_id)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        """Leave one static output. The widget's output is emptied, since no thread can remove the output of a cell."""
        self._output.update({"text/plain": "", "text/html": ""}, self._box_id)
        self._output.update(bundle, self._line_id, metadata=metadata)
        for part in self._parts:
            part.layout.display = "none"
        self._end.value = bundle["text/html"]
        self._end.layout.display = None


class _ToolCards:
    """A card for each call that waits for approval. `show` is for one thread; clicks are handled in any thread."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._cards: dict[str, ipywidgets.VBox] = {}
        self.box = ipywidgets.VBox([])

    def show(self, calls: Mapping[str, WaitingCall]) -> None:
        """Show cards for exactly these calls."""
        if calls.keys() == self._cards.keys():  # cards are kept as they are: a reason may be half typed
            return
        gone = [card for call_id, card in self._cards.items() if call_id not in calls]
        self._cards = {call_id: self._cards.get(call_id) or self._card(call) for call_id, call in calls.items()}
        self.box.children = tuple(self._cards.values())
        for card in gone:
            design.discard(card)

    def _card(self, call: WaitingCall) -> ipywidgets.VBox:
        asked = ipywidgets.HTML(call_bundle(call)["text/html"])
        reason = design.reason()
        approve = design.button("Approve", f"Let {call.tool} do this", look="primary")
        refuse = design.button("Refuse", f"{call.tool} is not called; the run goes on", look="danger")
        failed = design.text("", "wrong", role="status")

        def press(approved: bool) -> None:
            approve.disabled = refuse.disabled = True
            threading.Thread(target=send, args=(approved, reason.value[:REASON_CHARS]), daemon=True).start()

        def send(approved: bool, why: str) -> None:
            try:
                self._decide(call, approved, why)  # the run's next event removes the card
            except Exception as error:  # an error in a thread would go unseen
                said = f"{error} {error.hint}" if isinstance(error, AskError) else f"{type(error).__name__}: {error}"
                design.put(failed, said, "wrong", role="status")
                approve.disabled = refuse.disabled = False

        approve.on_click(lambda _: press(True))
        refuse.on_click(lambda _: press(False))
        card = ipywidgets.VBox([asked, reason, design.row([approve, refuse]), failed])
        card.add_class("asvc-card")
        return card


PREVIEW_LINES: Final = 6
PREVIEW_CHARS: Final = 600
_LOOK_SECONDS: Final = STATUS_SECONDS / 4


class CardScreen:
    """The screen of a background run: a card in its cell's output. Made in that cell, drawn from another thread."""

    def __init__(self, output: SavedOutput, decide: Decide, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked = -STATUS_SECONDS
        self._ticked = -STATUS_SECONDS
        self._state = design.text(" · ".join(doing(RunView())), role="status")
        self._amounts = design.text("", "muted")
        self._preview = design.lines("")
        self._approvals = _ToolCards(decide)
        self._kernel = KernelCards(codes=True)
        self._cancel = design.button("Cancel", "Stop this run on the service")
        head = design.row([self._cancel, self._state, self._amounts])
        self._live = LiveOutput(output, _line(""), [head, self._approvals.box, self._kernel.box, self._preview])

    def cancels(self, cancel: Callable[[], object]) -> None:
        """Set the action of the Cancel button; it must be quick and safe to call in any thread."""
        design.once(self._cancel, "Cancelling", cancel)

    def draw(self, view: RunView) -> None:
        """Draw at most four times a second, though called ten times; a widget whose text is unchanged sends nothing."""
        now = self._clock()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        design.put(self._state, " · ".join(doing(view)), role="status")
        design.put_lines(self._preview, last_lines(view))
        self._approvals.show(view.asked)
        self._kernel.show(view.kernel)
        if now - self._ticked >= STATUS_SECONDS:
            self._ticked = now
            design.put(self._amounts, " · ".join(amounts(view)), "muted")
            self._live.say(_line(view.run_id))

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self._approvals.show({})
        self._kernel.show(())
        self._live.finish(bundle, metadata)

    def clear(self) -> None:
        pass  # the run was not started: `Background.left_alone` shows the error here instead


class QuietScreen:
    """The screen of a background run in a terminal: shows nothing; the answer is printed when its value is shown."""

    def cancels(self, cancel: Callable[[], object]) -> None:
        pass

    def draw(self, view: RunView) -> None:
        pass

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        pass

    def clear(self) -> None:
        pass


def last_lines(view: RunView) -> str:
    """Return the last lines of the answer so far; the cost does not grow with the answer."""
    said = plain(view.tail(2 * PREVIEW_CHARS)).rstrip()
    shown = "\n".join(said[-PREVIEW_CHARS:].splitlines()[-PREVIEW_LINES:])
    return shown if len(shown) == len(said) else f"… {shown}"


def _line(run_id: str) -> str:
    if not run_id:
        return "Asked in the background. In a notebook that was opened again, `%runs` lists it once it has begun."
    shown = label(run_id, 64)
    return f"Asked in the background. In a notebook that was opened again, `%runs show {shown}` shows the answer."


class BarsScreen:
    """The progress bars of background jobs in their cell's output. Shown in that cell, drawn from another thread."""

    def __init__(self, output: SavedOutput) -> None:
        self._output = output

    def show(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        self._bars = {job.job_id: JobBar(job, cancel) for job in jobs[:BARS]}
        parts = [part for bar in self._bars.values() for part in bar.parts]
        more = [design.text(f"… {len(jobs) - BARS} more", "muted")] if len(jobs) > BARS else []
        self._live = LiveOutput(self._output, standing(jobs), [*parts, *more])

    def draw(self, jobs: Sequence[Job], elapsed: float) -> None:
        for job in jobs:
            if job.job_id in self._bars and not job.ended:
                self._bars[job.job_id].draw(job, elapsed)

    def leave(self, job_id: str, bundle: Bundle) -> None:
        if job_id in self._bars:
            self._bars[job_id].leave(bundle)

    def finish(self, bundle: Bundle) -> None:
        self._live.finish(bundle)


class JobBar:
    """The row of a job (Cancel button, bar, state), and a place for its result."""

    def __init__(self, job: Job, cancel: Callable[[str], object]) -> None:
        self._state = design.text(_state(job), role="status")
        self._amounts = design.text("", "muted")
        self._meter = ipywidgets.HTML(bar_html(job))
        self._end = design.place()
        self._end.add_class("asvc-end")
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
        self._end.value = bundle["text/html"]
        self._end.layout.display = None


class FormBars:
    """The bar of the job that a form has started, drawn in `place`; `below` shows its output. For any thread."""

    def __init__(self, place: ipywidgets.VBox, below: Callable[[Bundle], None]) -> None:
        self._place = place
        self._below = below

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


def _state(job: Job) -> str:
    return " · ".join(job_doing(job))


def standing(jobs: Sequence[Job]) -> str:
    """Return the static line above the bars, which remains in a saved notebook."""
    if len(jobs) == 1:
        shown, what = f"%jobs show {label(jobs[0].job_id, 64)}", "shows what it made"
        return f"A job in the background. In a notebook that was opened again, `{shown}` {what}."
    return f"{len(jobs)} jobs in the background. In a notebook that was opened again, `%jobs` lists them."
