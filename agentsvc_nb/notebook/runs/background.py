"""A run that goes on while other cells run: a future that a cell gives back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedLongEnough
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from agentsvc_nb.client.errors import JobTimeoutError
from agentsvc_nb.notebook.display.approval import print_new_calls, watched_bundle
from agentsvc_nb.notebook.display.render import Bundle, error_bundle
from agentsvc_nb.notebook.display.results import DisplayedResult
from agentsvc_nb.notebook.errors import RunStopped
from agentsvc_nb.notebook.runs.answer import CellAnswer
from agentsvc_nb.notebook.runs.turn import RunWatcher
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    import pandas as pd


K = TypeVar("K")

_LOOK_SECONDS: Final = 0.25
"""Waiting is in such pieces, so that an interrupt is taken on every system."""


class Pending(DisplayedResult, Generic[K]):
    """A future that is made in a thread of its own; `await` works, too.

    Example: `later.wait()`, `await later`; without waiting `later.done()`, `later.status`, `later.cancel()`
    """

    def __init__(self) -> None:
        super().__init__({})
        self._future: Future[K] = Future()

    def run_here(self) -> K:
        """Do it now: for where an output that is updated later would be lost. Returns and raises as `wait`."""
        self._run()
        return self.wait()

    def start(self) -> None:
        threading.Thread(target=self._run, name="agentsvc-background", daemon=True).start()

    def wait(self, timeout: float | None = None) -> K:
        """What comes of it, once it is there; `timeout` in seconds.

        Raises:
            AskError, RunFailed: as a cell would that did it in the foreground.
            JobTimeoutError: `timeout` is over; the work goes on.
            RunStopped: the waiting was interrupted; the work goes on.
        """
        left = float("inf") if timeout is None else timeout
        told: set[str] = set()
        try:
            while True:
                self.tell(told)
                try:
                    return self._future.result(min(_LOOK_SECONDS, max(0.0, left)))
                except WaitedLongEnough:
                    left -= _LOOK_SECONDS
                    if left <= 0:
                        raise JobTimeoutError(self.waited_for) from None
        except KeyboardInterrupt:
            raise RunStopped(
                f"The waiting was stopped; {self.name} goes on.", "`.cancel()` of its result stops it."
            ) from None

    def __await__(self) -> Generator[Any, None, K]:
        # Shielded: who stops waiting does not stop the work.
        return asyncio.shield(asyncio.wrap_future(self._future)).__await__()

    def done(self) -> bool:
        """Whether all is there, or it failed."""
        return self._future.done()

    @property
    def waited_for(self) -> str | None:
        """The id of what is waited for, where it has one already."""
        return None

    @property
    def status(self) -> str:
        """As it was last seen; does not wait."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        raise NotImplementedError

    def make(self) -> K:
        """Make it, in the thread."""
        raise NotImplementedError

    def tell(self, told: set[str]) -> None:
        """Called again and again while somebody waits: say what keeps it, once; `told` is what was said."""

    def left_alone(self, error: BaseException) -> None:
        """It failed, and nothing tells why in the output."""

    def after(self) -> None:
        """All is done."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.status}, {self.name}{', done' if self.done() else ''}>"

    def outcome(self) -> Any:
        """What there is of it, also of what failed; does not wait."""
        if not self.done():
            return None
        failed = self._future.exception()
        return getattr(failed, "answer", None) if failed else self._future.result()

    def _run(self) -> None:
        try:
            self._future.set_result(self.make())
        except BaseException as error:  # carried to who waits
            if getattr(error, "answer", None) is None:
                self.left_alone(error)
            self._future.set_exception(error)
        self.after()


def nothing(background: Background) -> None:
    """What is done when a run in the background is done, unless there is something to do."""


class Background(Pending[CellAnswer]):
    """The answer of a run in the background. What belongs to the answer waits for its end; `await` works, too.

    Example: `answer.text`, `answer.files`, `answer.df`, `await answer`; without waiting `answer.done()`,
    `answer.status`, `answer.cancel()`
    """

    def __init__(
        self, turn: RunWatcher, go: Callable[[], CellAnswer], then: Callable[[Background], None] = nothing
    ) -> None:
        self._turn, self._go, self._then = turn, go, then
        super().__init__()

    def make(self) -> CellAnswer:
        return self._go()

    def tell(self, told: set[str]) -> None:
        """Who waits here without an output that moves must know what for."""
        print_new_calls([*self._turn.view.asked.values()], told)

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
        return known.shown if isinstance(known, CellAnswer) else watched_bundle(self._turn.view)

    def left_alone(self, error: BaseException) -> None:
        self._turn.screen.finish(error_bundle(str(error), getattr(error, "hint", "")))

    def after(self) -> None:
        self._then(self)
