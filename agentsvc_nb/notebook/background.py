"""A run that goes on while other cells run: its result is a future."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedLongEnough
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.errors import JobTimeoutError
from agentsvc_nb.notebook.answer import Answer
from agentsvc_nb.notebook.failures import RunStopped
from agentsvc_nb.notebook.render import Bundle, status_bundle
from agentsvc_nb.notebook.watching import Turn
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    import pandas as pd

_LOOK_SECONDS: Final = 0.25
"""Waiting is in such pieces, so that an interrupt is taken on every system."""


class Background:
    """The answer of a run in the background. What belongs to the answer waits for its end; `await` works, too.

    Example: `answer.text`, `answer.files`, `answer.df`, `await answer`; without waiting `answer.done()`,
    `answer.status`, `answer.cancel()`
    """

    def __init__(self, turn: Turn, go: Callable[[], Answer], then: Callable[[Background], None]) -> None:
        self._turn, self._go, self._then = turn, go, then
        self._future: Future[Answer] = Future()
        self._hidden: Callable[[], bool] = lambda: False

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
        try:
            while True:
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

    def hide_while(self, shown: Callable[[], bool]) -> None:
        """Show nothing while `shown()` says so: the cell that made it shows it already."""
        self._hidden = shown

    def __repr__(self) -> str:
        return f"<Background {self.status}, {self.name}{', done' if self.done() else ''}>"

    def bundle(self) -> Bundle:
        """What there is to show now."""
        if self.done() and self._future.exception() is None:
            return self._future.result()._repr_mimebundle_()
        return status_bundle(self._turn.view)

    def _ipython_display_(self) -> None:
        if not self._hidden():
            from IPython.display import display

            display(self.bundle(), raw=True)  # type: ignore[no-untyped-call]

    def _run(self) -> None:
        try:
            self._future.set_result(self._go())
        except BaseException as error:  # carried to who waits
            self._future.set_exception(error)
        self._then(self)
