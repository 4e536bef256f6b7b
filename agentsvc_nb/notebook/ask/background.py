"""Background runs: the cell's value is a future, and other cells run in the meantime."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedLongEnough
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from agentsvc_nb.client.errors import JobTimeoutError
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.follower import RunFollower
from agentsvc_nb.notebook.ask.request import AskRequest, address, prepare
from agentsvc_nb.notebook.display.render import Bundle, error_bundle, watched_bundle
from agentsvc_nb.notebook.display.results import DisplayedResult, ResultFiles
from agentsvc_nb.notebook.display.screens import Screen
from agentsvc_nb.notebook.display.waiting_calls import print_new_calls
from agentsvc_nb.notebook.errors import RunStopped
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    import pandas as pd


K = TypeVar("K")

_LOOK_SECONDS: Final = 0.25
"""The longest single wait in seconds. On Windows, an unlimited wait would not notice an interrupt."""


class BackgroundResult(DisplayedResult, Generic[K]):
    """A future whose own thread computes the result; it can be awaited. Subclasses implement `make`.

    Example: `later.wait()`, `await later`; without waiting `later.done()`, `later.status`, `later.cancel()`
    """

    def __init__(self) -> None:
        super().__init__({})
        self._future: Future[K] = Future()

    def run_here(self) -> K:
        """Do the work in the calling thread, for hosts that drop updates of an output after its cell has ended.

        Returns and raises like `wait`; the caller shows the exception.
        """
        self._run()
        return self.wait()

    def start(self) -> None:
        threading.Thread(target=self._run, args=(self.left_alone,), name="agentsvc-background", daemon=True).start()

    def wait(self, timeout: float | None = None) -> K:
        """Wait for the result and return it. `timeout` is in seconds; None means no limit.

        Raises:
            AskError, RunFailed: the work failed, as it would in the foreground.
            JobTimeoutError: `timeout` has elapsed; the work continues.
            RunStopped: the user interrupted the wait; the work continues.
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
                f"You stopped waiting, but {self.name} is still running.", "Call `.cancel()` on its result to stop it."
            ) from None

    def __await__(self) -> Generator[Any, None, K]:
        # Shielded: cancelling the awaiting task does not cancel the work.
        return asyncio.shield(asyncio.wrap_future(self._future)).__await__()

    def done(self) -> bool:
        """Return True if the work has ended, with a result or an error."""
        return self._future.done()

    @property
    def waited_for(self) -> str | None:
        """The id of the run or job, for `JobTimeoutError`; None until it has one."""
        return None

    @property
    def status(self) -> str:
        """The last known state; does not wait."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the work in messages, such as `run 0f3a...`."""
        raise NotImplementedError

    def make(self) -> K:
        """Do the work and return its result. The future's thread calls this."""
        raise NotImplementedError

    def tell(self, told: set[str]) -> None:
        """Print once what blocks the work. `wait` calls this repeatedly; `told` has the ids printed so far."""

    def left_alone(self, error: BaseException) -> None:
        """Hook: show the error of work that failed in the future's thread."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.status}, {self.name}{', done' if self.done() else ''}>"

    def outcome(self) -> Any:
        """Return the result, the partial answer of a failure, or None if there is neither yet. Does not wait."""
        if not self.done():
            return None
        failed = self._future.exception()
        return getattr(failed, "answer", None) if failed else self._future.result()

    def _run(self, left_alone: Callable[[BaseException], None] = lambda _: None) -> None:
        try:
            self._future.set_result(self.make())
        except BaseException as error:  # `wait` raises it in the caller's thread
            if getattr(error, "answer", None) is None:
                left_alone(error)
            self._future.set_exception(error)


class Background(BackgroundResult[CellAnswer]):
    """The answer of a background run. Its attributes wait for the run's end. It can be awaited.

    Example: `answer.text`, `answer.files`, `answer.df`, `await answer`; without waiting `answer.done()`,
    `answer.status`, `answer.cancel()`
    """

    def __init__(self, follower: RunFollower) -> None:
        super().__init__()
        self._follower = follower

    def make(self) -> CellAnswer:
        return self._follower.follow()

    def tell(self, told: set[str]) -> None:
        """Print tool calls that wait for approval, because a blocked cell may have no live output that shows them.
        Serve calls for the kernel here, because this cell keeps the kernel busy.
        """
        if self._follower.desk is not None:
            self._follower.desk.help_out()
        print_new_calls([*self._follower.view.asked.values()], told)

    def cancel(self) -> None:
        """Cancel the run on the service. A run that still waits in the queue never starts. Safe to repeat."""
        self._follower.cancel()

    @property
    def waited_for(self) -> str | None:
        return self.run_id or None

    @property
    def run_id(self) -> str:
        """The run's id, empty until the run starts; does not wait."""
        return self._follower.view.run_id

    @property
    def status(self) -> str:
        """`waiting` until the run starts, then the run's status; does not wait."""
        return "waiting" if self._follower.view.waiting else self._follower.view.status

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
    def files(self) -> ResultFiles:
        return self.wait().files

    @property
    def df(self) -> pd.DataFrame:
        return self.wait().df

    @property
    def tables(self) -> list[pd.DataFrame]:
        return self.wait().tables

    @property
    def run(self) -> Run:
        return self.wait().run

    @property
    def chat(self) -> str | None:
        return self.wait().chat

    def _mimebundle(self) -> Bundle:
        known = self.outcome()
        return known.shown if isinstance(known, CellAnswer) else watched_bundle(self._follower.view)

    def left_alone(self, error: BaseException) -> None:
        self._follower.screen.finish(error_bundle(str(error), getattr(error, "hint", "")))


def ask_in_background(session: Session, request: AskRequest, screen: Screen, *, here: bool = False) -> Background:
    """Ask the question and return at once. The run starts when the earlier questions to its chat have ended.

    A new chat does not become the notebook's chat.

    Args:
        here: return only when the run has ended, for hosts that drop updates of an output after its cell has ended.

    Raises:
        AskError: the service did not respond before the start. The result's `wait` raises later errors; with `here`,
        this function raises those, too.
    """
    request = request if request.key else prepare(session, request)
    # Wait for the run that holds the chat instead of failing: the cell has ended, so nobody would retry.
    follower = RunFollower(session, replace(request, wait=True), screen, background=True, fails_cell=here)
    follower.record()
    where = str(request.address)
    follower.record_turn(where)
    follower.earlier = None if request.new_chat else session.last_in_background.get(where)
    session.last_in_background[where] = background = Background(follower)
    if here:
        background.run_here()
    else:
        background.start()
    return background


def prepare_ask(session: Session, request: AskRequest, screen: Screen) -> Background:
    """Prepare a question of a chat widget. The caller starts it with `start` or `run_here`.

    The question never shows an earlier run instead. It is not in the execution history, so it does not affect which
    cells show their runs again. Raises `AskError` without a connection.
    """
    follower = RunFollower(session, address(session, request), screen, background=True, fails_cell=False)
    follower.record()
    return Background(follower)


def prepare_attach(session: Session, run_id: str, screen: Screen) -> Background:
    """Prepare to follow a run that has already started, as `prepare_ask` does for a question."""
    return Background(RunFollower(session, AskRequest(shown=run_id), screen, fails_cell=False))
