"""Run programs in a sandbox that keeps their variables: exchange files, read output, and watch memory and the number of
processes."""

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
"""The limit for the total memory of a program's processes, and for the address space of each process."""
PROCESSES_MAX: Final = 32
FILES_MAX: Final = 10_000
RESULTS_MAX: Final = 100
PRINTED_MAX: Final = 16_000_000
"""The maximum number of printed bytes. A program that prints more is ended."""
PRINTED_KEPT: Final = 20_000
GRACE_SECONDS: Final = 15.0
"""Seconds for creating the sandbox and for returning the files."""
WATCH_SECONDS: Final = 0.1
IDLE_SECONDS: Final = 600.0
"""Seconds for which variables are kept while no program runs. The limit is needed because a run may wait for its user
for days."""
IDLE_MAX: Final = 4
"""The maximum number of interpreters that wait for their next program. If there is one more, the interpreter that has
waited longest is ended."""
NEW_ATTEMPT: Final = "the run was interrupted and continues in a new process"
_LOST: Final = "their sandbox ended, or had no space for the chat's new files"
_ENDED: Final = {"exit": "the last program ended its process, or left others behind", "lost": _LOST}
_STOPPED: Final = "the last program was stopped at a limit"
_OWN_PROCESSES: Final = 2
"""Bubblewrap and the first process of the sandbox."""
_PIECE: Final = 1 << 16
_SOCKETS: Final = re.compile(rb"sockets: used (\d+)")
_BUFFER_BYTES: Final = 212_992
"""The buffer of a socket if the kernel does not report its default."""
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
    """A file of the chat for a program. `open` is called only if the sandbox does not have the content yet."""

    path: str
    size: int
    sha256: str
    open: Callable[[], AbstractAsyncContextManager[Path]]


@dataclass(frozen=True, slots=True)
class Program:
    """Python source, its time limit, and its files."""

    code: str
    seconds: float
    files: Sequence[InputFile] = ()


@dataclass(slots=True)
class Ending:
    """How a program ended.

    Attributes:
        how: `exit`, `time`, `files`, `memory`, `processes`, `printed`, or `lost` if the sandbox ended first.
        code: its exit code.
        left_out: the number of written files that were too many or too large to keep.
        alive: True if only the interpreter's process remains, stopped, so that the next program can use the variables.
        gone: a clause that says why earlier programs' variables were lost; empty if they were not lost.
    """

    how: str = "lost"
    code: int = 0
    printed: str = ""
    left_out: int = 0
    alive: bool = False
    gone: str = ""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A started sandbox. `handle` refers to the sandbox's process, whose process id may be reused by another
    process."""

    process: Process
    handle: int
    input: asyncio.StreamWriter
    results: asyncio.StreamReader
    printed: asyncio.StreamReader

    async def run(self, program: Program, keep: Keep) -> Ending | None:
        """Run the program, and pass each file that it wrote or changed to `keep`.

        Return None if it did not start because the sandbox has ended or lacks room for the files.
        """
        # The sandbox prints the mark when the program has ended. All output before the mark is the program's.
        mark = f"\0{secrets.token_hex(16)}\0"
        if not await self._send(program, mark):
            return None
        ending = Ending()
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
        # All programs have stopped. Only the process that waits for the next program may remain.
        processes, _ = await asyncio.to_thread(measure_usage, self.process.pid)
        ending.alive = ending.alive and ending.how == "exit" and processes <= _OWN_PROCESSES + 1
        return ending

    async def _send(self, program: Program, mark: str) -> bool:
        """Send the program and the files that the sandbox lacks. Return False on failure."""
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
        # Do not use `Process`, whose `kill` may take the exit code for which asyncio waits.
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    async def close(self) -> None:
        """End the sandbox with all its processes, and read its pipes to their end, which closes them."""
        self.kill()
        os.close(self.handle)
        # Shield this from cancellation. The wait takes milliseconds.
        await asyncio.shield(asyncio.gather(self.results.read(), self.printed.read(), self.process.wait()))


async def start(confinement: Confinement, files: Sequence[InputFile] = ()) -> Sandbox:
    """Start a sandbox with room for these files.

    The sandbox ends with this process: its standard input is then closed, and the kernel ends the processes of
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
    program gets a new one.

    Args:
        idle: this process's interpreters that keep variables but run no program, oldest first, with the tasks that will
        end them.
        gone: why variables were lost, if there were any.
    """

    def __init__(self, idle: dict[Interpreter, asyncio.Task[None]], confinement: Confinement, gone: str = "") -> None:
        self._idle = idle
        self._confinement = confinement
        self._gone = gone
        self._sandbox: Sandbox | None = None

    async def run(self, program: Program, keep: Keep) -> Ending:
        """Run the program, and pass each file that it wrote or changed to `keep`."""
        self._stop_waiting()
        ending = None
        try:
            if self._sandbox is not None and (ending := await self._sandbox.run(program, keep)) is None:
                await self._end(_LOST)
            if ending is None:
                self._sandbox = await start(self._confinement, program.files)
                ending = await self._sandbox.run(program, keep) or Ending()
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
        """End the sandbox, if there is one."""
        await self._end("the run has ended")

    async def _end(self, why: str) -> None:
        """End the sandbox. The next result says why the variables are lost."""
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
        del self._idle[self]  # `_end` must not cancel this task
        await self._end(f"no program used them for {IDLE_SECONDS / 60:g} minutes")


async def _read_results(stream: asyncio.StreamReader, ending: Ending, keep: Keep) -> None:
    """Read the program's ending and files. Check each message: the sandbox sends it and may stop anywhere."""
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


async def _read_output(sandbox: Sandbox, mark: bytes, ending: Ending) -> None:
    """Read the program's output up to the mark."""
    found, end = bytearray(), -1
    try:
        while end < 0 and (piece := await sandbox.printed.read(_PIECE)):
            searched = max(len(found) - len(mark), 0)
            found += piece
            end = found.find(mark, searched)
            if len(found) > PRINTED_MAX:
                ending.how = "printed"
                return sandbox.kill()
    finally:  # read on even after the program's time limit
        ending.printed = _shorten(found if end < 0 else found[:end])


def _shorten(printed: bytearray) -> str:
    half = PRINTED_KEPT // 2
    if (left_out := len(printed) - 2 * half) > 0:
        printed[half:-half] = f"\n[... {left_out:,} bytes left out ...]\n".encode()
    return printed.decode("utf-8", "replace")


async def _watch(sandbox: Sandbox, ending: Ending) -> None:
    """Kill the sandbox when its processes use too much memory or there are too many processes."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        processes, memory = await asyncio.to_thread(measure_usage, sandbox.process.pid)
        if memory > MEMORY_BYTES or processes > PROCESSES_MAX + _OWN_PROCESSES:
            ending.how = "memory" if memory > MEMORY_BYTES else "processes"
            return sandbox.kill()


def measure_usage(root: int) -> tuple[int, int]:
    """Return the number of processes in a tree, including its root, and their memory in bytes.

    The memory includes the maximum that the sandbox's sockets may hold.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _read(f"/proc/{name}/stat")):
            children.setdefault(int(stat.rpartition(b")")[2].split()[1]), []).append(int(name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    # The second process is the sandbox's first. All others share its network namespace.
    sockets = _socket_buffers(found[1]) if len(found) > 1 else 0
    return len(found), sockets + sum(_memory_of(pid) for pid in found)


def _memory_of(pid: int) -> int:
    """Return a process's memory without files. Pages that a child shares with its parent are counted for both."""
    lines = (line.split() for line in _read(f"/proc/{pid}/status").splitlines())
    return sum(int(line[1]) * 1024 for line in lines if line[0] in (b"RssAnon:", b"RssShmem:", b"VmSwap:"))


def _socket_buffers(pid: int) -> int:
    """Return the maximum number of bytes in the sockets of a process's network namespace. The kernel reports no exact
    figure."""
    used = _SOCKETS.match(_read(f"/proc/{pid}/net/sockstat"))
    return int(used[1]) * _buffer_bytes() if used else 0


@cache
def _buffer_bytes() -> int:
    # A buffer that is almost full still accepts one more message, which may be as large.
    return 2 * int(_read("/proc/sys/net/core/wmem_default") or _BUFFER_BYTES)


def _read(path: str) -> bytes:
    # `Path` is too slow: this reads a few hundred files ten times a second. A process may end in between.
    with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
        return file.read(_PIECE)
    return b""
