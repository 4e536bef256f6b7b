"""Screens display a run while it is active: live in a browser, as one static output, or as text in a terminal
(docs/decisions/05).

The live screen shows each settled block of Markdown (which later text can't change) as a separate output, and redraws
only the tail after the settled blocks. So the number of bytes sent grows linearly with the text, not quadratically. At
the end, one bundle replaces all outputs, so the saved notebook contains one output and no widget.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TextIO

from agentsvc_nb import clock
from agentsvc_nb.client.plans import changed_lines
from agentsvc_nb.notebook.display.limits import limit_bundle
from agentsvc_nb.notebook.display.markdown import settled_length
from agentsvc_nb.notebook.display.plan import plan_bundle
from agentsvc_nb.notebook.display.render import Bundle, status_bundle, status_parts, text_bundle
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.display.waiting_calls import foreground_calls_bundle
from agentsvc_nb.wire.runs import PlanStep
from agentsvc_nb.wire.text import label, plain

TICK_SECONDS: Final = 0.1
"""Seconds between two draws."""
STATUS_SECONDS: Final = 1.0
"""Seconds between two updates of a status line."""
PAUSE_SECONDS: Final = 0.5
"""If no text has arrived for this many seconds, the text is drawn even if this exceeds the limit on sent bytes."""
MESSAGE_BYTES: Final = 700
"""The size in bytes of a message without its text: headers, ids and signature."""
BYTES_PER_CHAR: Final = 45
"""How many bytes may be sent per character of the answer. Without this limit, a long paragraph would be sent again each
time it grows, and the number of bytes would grow quadratically.
"""
FREE_BYTES: Final = 20_000
"""How many bytes may be sent in addition, regardless of the length of the text."""
LONG_SECONDS: Final = 10.0
"""When a run takes longer than this, its status line also says how to follow it after a reload of the page."""
RELOADED: Final = (
    "If you reloaded the page, run this cell again to follow this run. In another cell, use `%runs attach last`."
)


class Output(Protocol):
    """The output area of a cell."""

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Append an output. If it has a `display_id`, `update` can change it later."""
        ...

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None: ...

    def clear(self) -> None:
        """Remove all outputs when the next output is shown."""
        ...


class SavedOutput(Output, Protocol):
    """The output area of a cell, with a method for outputs that replace widgets in the saved notebook."""

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        """Append an output that takes the place of a widget when the saved notebook is opened again."""
        ...


class Screen(Protocol):
    """The display of one run. Call `draw` while the run is active, then `finish`, or `clear` if it did not start."""

    def draw(self, view: RunView) -> None:
        """Show the current state of the run. This is called about ten times a second, even if nothing has changed."""
        ...

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        """Replace all outputs with this final output."""
        ...

    def clear(self) -> None:
        """Remove all outputs. This is called if the run did not start."""
        ...


def answer_id(run_id: str) -> str:
    """Return the display id of a run's answer. Undoing the run changes the output with this id."""
    return f"agentsvc-answer-{run_id}"


class LiveScreen:
    """Shows a ticking status line, and below it the settled blocks and the unsettled tail of the answer.

    Args:
        reloads: a function that returns how often the page was reloaded. A reload removes the outputs, so all are
            shown again.
    """

    def __init__(
        self, output: Output, clock: Callable[[], float] = clock.monotonic, reloads: Callable[[], int] = lambda: 0
    ) -> None:
        self._output = output
        self._clock = clock
        self._reloads = reloads
        self._reloaded = reloads()
        self._prefix = secrets.token_hex(4)
        self._count = 0
        self._sent = self._longest = 0
        self._restart()

    def _restart(self) -> None:
        # the display ids of the outputs; an id is empty until its output exists
        self._status = self._tail = self._panel = ""
        self._kernel: dict[int, str] = {}
        # what the outputs contain: settled text, all text, ids of waiting calls, plan, limit, calls for the kernel
        self._frozen = self._shown = ""
        self._asked: list[str] = []
        self._plan: Sequence[PlanStep] = ()
        self._plan_list = ""
        self._limit: tuple[object, ...] = (None, None)
        self._limit_line = ""
        self._drawn: dict[int, tuple[object, ...]] = {}
        self._arrived = ("", 0.0)
        self._last_status = ("", -STATUS_SECONDS)

    def draw(self, view: RunView) -> None:
        now, text, reloads = self._clock(), plain(view.streamed_text), self._reloads()
        # `run.resumed` may have withdrawn settled blocks, or the whole tail
        withdrawn = not text.startswith(self._frozen) or (self._tail and text == self._frozen)
        if withdrawn or reloads != self._reloaded:
            self._reloaded = reloads
            self.clear()
            self._restart()
        self._draw_status(view, now)
        self._draw_plan(view)
        if text != self._arrived[0]:
            self._arrived = (text, now)
        if text != self._shown and self._is_affordable(text, now):
            self._draw_text(text)
        self._draw_asked(view)
        self._draw_limit(view)
        self._draw_kernel(view)
        self._draw_buttons(view)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        run_id = (metadata or {}).get("agentsvc_nb", {}).get("run_id")
        self._output.clear()
        self._output.show(bundle, display_id=answer_id(run_id) if run_id else None, metadata=metadata)

    def clear(self) -> None:
        if self._status:
            self._output.clear()

    def _draw_status(self, view: RunView, now: float) -> None:
        pieces = status_parts(view)
        words, age = pieces[0] + "".join(pieces[2:]), now - self._last_status[1]
        # During a long run, update less often, because each update is a message from the kernel to the page.
        every = STATUS_SECONDS * (1 if view.elapsed < 60 else 2 if view.elapsed < 300 else 5)
        if age >= (STATUS_SECONDS / 4 if words != self._last_status[0] else every):
            self._last_status = (words, now)
            self._status = self._put(status_bundle(view, self._advice(view)), self._status)

    def _draw_plan(self, view: RunView) -> None:
        """Show the agent's plan in a separate output, and update it when steps are done."""
        if view.plan != self._plan:
            self._plan = view.plan
            self._plan_list = self._put(plan_bundle(view.plan), self._plan_list)

    def _advice(self, view: RunView) -> str:
        """Return the run's warning. Without one, a long run gets advice for users who reload the page."""
        if view.notice:
            return label(view.notice, 300)
        return RELOADED if view.elapsed >= LONG_SECONDS and view.run_id and not view.ended else ""

    def _is_affordable(self, text: str, now: float) -> bool:
        """Return True if the byte budget allows drawing the text, or no text has arrived for `PAUSE_SECONDS`."""
        self._longest = max(self._longest, len(text))
        cost = 2 * MESSAGE_BYTES + 3 * (len(text) - len(self._frozen))
        within = self._sent + cost <= FREE_BYTES + BYTES_PER_CHAR * self._longest
        return within or now - self._arrived[1] >= PAUSE_SECONDS

    def _draw_text(self, text: str) -> None:
        tail = text[len(self._frozen) :]
        done = settled_length(tail)
        for part, is_settled in ((tail[:done], True), (tail[done:], False)):
            if part:
                bundle = text_bundle(part, is_settled)
                self._sent += MESSAGE_BYTES + sum(len(value.encode()) for value in bundle.values())
                self._tail = self._put(bundle, self._tail)
            if part and is_settled:
                self._frozen, self._tail = text[: len(self._frozen) + done], ""
        self._shown = text

    def _draw_asked(self, view: RunView) -> None:
        """Show the calls that wait for approval in a separate output.

        That output is redrawn only when the calls change, so that users can select and copy the ids in it.
        """
        if self._asked != [*view.waiting_calls]:
            self._asked = [*view.waiting_calls]
            self._panel = self._put(foreground_calls_bundle(view), self._panel)

    def _draw_limit(self, view: RunView) -> None:
        """Show in a separate output that the run is near its cost limit, or after a raise, the new limit."""
        if self._limit != (state := (view.near_limit, view.raised_to)) and not view.ended:
            self._limit = state
            self._limit_line = self._put(limit_bundle(view), self._limit_line)

    def _draw_kernel(self, view: RunView) -> None:
        """Show each call for the user's kernel in a separate output. Update the output when the call changes."""
        for number, call in enumerate(view.kernel):
            if self._drawn.get(number) != call.signature:
                self._drawn[number] = call.signature
                self._kernel[number] = self._put(call.bundle(), self._kernel.get(number, ""))

    def _draw_buttons(self, view: RunView) -> None:
        """Show buttons for calls that wait for approval. This class has none; subclasses may override this."""

    def _put(self, bundle: Bundle, display_id: str) -> str:
        """Change the output with this id. If the id is empty, append a new output. Return the output's id."""
        if display_id:
            self._output.update(bundle, display_id)
        else:
            self._count += 1
            display_id = f"{self._prefix}-{self._count}"
            self._output.show(bundle, display_id=display_id)
        return display_id


class StaticScreen:
    """Shows one output when the run has ended, for hosts that do not update outputs: nbclient, papermill, nbconvert."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._asked: set[str] = set()
        self._near: object = None

    def draw(self, view: RunView) -> None:
        """Show only what the user must decide: calls that wait for approval, and a nearly reached cost limit."""
        if view.near_limit is not None and view.near_limit != self._near:
            self._near = view.near_limit
            self._output.show(limit_bundle(view))
        if view.waiting_calls.keys() - self._asked:
            self._asked |= view.waiting_calls.keys()
            self._output.show(foreground_calls_bundle(view))
        for call in view.kernel:
            if call.state == "asked" and call.call_id not in self._asked:
                self._asked.add(call.call_id)
                self._output.show(call.bundle())

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self.clear()
        self._output.show(bundle, metadata=metadata)

    def clear(self) -> None:
        if self._asked or self._near:
            self._output.clear()


class TerminalScreen:
    """Prints text as it is streamed. If a resumed run replaces text that is already printed, a line says so."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._printed = ""
        self._asked: list[str] = []
        self._states: dict[str, str] = {}
        self._limit: tuple[object, ...] = (None, None)
        self._plan: Sequence[PlanStep] = ()

    def draw(self, view: RunView) -> None:
        said = view.streamed_text
        # the text may end within an escape sequence, which the next piece completes
        start = said.rfind("\x1b", max(0, len(said) - 64))
        text = plain(said if start < 0 or any(char.isalpha() for char in said[start:]) else said[:start])
        if not text.startswith(self._printed):
            self._out.write("\n[The run was resumed. The text below replaces the text above.]\n")
            self._printed = ""
        self._out.write(text[len(self._printed) :])
        self._printed = text
        if view.plan != self._plan:
            shown, self._plan = changed_lines(self._plan, view.plan), view.plan
            self._out.write(f"\n{shown}\n")
        if self._asked != [*view.waiting_calls]:
            self._asked = [*view.waiting_calls]
            self._out.write(f"\n{foreground_calls_bundle(view)['text/plain']}\n")
        if self._limit != (state := (view.near_limit, view.raised_to)) and not view.ended:
            self._limit = state
            self._out.write(f"\n{limit_bundle(view)['text/plain']}\n")
        for call in view.kernel:
            if call.state not in ("approved", "running") and self._states.get(call.call_id) != call.state:
                self._states[call.call_id] = call.state
                self._out.write(f"\n{call.bundle()['text/plain']}\n")
        self._out.flush()

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        text, printed = bundle["text/plain"], self._printed.rstrip()
        rest = text[len(printed) :].lstrip("\n") if text.startswith(printed) else text
        if self._printed and not self._printed.endswith("\n"):
            self._out.write("\n")
        self._out.write(f"{rest}\n")
        self._out.flush()

    def clear(self) -> None:
        pass


class Bar:
    """Shows the progress of a job in its cell, and at the end the job's final output.

    If `live` is False, the host can't update outputs, so only the final output is shown.
    """

    def __init__(self, output: Output, live: bool) -> None:
        self._output = output
        self.live = live
        self._id = ""

    def draw(self, bundle: Bundle) -> None:
        if self._id:
            self._output.update(bundle, self._id)
        elif self.live:
            self._id = secrets.token_hex(4)
            self._output.show(bundle, display_id=self._id)

    def finish(self, bundle: Bundle) -> None:
        self.clear()
        self._output.show(bundle)

    def clear(self) -> None:
        """Remove the bar when the cell shows its next output."""
        if self._id:
            self._output.clear()
