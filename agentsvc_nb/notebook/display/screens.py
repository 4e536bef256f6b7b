"""Where a run is watched: live in settled blocks, as one static output, or as text in a terminal (docs/decisions/0006).

Live: finished Markdown blocks are left standing as outputs of their own and only the open tail is rendered again; at
the end `clear_output(wait=True)` and ONE bundle replace them all. What is sent grows with the text, not with its
square, and the saved notebook holds one output and no widget.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TextIO

from agentsvc_nb.notebook.display.approval import asked_bundle
from agentsvc_nb.notebook.display.markdown import settled
from agentsvc_nb.notebook.display.render import Bundle, facts, status_bundle, text_bundle
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.wire.text import plain

TICK_SECONDS: Final = 0.1
STATUS_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 0.5
MESSAGE_BYTES: Final = 700
"""The overhead of a message: headers, ids, signature."""
BYTES_PER_CHAR: Final = 45
"""The budget for each character of text, so that the cost of one endless paragraph stays linear, too."""
FREE_BYTES: Final = 20_000


class Output(Protocol):
    """The output area of a cell."""

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Append an output; with an id, one that `update` can change."""
        ...

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None: ...

    def clear(self) -> None:
        """Remove all outputs when the next one comes."""
        ...


class SavedOutput(Output, Protocol):
    """The output area of a cell in a notebook that may be saved."""

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        """Append an output for the saved notebook, in which no widget lives."""
        ...


class Screen(Protocol):
    def draw(self, view: RunView) -> None:
        """Show the run as it stands; called about ten times a second, also when nothing has changed."""
        ...

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        """Leave this one output."""
        ...

    def clear(self) -> None:
        """Leave nothing: the run was not started."""
        ...


class LiveScreen:
    """Settled blocks, under a status line that ticks."""

    def __init__(self, output: Output, clock: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._clock = clock
        self._prefix = secrets.token_hex(4)
        self._count = 0
        self._sent = self._longest = 0
        self._arrived = ("", 0.0)
        self._last_status = ("", -STATUS_SECONDS)
        self._restart()

    def draw(self, view: RunView) -> None:
        now = self._clock()
        self._draw_status(view, now)
        text = plain(view.said)
        if not text.startswith(self._frozen) or (self._tail and text == self._frozen):
            self._output.clear()  # `run.resumed` took settled blocks back, or all of the tail
            self._restart()
            self._draw_status(view, now)
        if text != self._arrived[0]:
            self._arrived = (text, now)
        if text != self._shown and self._affordable(text, now):
            self._draw_text(text)
        self._draw_asked(view)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self._output.clear()
        self._output.show(bundle, metadata=metadata)

    def clear(self) -> None:
        if self._status:
            self._output.clear()

    def _restart(self) -> None:
        # Display ids; empty until there is such an output.
        self._status = ""
        self._tail = ""
        self._panel = ""
        self._asked = list[str]()
        # The text of settled blocks, and all text on the screen.
        self._frozen = ""
        self._shown = ""
        self._arrived = ("", 0.0)
        self._last_status = ("", -STATUS_SECONDS)

    def _draw_asked(self, view: RunView) -> None:
        """In an output of its own, which does not tick: what stands there is to be copied."""
        if self._asked != [*view.asked]:
            self._asked = [*view.asked]
            self._panel = self._put(asked_bundle(view), self._panel)

    def _draw_status(self, view: RunView, now: float) -> None:
        pieces = facts(view)
        words, age = pieces[0] + "".join(pieces[2:]), now - self._last_status[1]
        # A run of many minutes need not count single seconds: each tick is a message in the kernel's channel.
        every = STATUS_SECONDS * (1 if view.elapsed < 60 else 2 if view.elapsed < 300 else 5)
        if age < (STATUS_SECONDS / 4 if words != self._last_status[0] else every):
            return
        self._last_status = (words, now)
        self._status = self._put(status_bundle(view), self._status)

    def _affordable(self, text: str, now: float) -> bool:
        """Within the byte budget, or the reader is waiting: a pause shows what there is."""
        self._longest = max(self._longest, len(text))
        cost = 2 * MESSAGE_BYTES + 3 * (len(text) - len(self._frozen))
        within = self._sent + cost <= FREE_BYTES + BYTES_PER_CHAR * self._longest
        return within or now - self._arrived[1] >= PAUSE_SECONDS

    def _draw_text(self, text: str) -> None:
        tail = text[len(self._frozen) :]
        if done := settled(tail):
            self._send_tail(tail[:done])
            self._frozen = text[: len(self._frozen) + done]
            self._tail = ""
        if rest := tail[done:]:
            self._send_tail(rest)
        self._shown = text

    def _send_tail(self, text: str) -> None:
        bundle = text_bundle(text)
        self._tail = self._put(bundle, self._tail)
        self._sent += MESSAGE_BYTES + sum(len(value.encode()) for value in bundle.values())

    def _put(self, bundle: Bundle, display_id: str) -> str:
        if display_id:
            self._output.update(bundle, display_id)
            return display_id
        self._count += 1
        display_id = f"{self._prefix}-{self._count}"
        self._output.show(bundle, display_id=display_id)
        return display_id


class StaticScreen:
    """One output at the end: for nbclient, papermill, nbconvert, and whatever shows no updates."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._asked: list[str] = []

    def draw(self, view: RunView) -> None:
        """Show only calls that wait for approval: a run that waits for them would look stuck."""
        if new := [call for call in view.asked if call not in self._asked]:
            self._asked += new
            self._output.show(asked_bundle(view))

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self.clear()
        self._output.show(bundle, metadata=metadata)

    def clear(self) -> None:
        if self._asked:
            self._output.clear()


class TerminalScreen:
    """Text as it streams. A terminal can't take text back, so a restart of the run is announced in words."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._printed = ""
        self._asked: list[str] = []

    def draw(self, view: RunView) -> None:
        text = plain(_complete(view.said))
        if not text.startswith(self._printed):
            self._out.write("\n[the run was resumed; this replaces the text above]\n")
            self._printed = ""
        self._out.write(text[len(self._printed) :])
        if self._asked != [*view.asked]:
            self._asked = [*view.asked]
            self._out.write(f"\n{asked_bundle(view)['text/plain']}\n")
        self._out.flush()
        self._printed = text

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        text, printed = bundle["text/plain"], self._printed.rstrip()
        rest = text[len(printed) :].lstrip("\n") if text.startswith(printed) else text
        if self._printed and not self._printed.endswith("\n"):
            self._out.write("\n")
        self._out.write(f"{rest}\n")
        self._out.flush()

    def clear(self) -> None:
        pass


def _complete(text: str) -> str:
    """The text without an incomplete terminal sequence at its end."""
    start = text.rfind("\x1b", max(0, len(text) - 64))
    return text if start < 0 or any(char.isalpha() for char in text[start:]) else text[:start]


class Bar:
    """The output of a job: one line that is updated where updates are shown, and its end."""

    def __init__(self, output: Output, live: bool) -> None:
        self._output = output
        self._live = live
        self._id = ""

    def draw(self, bundle: Bundle) -> None:
        if not self._live:
            return
        if self._id:
            self._output.update(bundle, self._id)
        else:
            self._id = secrets.token_hex(4)
            self._output.show(bundle, display_id=self._id)

    def finish(self, bundle: Bundle) -> None:
        self.clear()
        self._output.show(bundle)

    def clear(self) -> None:
        """Have the next output of the cell replace the bar."""
        if self._id:
            self._output.clear()
