"""The shell of the kernel that the agent may use: its variables, whether it is idle, and whether it receives clicks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from agentsvc_nb import clock

IDLE_SECONDS: Final = 1.0
"""Seconds without a running cell before code runs between cells. In a Run All, the next cell starts sooner."""
_CONFIRM_SECONDS: Final = 0.05


class KernelAccess:
    """A shell. `watch` begins to record when cells run. Any thread may use the other methods."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._busy = 1  # the cell that creates this object is still running
        self._rested = clock.monotonic()
        self._scheduled = False
        self._lock = threading.Lock()

    def watch(self) -> None:
        self.shell.events.register("pre_run_cell", self._began)
        self.shell.events.register("post_run_cell", self._ended)

    def unwatch(self) -> None:
        self.shell.events.unregister("pre_run_cell", self._began)
        self.shell.events.unregister("post_run_cell", self._ended)

    def _began(self, info: Any) -> None:
        self._busy += 1

    def _ended(self, result: Any) -> None:
        self._busy = max(0, self._busy - 1)
        self._rested = clock.monotonic()

    @property
    def has_subshells(self) -> bool:
        """Whether the kernel can receive clicks on buttons while a cell runs, if the front end supports that."""
        return getattr(getattr(self.shell, "kernel", None), "shell_channel_thread", None) is not None

    @property
    def hears_buttons(self) -> bool:
        """Whether the front end has a subshell. The front end creates a subshell for the first widget that it shows."""
        return self.has_subshells and bool(self.shell.kernel.shell_channel_thread.manager.list_subshell())

    def when_idle(self, work: Callable[[], object]) -> None:
        """Schedule `work` on the main thread if no cell has run for a second. Otherwise do nothing: try again later.

        At most one call is scheduled at a time; `work` must not raise.
        """
        with self._lock:
            if self._scheduled or not self._is_idle():
                return
            self._scheduled = True
        rested = self._rested
        self.shell.kernel.io_loop.add_callback(
            lambda: self.shell.kernel.io_loop.call_later(_CONFIRM_SECONDS, self._do, work, rested)
        )

    def _is_idle(self) -> bool:
        return not self._busy and clock.monotonic() - self._rested >= IDLE_SECONDS

    def _do(self, work: Callable[[], object], rested: float) -> None:
        # On the main loop. Check again after cells that were queued at the kernel have run.
        try:
            if self._is_idle() and self._rested == rested:
                with self._interruptible():
                    work()
        except KeyboardInterrupt:
            pass  # the interrupt came between two calls, so there is no cell that it could end
        finally:
            self._scheduled = False

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Handle interrupts as a cell does; between cells a kernel ignores them."""
        kernel = self.shell.kernel
        kernel.pre_handler_hook()
        try:
            yield
        finally:
            kernel.post_handler_hook()
