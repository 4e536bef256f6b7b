"""Screens that display an active run: live, as one static output, or as text in a terminal (docs/decisions/05).

The live screen leaves each settled Markdown block as a separate output, and redraws only the open tail. At the end,
`clear_output(wait=True)` and one bundle replace all of them. So the bytes sent grow linearly with the text, not
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
"""Seconds between two draws."""
STATUS_SECONDS: Final = 1.0
"""Seconds between two updates of a status line."""
PAUSE_SECONDS: Final = 0.5
"""After the stream pauses for this many seconds, the text is drawn even beyond the byte budget."""
MESSAGE_BYTES: Final = 700
"""The overhead of a message in bytes: headers, ids, signature."""
BYTES_PER_CHAR: Final = 45
"""The byte budget per character of text, which keeps the cost linear even for one endless paragraph."""
FREE_BYTES: Final = 20_000
"""The part of the byte budget that does not depend on the length of the text."""
LONG_SECONDS: Final = 10.0
"""The seconds after which the status line also has advice for readers who reload the page."""
RELOADED: Final = (
    "If you reloaded the page, run this cell again to follow this run. In another cell, use `%runs attach last`."
)


class Output(Protocol):
    """The output area of a cell."""

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Append an output. With a `display_id`, `update` can change it later."""
        ...

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None: ...

    def clear(self) -> None:
        """Remove all outputs as soon as the next one is shown."""
        ...


class SavedOutput(Output, Protocol):
    """The output area of a cell in a notebook that may be saved."""

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        """Append an output that replaces a widget when the saved notebook is reopened."""
        ...


class Screen(Protocol):
    """The display of one run: call `draw` while it is active, then `finish` or `clear`."""

    def draw(self, view: RunView) -> None:
        """Show the current state of the run. Called about ten times a second, even without changes."""
        ...

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        """Replace everything shown with this final output."""
        ...

    def clear(self) -> None:
        """Remove everything shown, because the run did not start."""
        ...


def answer_id(run_id: str) -> str:
    """Return the display id of a run's answer. Undoing the run marks that output."""
    return f"agentsvc-answer-{run_id}"


class LiveScreen:
    """A ticking status line, and below it the settled blocks and the open tail of the answer.

    Args:
        reloads: returns how often the page was reloaded. A reloaded page has no outputs, so all outputs are shown
            again.
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
        # Display ids of the outputs; empty until the output exists.
        self._status = self._tail = self._panel = ""
        self._kernel: dict[int, str] = {}
        # Contents of the outputs: the text of the settled blocks, all text, the waiting calls, the calls for the
        # kernel.
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
        # After `run.resumed`, some settled blocks or the whole tail may have been withdrawn.
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
        # In a run of many minutes, update less often, because each update is a message on the kernel's channel.
        every = STATUS_SECONDS * (1 if view.elapsed < 60 else 2 if view.elapsed < 300 else 5)
        if age >= (STATUS_SECONDS / 4 if words != self._last_status[0] else every):
            self._last_status = (words, now)
            self._status = self._put(status_bundle(view, self._advice(view)), self._status)

    def _draw_plan(self, view: RunView) -> None:
        """Show the agent's plan in a separate output, which is updated as steps are done."""
        if view.plan != self._plan:
            self._plan = view.plan
            self._plan_list = self._put(plan_bundle(view.plan), self._plan_list)

    def _advice(self, view: RunView) -> str:
        """Return the run's notice. In a long run without one, return advice for readers of the saved notebook."""
        if view.notice:
            return label(view.notice, 300)
        return RELOADED if view.elapsed >= LONG_SECONDS and view.run_id and not view.ended else ""

    def _is_affordable(self, text: str, now: float) -> bool:
        """Return True if drawing the text stays within the byte budget, or if the stream pauses and readers wait."""
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
        """Show waiting calls in a separate output that is not updated constantly, because users copy ids from it."""
        if self._asked != [*view.asked]:
            self._asked = [*view.asked]
            self._panel = self._put(asked_bundle(view), self._panel)

    def _draw_limit(self, view: RunView) -> None:
        """Show in a separate output that the run is near its limit, and the new limit once it was raised."""
        if self._limit != (state := (view.near, view.raised_to)) and not view.ended:
            self._limit = state
            self._limit_line = self._put(limit_bundle(view), self._limit_line)

    def _draw_kernel(self, view: RunView) -> None:
        """Show each call for the user's kernel in a separate output, and again when it changes."""
        for number, call in enumerate(view.kernel):
            if self._drawn.get(number) != call.signature:
                self._drawn[number] = call.signature
                self._kernel[number] = self._put(call.bundle(), self._kernel.get(number, ""))

    def _draw_buttons(self, view: RunView) -> None:
        """Hook: show buttons for calls that wait for approval."""

    def _put(self, bundle: Bundle, display_id: str) -> str:
        """Update the output with this id, or append one if the id is empty. Return its id."""
        if display_id:
            self._output.update(bundle, display_id)
        else:
            self._count += 1
            display_id = f"{self._prefix}-{self._count}"
            self._output.show(bundle, display_id=display_id)
        return display_id


class StaticScreen:
    """Show one output at the end, for hosts that show no updates: nbclient, papermill, nbconvert."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._asked: set[str] = set()
        self._near: object = None

    def draw(self, view: RunView) -> None:
        """Show only what needs a decision: calls that wait for approval, and a run near its limit."""
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
    """Print text as it streams. A terminal cannot withdraw text, so a line announces that a resumed run replaces it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._printed = ""
        self._asked: list[str] = []
        self._states: dict[str, str] = {}
        self._limit: tuple[object, ...] = (None, None)
        self._plan: Sequence[PlanStep] = ()

    def draw(self, view: RunView) -> None:
        said = view.said
        # The next piece may complete an escape sequence at the end.
        start = said.rfind("\x1b", max(0, len(said) - 64))
        text = plain(said if start < 0 or any(char.isalpha() for char in said[start:]) else said[:start])
        if not text.startswith(self._printed):
            self._out.write("\n[The run was resumed. The text below replaces the text above.]\n")
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
    """The output of a job: first a progress line, if the host is `live`, then the final output."""

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
