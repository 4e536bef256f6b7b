"""A run that goes on while other cells run: its result is a future."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedLongEnough
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.errors import JobTimeoutError
from agentsvc_nb.notebook.answer import Answer, Shown
from agentsvc_nb.notebook.approval import calls_bundle, watched_bundle
from agentsvc_nb.notebook.failures import RunStopped
from agentsvc_nb.notebook.render import Bundle, error_bundle
from agentsvc_nb.notebook.watching import Turn
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    import pandas as pd

_LOOK_SECONDS: Final = 0.25
"""Waiting is in such pieces, so that an interrupt is taken on every system."""


def nothing(background: Background) -> None:
    """What is done when a run in the background is done, unless there is something to do."""


class Background(Shown):
    """The answer of a run in the background. What belongs to the answer waits for its end; `await` works, too.

    Example: `answer.text`, `answer.files`, `answer.df`, `await answer`; without waiting `answer.done()`,
    `answer.status`, `answer.cancel()`
    """

    def __init__(self, turn: Turn, go: Callable[[], Answer], then: Callable[[Background], None] = nothing) -> None:
        self._turn, self._go, self._then = turn, go, then
        super().__init__({})
        self._future: Future[Answer] = Future()

    def run_here(self) -> Answer:
        """Do it now: for where an output that is updated later would be lost. Returns and raises as `wait`."""
        self._run()
        return self.wait()

    def start(self) -> None:
        threading.Thread(target=self._run, name="agentsvc-background", daemon=True).start()

    def wait(self, timeout: float | None = None) -> Answer:
        """The answer, once there is one; `timeout` in seconds.

        Raises:
            AskError, RunFailed: as a cell would that asked in the foreground.
            JobTimeoutError: `timeout` is over; the run goes on.
            RunStopped: the waiting was interrupted; the run goes on.
        """
        left = float("inf") if timeout is None else timeout
        told: set[str] = set()
        try:
            while True:
                self._tell(told)
                try:
                    return self._future.result(min(_LOOK_SECONDS, max(0.0, left)))
                except WaitedLongEnough:
                    left -= _LOOK_SECONDS
                    if left <= 0:
                        raise JobTimeoutError(self.run_id or None) from None
        except KeyboardInterrupt:
            raise RunStopped(
                f"The waiting was stopped; {self.name} goes on.", "`.cancel()` of its result stops it."
            ) from None

    def _tell(self, told: set[str]) -> None:
        """Who waits here without an output that moves must know what for."""
        waiting = [call for call in [*self._turn.view.asked.values()] if call.call_id not in told]
        if waiting:
            told.update(call.call_id for call in waiting)
            print(f"{calls_bundle(waiting)['text/plain']}Stop ends this waiting, not the run.")

    def __await__(self) -> Generator[Any, None, Answer]:
        # Shielded: who stops waiting does not stop the run.
        return asyncio.shield(asyncio.wrap_future(self._future)).__await__()

    def done(self) -> bool:
        """Whether all is there, or it failed."""
        return self._future.done()

    def cancel(self) -> None:
        """Stop the run on the service; one that still waits for its turn is never started. Safe to repeat."""
        self._turn.view.stopping = True
        self._turn.feed.cancel()

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

    def __repr__(self) -> str:
        return f"<Background {self.status}, {self.name}{', done' if self.done() else ''}>"

    def outcome(self) -> Answer | None:
        """What there is of the answer, also of a run that failed; does not wait."""
        if not self.done():
            return None
        found = getattr(self._future.exception(), "answer", None) if self._future.exception() else self.wait()
        return found if isinstance(found, Answer) else None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        known = self.outcome()
        return watched_bundle(self._turn.view) if known is None else known._repr_mimebundle_()

    def _run(self) -> None:
        try:
            self._future.set_result(self._go())
        except BaseException as error:  # carried to who waits
            if getattr(error, "answer", None) is None:
                self._turn.screen.finish(error_bundle(str(error), getattr(error, "hint", "")))
            self._future.set_exception(error)
        self._then(self)
