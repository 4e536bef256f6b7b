"""The service as a child process: its command, its log and its exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentsvc_nb.service.folder import LOG_MAX_BYTES, DataFolder

EXIT_HELD: Final = 75  # EX_TEMPFAIL: another server holds the folder (docs/api/embedded.md "The data folder")
END_WITH_PARENT: Final = "--end-with-parent"
TAIL_LINES: Final = 5


class Child:
    """A process `agentsvc serve --data FOLDER ARGUMENTS` that writes to the folder's log.

    It runs in a session of its own, so that neither an interrupt nor the end of a notebook kernel reaches it. With
    `end_with_parent` it ends soon after this process does, even if this process is killed. Raises `OSError`.
    """

    def __init__(
        self,
        folder: DataFolder,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        end_with_parent: bool = False,
    ) -> None:
        folder.make()
        self._log = folder.log
        with contextlib.suppress(OSError):
            if self._log.stat().st_size > LOG_MAX_BYTES:
                folder.put_log_aside()
        with self._log.open("ab") as log:
            self._log_start = log.tell()
            # -P: a `random.py` in the notebook's folder must not become a module of the service.
            command = [sys.executable, "-P", "-m", "agentsvc_nb", "serve", "--data", str(folder.path), *arguments]
            self._process = subprocess.Popen(
                [*command, END_WITH_PARENT] if end_with_parent else command,
                stdin=subprocess.PIPE if end_with_parent else subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
                **_own_session(),
            )
        # The thread reaps the process when it ends, and spares Popen's ResourceWarning. It also holds the pipe open if
        # this object is dropped while the service runs.
        threading.Thread(target=_reap, args=(self._process,), name="service-reaper", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """The exit code; None while the process runs."""
        return self._process.poll()

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float) -> int:
        """Wait for the end; the exit code. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        return self._process.wait(timeout)

    def last_lines(self) -> str:
        """The last lines that this process has logged, for an error message."""
        with contextlib.suppress(OSError), self._log.open("rb") as log:
            log.seek(self._log_start)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-TAIL_LINES:])
        return ""


def end_with_parent() -> None:
    """In the service: send this process SIGTERM at the end of its standard input.

    Standard input is a pipe whose other end the parent holds without writing; the operating system closes it when the
    parent ends, however it ends.
    """
    pipe = os.dup(0)  # not inherited, unlike standard input, which child processes of the service get
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=_stop_at_end_of, args=(pipe,), name="parent-watch", daemon=True).start()


def _stop_at_end_of(pipe: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(pipe, 4096):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _own_session() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}
