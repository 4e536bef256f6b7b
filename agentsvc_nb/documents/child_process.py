"""Start child processes with limits, to read untrusted files, run untrusted SQL and check untrusted schemas.

A child receives a short list of environment variables and none of the service's keys. Its memory, CPU time and output
are limited. Killing a child also kills every process that it started, and a child ends when its parent ends. On macOS,
a child's memory is not limited. On Windows, the caller's deadline is the only limit (docs/hosts.md).

We use our own `ChildPool`, because `pebble` and `concurrent.futures` pickle answers: if a hostile file took over a
child, the child could run code in its parent. Also, neither library starts a child with a separate environment or kills
the processes that a child started.

`python -m agentsvc_nb.documents.child_process LIMITS MODULE ARGUMENT...` runs in the child, so the child also imports
this module. To keep that import light, modules that only the parent needs are imported inside functions.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from agentsvc_nb import clock
from agentsvc_nb.documents.memory import limit_memory, return_large_buffers

ENVIRONMENT: Final = (*("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "TZ", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR"),)
"""The environment variables that a child inherits. None of them may hold a key."""
START_SECONDS: Final = 60.0
"""The maximum time for a child to import its modules. The time limit of its first question starts afterwards."""
KEPT_BYTES: Final = 150 * 2**20
"""The memory above which the pool replaces a child after an answer, because some libraries never free memory."""
_NICENESS: Final = 5
"""Children run at a lower priority than their parent, which must respond to other callers."""
_PARENT_POLL_SECONDS: Final = 1.0
_LENGTH_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """Holds the limits of a child; None means unlimited. `file_bytes` limits the size of each file that the child
    writes."""

    memory_bytes: int | None = None
    cpu_seconds: int | None = None
    file_bytes: int | None = None


def environment(names: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a child: `variables`, and those variables of this process whose names are in
    `ENVIRONMENT` or `names`."""
    inherited = {name: os.environ[name] for name in (*ENVIRONMENT, *names) if name in os.environ}
    return inherited | dict(variables or {})


class LimitedChild:
    """A child process that runs a module within `limits`.

    An instance is not thread-safe, except for `kill`, `close` and `pid`.

    Args:
        module: the module that runs in the child, with `arguments`.
        folder: the child's working directory.
        names: environment variables that the child inherits in addition to `ENVIRONMENT`.
        variables: more environment variables, with their values.
        log: True to write the child's standard error to that of this process. False discards it.

    Example: `with LimitedChild("decoder", limits=Limits(cpu_seconds=10)) as child: answer = child.ask(b"{}", 20, 1000)`
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        limits: Limits | None = None,
        folder: Path | None = None,
        names: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        log: bool = False,
    ) -> None:
        theirs, ours = os.pipe()
        self._lifeline = os.fdopen(ours, "wb", 0)  # the system closes this pipe when this process ends in any way
        given = json.dumps({"parent": os.getpid(), "lifeline": theirs, **asdict(limits or Limits())})
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "agentsvc_nb.documents.child_process", given, module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if log else subprocess.DEVNULL,
                cwd=folder,
                env=environment(names, variables),
                pass_fds=(theirs,) if os.name == "posix" else (),
                start_new_session=True,  # a separate process group, which can be killed as a whole
            )
        except BaseException:
            self._lifeline.close()
            raise
        finally:
            os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def input(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def ask(self, question: bytes, seconds: float, answer_bytes: int) -> bytes:
        """Send `question` as a line, and return the line that the child answers.

        If the returned line has no line break, the answer is incomplete: the child ended, was killed after `seconds`,
        or sent more than `answer_bytes`.
        """
        with self.deadline(seconds):
            return self.read_line(answer_bytes) if self.write_line(question) else b""

    def write_line(self, line: bytes) -> bool:
        """Send a line to the child. Return False if the child has ended."""
        try:
            self.input.write(line + b"\n")
            self.input.flush()
        except OSError:
            return False
        return True

    def read_line(self, line_bytes: int) -> bytes:
        """Return the next line of output, truncated to `line_bytes` + 1 bytes, or b"" at the end of the output."""
        return self.output.readline(line_bytes + 1)

    @contextlib.contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Kill the child if the `with` block takes longer than `seconds`."""
        alarm = threading.Timer(seconds, self.kill)
        alarm.start()
        try:
            yield
        finally:
            alarm.cancel()

    def wait(self, seconds: float | None = None) -> int | None:
        """Return the child's exit code, or None if the child is still running after `seconds`."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode

    def resident_bytes(self) -> int:
        """Return the child's resident memory in bytes, or 0 if the system does not report it."""
        if sys.platform != "linux":
            return 0
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="utf-8").split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        """Kill the child and all processes that it started."""
        if sys.platform == "win32":
            self._process.kill()
        elif self._process.returncode is None:  # after the child has exited, its id may belong to another process
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill the child, close its pipes and wait for it."""
        self.kill()
        self._lifeline.close()
        with contextlib.suppress(OSError):  # the pipe may still hold an unread question
            self._process.__exit__(None, None, None)


class NoAnswer(Exception):
    """The child gave no answer: it took too long or too much memory, its answer was too large, or it crashed."""


class NoChild(NoAnswer):
    """The pool could not ask the question: no child could start, or the pool is closed."""


class ChildPool:
    """Runs at most `count` children that answer questions in the order in which they are asked. Questions and answers
    are bytes.

    The pool starts a child when it is first needed, and keeps that child for further questions. If a child gives no
    answer, the pool kills it and starts another child for the next question. The pool is thread-safe and works with any
    event loop.

    Args:
        module: the module that runs in the child and calls `answer_questions`.
        limits: the limits of each child. CPU time adds up over all questions of a child.
        folder: the child's working directory.
        kept_bytes: the pool ends a child that uses more memory than this after an answer. With 0, each question gets a
            new child.

    Example: `await pool.ask(b"a question", seconds=5, answer_bytes=1_000)`
    """

    def __init__(
        self, module: str, limits: Limits, count: int = 2, folder: Path | None = None, kept_bytes: int = KEPT_BYTES
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._module, self._limits, self._folder, self._kept_bytes = module, limits, folder, kept_bytes
        # The pool has its own thread pool, which queues the questions, because other work may occupy the default one
        # for long.
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=module.rpartition(".")[2])
        self._lock = threading.Lock()
        self._idle: list[LimitedChild] = []
        self._asked: set[_Question] = set()
        self._closed = False

    async def ask(self, question: bytes | None, seconds: float, answer_bytes: int) -> bytes:
        """Return a child's answer to `question`. The child may take `seconds` from when it receives the question.

        If `question` is None, start a child and return b"". If the task is cancelled, the pool withdraws the question
        and kills the child that works on it, if any.

        Raises:
            NoAnswer: the child did not answer within its limits.
            NoChild: no child could start, or the pool is closed.
        """
        import asyncio

        asked = _Question(question, seconds, answer_bytes)
        try:
            answering = asyncio.get_running_loop().run_in_executor(self._threads, self._answer, asked)
        except RuntimeError as error:  # no thread can start, or the pool is closed
            raise NoChild(str(error)) from None
        try:
            return await answering
        except asyncio.CancelledError:
            self._withdraw(asked)
            raise

    def ask_now(self, question: bytes, seconds: float, answer_bytes: int) -> bytes:
        """Do the same as `ask`, but without an event loop: block until the child answers."""
        try:
            answering = self._threads.submit(self._answer, _Question(question, seconds, answer_bytes))
        except RuntimeError as error:
            raise NoChild(str(error)) from None
        return answering.result()

    async def warm(self) -> None:
        """Start a child for the next question, unless one is idle."""
        if not self._idle:
            with contextlib.suppress(NoAnswer):
                await self.ask(None, 0, 0)

    def close(self) -> None:
        """Kill the children and wait until they have ended. `ask` raises `NoAnswer` for questions in progress."""
        self._closed = True
        for asked in [*self._asked]:
            self._withdraw(asked)
        self._threads.shutdown()
        for child in self._idle:
            child.close()
        self._idle.clear()

    def _answer(self, asked: _Question) -> bytes:
        """Send the question to a child and return its answer. Runs in a thread of the pool."""
        self._asked.add(asked)
        try:
            child = self._take_child(asked)
            answered = False
            try:
                answer = _exchange(child, asked)
                answered = True
            finally:
                self._give_back(child, asked, answered)
            return answer
        finally:
            self._asked.discard(asked)

    def _take_child(self, asked: _Question) -> LimitedChild:
        """Return a child that is ready for the question: an idle child, or else a new one."""
        with contextlib.suppress(IndexError):  # `pop` raises it if no child is idle
            while (child := self._idle.pop()).wait(0) is not None:
                child.close()  # the system killed the child while it was idle
            self._assign(child, asked)
            return child
        if self._closed:
            raise NoChild("the pool is closed")
        try:
            child = LimitedChild(self._module, limits=self._limits, folder=self._folder)
        except OSError as error:
            raise NoChild(str(error)) from None
        self._assign(child, asked)
        try:
            with child.deadline(START_SECONDS):
                _read(child.output, 0)
        except (OSError, EOFError) as error:
            self._give_back(child, asked, False)
            raise NoChild(str(error) or "the child ended before its first question") from None
        return child

    def _assign(self, child: LimitedChild, asked: _Question) -> None:
        with self._lock:
            asked.child = child
            if asked.withdrawn or self._closed:
                child.kill()

    def _withdraw(self, asked: _Question) -> None:
        """Kill the child that works on the question, if any. `_assign` kills a child that takes the question later."""
        with self._lock:
            asked.withdrawn = True
            if asked.child is not None:
                asked.child.kill()

    def _give_back(self, child: LimitedChild, asked: _Question, answered: bool) -> None:
        """Keep the child for the next question if it answered and uses little memory. Otherwise, end it."""
        fits = answered and child.resident_bytes() < self._kept_bytes
        with self._lock:
            asked.child = None
            if fits and not asked.withdrawn and not self._closed:
                self._idle.append(child)
                return
        child.close()


@dataclass(slots=True, eq=False)
class _Question:
    """A question in progress, and the child that works on it."""

    data: bytes | None
    seconds: float
    answer_bytes: int
    child: LimitedChild | None = None
    withdrawn: bool = False


def _exchange(child: LimitedChild, asked: _Question) -> bytes:
    """Send the question to the child and return the child's answer. Raises `NoAnswer`."""
    if asked.data is None:
        return b""
    try:
        with child.deadline(asked.seconds):
            _write(child.input, asked.data)
            return _read(child.output, asked.answer_bytes)
    except (OSError, EOFError) as error:
        raise NoAnswer(str(error) or "the child has ended") from None


def answer_questions(answer: Callable[[bytearray], bytes]) -> None:
    """Run in the child: call `answer` for each question until none is left. An exception of `answer` ends the child."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    assert isinstance(questions, BufferedReader)
    with contextlib.redirect_stdout(sys.stderr):
        _write(answers, b"")  # signals that this process has imported its modules
        while head := questions.read(_LENGTH_BYTES):
            question = bytearray(int.from_bytes(head))
            questions.readinto(question)
            _write(answers, answer(question))


def _write(to: IO[bytes], message: bytes) -> None:
    to.write(len(message).to_bytes(_LENGTH_BYTES))
    to.write(message)
    to.flush()


def _read(source: IO[bytes], most: int) -> bytes:
    """Read the next message from `source`. Raises `EOFError` if it is incomplete or longer than `most` bytes."""
    head = source.read(_LENGTH_BYTES)
    length = int.from_bytes(head)
    if len(head) < _LENGTH_BYTES or length > most:
        raise EOFError("the answer is too long" if length > most else "")
    message = source.read(length)
    if len(message) < length:
        raise EOFError
    return message


def main() -> None:
    given, module, *arguments = sys.argv[1:]
    options = json.loads(given)
    parent, lifeline = options.pop("parent"), options.pop("lifeline")
    _apply_limits(Limits(**options))
    return_large_buffers()
    _kill_with_parent(lifeline)
    if sys.platform != "win32":
        os.nice(_NICENESS)
        threading.Thread(target=_watch_parent, args=[parent], daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _apply_limits(limits: Limits) -> None:
    if limits.memory_bytes is not None:
        limit_memory(limits.memory_bytes)
    if sys.platform != "win32":  # Windows has no resource limits
        import resource

        limited = {
            resource.RLIMIT_CPU: limits.cpu_seconds,
            resource.RLIMIT_FSIZE: limits.file_bytes,
            resource.RLIMIT_CORE: 0,
        }
        for name, value in limited.items():
            if value is not None:
                resource.setrlimit(name, (value, value))


def _kill_with_parent(lifeline: int) -> None:
    """On Linux, make the kernel kill this process group when the parent's end of the pipe `lifeline` closes.

    `_watch_parent` alone is not enough, because its thread cannot run while something holds the interpreter's lock,
    such as a slow regular expression.
    """
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def _watch_parent(parent: int) -> None:
    """Kill this process group when the parent has ended, in case the kernel does not: on other systems, or if the
    parent ended before `_kill_with_parent` was called."""
    while os.getppid() == parent:
        clock.sleep(_PARENT_POLL_SECONDS)
    if sys.platform != "win32":  # `main` does not start this thread on Windows
        os.killpg(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
