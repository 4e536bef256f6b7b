"""A pool of child processes that answer questions: bytes in, bytes out.

A child is a `LimitedChild` whose module calls `answer_questions`. Questions and answers are preceded by their length.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path
from typing import IO, Final

from agentsvc_nb.documents.sandbox import LimitedChild, Limits

CHILDREN: Final = 2
START_SECONDS: Final = 60.0
"""How long a child may take to import its modules. A question's own time begins afterwards."""
KEPT_BYTES: Final = 150 * 2**20
"""The pool replaces a child that has more memory after an answer: a library may never give it back."""
_LENGTH_BYTES: Final = 8


class NoAnswer(Exception):
    """The question took too long or too much memory, its answer is too large, or the child crashed."""


class NoChild(NoAnswer):
    """The question was not asked, through no fault of its own: no child could start, or the pool is closed."""


class ChildPool:
    """At most `count` children that answer questions in the order in which they are asked.

    The pool starts a child when it is first needed and uses it for many questions. It kills a child that gives no
    answer, and starts another one for the next question. For any thread and event loop.

    Args:
        module: the module that runs in the child, such as `agentsvc_nb.documents.documents`.
        limits: of each child for its whole life.
        folder: the child's working directory.
        kept_bytes: the memory with which a child is used again; 0 starts a child for each question.

    Example: `await pool.ask(b"a question", seconds=5, answer_bytes=1_000)`
    """

    def __init__(
        self,
        module: str,
        limits: Limits,
        count: int = CHILDREN,
        folder: Path | None = None,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._module, self._limits, self._folder, self._kept_bytes = module, limits, folder, kept_bytes
        # Threads of its own: the default pool may be busy with files for long. They also queue the questions.
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=module.rpartition(".")[2])
        self._lock = threading.Lock()
        self._idle: list[LimitedChild] = []
        self._asked: set[_Question] = set()
        self._closed = False

    async def ask(self, question: bytes | None, seconds: float, answer_bytes: int) -> bytes:
        """Return the answer of a child, which has `seconds` once it has the question. None only starts a child.

        When the task is cancelled, the pool withdraws the question and kills a child that works on it.

        Raises:
            NoAnswer: the child did not answer within its limits.
            NoChild: no child could be asked.
        """
        asked = _Question(question, seconds, answer_bytes)
        try:
            answering = asyncio.get_running_loop().run_in_executor(self._threads, self._answer, asked)
        except RuntimeError as error:  # no thread can start, or the pool is closed
            raise NoChild(str(error)) from None
        try:
            return await answering
        except asyncio.CancelledError:
            asked.withdraw()
            raise

    def ask_now(self, question: bytes, seconds: float, answer_bytes: int) -> bytes:
        """`ask`, for callers without an event loop: blocks until the child answers."""
        try:
            return self._threads.submit(self._answer, _Question(question, seconds, answer_bytes)).result()
        except RuntimeError as error:
            raise NoChild(str(error)) from None

    async def warm(self) -> None:
        """Start a child, unless there is an idle one."""
        if not self._idle:
            with contextlib.suppress(NoAnswer):
                await self.ask(None, 0, 0)

    def close(self) -> None:
        """Kill the children and wait for their end. Questions without an answer raise `NoAnswer`."""
        with self._lock:
            self._closed = True
            working = [*self._asked]
        for asked in working:
            asked.withdraw()
        self._threads.shutdown()
        for child in self._idle:
            child.close()
        self._idle.clear()

    def _answer(self, asked: _Question) -> bytes:
        """Ask a child and wait for its answer, in a thread of the pool."""
        with self._lock:
            if self._closed:
                raise NoChild("the pool is closed")
            self._asked.add(asked)
        try:
            child = self._take_child(asked)
            try:
                return asked.send_to(child)
            finally:
                self._give_back(child, asked)
        finally:
            with self._lock:
                self._asked.discard(asked)

    def _take_child(self, asked: _Question) -> LimitedChild:
        while (child := self._pop_idle()) is not None:
            if child.wait(0) is None:
                asked.hold(child)
                return child
            child.close()  # the system killed it while it was idle
        try:
            child = LimitedChild(self._module, limits=self._limits, folder=self._folder)
        except OSError as error:
            raise NoChild(str(error)) from None
        asked.hold(child)
        try:
            with child.deadline(START_SECONDS):
                _read(child.output, 0)
        except (OSError, EOFError) as error:
            asked.release()
            child.close()
            raise NoChild(str(error) or "the child ended before its first question") from None
        return child

    def _pop_idle(self) -> LimitedChild | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, child: LimitedChild, asked: _Question) -> None:
        """Keep the child for the next question, or end it."""
        usable = asked.release() and child.resident_bytes() < self._kept_bytes
        with self._lock:
            if usable and not self._closed:
                self._idle.append(child)
                return
        child.close()


class _Question:
    """A question on its way. `withdraw` may come at any time, from another thread."""

    def __init__(self, question: bytes | None, seconds: float, answer_bytes: int) -> None:
        self._question, self._seconds, self._answer_bytes = question, seconds, answer_bytes
        self._lock = threading.Lock()
        self._child: LimitedChild | None = None
        self._answered = self._withdrawn = False

    def hold(self, child: LimitedChild) -> None:
        """Note the child that works on the question."""
        with self._lock:
            self._child = child
            if self._withdrawn:
                child.kill()

    def release(self) -> bool:
        """Let the child go. Return False if it was killed or has not answered."""
        with self._lock:
            self._child = None
            return self._answered and not self._withdrawn

    def withdraw(self) -> None:
        """Kill the child that works on the question; a child that takes it later dies at once."""
        with self._lock:
            self._withdrawn = True
            if self._child is not None:
                self._child.kill()

    def send_to(self, child: LimitedChild) -> bytes:
        answer = b""
        try:
            if self._question is not None:
                with child.deadline(self._seconds):
                    _write(child.input, self._question)
                    answer = _read(child.output, self._answer_bytes)
        except (OSError, EOFError) as error:
            raise NoAnswer(str(error) or "the child has ended") from None
        self._answered = True
        return answer


def answer_questions(answer: Callable[[bytearray], bytes]) -> None:
    """Answer questions until there are no more, in the child. An error that `answer` raises ends the child."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    assert isinstance(questions, BufferedReader)
    with contextlib.redirect_stdout(sys.stderr):
        _write(answers, b"")  # says that this process has imported its modules
        while head := questions.read(_LENGTH_BYTES):
            question = bytearray(int.from_bytes(head))
            questions.readinto(question)
            _write(answers, answer(question))


def _write(to: IO[bytes], message: bytes) -> None:
    to.write(len(message).to_bytes(_LENGTH_BYTES))
    to.write(message)
    to.flush()


def _read(source: IO[bytes], most: int) -> bytes:
    """Return the next message. Raise `EOFError` if it is incomplete or too long."""
    head = source.read(_LENGTH_BYTES)
    length = int.from_bytes(head)
    if len(head) < _LENGTH_BYTES or length > most:
        raise EOFError("the answer is too long" if length > most else "")
    message = source.read(length)
    if len(message) < length:
        raise EOFError
    return message
