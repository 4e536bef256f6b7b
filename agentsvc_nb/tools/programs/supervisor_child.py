"""Run as the supervisor, the first process of a sandbox: start one Python process that executes the programs, stop
processes that they leave, and return their files.

This file is executed directly, so it may import only the standard library. Its argument is `running.SETTINGS` (JSON)
with the `user` for programs. The supervisor reads requests from its standard input, a JSON line each
(`running.Sandbox.run`). The service closes that input when it no longer needs the sandbox. The supervisor then ends. As
it is the first process of its process namespace, the kernel then kills all others in the sandbox.

The response on the standard output has four parts. First comes a line with the indexes of the chat's files that the
sandbox lacks. The service then sends their contents. When the program has ended, a line says how. Then each written
file follows: a line with its path and size, and its content. The last line has the number of files left out. Programs
print to the supervisor's standard error. When a program has ended, the supervisor prints the request's `mark` there.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any, BinaryIO, NoReturn

assert sys.platform == "linux"  # tells type checkers on other systems to skip this module

WORK = "/work"
LOOK_MS = 20


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # by default, the first process of a namespace ignores signals
    settings = json.loads(sys.argv[1])
    if user := settings["user"]:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    folder = WorkFolder(settings)
    interpreter: InterpreterProcess | None = None
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        interpreter = interpreter or InterpreterProcess(settings)
        folder.receive(request["files"])
        how, code = interpreter.run(request["code"], request["seconds"])
        os.write(2, request["mark"].encode())
        _send({"how": how, "code": code, "alive": interpreter.alive})
        _send({"left_out": folder.send_changes()})


class InterpreterProcess:
    """Controls the process that executes programs one after another. Between programs, that process is stopped."""

    def __init__(self, settings: dict[str, Any]) -> None:
        given, self._programs = os.pipe()
        self._codes, ended = os.pipe()
        self._files_max = settings["files_max"]
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._programs)
            os.close(self._codes)
            _become_interpreter(settings, given, ended)
        os.close(given)
        os.close(ended)
        self._poll = select.poll()
        for handle in (0, self._codes, os.pidfd_open(self._pid)):
            self._poll.register(handle, select.POLLIN)
        self.alive = True

    def run(self, code: str, seconds: float) -> tuple[str, int]:
        """Execute a program. Return how it ended (`exit`, `time`, `files`) and its exit code.

        Afterwards, suspend its processes. If a limit stopped it, or the interpreter has ended, kill them instead.
        """
        with contextlib.suppress(OSError):  # the process may have been killed, which `_wait` detects
            os.kill(self._pid, signal.SIGCONT)
            os.write(self._programs, _line({"code": code}))
        how, exit_code = self._wait(seconds)
        self.alive = self.alive and how == "exit"
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGSTOP if self.alive else signal.SIGKILL)  # all processes but this one
        if self.alive:
            self.alive = os.WIFSTOPPED(os.waitpid(self._pid, os.WUNTRACED)[1])
        else:
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.wait()
        return how, exit_code

    def _wait(self, seconds: float) -> tuple[str, int]:
        ends = time.monotonic() + seconds
        while True:
            ready = {handle for handle, _ in self._poll.poll(LOOK_MS)}
            if 0 in ready:
                os._exit(1)  # the service closed the input
            if self._codes in ready and (code := os.read(self._codes, 1)):
                return "exit", code[0]
            with contextlib.suppress(ChildProcessError):
                # Reap all children, because this process inherits orphaned ones.
                while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                    if ended[0] == self._pid:
                        self.alive = False
                        return "exit", os.waitstatus_to_exitcode(ended[1])
            if time.monotonic() > ends:
                return "time", 0
            # A file system in memory limits the size of files but not their number, so check that here.
            found = [os.statvfs(place) for place in (WORK, "/tmp")]
            if any(one.f_files - one.f_ffree > self._files_max for one in found):
                return "files", 0


class WorkFolder:
    """Manages the working folder: receives the chat's files, and returns the files that programs wrote or changed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._known: dict[str, str] = {}
        """The SHA-256 of each file before the current program, by path; empty for files that are too large to keep."""
        self._of_chat: set[str] = set()

    def receive(self, files: list[tuple[str, int, str]]) -> None:
        """Update the chat's files, which are given as (path, size, SHA-256): request those that the folder lacks or has
        with other content, and remove those that were deleted from the chat.

        End the sandbox if there is not enough space for the files.
        """
        listed = {path for path, _, _ in files}
        for path in self._of_chat - listed:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(WORK, path))
        self._of_chat = listed
        wanted = [number for number, (path, _, sha256) in enumerate(files) if self._known.get(path) != sha256]
        room = os.statvfs(WORK)
        if sum(files[number][1] for number in wanted) > room.f_bavail * room.f_frsize:
            os._exit(1)
        _send({"wanted": wanted})
        for number in wanted:
            path, size, self._known[path] = files[number]
            with _new_file(os.path.join(WORK, path)) as file:
                _copy(sys.stdin.buffer, file, size)

    def send_changes(self) -> int:
        """Write new and changed files to standard output. Return how many were left out as too many or too large."""
        count = left_out = 0
        room = self._settings["result_bytes"]
        before, self._known = self._known, {}
        for path in _regular_files():
            name = os.path.relpath(path, WORK)
            try:
                handle = os.open(path, os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                continue
            with open(handle, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                fits = size <= self._settings["file_bytes"]
                self._known[name] = hashlib.file_digest(file, "sha256").hexdigest() if fits else ""
                if self._known[name] == before.get(name):
                    continue
                if count >= self._settings["results_max"] or not fits or size > room:
                    left_out += 1
                    continue
                self._of_chat.add(name)
                count, room = count + 1, room - size
                file.seek(0)
                _send({"path": name, "size": size})
                _copy(file, sys.stdout.buffer, size)
        return left_out


def _new_file(path: str) -> BinaryIO:
    """Open a new file for writing, in place of an old file of this name.

    If the file can't be created, for example because a folder has its name, discard what is written to it.
    """
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return open(path, "xb")
    except OSError:
        return open(os.devnull, "wb")


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    while size and (piece := source.read(min(size, 1 << 20))):
        target.write(piece)
        size -= len(piece)
    target.write(bytes(size))  # fill up with zeros if a process shortened the file meanwhile


def _regular_files() -> Iterator[str]:
    """Yield the paths of the regular files in the working folder, except hidden files and `__pycache__`."""
    folders = [WORK]
    while folders:  # `os.walk` would fail if a program nests folders deeper than Python's recursion limit
        with contextlib.suppress(OSError):
            for entry in sorted(os.scandir(folders.pop()), key=lambda entry: entry.name):
                if entry.name.startswith(".") or entry.name == "__pycache__":
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.path


def _send(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(_line(message))
    sys.stdout.buffer.flush()


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _become_interpreter(settings: dict[str, Any], given: int, ended: int) -> NoReturn:
    """Become the process that executes programs: apply the limits, read programs from `given`, and write each exit code
    to `ended`."""
    import gc
    import site

    os.dup2(2, 1)
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)  # becomes handle 0, the lowest free number
    for name, value in settings["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    os.nice(10)
    sys.path[:] = [*(path for path in sys.path if path.startswith("/python/")), settings["packages"], WORK]
    site.setquit()
    # With Python's defaults, garbage collection takes a tenth of the import time, although modules stay in memory.
    gc.set_threshold(10_000, 10, 10)
    module = sys.modules["__main__"] = ModuleType("__main__")
    own, code = os.getpid(), 0
    with open(given, "rb") as programs:
        for number, line in enumerate(programs, 1):
            code = _run(json.loads(line)["code"], "program.py" if number == 1 else f"program{number}.py", module)
            if os.getpid() != own:  # this is a process that the program forked
                break
            os.write(ended, bytes([code]))
    os._exit(code)


def _run(source: str, name: str, module: ModuleType) -> int:
    """Execute a program and return its exit code. Print the value of its last expression, or its traceback."""
    import linecache
    import traceback

    # Open new streams for each program, because the previous program may have closed or replaced its streams.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = out = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = faults = open(2, "w", 1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.argv = [name]
    os.chdir(WORK)
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    code = 1
    try:
        tree: Any = compile(source, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        last = tree.body[-1] if tree.body and not source.rstrip().endswith(";") else None
        shown = ast.Expression(tree.body.pop().value) if isinstance(last, ast.Expr) else None
        exec(compile(tree, name, "exec", dont_inherit=True), module.__dict__)
        if shown and (value := eval(compile(shown, name, "eval", dont_inherit=True), module.__dict__)) is not None:
            print(_as_text(value), file=out)
        out.flush()
        code = 0
    except SystemExit as error:
        code = error.code & 0xFF if isinstance(error.code, int) else int(error.code is not None)
        if code and not isinstance(error.code, int):
            print(error.code, file=faults)
    except BaseException as error:
        with contextlib.suppress(ValueError, OSError):
            out.flush()
        after = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(type(error), error, after, file=faults)
    with contextlib.suppress(Exception):
        out.flush()
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")  # so that the next program starts a new chart, as the next cell of a notebook does
    return code


def _as_text(value: object) -> str:
    if (pandas := sys.modules.get("pandas")) is None:
        return repr(value)
    with pandas.option_context("display.max_columns", None, "display.width", 1_000):
        return repr(value)


if __name__ == "__main__":
    main()
