"""Background runs: the value of the cell is a future, and other cells can run before the answer is complete."""

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
from agentsvc_nb.notebook.display.render import Bundle, error_bundle, run_bundle
from agentsvc_nb.notebook.display.results import DisplayedResult, ResultFiles
from agentsvc_nb.notebook.display.screens import Screen
from agentsvc_nb.notebook.display.waiting_calls import print_new_calls
from agentsvc_nb.notebook.errors import RunStopped
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    import pandas as pd


K = TypeVar("K")

_BLOCK_SECONDS: Final = 0.25
"""The maximum duration of one blocking wait, in seconds. Longer waits are split into waits of this length, because
Windows delivers no interrupt during a wait without a limit.
"""


class BackgroundResult(DisplayedResult, Generic[K]):
    """A future whose result is computed in a separate thread. It can be awaited. Subclasses implement `compute`.

    `later.wait()` and `await later` wait for the result. `later.done()`, `later.status` and `later.cancel()` return at
    once.
    """

    def __init__(self) -> None:
        super().__init__({})
        self._future: Future[K] = Future()

    def run_here(self) -> K:
        """Compute the result in the calling thread, for hosts that drop output updates after a cell has ended.

        Returns and raises like `wait`. The caller must show the exception.
        """
        self._run()
        return self.wait()

    def start(self) -> None:
        threading.Thread(target=self._run, args=(self.show_error,), name="agentsvc-background", daemon=True).start()

    def wait(self, timeout: float | None = None) -> K:
        """Wait for the result and return it. `timeout` is in seconds; None means no limit.

        Raises:
            AskError, RunFailed: the work failed. In the foreground, the cell would raise the same error.
            JobTimeoutError: `timeout` has elapsed; the work continues.
            RunStopped: the user interrupted the wait; the work continues.
        """
        left = float("inf") if timeout is None else timeout
        told: set[str] = set()
        try:
            while True:
                self.print_blockers(told)
                try:
                    return self._future.result(min(_BLOCK_SECONDS, max(0.0, left)))
                except WaitedLongEnough:
                    left -= _BLOCK_SECONDS
                    if left <= 0:
                        raise JobTimeoutError(self.work_id) from None
        except KeyboardInterrupt:
            raise RunStopped(
                f"You stopped waiting, but {self.name} is still running.",
                "To stop it, call `.cancel()` on the value that you waited for.",
            ) from None

    def __await__(self) -> Generator[Any, None, K]:
        # `shield`, so that cancelling the task that awaits the result does not cancel the work
        return asyncio.shield(asyncio.wrap_future(self._future)).__await__()

    def done(self) -> bool:
        """Return True if the work has finished, successfully or not."""
        return self._future.done()

    @property
    def work_id(self) -> str | None:
        """The id of the run or job, for the message of `JobTimeoutError`. None until the id is known."""
        return None

    @property
    def status(self) -> str:
        """The last known state of the work. Does not wait for a newer one."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the work in messages, such as `run 0f3a...`."""
        raise NotImplementedError

    def compute(self) -> K:
        """Compute the result and return it. This is called in the future's own thread."""
        raise NotImplementedError

    def print_blockers(self, told: set[str]) -> None:
        """Print the tool calls that block the work, because they wait for approval. `wait` calls this repeatedly.

        The base class prints nothing. Subclasses must not print calls whose ids are in `told`, and must add the ids
        that they print.
        """

    def show_error(self, error: BaseException) -> None:
        """Show the error of work that failed without a partial answer.

        The base class shows nothing. Subclasses may override this.
        """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.status}, {self.name}{', done' if self.done() else ''}>"

    def result_so_far(self) -> Any:
        """Return the result. If the work failed, return its partial answer, if any. While it is active, return None."""
        if not self.done():
            return None
        failed = self._future.exception()
        return getattr(failed, "answer", None) if failed else self._future.result()

    def _run(self, show_error: Callable[[BaseException], None] = lambda _: None) -> None:
        try:
            self._future.set_result(self.compute())
        except BaseException as error:  # `wait` raises this error in the caller's thread
            if getattr(error, "answer", None) is None:
                show_error(error)
            self._future.set_exception(error)


class Background(BackgroundResult[CellAnswer]):
    """The future answer of a background run. Reading an attribute of the answer waits for the end of the run.

    `answer.text`, `answer.files`, `answer.df` and `await answer` wait. `answer.done()`, `answer.status` and
    `answer.cancel()` return at once.
    """

    def __init__(self, follower: RunFollower) -> None:
        super().__init__()
        self._follower = follower

    def compute(self) -> CellAnswer:
        return self._follower.follow()

    def print_blockers(self, told: set[str]) -> None:
        """Print tool calls that wait for approval, because the waiting cell may have no live output that shows them.

        Also run approved code for the kernel, which could not run between cells while this cell waits.
        """
        if self._follower.executor is not None:
            self._follower.executor.serve_while_waiting()
        print_new_calls([*self._follower.view.waiting_calls.values()], told)

    def cancel(self) -> None:
        """Cancel the run on the service. If the run has not started yet, it never starts. Calling `cancel` twice is
        safe.
        """
        self._follower.cancel()

    @property
    def work_id(self) -> str | None:
        return self.run_id or None

    @property
    def run_id(self) -> str:
        """The run's id. Empty until the run starts. Returns at once."""
        return self._follower.view.run_id

    @property
    def status(self) -> str:
        """`waiting` until the run starts, then the run's status. Returns at once."""
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
        known = self.result_so_far()
        return known.shown if isinstance(known, CellAnswer) else run_bundle(self._follower.view)

    def show_error(self, error: BaseException) -> None:
        self._follower.screen.finish(error_bundle(str(error), getattr(error, "hint", "")))


def ask_in_background(session: Session, request: AskRequest, screen: Screen, *, here: bool = False) -> Background:
    """Ask the question in the background, and return a future for its answer. The run starts after the earlier
    background questions in the same chat have ended.

    If the question begins a new chat, the notebook's next question does not continue that chat.

    Args:
        here: wait for the end of the run, for hosts that drop updates of an output after its cell has ended.

    Raises:
        AskError: the service did not respond while the question was prepared. `wait` raises errors that occur later.
            With `here`, this function raises them.
    """
    request = request if request.key else prepare(session, request)
    # If another run holds the chat, wait for it instead of failing: the cell has ended, so the user would not notice.
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
    """Prepare a question that the user typed in a chat widget. The caller starts it with `start` or `run_here`.

    The question is always asked, even if an earlier run has an answer to it. It is not recorded in the execution
    history: stored answers of cells do not depend on it.

    Raises `AskError` if there is no connection to a service.
    """
    follower = RunFollower(session, address(session, request), screen, background=True, fails_cell=False)
    follower.record()
    return Background(follower)


def prepare_attach(session: Session, run_id: str, screen: Screen) -> Background:
    """Prepare to follow a run that has already started. The caller starts to follow it with `start` or `run_here`."""
    return Background(RunFollower(session, AskRequest(shown=run_id), screen, fails_cell=False))
