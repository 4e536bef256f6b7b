"""The shell of the kernel that the agent may use: when it is idle, and whether it receives clicks while a cell runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from agentsvc_nb import clock

IDLE_SECONDS: Final = 1.0
"""Code runs between cells after this many seconds without a running cell. During Run All, the next cell starts
sooner.
"""
_CONFIRM_SECONDS: Final = 0.05


class KernelAccess:
    """Observes a shell. After `watch`, it knows whether a cell is running. Any thread may call the other methods."""

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
        """Whether the kernel can receive clicks on buttons while a cell runs. The front end must support this, too."""
        return getattr(getattr(self.shell, "kernel", None), "shell_channel_thread", None) is not None

    @property
    def hears_buttons(self) -> bool:
        """Whether button clicks arrive while a cell runs. They do once the front end has created a subshell."""
        return self.has_subshells and bool(self.shell.kernel.shell_channel_thread.manager.list_subshell())

    def when_idle(self, work: Callable[[], object]) -> None:
        """Schedule `work` on the main thread if no cell has run for a second, else do nothing (the caller retries).

        At most one call is scheduled at a time. `work` must not raise an exception.
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
        # This runs in the main thread's event loop. Cells that were queued meanwhile have run by now, so check again.
        try:
            if self._is_idle() and self._rested == rested:
                with self._interruptible():
                    work()
        except KeyboardInterrupt:
            pass  # the interrupt came when neither a cell nor `work` was running
        finally:
            self._scheduled = False

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let interrupts raise KeyboardInterrupt in the `with` block. Between cells, a kernel ignores interrupts."""
        kernel = self.shell.kernel
        kernel.pre_handler_hook()
        try:
            yield
        finally:
            kernel.post_handler_hook()
