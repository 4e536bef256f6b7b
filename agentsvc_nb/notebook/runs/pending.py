"""What is still being made while other cells run: a future that a cell gives back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedLongEnough
from typing import Any, Final, Generic, TypeVar

from agentsvc_nb.client.errors import JobTimeoutError
from agentsvc_nb.notebook.display.results import Shown
from agentsvc_nb.notebook.failures import RunStopped

K = TypeVar("K")

_LOOK_SECONDS: Final = 0.25
"""Waiting is in such pieces, so that an interrupt is taken on every system."""


class Pending(Shown, Generic[K]):
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
