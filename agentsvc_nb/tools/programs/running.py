"""Runs one program in its sandbox: starts it, reads what it prints, watches what it uses, and takes its files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

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
_PIECE: Final = 1 << 16
_SOCKETS: Final = re.compile(rb"sockets: used (\d+)")
_BUFFER_BYTES: Final = 212_992
"""Of a socket, where the kernel does not say its default."""
_LIMITS: Final = {
    "RLIMIT_AS": MEMORY_BYTES,
    "RLIMIT_FSIZE": WORK_BYTES,
    "RLIMIT_NOFILE": 128,
    "RLIMIT_NPROC": PROCESSES_MAX,
    "RLIMIT_CORE": 0,
    "RLIMIT_MEMLOCK": 0,
}

FONTS_SECONDS: Final = 60.0
log = logging.getLogger(__name__)

Keep = Callable[[str, bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Program:
    """Python source, and how long it may take."""

    code: str
    seconds: float
    confinement: Confinement = field(default_factory=Confinement)

    @property
    def request(self) -> bytes:
        """What the sandbox's first process is told, as a line."""
        told: dict[str, Any] = {
            "code": self.code,
            "seconds": self.seconds,
            "shown": list(self.confinement.shown),
            "packages": [PACKAGES_AT],
            "user": self.confinement.user,
            "limits": _LIMITS,
            "files_max": FILES_MAX,
            "results_max": RESULTS_MAX,
            "result_bytes": WORK_BYTES,
            "file_bytes": FILE_MAX_BYTES,
        }
        return json.dumps(told).encode() + b"\n"


@dataclass(slots=True)
class Ending:
    """How a program ended: `how` is `exit`, `time`, `files`, `memory`, `processes`, `printed` or `lost`, and
    `code` its exit code."""

    how: str = "lost"
    code: int = 0
    printed: str = ""
    left_out: int = 0
    """The number of files that it wrote and that were too many or too large to be kept."""


async def run(program: Program, keep: Keep) -> Ending:
    """Run the program; each file that it wrote is given to `keep`. No process is left when this returns or raises."""
    ending = Ending()
    printed = _Printed()
    async with _started(program.confinement) as sandbox:
        sandbox.input.write(program.request)
        work = [
            asyncio.create_task(_results(sandbox.results, ending, keep)),
            asyncio.create_task(printed.read(sandbox, ending)),
        ]
        watch = asyncio.create_task(_watch(sandbox, ending))
        try:
            async with asyncio.timeout(program.seconds + GRACE_SECONDS):
                await asyncio.gather(*work)
        except TimeoutError:
            ending.how = "time"
        finally:
            for task in (*work, watch):
                task.cancel()
            await asyncio.gather(*work, watch, return_exceptions=True)
    ending.printed = printed.text
    return ending


@dataclass(frozen=True, slots=True)
class _Sandbox:
    """A sandbox that was started; `handle` is its process's, whose number may by now be another's."""

    process: Process
    handle: int
    input: asyncio.StreamWriter
    results: asyncio.StreamReader
    printed: asyncio.StreamReader

    def kill(self) -> None:
        if sys.platform != "linux":
            raise NotImplementedError(NOT_LINUX)
        self.input.close()
        # Not by the `Process`: its `kill` may take the exit code that asyncio waits for.
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    async def ended(self) -> None:
        """Wait for the end; what the pipes still hold is read, for they are closed only then."""
        await asyncio.gather(self.results.read(), self.printed.read(), self.process.wait())


@contextlib.asynccontextmanager
async def _started(confinement: Confinement) -> AsyncIterator[_Sandbox]:
    """The sandbox, which ends with this context, and with this process: its standard input is then closed, and the
    kernel ends what bubblewrap has started when that has ended."""
    if sys.platform != "linux":
        raise NotImplementedError(NOT_LINUX)
    for file in confinement.shown.values() if confinement.user else ():
        # The folder of the file is private; bound alone, it is read by a user who is not its owner.
        await asyncio.to_thread(_let_read, file)
    with confinement.command([SUPERVISOR]) as (command, handles):
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, pass_fds=handles, env=environment(), start_new_session=True
        )
    assert process.stdin and process.stdout and process.stderr  # noqa: PT018
    sandbox = _Sandbox(process, os.pidfd_open(process.pid), process.stdin, process.stdout, process.stderr)
    try:
        yield sandbox
    finally:
        sandbox.kill()
        os.close(sandbox.handle)
        # Not to be cancelled half-way: what this waits for takes milliseconds.
        await asyncio.shield(sandbox.ended())


def _let_read(file: Path) -> None:
    mode = file.stat().st_mode
    if not mode & 0o004:
        file.chmod(mode & 0o777 | 0o044)


async def _results(stream: asyncio.StreamReader, ending: Ending, keep: Keep) -> None:
    """Read how the program ended, and its files. What is said comes from within the sandbox: it is checked, and its end
    may come at any place."""
    room = WORK_BYTES
    with contextlib.suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, KeyError, TypeError):
        while told := read_json(await stream.readuntil()):
            match told:
                case {"how": "exit" | "time" | "files" as how, "code": int(code)}:
                    ending.how, ending.code = how, code
                case {"path": str(path), "size": int(size)} if 0 <= size <= room:
                    room -= size
                    await keep(path, await stream.readexactly(size))
                case {"left_out": int(count)}:
                    ending.left_out += count
                case _:
                    return


class _Printed:
    """The beginning and the end of what a program prints."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._size = 0

    async def read(self, sandbox: _Sandbox, ending: Ending) -> None:
        while piece := await sandbox.printed.read(_PIECE):
            self._size += len(piece)
            room = PRINTED_KEPT // 2 - len(self._head)
            self._head += piece[: max(room, 0)]
            self._tail = (self._tail + piece[max(room, 0) :])[-PRINTED_KEPT // 2 :]
            if self._size > PRINTED_MAX:
                ending.how = "printed"
                sandbox.kill()
                return

    @property
    def text(self) -> str:
        left_out = self._size - len(self._head) - len(self._tail)
        between = f"\n[... {left_out:,} bytes left out ...]\n".encode() if left_out else b""
        return (self._head + between + self._tail).decode("utf-8", "replace")


async def _watch(sandbox: _Sandbox, ending: Ending) -> None:
    """Kill the sandbox once its processes together have too much memory, or are too many."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        processes, memory = await asyncio.to_thread(used_by, sandbox.process.pid)
        # Two are bubblewrap, and the first one of the sandbox.
        if memory > MEMORY_BYTES or processes > PROCESSES_MAX + 2:
            ending.how = "memory" if memory > MEMORY_BYTES else "processes"
            return sandbox.kill()


def used_by(root: int) -> tuple[int, int]:
    """The number of processes that descend from a process, itself among them, and their memory in bytes, with what
    sockets of the sandbox may hold."""
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
    """A process's memory that is not a file's. Pages that a child still shares with its parent count for both."""
    lines = (line.split() for line in _read(f"/proc/{pid}/status").splitlines())
    return sum(int(line[1]) * 1024 for line in lines if line[0] in (b"RssAnon:", b"RssShmem:", b"VmSwap:"))


def _socket_buffers(pid: int) -> int:
    """The most that the sockets in a process's network namespace may hold. The kernel shows for none what it holds."""
    used = _SOCKETS.match(_read(f"/proc/{pid}/net/sockstat"))
    return int(used[1]) * _buffer_bytes() if used else 0


@cache
def _buffer_bytes() -> int:
    # A buffer that is not quite full takes one more message, which may be as large.
    return 2 * int(_read("/proc/sys/net/core/wmem_default") or _BUFFER_BYTES)


def _read(path: str) -> bytes:
    # Not by `Path`: a few hundred of these are read ten times a second.
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # the process has ended
        return b""
    try:
        return os.read(handle, _PIECE)
    except OSError:
        return b""
    finally:
        os.close(handle)


_FONTS: Final = """
import matplotlib.font_manager, os, shutil
for name in os.listdir(os.environ["MPLCONFIGDIR"]):
    if name.startswith("fontlist"):
        shutil.copy(os.path.join(os.environ["MPLCONFIGDIR"], name), name)
"""


async def font_list() -> tuple[str, bytes] | None:
    """The name and content of the list of fonts that matplotlib makes when it has none; None if that failed."""
    found: list[tuple[str, bytes]] = []

    async def keep(path: str, data: bytes) -> None:
        found.append((path, data))

    ending = await run(Program(_FONTS, FONTS_SECONDS), keep)
    if len(found) != 1:
        log.warning("the sandbox's fonts could not be listed (%s): %s", ending.how, ending.printed)
        return None
    return found[0]
