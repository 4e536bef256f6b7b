"""The limited child process in which untrusted files are read and untrusted SQL is run.

The child gets a short list of environment variables and none of the service's keys. Its memory, processor time and
output are limited, it is killed with every process that it started, and it ends when its parent ends. macOS does not
limit its memory, and Windows nothing but the caller's deadline (docs/hosts.md).

`python -m agentsvc_nb.documents.sandbox LIMITS MODULE ARGUMENT...` is what runs in the child.
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
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from agentsvc_nb.documents.memory import limit_memory, return_large_buffers

ENVIRONMENT: Final = (*("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "TZ", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR"),)
"""The environment variables that a child inherits. No key may be among them."""
NICENESS: Final = 5
"""Children yield the processor to their parent, which has other callers to answer."""
_PARENT_POLL_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use; None is unlimited. `file_bytes` is the largest file that it may write."""

    memory_bytes: int | None = None
    cpu_seconds: int | None = None
    file_bytes: int | None = None


def environment(names: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The allow-listed variables of this process, those of `names`, and `variables`."""
    inherited = {name: os.environ[name] for name in (*ENVIRONMENT, *names) if name in os.environ}
    return inherited | dict(variables or {})


class LimitedChild:
    """A child process that runs a module within `limits`. For one thread at a time, except `kill`, `close` and `pid`.

    The child's environment is the variables of `ENVIRONMENT` and of `names`, and `variables`. With `log`, its standard
    error is this process's; else it is discarded.

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
        self._lifeline = os.fdopen(ours, "wb", 0)  # closed by the system when this process ends, however it ends
        told = json.dumps({"parent": os.getpid(), "lifeline": theirs, **asdict(limits or Limits())})
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "agentsvc_nb.documents.sandbox", told, module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if log else subprocess.DEVNULL,
                cwd=folder,
                env=environment(names, variables),
                pass_fds=(theirs,) if os.name == "posix" else (),
                start_new_session=True,  # a group of its own, to be killed as one
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
        """The child's standard input."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def output(self) -> IO[bytes]:
        """The child's standard output."""
        assert self._process.stdout is not None
        return self._process.stdout

    def ask(self, question: bytes, seconds: float, answer_bytes: int) -> bytes:
        """Send a line and return the child's answer, a line.

        An answer without a line break is incomplete: the child has ended or was killed after `seconds`, or the answer
        is longer than `answer_bytes`.
        """
        with self.deadline(seconds):
            return self.read_line(answer_bytes) if self.write_line(question) else b""

    def write_line(self, line: bytes) -> bool:
        """Send a line; False when the child is gone."""
        try:
            self.input.write(line + b"\n")
            self.input.flush()
        except OSError:
            return False
        return True

    def read_line(self, line_bytes: int) -> bytes:
        """The next line of output, cut to `line_bytes` + 1 bytes; empty at the end of the output."""
        return self.output.readline(line_bytes + 1)

    @contextlib.contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Kill the child if the block takes longer."""
        alarm = threading.Timer(seconds, self.kill)
        alarm.start()
        try:
            yield
        finally:
            alarm.cancel()

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code; None when the child is still running after `seconds`."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode

    def resident_bytes(self) -> int:
        """The child's memory; 0 where the system does not say."""
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
        elif self._process.returncode is None:  # after `wait`, its id may be another process's
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill the child, close its pipes and wait for it."""
        self.kill()
        self._lifeline.close()
        with contextlib.suppress(OSError):  # the pipe may still hold a question that the child did not read
            self._process.__exit__(None, None, None)


def main() -> None:
    told, module, *arguments = sys.argv[1:]
    given = json.loads(told)
    parent, lifeline = given.pop("parent"), given.pop("lifeline")
    _apply(Limits(**given))
    return_large_buffers()
    _die_with(lifeline)
    if sys.platform != "win32":
        os.nice(NICENESS)
        threading.Thread(target=_end_with, args=[parent], daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _apply(limits: Limits) -> None:
    if limits.memory_bytes is not None:
        limit_memory(limits.memory_bytes)
    if sys.platform != "win32":  # it has no such limits
        import resource

        limited = {
            resource.RLIMIT_CPU: limits.cpu_seconds,
            resource.RLIMIT_FSIZE: limits.file_bytes,
            resource.RLIMIT_CORE: 0,
        }
        for name, value in limited.items():
            if value is not None:
                resource.setrlimit(name, (value, value))


def _die_with(lifeline: int) -> None:
    """On Linux, have the kernel kill the process group when the other end of the pipe `lifeline` is closed.

    The thread of `_end_with` never runs while the interpreter's lock is held, as by a long regular expression.
    """
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def _end_with(parent: int) -> None:
    """Kill the process group once the parent is gone: where the kernel can't, and if it was gone before `_die_with`."""
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_SECONDS)
    if sys.platform != "win32":  # where this is not begun
        os.killpg(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
