"""The first process of a sandbox: starts the program, ends it and all that it started, and hands out its files.

It is run as a file by the interpreter within the sandbox, where there is nothing but the standard library. It reads a
line of JSON (`running.Program.request`) from its standard input, which stays open as long as the service waits: at its
end this process ends, and with it, as the first of its process namespace, every other. The program prints into
this process's standard error. The standard output has a line that tells how the program ended, and then each file
that it wrote: a line with path and size, and the content.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn

assert sys.platform == "linux"  # for type checkers of other systems

FILES, WORK = "/files", "/work"
NAME = "program.py"
"""What the program is called in its own tracebacks."""
LOOK_MS = 20


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # without a handler the first process of a namespace ignores it
    request = json.loads(sys.stdin.buffer.readline())
    program = os.fork()
    if program == 0:
        _become_program(request)
    how, code = _wait(program, request)
    _end_all()
    _take_identity(request)
    out = sys.stdout.buffer
    out.write(_line({"how": how, "code": code}))
    out.write(_line({"left_out": _hand_out(request)}))
    out.flush()


def _wait(program: int, request: dict[str, Any]) -> tuple[str, int]:
    """How the program ended (`exit`, `time`, `files`), and its exit code."""
    ends = time.monotonic() + request["seconds"]
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(os.pidfd_open(program), select.POLLIN)
    while True:
        if any(handle == 0 for handle, _ in poll.poll(LOOK_MS)):
            os._exit(1)  # the service is gone, or does not wait any longer
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:  # whoever loses its parent becomes this process's child
                if ended[0] == program:
                    return "exit", os.waitstatus_to_exitcode(ended[1])
        if time.monotonic() > ends:
            return "time", 0
        # A file system in memory bounds the bytes in files, and not how many files there are.
        if any(_files(place) > request["files_max"] for place in (WORK, "/tmp")):
            return "files", 0


def _files(place: str) -> int:
    found = os.statvfs(place)
    return found.f_files - found.f_ffree


def _end_all() -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # all but this one
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def _take_identity(request: dict[str, Any]) -> None:
    """Become the unprivileged user of this sandbox, if there is one."""
    if user := request["user"]:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def _become_program(request: dict[str, Any]) -> NoReturn:
    """Run the program in this process, with its limits, and exit."""
    os.dup2(2, 1)
    os.close(0)
    os.open("/dev/null", os.O_RDONLY)  # the lowest number that is free
    _take_identity(request)
    for name, value in request["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    os.nice(10)
    _show_files(request["shown"])
    sys.path[:] = [*(path for path in sys.path if path.startswith("/python/")), *request["packages"], WORK]
    sys.argv = [NAME]
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    code = 1
    try:
        code = _run(request["code"])
        sys.stdout.flush()
    except BaseException as error:  # a broken pipe, or an exit handler's mistake
        print(error, file=sys.stderr)
    os._exit(code)


def _run(source: str) -> int:
    """The exit code of the program, after its traceback is printed, if it has one."""
    import gc
    import linecache
    import site
    import threading
    import traceback
    import types

    site.setquit()
    # What is imported stays: to look for garbage in it as often as Python does takes a tenth of the import's time.
    gc.set_threshold(10_000, 10, 10)
    linecache.cache[NAME] = (len(source), None, source.splitlines(True), NAME)
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    sys.addaudithook(_copy_before_writing)
    try:
        exec(compile(source, NAME, "exec"), module.__dict__)
        threading._shutdown()  # type: ignore[attr-defined]  # as at an interpreter's end: wait for its threads
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    except BaseException as error:
        sys.stdout.flush()
        after = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(type(error), error, after)
        return 1
    return 0


def _show_files(shown: list[str]) -> None:
    """Links to the chat's files, which can only be read."""
    for number, path in enumerate(shown):
        with contextlib.suppress(OSError):  # a file `a` and a file `a/b` can't both be there
            os.makedirs(os.path.dirname(os.path.join(WORK, path)), exist_ok=True)
            os.symlink(f"{FILES}/{number}", os.path.join(WORK, path))


def _copy_before_writing(event: str, given: tuple[Any, ...]) -> None:
    """Before a file of the chat is opened to be written to, a copy takes the place of the link to it."""
    if event != "open" or not isinstance(given[0], str | bytes) or not given[2] & (os.O_WRONLY | os.O_RDWR):
        return
    path = os.path.join(WORK, os.fsdecode(given[0]))
    if not os.path.islink(path) or not os.readlink(path).startswith(FILES + "/"):
        return
    source = os.readlink(path)
    os.unlink(path)
    if not given[2] & os.O_TRUNC:
        with open(source, "rb") as read, open(path, "xb") as written:
            while piece := read.read(1 << 20):
                written.write(piece)


def _hand_out(request: dict[str, Any]) -> int:
    """Write the program's files to the standard output; the number of those that are too many or too large."""
    count = left_out = 0
    room = request["result_bytes"]
    for path in _regular_files():
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            size = os.fstat(handle).st_size
            if count >= request["results_max"] or size > min(room, request["file_bytes"]):
                left_out += 1
                continue
            count, room = count + 1, room - size
            sys.stdout.buffer.write(_line({"path": os.path.relpath(path, WORK), "size": size}))
            while piece := file.read(1 << 20):
                sys.stdout.buffer.write(piece)
    return left_out


def _regular_files() -> Iterator[str]:
    """The files that the program wrote, but for hidden ones and what Python keeps."""
    folders = [WORK]
    while folders:
        # Not by recursion: a program may nest folders deeper than Python calls.
        with contextlib.suppress(OSError):
            for entry in sorted(os.scandir(folders.pop()), key=lambda entry: entry.name):
                if entry.name.startswith(".") or entry.name == "__pycache__":
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and os.access(entry.path, os.R_OK):
                    yield entry.path


def _line(told: dict[str, Any]) -> bytes:
    return json.dumps(told).encode() + b"\n"


if __name__ == "__main__":
    main()
