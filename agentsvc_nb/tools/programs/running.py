"""Run programs in a sandbox that keeps their variables, exchange files with it, read output, and limit resources."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from agentsvc_nb.documents.child_process import environment
from agentsvc_nb.tools.programs.confinement import NOT_LINUX, PACKAGES_AT, SUPERVISOR, WORK_BYTES, Confinement
from agentsvc_nb.wire.limits import FILE_MAX_BYTES
from agentsvc_nb.wire.reading import read_json

MEMORY_BYTES: Final = 2_000_000_000
"""The maximum memory of all processes of a program together, and the maximum address space of each process."""
PROCESSES_MAX: Final = 32
FILES_MAX: Final = 10_000
RESULTS_MAX: Final = 100
PRINTED_MAX: Final = 16_000_000
"""The maximum number of bytes that a program may print. A program that prints more is killed."""
PRINTED_KEPT: Final = 20_000
GRACE_SECONDS: Final = 15.0
"""The time for creating the sandbox and for returning the files, in addition to a program's own time limit."""
WATCH_SECONDS: Final = 0.1
IDLE_SECONDS: Final = 600.0
"""How long variables are kept while no program runs, because a run may wait for its user for days."""
IDLE_MAX: Final = 4
"""The maximum number of idle interpreters with variables. If there are more, the one that has waited longest ends."""
NEW_ATTEMPT: Final = "the run was interrupted and continues in a new process"
_LOST: Final = "their sandbox ended, or had no space for the chat's new files"
_ENDED: Final = {"exit": "the last program ended its process, or left others behind", "lost": _LOST}
_STOPPED: Final = "the last program was stopped at a limit"
_OWN_PROCESSES: Final = 2
"""The number of processes besides the program's: bubblewrap and the supervisor (the sandbox's first process)."""
_PIECE: Final = 1 << 16
_SOCKETS: Final = re.compile(rb"sockets: used (\d+)")
_BUFFER_BYTES: Final = 212_992
"""The assumed buffer size of a socket if the kernel does not report its default."""
SETTINGS: Final = {
    "limits": {
        "RLIMIT_AS": MEMORY_BYTES,
        "RLIMIT_FSIZE": WORK_BYTES,
        "RLIMIT_NOFILE": 128,
        "RLIMIT_NPROC": PROCESSES_MAX,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
    },
    "packages": PACKAGES_AT,
    "files_max": FILES_MAX,
    "results_max": RESULTS_MAX,
    "result_bytes": WORK_BYTES,
    "file_bytes": FILE_MAX_BYTES,
}

Keep = Callable[[str, bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of the chat that a program may read. `open` is called only if the sandbox lacks the content."""

    path: str
    size: int
    sha256: str
    open: Callable[[], AbstractAsyncContextManager[Path]]


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its Python source, its time limit, and the files that it may read."""

    code: str
    seconds: float
    files: Sequence[InputFile] = ()


@dataclass(slots=True)
class ProgramResult:
    """Says how a program ended.

    Attributes:
        how: `exit` if the program ended by itself, `lost` if the sandbox ended first, or the limit that it exceeded:
            `time`, `files`, `memory`, `processes`, `printed`.
        code: the program's exit code.
        left_out: the number of written files that were not kept, because they are too many or too large.
        alive: True if the interpreter's process remains and no other, so that the next program can use the variables.
        gone: a clause that says why the variables of earlier programs were lost; empty if none were lost.
    """

    how: str = "lost"
    code: int = 0
    printed: str = ""
    left_out: int = 0
    alive: bool = False
    gone: str = ""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A running sandbox. `handle` is a pidfd, which never refers to another process, as a process id may."""

    process: Process
    handle: int
    input: asyncio.StreamWriter
    results: asyncio.StreamReader
    printed: asyncio.StreamReader

    async def run(self, program: Program, keep: Keep) -> ProgramResult | None:
        """Run the program, and call `keep` with each file that the program wrote or changed.

        Return None if the program did not start, because the sandbox has ended or lacks room for the files.
        """
        # The supervisor prints the mark when the program has ended. Everything before it is the program's output.
        mark = f"\0{secrets.token_hex(16)}\0"
        if not await self._send(program, mark):
            return None
        ending = ProgramResult()
        reading = (_read_results(self.results, ending, keep), _read_output(self, mark.encode(), ending))
        work = [asyncio.create_task(each) for each in reading]
        watch = asyncio.create_task(_watch(self, ending))
        try:
            async with asyncio.timeout(program.seconds + GRACE_SECONDS):
                await asyncio.gather(*work)
        except TimeoutError:
            ending.how = "time"
        finally:
            for task in (*work, watch):
                task.cancel()
            await asyncio.gather(*work, watch, return_exceptions=True)
        # The program has ended. Of its processes, only the interpreter's may remain.
        processes, _ = await asyncio.to_thread(measure_usage, self.process.pid)
        ending.alive = ending.alive and ending.how == "exit" and processes <= _OWN_PROCESSES + 1
        return ending

    async def _send(self, program: Program, mark: str) -> bool:
        """Send the program and the files that the sandbox lacks. Return False if that fails."""
        files = [(file.path, file.size, file.sha256) for file in program.files]
        request = {"code": program.code, "seconds": program.seconds, "files": files, "mark": mark}
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            self.input.write(json.dumps(request).encode() + b"\n")
            async with asyncio.timeout(GRACE_SECONDS):
                answer = read_json(await self.results.readuntil())
            for number in answer["wanted"]:
                async with program.files[number].open() as path:
                    with path.open("rb") as file:
                        while piece := await asyncio.to_thread(file.read, 1 << 20):
                            self.input.write(piece)
                            await self.input.drain()
            return True
        return False

    def kill(self) -> None:
        if sys.platform != "linux":
            raise NotImplementedError(NOT_LINUX)
        self.input.close()
        # Do not call `Process.kill`, because it may reap the process and so take the exit code from asyncio.
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    async def close(self) -> None:
        """Kill the sandbox with all its processes, and read its pipes to the end, so that they are closed."""
        self.kill()
        os.close(self.handle)
        # Do this even if the task is cancelled, because it takes only milliseconds.
        await asyncio.shield(asyncio.gather(self.results.read(), self.printed.read(), self.process.wait()))


async def start(confinement: Confinement, files: Sequence[InputFile] = ()) -> Sandbox:
    """Start a sandbox that has room for these files.

    When this process ends, so does the sandbox: its standard input is closed, and the kernel kills the processes of
    bubblewrap.
    """
    if sys.platform != "linux":
        raise NotImplementedError(NOT_LINUX)
    room = WORK_BYTES + sum(file.size for file in files)
    settings = json.dumps({**SETTINGS, "user": confinement.user})
    with confinement.command([SUPERVISOR, settings], room) as (command, handles):
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, pass_fds=handles, env=environment(), start_new_session=True
        )
    assert process.stdin and process.stdout and process.stderr  # noqa: PT018
    return Sandbox(process, os.pidfd_open(process.pid), process.stdin, process.stdout, process.stderr)


class Interpreter:
    """Runs programs one after another in a sandbox that keeps their variables. If the sandbox has ended, the next
    program starts a new one.

    Args:
        idle: all interpreters of the service that keep variables while no program runs, oldest first, each with the
            task that will end it.
        gone: a clause that says why the variables of an earlier interpreter were lost, or "".
    """

    def __init__(self, idle: dict[Interpreter, asyncio.Task[None]], confinement: Confinement, gone: str = "") -> None:
        self._idle = idle
        self._confinement = confinement
        self._gone = gone
        self._sandbox: Sandbox | None = None

    async def run(self, program: Program, keep: Keep) -> ProgramResult:
        """Run the program, and call `keep` with each file that the program wrote or changed."""
        self._stop_waiting()
        ending = None
        try:
            if self._sandbox is not None and (ending := await self._sandbox.run(program, keep)) is None:
                await self._end(_LOST)
            if ending is None:
                self._sandbox = await start(self._confinement, program.files)
                ending = await self._sandbox.run(program, keep) or ProgramResult()
                ending.gone = self._gone
            return ending
        finally:
            if ending is None or not ending.alive:
                await self._end(_ENDED.get(ending.how, _STOPPED) if ending else _LOST)
            else:
                self._idle[self] = asyncio.create_task(self._end_later())
            if len(self._idle) > IDLE_MAX:
                await next(iter(self._idle))._end("other runs needed the memory")

    async def aclose(self) -> None:
        """End the sandbox if there is one."""
        await self._end("the run has ended")

    async def _end(self, why: str) -> None:
        """End the sandbox if there is one. The result of the next program will say `why` the variables are lost."""
        self._stop_waiting()
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            self._gone = why
            await sandbox.close()

    def _stop_waiting(self) -> None:
        if task := self._idle.pop(self, None):
            task.cancel()

    async def _end_later(self) -> None:
        await asyncio.sleep(IDLE_SECONDS)
        del self._idle[self]  # otherwise, `_end` would cancel this task
        await self._end(f"no program used them for {IDLE_SECONDS / 60:g} minutes")


async def _read_results(stream: asyncio.StreamReader, ending: ProgramResult, keep: Keep) -> None:
    """Read how the program ended, and its files. Check each message, because it is untrusted and may be incomplete."""
    room = WORK_BYTES
    with contextlib.suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, KeyError, TypeError):
        while told := read_json(await stream.readuntil()):
            match told:
                case {"how": "exit" | "time" | "files" as how, "code": int(code), "alive": bool(alive)}:
                    ending.how, ending.code, ending.alive = how, code, alive
                case {"path": str(path), "size": int(size)} if 0 <= size <= room:
                    room -= size
                    await keep(path, await stream.readexactly(size))
                case {"left_out": int(count)}:
                    ending.left_out = count
                    return
                case _:
                    return


async def _read_output(sandbox: Sandbox, mark: bytes, ending: ProgramResult) -> None:
    """Read the program's output up to `mark`, which the supervisor prints when the program has ended.

    Kill the sandbox if the output is too long.
    """
    found, end = bytearray(), -1
    try:
        while end < 0 and (piece := await sandbox.printed.read(_PIECE)):
            searched = max(len(found) - len(mark), 0)
            found += piece
            end = found.find(mark, searched)
            if len(found) > PRINTED_MAX:
                ending.how = "printed"
                return sandbox.kill()
    finally:  # also if the time limit cancels this task
        ending.printed = _shorten(found if end < 0 else found[:end])


def _shorten(printed: bytearray) -> str:
    half = PRINTED_KEPT // 2
    if (left_out := len(printed) - 2 * half) > 0:
        printed[half:-half] = f"\n[... {left_out:,} bytes left out ...]\n".encode()
    return printed.decode("utf-8", "replace")


async def _watch(sandbox: Sandbox, ending: ProgramResult) -> None:
    """Kill the sandbox as soon as its processes use too much memory or are too many."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        processes, memory = await asyncio.to_thread(measure_usage, sandbox.process.pid)
        if memory > MEMORY_BYTES or processes > PROCESSES_MAX + _OWN_PROCESSES:
            ending.how = "memory" if memory > MEMORY_BYTES else "processes"
            return sandbox.kill()


def measure_usage(root: int) -> tuple[int, int]:
    """Return the number of processes in a process tree, including its root, and their memory in bytes.

    The memory includes the maximum that the buffers of the sandbox's sockets may hold.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _read(f"/proc/{name}/stat")):
            children.setdefault(int(stat.rpartition(b")")[2].split()[1]), []).append(int(name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    # The second process is the supervisor, with which all others share the network namespace.
    sockets = _socket_buffers(found[1]) if len(found) > 1 else 0
    return len(found), sockets + sum(_memory_of(pid) for pid in found)


def _memory_of(pid: int) -> int:
    """Return the memory of a process, without mapped files. Pages that a child shares with its parent count twice."""
    lines = (line.split() for line in _read(f"/proc/{pid}/status").splitlines())
    return sum(int(line[1]) * 1024 for line in lines if line[0] in (b"RssAnon:", b"RssShmem:", b"VmSwap:"))


def _socket_buffers(pid: int) -> int:
    """Return the maximum memory of all sockets in a process's network namespace. The kernel reports no actual use."""
    used = _SOCKETS.match(_read(f"/proc/{pid}/net/sockstat"))
    return int(used[1]) * _buffer_bytes() if used else 0


@cache
def _buffer_bytes() -> int:
    # Count each buffer twice, because an almost full one still accepts one more message, which may be as large.
    return 2 * int(_read("/proc/sys/net/core/wmem_default") or _BUFFER_BYTES)


def _read(path: str) -> bytes:
    # `Path` is too slow for a few hundred files ten times a second. A process may end before its file is read.
    with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
        return file.read(_PIECE)
    return b""
