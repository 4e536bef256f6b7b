"""Worker pools for operations that do many calls at once: threads, or tasks of asyncio."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar

from agentsvc_nb.client.transport.io import IO, HttpRequest, Response, step

T = TypeVar("T")
LOOK_SECONDS: Final = 0.5
"""Longest single wait; `next` then returns None. On some systems an interrupt does not end a longer one."""


class _Left(BaseException):
    """Ends the threads of a pool that was left, whose results are not read any more."""


class ThreadPool(Generic[T]):
    """Runs coroutines that never suspend (see `step`) in threads. After `leave`, a thread ends with its current I/O.

    `lane` makes an I/O with an HTTP client of its own for each thread; without it all share `io`. Separate ones are
    faster: for each request, a shared connection pool compares each of its connections with all others.
    """

    def __init__(self, io: IO, lane: Callable[[], IO] | None = None) -> None:
        self._left, self._lane, self._here = threading.Event(), lane, threading.local()
        self._begun: queue.SimpleQueue[Coroutine[Any, Any, T] | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
        self._busy = self._threads = 0  # a thread is started only when all others are busy
        self.io: IO = _ThreadIO(io, self._left, self._here)

    def start(self, work: Coroutine[Any, Any, T]) -> None:
        self._begun.put(work)
        self._busy += 1
        if self._busy > self._threads:
            self._threads += 1
            # A daemon thread: at exit the interpreter must not wait for answers that nothing will read.
            threading.Thread(target=self._work, daemon=True, name="agentsvc-row").start()

    def _work(self) -> None:
        if self._lane:
            self._here.io = self._lane()
        while work := self._begun.get():
            future: Future[T] = Future()
            try:
                future.set_result(step(work))
            except BaseException as error:
                future.set_exception(error)
            self._ended.put(future)
        if self._lane:
            step(self._here.io.close())

    async def next(self, seconds: float) -> T | None:
        try:
            ended = self._ended.get(timeout=min(max(seconds, 0.0), LOOK_SECONDS))
        except queue.Empty:
            return None
        self._busy -= 1
        return ended.result()

    async def leave(self) -> None:
        self._left.set()
        for _ in range(self._threads):
            self._begun.put(None)


class _ThreadIO:
    """The I/O of a pool's threads. Once the pool is left, the next I/O operation of a thread raises `_Left`."""

    def __init__(self, io: IO, left: threading.Event, here: threading.local) -> None:
        self._io, self._left, self._here = io, left, here
        self.close, self.drop, self.now, self.today = io.close, io.drop, io.now, io.today

    async def send(self, request: HttpRequest) -> Response:
        self._go_on()
        lane: IO = getattr(self._here, "io", self._io)
        return await lane.send(request)

    async def read(self, response: Response) -> bytes | None:
        self._go_on()
        return await self._io.read(response)

    async def sleep(self, seconds: float) -> None:
        self._left.wait(seconds)
        self._go_on()

    async def call(self, function: Callable[[], Any]) -> Any:
        return await self._io.call(function)

    def worker_pool(self) -> ThreadPool[Any]:
        return ThreadPool(self)

    def _go_on(self) -> None:
        if self._left.is_set():
            raise _Left


class TaskPool(Generic[T]):
    """Runs coroutines as tasks of the running event loop. Leaving the pool cancels them."""

    def __init__(self, io: IO) -> None:
        self.io = io
        self._tasks: set[asyncio.Task[T]] = set()
        self._ended: asyncio.Queue[asyncio.Task[T]] = asyncio.Queue()

    def start(self, work: Coroutine[Any, Any, T]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended.put_nowait)

    async def next(self, seconds: float) -> T | None:
        try:
            async with asyncio.timeout(min(max(seconds, 0.0), LOOK_SECONDS)):
                task = await self._ended.get()
        except TimeoutError:
            return None
        self._tasks.discard(task)
        return task.result()

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
