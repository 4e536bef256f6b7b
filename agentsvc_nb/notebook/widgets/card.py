"""Where a run in the background is watched: what it does now, the last lines of its answer, Cancel, and approvals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from agentsvc_nb.notebook.display.render import Bundle, amounts, doing
from agentsvc_nb.notebook.display.screens import STATUS_SECONDS, SavedOutput
from agentsvc_nb.notebook.display.transcript import Transcript
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.approve import Decide, Waiting
from agentsvc_nb.notebook.widgets.stage import Stage
from agentsvc_nb.safe.text import label, plain

PREVIEW_LINES: Final = 6
PREVIEW_CHARS: Final = 600
_LOOK_SECONDS: Final = STATUS_SECONDS / 4


class CardScreen:
    """A card in the output of the cell that runs now; made there, drawn from another thread."""

    def __init__(self, output: SavedOutput, decide: Decide, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._looked, self._ticked = clock, -STATUS_SECONDS, -STATUS_SECONDS
        self._state = design.text(" · ".join(doing(Transcript())), role="status")
        self._amounts = design.text("", "muted")
        self._preview = design.lines("")
        self._waiting = Waiting(decide)
        self._cancel = design.button("Cancel", "Stop this run on the service")
        head = design.row([self._cancel, self._state, self._amounts])
        self._stage = Stage(output, _line(""), [head, self._waiting.box, self._preview])

    def cancels(self, cancel: Callable[[], object]) -> None:
        """What the button does; it must be quick, whichever thread it is called in."""
        design.once(self._cancel, "Cancelling", cancel)

    def draw(self, view: Transcript) -> None:
        """Called ten times a second; a widget whose text stays as it was sends nothing."""
        now = self._clock()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        design.put(self._state, " · ".join(doing(view)), role="status")
        design.put_lines(self._preview, last_lines(view))
        self._waiting.show(view.asked)
        if now - self._ticked >= STATUS_SECONDS:
            self._ticked = now
            design.put(self._amounts, " · ".join(amounts(view)), "muted")
            self._stage.say(_line(view.run_id))

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self._waiting.show({})
        self._stage.finish(bundle, metadata)

    def clear(self) -> None:
        pass  # the cell has ended: why nothing was started is shown in its place


class QuietScreen:
    """Shows nothing: a terminal, where the answer is printed when it is asked for."""

    def cancels(self, cancel: Callable[[], object]) -> None:
        pass

    def draw(self, view: Transcript) -> None:
        pass

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        pass

    def clear(self) -> None:
        pass


def last_lines(view: Transcript) -> str:
    """The end of the answer so far, at a cost that does not grow with the answer."""
    said = plain(view.tail(2 * PREVIEW_CHARS)).rstrip()
    shown = "\n".join(said[-PREVIEW_CHARS:].splitlines()[-PREVIEW_LINES:])
    return shown if len(shown) == len(said) else f"… {shown}"


def _line(run_id: str) -> str:
    if not run_id:
        return "Asked in the background. In a notebook that was opened again, `%runs` lists it once it has begun."
    shown = label(run_id, 64)
    return f"Asked in the background. In a notebook that was opened again, `%runs show {shown}` shows the answer."
