"""Worker pools for the operation that does many things at once: threads, or tasks of asyncio."""

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
"""A wait is cut into such pieces: an interrupt does not end a longer one on every system."""


class _Left(BaseException):
    """The pool was left: nobody reads the results of its threads any more."""


class ThreadPool(Generic[T]):
    """Runs coroutines that never suspend in threads. A thread that is left behind ends with its current operation.

    `lane` makes an I/O with a connection of its own for each thread; without it all share `io`. For each request, a
    pool of the HTTP library looks from each of its connections at all of them.
    """

    def __init__(self, io: IO, lane: Callable[[], IO] | None = None) -> None:
        self._left, self._lane, self._here = threading.Event(), lane, threading.local()
        self._begun: queue.SimpleQueue[Coroutine[Any, Any, T] | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
        self._busy = self._threads = 0
        self.io: IO = _ThreadIO(io, self._left, self._here)

    def start(self, work: Coroutine[Any, Any, T]) -> None:
        self._begun.put(work)
        self._busy += 1
        if self._busy > self._threads:
            self._threads += 1
            # A daemon: the interpreter must not wait at exit for answers that are not read.
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
    """The I/O of a pool's threads. Once the pool is left, the next operation of a thread ends it."""

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
