"""Draw the active run of a chat as parts of the front end: its activity, its text and its waiting calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentsvc_nb.notebook.display.plan import plan_html
from agentsvc_nb.notebook.display.render import Bundle, current_activity
from agentsvc_nb.notebook.display.screens import LiveScreen
from agentsvc_nb.notebook.display.timeline import timeline_html
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.widgets.approvals import ApprovalCards
from agentsvc_nb.notebook.widgets.chat.turns import ChatTurn, question_part
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.notebook.widgets.limit_card import LimitCard
from agentsvc_nb.wire.text import label


class PartsOutput:
    """An output area for `LiveScreen` whose outputs are the parts `live/1`, `live/2` and so on."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._places: dict[str, str] = {}
        self._count = 0
        self._clearing = False

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        if self._clearing:
            # Do not use a number twice: the page would show a new output in the place of a removed one with the same
            # number.
            self._front.remove("live/")
            self._clearing = False
            self._places = {}
        self._count += 1
        place = self._places[display_id or ""] = f"live/{self._count}"
        self._front.change({place: bundle["text/html"]})

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        self._front.change({self._places[display_id]: bundle["text/html"]})

    def clear(self) -> None:
        self._clearing = True


class TurnScreen(LiveScreen):
    """Draws a run as the active turn of a chat. Use it in one thread only.

    Attributes:
        chat: the run's chat, once known.
        wrote: the paths of the files that the run has written.
        cost: the run's cost in micro-cents, once the run has ended.
    """

    def __init__(self, front: Front, approvals: ApprovalCards, limit: LimitCard, turn: ChatTurn) -> None:
        super().__init__(PartsOutput(front))
        self._front = front
        self._approvals = approvals
        self._limit_card = limit
        self.turn = turn
        self.chat: str | None = None
        self.wrote: tuple[str, ...] = ()
        self.model = ""
        self.cost = 0
        self._closed = False
        self._steps: tuple[int, int, int] = (0, 0, 0)
        front.remove("live")
        front.change({"live": question_part(turn)})

    def draw(self, view: RunView) -> None:
        self.turn.run_id = view.run_id
        self.chat = view.chat
        self.wrote = tuple(view.files)
        self.model = view.model
        self.cost = view.run.usage.cost_microcents if view.run else 0
        if not self._closed:
            super().draw(view)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self.turn.bundle = bundle

    def clear(self) -> None:
        """Do nothing. The run did not start, and `finish` is called with the error."""

    def end(self) -> None:
        """Remove the active turn after it has ended, because it is now shown with the other turns."""
        self._closed = True
        self._approvals.show({}, ())
        self._limit_card.clear()
        gone = [name for prefix in ("live", "doing", "steps") for name in self._front.parts(prefix)]
        self._front.change(dict.fromkeys(gone))

    def close(self) -> None:
        """Do not draw any more."""
        self._closed = True

    # -- hooks of LiveScreen -----------------------------------------------------------------------------------------

    def _draw_status(self, view: RunView, now: float) -> None:
        seconds = int(view.elapsed) if view.elapsed < 60 else int(view.elapsed) // 5 * 5
        words = " · ".join(current_activity(view)[1:]) or (
            "writing" if view.streamed_text else label(current_activity(view)[0].lstrip("●○◌ "), 40)
        )
        self._front.change({"doing": [words, f"{seconds} s"] if seconds else [words]})
        steps = view.last_plan, len(view.marks), sum(1 + (call.failed is not None) for call in view.calls)
        if steps != self._steps:
            self._steps = steps
            self._front.change({"steps": (plan_html(view.plan) + timeline_html(view, planned=False)) or None})

    def _draw_asked(self, view: RunView) -> None:
        """Do nothing, because `_draw_kernel` shows all cards."""

    def _draw_plan(self, view: RunView) -> None:
        """Do nothing, because the plan is shown with the steps."""

    def _draw_limit(self, view: RunView) -> None:
        self._limit_card.show(view)

    def _draw_kernel(self, view: RunView) -> None:
        self._approvals.show(view.waiting_calls, view.kernel)
