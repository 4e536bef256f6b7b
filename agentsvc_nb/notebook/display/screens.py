"""Screens that display a running run: live, as one static output, or as text in a terminal (docs/decisions/05).

The live screen leaves each settled Markdown block as an output of its own and renders only the open tail again; at the
end `clear_output(wait=True)` and ONE bundle replace them all. So the bytes sent grow linearly with the text rather than
quadratically, and the saved notebook holds one output and no widget.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TextIO

from agentsvc_nb import clock
from agentsvc_nb.client.plans import new_lines
from agentsvc_nb.notebook.display.limits import limit_bundle
from agentsvc_nb.notebook.display.markdown import settled
from agentsvc_nb.notebook.display.plan import plan_bundle
from agentsvc_nb.notebook.display.render import Bundle, facts, status_bundle, text_bundle
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.display.waiting_calls import asked_bundle
from agentsvc_nb.wire.runs import PlanStep
from agentsvc_nb.wire.text import label, plain

TICK_SECONDS: Final = 0.1
"""The interval between two draws."""
STATUS_SECONDS: Final = 1.0
"""The interval between two updates of a status line."""
PAUSE_SECONDS: Final = 0.5
"""After a pause of this length in the stream, the text is drawn even beyond the byte budget."""
MESSAGE_BYTES: Final = 700
"""The overhead of a message: headers, ids, signature."""
BYTES_PER_CHAR: Final = 45
"""The byte budget for each character of text; it keeps the cost linear even for one endless paragraph."""
FREE_BYTES: Final = 20_000
"""The byte budget that does not depend on the text."""
LONG_SECONDS: Final = 10.0
"""From when on the status line of a run says what to do with it in a page that was loaded again."""
RELOADED: Final = (
    "Page loaded again? Run this cell again: it goes on with this run. `%runs attach last` follows it elsewhere."
)


class Output(Protocol):
    """The output area of a cell."""

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Append an output; with a `display_id`, `update` can change it later."""
        ...

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None: ...

    def clear(self) -> None:
        """Remove all outputs as soon as the next one is shown."""
        ...


class SavedOutput(Output, Protocol):
    """The output area of a cell in a notebook that may be saved."""

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        """Append an output that stands for a widget when the saved notebook is opened again."""
        ...


class Screen(Protocol):
    """The display of one run: `draw` while it goes on, then `finish` or `clear`."""

    def draw(self, view: RunView) -> None:
        """Show the current state of the run; called about ten times a second, even if nothing has changed."""
        ...

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        """Replace everything shown by this final output."""
        ...

    def clear(self) -> None:
        """Remove everything shown: the run was not started."""
        ...


def answer_id(run_id: str) -> str:
    """Return the display id of a run's answer: an undo of the run marks that output."""
    return f"agentsvc-answer-{run_id}"


class LiveScreen:
    """A ticking status line, and below it the settled blocks and the open tail of the answer.

    Args:
        reloads: how often the page has been loaded again; it then knows nothing, and everything is shown anew.
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
        # Display ids of the outputs; empty until there is such an output.
        self._status = self._tail = self._panel = ""
        self._kernel: dict[int, str] = {}
        # What they show: the text of the settled blocks, all text, the waiting calls, the calls for the kernel.
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
        now, text, reloads = self._clock(), plain(view.said), self._reloads()
        # After `run.resumed`, some settled blocks or all of the tail were withdrawn.
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
        pieces = facts(view)
        words, age = pieces[0] + "".join(pieces[2:]), now - self._last_status[1]
        # A run of many minutes ticks more slowly: each tick is a message on the kernel's channel.
        every = STATUS_SECONDS * (1 if view.elapsed < 60 else 2 if view.elapsed < 300 else 5)
        if age >= (STATUS_SECONDS / 4 if words != self._last_status[0] else every):
            self._last_status = (words, now)
            self._status = self._put(status_bundle(view, self._advice(view)), self._status)

    def _draw_plan(self, view: RunView) -> None:
        """Show the agent's plan in an output of its own, which changes as its steps are done."""
        if view.plan != self._plan:
            self._plan = view.plan
            self._plan_list = self._put(plan_bundle(view.plan), self._plan_list)

    def _advice(self, view: RunView) -> str:
        """The run's notice, or what a reader needs who finds this as it was saved in the middle of a long run."""
        if view.notice:
            return label(view.notice, 300)
        return RELOADED if view.elapsed >= LONG_SECONDS and view.run_id and not view.ended else ""

    def _is_affordable(self, text: str, now: float) -> bool:
        """Whether drawing the text keeps within the byte budget, or the stream pauses and the reader waits for it."""
        self._longest = max(self._longest, len(text))
        cost = 2 * MESSAGE_BYTES + 3 * (len(text) - len(self._frozen))
        within = self._sent + cost <= FREE_BYTES + BYTES_PER_CHAR * self._longest
        return within or now - self._arrived[1] >= PAUSE_SECONDS

    def _draw_text(self, text: str) -> None:
        tail = text[len(self._frozen) :]
        done = settled(tail)
        for part, is_settled in ((tail[:done], True), (tail[done:], False)):
            if part:
                bundle = text_bundle(part, is_settled)
                self._sent += MESSAGE_BYTES + sum(len(value.encode()) for value in bundle.values())
                self._tail = self._put(bundle, self._tail)
            if part and is_settled:
                self._frozen, self._tail = text[: len(self._frozen) + done], ""
        self._shown = text

    def _draw_asked(self, view: RunView) -> None:
        """Show waiting calls in an output of their own that does not tick, because the user copies ids from it."""
        if self._asked != [*view.asked]:
            self._asked = [*view.asked]
            self._panel = self._put(asked_bundle(view), self._panel)

    def _draw_limit(self, view: RunView) -> None:
        """Show that the run is near its limit, and what the limit is once it was raised, in an output of its own."""
        if self._limit != (state := (view.near, view.raised_to)) and not view.ended:
            self._limit = state
            self._limit_line = self._put(limit_bundle(view), self._limit_line)

    def _draw_kernel(self, view: RunView) -> None:
        """Show each call for the user's kernel in an output of its own, anew when it has changed."""
        for number, call in enumerate(view.kernel):
            if self._drawn.get(number) != call.signature:
                self._drawn[number] = call.signature
                self._kernel[number] = self._put(call.bundle(), self._kernel.get(number, ""))

    def _draw_buttons(self, view: RunView) -> None:
        """Hook: show buttons for calls that wait for their approval."""

    def _put(self, bundle: Bundle, display_id: str) -> str:
        """Update the output of this id, or with an empty one append another. Return its id."""
        if display_id:
            self._output.update(bundle, display_id)
        else:
            self._count += 1
            display_id = f"{self._prefix}-{self._count}"
            self._output.show(bundle, display_id=display_id)
        return display_id


class StaticScreen:
    """One output at the end, for hosts that show no updates: nbclient, papermill, nbconvert."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._asked: set[str] = set()
        self._near: object = None

    def draw(self, view: RunView) -> None:
        """Show only what needs an answer: calls that wait for approval, and that the run is near its limit."""
        if view.near is not None and view.near != self._near:
            self._near = view.near
            self._output.show(limit_bundle(view))
        if view.asked.keys() - self._asked:
            self._asked |= view.asked.keys()
            self._output.show(asked_bundle(view))
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
    """Text as it streams. A terminal cannot withdraw text, so a line announces when a resumed run replaces it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._printed = ""
        self._asked: list[str] = []
        self._states: dict[str, str] = {}
        self._limit: tuple[object, ...] = (None, None)
        self._plan: Sequence[PlanStep] = ()

    def draw(self, view: RunView) -> None:
        said = view.said
        # An escape sequence that is incomplete at the end may be completed by the next piece.
        start = said.rfind("\x1b", max(0, len(said) - 64))
        text = plain(said if start < 0 or any(char.isalpha() for char in said[start:]) else said[:start])
        if not text.startswith(self._printed):
            self._out.write("\n[the run was resumed; this replaces the text above]\n")
            self._printed = ""
        self._out.write(text[len(self._printed) :])
        self._printed = text
        if view.plan != self._plan:
            shown, self._plan = new_lines(self._plan, view.plan), view.plan
            self._out.write(f"\n{shown}\n")
        if self._asked != [*view.asked]:
            self._asked = [*view.asked]
            self._out.write(f"\n{asked_bundle(view)['text/plain']}\n")
        if self._limit != (state := (view.near, view.raised_to)) and not view.ended:
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
    """The output of a job: a progress line if the host is `live`, then its final output."""

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
        """Remove the bar as soon as the cell shows its next output."""
        if self._id:
            self._output.clear()
