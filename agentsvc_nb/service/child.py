"""The service as a child process of somebody else: its command, its log, and how it ended."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentsvc_nb.service.folder import DataFolder

EXIT_HELD: Final = 75  # EX_TEMPFAIL: another server holds the folder (docs/api/embedded.md "The data folder")
LOG_MAX_BYTES: Final = 10_000_000
TAIL_LINES: Final = 5


class Child:
    """`agentsvc serve --data FOLDER ARGUMENTS`, writing to the folder's log.

    It has a session of its own, which neither a kernel's interrupt nor the end of a kernel reaches.
    """

    def __init__(self, folder: DataFolder, arguments: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        folder.make()
        self._log = folder.log
        self._shorten_log()
        with self._log.open("ab") as log:
            self._log_start = log.tell()
            # -P: a `random.py` in the notebook's folder must not become a module of the service.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "agentsvc_nb", "serve", "--data", str(folder.path), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
                **_own_session(),
            )
        # Reaps it whenever it ends, and keeps Popen from complaining that nobody waited.
        threading.Thread(target=self._process.wait, name="service-reaper", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float) -> int:
        """The exit code. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        return self._process.wait(timeout)

    def last_lines(self) -> str:
        """The end of what it has logged, for an error message."""
        with contextlib.suppress(OSError), self._log.open("rb") as log:
            log.seek(self._log_start)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-TAIL_LINES:])
        return ""

    def _shorten_log(self) -> None:
        with contextlib.suppress(OSError):  # none yet; or on Windows, open in a server that is ending
            if self._log.stat().st_size > LOG_MAX_BYTES:
                self._log.replace(self._log.with_suffix(".log.1"))


def _own_session() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}
