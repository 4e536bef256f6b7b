"""The thread in which a widget does what takes time, so that its buttons answer at once.

A button's function may be called in any thread of the kernel, also between two lines of a running cell: it takes the
widget's lock, changes the widget, and leaves requests to the worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from agentsvc_nb.notebook.failures import AskError


class Worker:
    """One thread, that does one thing at a time.

    Args:
        failed: told one sentence about what could not be done.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self._failed = failed
        self._pool = ThreadPoolExecutor(1, "agentsvc-widget")
        self._lock = threading.Lock()
        self._newest: dict[str, object] = {}

    def do(self, kind: str, work: Callable[[], object]) -> None:
        """Do it when its turn comes, unless something newer of its kind was asked for until then."""
        mark = object()
        with self._lock:
            self._newest[kind] = mark
        self._pool.submit(self._turn, kind, mark, work)

    def _turn(self, kind: str, mark: object, work: Callable[[], object]) -> None:
        if self._newest[kind] is not mark:
            return
        try:
            work()
        except AskError as error:
            self._failed(f"{error} {error.hint}".strip())
        except Exception as error:  # in a thread nobody sees it: the widget says it and goes on
            self._failed(f"That went wrong: {type(error).__name__}: {error}")
