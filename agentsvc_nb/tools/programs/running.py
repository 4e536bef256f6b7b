"""Run programs in a sandbox that keeps their variables: start and end it, exchange files with it, read its output and
watch its memory and processes."""

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
"""What all processes of a program may use together, and the address space of each."""
PROCESSES_MAX: Final = 32
FILES_MAX: Final = 10_000
RESULTS_MAX: Final = 100
PRINTED_MAX: Final = 16_000_000
"""A program that prints more is ended."""
PRINTED_KEPT: Final = 20_000
GRACE_SECONDS: Final = 15.0
"""How long the sandbox may take to be made, and to hand out the files."""
WATCH_SECONDS: Final = 0.1
IDLE_SECONDS: Final = 600.0
"""How long variables are kept while no program runs: a run may wait for days for its user."""
IDLE_MAX: Final = 4
"""Interpreters that wait for their next program; further ones end the one that has waited longest."""
NEW_ATTEMPT: Final = "the run was interrupted, and goes on in a new process"
_LOST: Final = "their sandbox ended, or had no room for the chat's new files"
_ENDED: Final = {"exit": "the last program ended its process, or left others behind", "lost": _LOST}
_STOPPED: Final = "the last program was stopped at a limit"
_OWN_PROCESSES: Final = 2
"""Bubblewrap, and the first process of the sandbox."""
_PIECE: Final = 1 << 16
_SOCKETS: Final = re.compile(rb"sockets: used (\d+)")
_BUFFER_BYTES: Final = 212_992
"""Of a socket, where the kernel does not say its default."""
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
    """A file of the chat that a program gets. `open` is called if the sandbox does not have its content already."""

    path: str
    size: int
    sha256: str
    open: Callable[[], AbstractAsyncContextManager[Path]]


@dataclass(frozen=True, slots=True)
class Program:
    """Python source, how long it may take, and the files that it gets."""

    code: str
    seconds: float
    files: Sequence[InputFile] = ()


@dataclass(slots=True)
class Ending:
    """How a program ended.

    Attributes:
        how: `exit`, `time`, `files`, `memory`, `processes`, `printed`, or `lost` if the sandbox ended before it.
        code: its exit code.
        left_out: the number of files that it wrote and that were too many or too large to be kept.
        alive: True if its process has stopped, alone, and another program can go on with its variables.
        gone: why the variables of earlier programs were gone, as a clause; empty if they were not.
    """

    how: str = "lost"
    code: int = 0
    printed: str = ""
    left_out: int = 0
    alive: bool = False
    gone: str = ""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A sandbox that was started; `handle` is its process's, whose number may by now be another's."""

    process: Process
    handle: int
    input: asyncio.StreamWriter
    results: asyncio.StreamReader
    printed: asyncio.StreamReader

    async def run(self, program: Program, keep: Keep) -> Ending | None:
        """Run the program; each file that it wrote or changed is given to `keep`. None if it was not begun: the sandbox
        has ended, or no room for the files."""
        # The sandbox prints the mark when the program has ended: until then all that is printed is the program's.
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
        # All have stopped. Only the process of the programs may be there again for the next one.
        processes, _ = await asyncio.to_thread(measure_usage, self.process.pid)
        ending.alive = ending.alive and ending.how == "exit" and processes <= _OWN_PROCESSES + 1
        return ending

    async def _send(self, program: Program, mark: str) -> bool:
        """Send the program, and of its files those that the sandbox lacks. Return False if that failed."""
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
        # Not by the `Process`: its `kill` may take the exit code that asyncio waits for.
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    async def close(self) -> None:
        """End the sandbox with all of its processes, and read its pipes to their end: they are closed only then."""
        self.kill()
        os.close(self.handle)
        # Not to be cancelled half-way: what this waits for takes milliseconds.
        await asyncio.shield(asyncio.gather(self.results.read(), self.printed.read(), self.process.wait()))


async def start(confinement: Confinement, files: Sequence[InputFile] = ()) -> Sandbox:
    """Start a sandbox with room for these files. It also ends with this process: its standard input is then closed, and
    the kernel ends what bubblewrap has started when that has ended."""
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
    """Runs programs one after the other in a sandbox that keeps their variables. After the sandbox has ended, the next
    program gets a new one.

    Args:
        idle: the interpreters of this process that have variables and no program now, the oldest first, with the tasks
            that end them later.
        gone: why there are no variables now, if there were some.
    """

    def __init__(self, idle: dict[Interpreter, asyncio.Task[None]], confinement: Confinement, gone: str = "") -> None:
        self._idle = idle
        self._confinement = confinement
        self._gone = gone
        self._sandbox: Sandbox | None = None

    async def run(self, program: Program, keep: Keep) -> Ending:
        """Run the program; each file that it wrote or changed is given to `keep`."""
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
        """End the sandbox. The next result says why the variables are gone."""
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
    """Read how the program ended, and its files. Check every message: they come from within the sandbox, and may end
    anywhere."""
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
    """Read what the program prints, up to the mark."""
    found, end = bytearray(), -1
    try:
        while end < 0 and (piece := await sandbox.printed.read(_PIECE)):
            searched = max(len(found) - len(mark), 0)
            found += piece
            end = found.find(mark, searched)
            if len(found) > PRINTED_MAX:
                ending.how = "printed"
                return sandbox.kill()
    finally:  # also after its time
        ending.printed = _shorten(found if end < 0 else found[:end])


def _shorten(printed: bytearray) -> str:
    half = PRINTED_KEPT // 2
    if (left_out := len(printed) - 2 * half) > 0:
        printed[half:-half] = f"\n[... {left_out:,} bytes left out ...]\n".encode()
    return printed.decode("utf-8", "replace")


async def _watch(sandbox: Sandbox, ending: Ending) -> None:
    """Kill the sandbox once its processes together have too much memory, or are too many."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        processes, memory = await asyncio.to_thread(measure_usage, sandbox.process.pid)
        if memory > MEMORY_BYTES or processes > PROCESSES_MAX + _OWN_PROCESSES:
            ending.how = "memory" if memory > MEMORY_BYTES else "processes"
            return sandbox.kill()


def measure_usage(root: int) -> tuple[int, int]:
    """Return the number of processes of a tree, its root included, and their memory in bytes, including what sockets of
    the sandbox may hold."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _read(f"/proc/{name}/stat")):
            children.setdefault(int(stat.rpartition(b")")[2].split()[1]), []).append(int(name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    # The second is the first of the sandbox, in whose network namespace all others are, too.
    sockets = _socket_buffers(found[1]) if len(found) > 1 else 0
    return len(found), sockets + sum(_memory_of(pid) for pid in found)


def _memory_of(pid: int) -> int:
    """Return a process's memory without files. Pages that a child still shares with its parent count for both."""
    lines = (line.split() for line in _read(f"/proc/{pid}/status").splitlines())
    return sum(int(line[1]) * 1024 for line in lines if line[0] in (b"RssAnon:", b"RssShmem:", b"VmSwap:"))


def _socket_buffers(pid: int) -> int:
    """Return the most that the sockets in a process's network namespace may hold. The kernel does not say more."""
    used = _SOCKETS.match(_read(f"/proc/{pid}/net/sockstat"))
    return int(used[1]) * _buffer_bytes() if used else 0


@cache
def _buffer_bytes() -> int:
    # A buffer that is not quite full takes one more message, which may be as large.
    return 2 * int(_read("/proc/sys/net/core/wmem_default") or _BUFFER_BYTES)


def _read(path: str) -> bytes:
    # Not by `Path`: a few hundred of these are read ten times a second. A process may have ended meanwhile.
    with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
        return file.read(_PIECE)
    return b""
