"""The account that work is done for, and the service's threads, of which each account has a fair share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from agentsvc_nb.formats.children.turns import FairQueue

T = TypeVar("T")
P = ParamSpec("P")

account: Final[ContextVar[str]] = ContextVar("account", default="")
"""The account that the present request, run or job is of; empty for the service's own work. It goes along into tasks
and threads."""


class FairThreads(ThreadPoolExecutor):
    """A thread pool, for `asyncio.to_thread`, in which one account never has all the threads."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads, "worker")
        self._fair: FairQueue[tuple[Future[Any], Callable[[], Any]]] = FairQueue(threads - 2)
        self._lock = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            self._fair.put(account.get(), (future, partial(fn, *args, **kwargs)))
        super().submit(self._serve)
        return future

    def _serve(self) -> None:
        """Do what may be taken, until nothing may: what is left then is taken by the threads that work for its
        account."""
        while True:
            with self._lock:
                taken = self._fair.take()
            if taken is None:
                return
            name = taken[0]
            try:
                _settle(*taken[1])
            finally:
                del taken
                with self._lock:
                    self._fair.done(name)


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
        # The error holds this frame and its caller's. Had they the future still, which has the error, all that the work
        # had in memory would stay until the garbage collector comes by.
        del future
    else:
        future.set_result(result)
