"""A run that goes on while other cells run: its result is a future."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentsvc_nb.notebook.display.approval import tell_once, watched_bundle
from agentsvc_nb.notebook.display.render import Bundle, error_bundle
from agentsvc_nb.notebook.runs.answer import Answer
from agentsvc_nb.notebook.runs.pending import Pending
from agentsvc_nb.notebook.runs.turn import Turn
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    import pandas as pd


def nothing(background: Background) -> None:
    """What is done when a run in the background is done, unless there is something to do."""


class Background(Pending[Answer]):
    """The answer of a run in the background. What belongs to the answer waits for its end; `await` works, too.

    Example: `answer.text`, `answer.files`, `answer.df`, `await answer`; without waiting `answer.done()`,
    `answer.status`, `answer.cancel()`
    """

    def __init__(self, turn: Turn, go: Callable[[], Answer], then: Callable[[Background], None] = nothing) -> None:
        self._turn, self._go, self._then = turn, go, then
        super().__init__()

    def make(self) -> Answer:
        return self._go()

    def tell(self, told: set[str]) -> None:
        """Who waits here without an output that moves must know what for."""
        tell_once([*self._turn.view.asked.values()], told)

    def cancel(self) -> None:
        """Stop the run on the service; one that still waits for its turn is never started. Safe to repeat."""
        self._turn.view.stopping = True
        self._turn.feed.cancel()

    @property
    def waited_for(self) -> str | None:
        return self.run_id or None

    @property
    def run_id(self) -> str:
        """Of the run, empty before it began; does not wait."""
        return self._turn.view.run_id

    @property
    def status(self) -> str:
        """`waiting`, then the run's; does not wait."""
        return "waiting" if self._turn.view.waiting else self._turn.view.status

    @property
    def name(self) -> str:
        return f"run {self.run_id}" if self.run_id else "the question"

    @property
    def text(self) -> str:
        return self.wait().text

    @property
    def data(self) -> Any:
        return self.wait().data

    @property
    def code(self) -> str | None:
        return self.wait().code

    @property
    def files(self) -> tuple[WorkspaceFile, ...]:
        return self.wait().files

    @property
    def df(self) -> pd.DataFrame:
        return self.wait().df

    @property
    def run(self) -> Run:
        return self.wait().run

    @property
    def chat(self) -> str | None:
        return self.wait().chat

    def _mimebundle(self) -> Bundle:
        known = self.outcome()
        return known.shown if isinstance(known, Answer) else watched_bundle(self._turn.view)

    def left_alone(self, error: BaseException) -> None:
        self._turn.screen.finish(error_bundle(str(error), getattr(error, "hint", "")))

    def after(self) -> None:
        self._then(self)
