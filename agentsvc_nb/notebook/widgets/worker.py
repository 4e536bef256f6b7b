"""The worker thread of a widget."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from agentsvc_nb.notebook.errors import AskError


class Worker:
    """Executes the tasks of a widget in order, in a separate thread.

    Args:
        failed: called with a sentence for the user if a task fails.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self._failed = failed
        self._pool = ThreadPoolExecutor(1, "agentsvc-widget")
        self._lock = threading.Lock()
        self._newest: dict[str, object] = {}

    def do(self, kind: str, work: Callable[[], object]) -> None:
        """Queue a task. If a newer task of the same kind is queued before the older one begins, skip the older one."""
        mark = object()
        with self._lock:
            self._newest[kind] = mark
        self._pool.submit(self._turn, kind, mark, work)

    def _turn(self, kind: str, mark: object, work: Callable[[], object]) -> None:
        with self._lock:
            if self._newest.get(kind) is not mark:
                return
            del self._newest[kind]
        try:
            work()
        except AskError as error:
            self._failed(f"{error} {error.hint}".strip())
        except Exception as error:  # no other code would handle an exception in this thread; the widget shows it
            self._failed(f"An unexpected error occurred: {type(error).__name__}: {error}")
