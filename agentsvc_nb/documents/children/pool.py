"""A pool of kept child processes that answer questions: bytes in, bytes out.

A child is a `LimitedChild` whose module calls `answer_questions`. Questions and answers are preceded by their length.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path
from typing import IO, Final

from agentsvc_nb.documents.children.fairness import FairTurns
from agentsvc_nb.documents.sandbox import LimitedChild, Limits

CHILDREN: Final = 2
START_SECONDS: Final = 60.0
"""How long a child may take to import what it needs; that is no part of a question's own time."""
KEPT_BYTES: Final = 150 * 2**20
"""A child that has more memory after an answer is not kept: a library may never give it back."""
SENT_BYTES: Final = 256 * 1024
"""Of a large question that are sent at once."""
_LENGTH_BYTES: Final = 8


class NoAnswer(Exception):
    """The question took too long or too much memory, its answer is too large, the child crashed, or the pool is
    closed."""


class NoChild(NoAnswer):
    """The question was not asked, through no fault of its own: no child could be started, or the pool is closed."""


class ChildPool:
    """At most `count` children, each started when it is first needed and kept for many questions. A child that gives no
    answer is killed; the next question gets another. For one event loop, but its threads are its own.

    Args:
        module: what runs in the child, such as `agentsvc_nb.documents.documents`.
        limits: of each child for its whole life: leave `cpu_seconds` out.
        folder: where it works.
        kept_bytes: a child that has more memory after an answer is not kept.

    Example: `await pool.ask(b"a question", seconds=5, answer_bytes=1_000, account="acct_1")`
    """

    def __init__(
        self,
        module: str,
        limits: Limits,
        count: int = CHILDREN,
        folder: Path | None = None,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._workers = [_Worker(module, limits, folder, kept_bytes) for _ in range(count)]
        self._idle = list(self._workers)
        self._turns = FairTurns(count)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=module.rpartition(".")[2])
        self._closed = False

    async def ask(
        self, question: bytes | None, seconds: float, answer_bytes: int, account: str, body: bytearray | None = None
    ) -> bytes:
        """The answer of a child, which may take `seconds` once it is the question's turn (`FairTurns`).

        `body` is the rest of the question, and is emptied while it is sent.

        Raises `NoAnswer` and `NoChild`. When the task is cancelled, the question is withdrawn, or its child killed.
        """
        await self._turns.take(account)
        if self._closed:
            self._turns.give_back(account)
            raise NoChild("the pool is closed")
        worker, loop = self._idle.pop(), asyncio.get_running_loop()
        try:
            asking = loop.run_in_executor(self._threads, worker.ask, question, body, seconds, answer_bytes)
        except RuntimeError as error:  # no thread can be started, or the pool was closed meanwhile
            self._idle.append(worker)
            self._turns.give_back(account)
            raise NoChild(str(error)) from None
        asking.add_done_callback(lambda asked: self._give_back(worker, account, asked))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            if not asking.done():  # else the worker may have the next question already
                worker.stop()
            raise

    async def warm(self) -> None:
        """Start the child that is asked next, unless it is there."""
        if self._idle and not self._idle[-1].started:
            with contextlib.suppress(NoAnswer):
                await self.ask(None, 0, 0, "")

    def close(self) -> None:
        """Kill the children and wait for their end. Whoever still waits gets `NoAnswer`."""
        self._closed = True
        for worker in self._workers:
            worker.stop()
        self._threads.shutdown()
        for worker in self._workers:
            worker.close()

    def _give_back(self, worker: _Worker, account: str, asked: asyncio.Future[bytes]) -> None:
        if not asked.cancelled():
            asked.exception()  # retrieved here, as nobody may wait for it any more: asyncio would log a traceback
        worker.stopped = self._closed
        self._idle.append(worker)  # taken first: a second child is started only for questions at the same time
        self._turns.give_back(account)


class _Worker:
    """The place of one child. For one thread at a time, except `stop`."""

    def __init__(self, module: str, limits: Limits, folder: Path | None, kept_bytes: int) -> None:
        self._module, self._limits, self._folder, self._kept_bytes = module, limits, folder, kept_bytes
        self._child: LimitedChild | None = None
        self.stopped = False
        self._killed = False

    @property
    def started(self) -> bool:
        return self._child is not None

    def ask(self, question: bytes | None, body: bytearray | None, seconds: float, answer_bytes: int) -> bytes:
        """Without a question the child is only started. Raises `NoAnswer` and `NoChild`."""
        if self._killed or (self._child is not None and self._child.wait(0) is not None):
            self.close()  # killed for a question that nobody waited for, or by the system while it was idle
        try:
            child = self._child or self._start()
        except (OSError, EOFError) as error:
            self.close()
            raise NoChild(str(error) or "the child ended before its first question") from None
        if self.stopped:  # looked at after the child is known, as `stop` sets it before it looks for the child
            raise NoChild("nobody waits for the answer")
        if question is None:
            return b""
        try:
            with child.deadline(seconds):
                _write(child.input, question, body)
                answer = _read(child.output, answer_bytes)
        except (OSError, EOFError) as error:
            self.close()
            raise NoAnswer(str(error) or "the child has ended") from None
        if child.resident_bytes() > self._kept_bytes:
            self.close()
        return answer

    def stop(self) -> None:
        """Kill the child, so that the question that it works on ends."""
        self.stopped = True
        if self._child is not None:
            self._killed = True
            self._child.kill()

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
        self._killed = False

    def _start(self) -> LimitedChild:
        child = self._child = LimitedChild(self._module, limits=self._limits, folder=self._folder)
        with child.deadline(START_SECONDS):
            _read(child.output, 0)
        return child


def answer_questions(answer: Callable[[bytearray], bytes | Sequence[bytes]]) -> None:
    """In the child: answer questions until there are no more. An answer in pieces is not joined. What `answer` raises
    ends the child."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    assert isinstance(questions, BufferedReader)
    with contextlib.redirect_stdout(sys.stderr):
        _write(answers, b"")  # what this process needs is imported
        while head := questions.read(_LENGTH_BYTES):
            question = bytearray(int.from_bytes(head))
            questions.readinto(question)
            said = answer(question)
            del question
            _write(answers, *([said] if isinstance(said, bytes | bytearray) else said))
            del said


def _write(to: IO[bytes], *parts: bytes | bytearray | None) -> None:
    """Send one message. What is sent of a bytearray is taken out of it."""
    to.write(sum(len(part or b"") for part in parts).to_bytes(_LENGTH_BYTES))
    for part in parts:
        if isinstance(part, bytearray):
            while part:
                to.write(part[:SENT_BYTES])
                del part[:SENT_BYTES]
        elif part:
            to.write(part)
    to.flush()


def _read(source: IO[bytes], most: int) -> bytes:
    """The next message. Raises `EOFError` when it is incomplete or too long."""
    head = source.read(_LENGTH_BYTES)
    length = int.from_bytes(head)
    if len(head) < _LENGTH_BYTES or length > most:
        raise EOFError("the answer is too long" if length > most else "")
    message = source.read(length)
    if len(message) < length:
        raise EOFError
    return message
