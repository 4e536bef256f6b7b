"""For tests: run a service in a child process, and replay recorded conversations in a notebook."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agentsvc_nb import clock
from agentsvc_nb.service.folder import DataFolder, ReadyFile
from agentsvc_nb.service.serve import ServiceProcess
from agentsvc_nb.settings import PREFIX, variable

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 15.0
POLL_SECONDS: Final = 0.01


class RunningService:
    """A service that runs in a child process. It can be started again after `kill` or `stop`, with the same folder,
    address and key.

    Attributes:
        data: the path of the data folder. The log is `data / "serve.log"`.
        folder: the data folder, as an object that knows the paths of its files.
        base_url: the address of the service, which stays the same after another start.
        api_key: a key with full access.
        sign_in_url: the link that signs a browser in, which changes with each start.
        pid: the process id, which changes with each start.
        model: the model that answers. A change takes effect at the next start.
    """

    def __init__(self, data: Path, model: str, settings: dict[str, object]) -> None:
        self.data = data
        self.model = model
        self.base_url = ""
        self.api_key = ""
        self.sign_in_url = ""
        self.pid = 0
        self._port = 0
        given = settings.get("database")
        if given is not None:
            settings = {"secret": secrets.token_hex(32), **settings}
            self.folder = DataFolder(data, str(given), str(settings["secret"]))
        else:
            self.folder = DataFolder(data)
        self._env = _environment() | {variable(name): str(value) for name, value in settings.items()}
        self._child: ServiceProcess | None = None

    def start(self) -> None:
        """Start the service and wait until it responds. If it does not start, raise `RuntimeError` with the end of its
        log.
        """
        arguments = ["--port", str(self._port), "--model", self.model]
        if self.folder.address:
            arguments.append("--work")
        child = self._child = ServiceProcess(self.folder, arguments, env=self._env, end_with_parent=True)
        ready = self._wait_ready(child)
        self.base_url = ready.base_url
        self.pid = ready.pid
        self.sign_in_url = ready.sign_in_url
        self._port = int(ready.base_url.rpartition(":")[2])
        self.api_key = self.folder.key.read_text(encoding="utf-8").strip()

    def stop(self) -> None:
        """Stop the service with SIGTERM. Active runs continue after the next start.

        Raises `subprocess.TimeoutExpired` if it does not stop, and `RuntimeError` with the end of its log if it had
        crashed before.
        """
        if (child := self._child) is not None:
            child.terminate()
            # The exit code is 0 after SIGTERM, and any other code after a crash.
            exit_code = child.wait(STOP_SECONDS)
            self._child = None
            if exit_code:
                raise RuntimeError(f"The service had crashed (exit {exit_code}):\n{child.last_lines()}")

    def kill(self) -> None:
        """Kill the service with SIGKILL, to simulate a crash."""
        if self._child is not None:
            self._child.kill()
            self._child.wait(STOP_SECONDS)
            self._child = None

    def create_key(
        self,
        name: str = "test",
        *,
        scopes: tuple[str, ...] = (),
        budget_cents: int | None = None,
        member: bool = False,
    ) -> str:
        """Create another key, as `agentsvc keys create` does with these options. The key is valid immediately."""
        from agentsvc_nb.service.keyring import create_key

        return create_key(self.folder, name=name, scopes=scopes, budget_cents=budget_cents, member=member)

    def _wait_ready(self, child: ServiceProcess) -> ReadyFile:
        deadline = clock.monotonic() + START_SECONDS
        # Compare the process id, because the ready record of a crashed process still exists.
        while (ready := ReadyFile.read(self.folder.ready)) is None or ready.pid != child.pid:
            ended = child.exit_code()
            if ended is not None or clock.monotonic() > deadline:
                self.kill()
                why = f"no answer after {START_SECONDS:g} s" if ended is None else f"exit {ended}"
                raise RuntimeError(f"The service did not start ({why}):\n{child.last_lines()}")
            clock.sleep(POLL_SECONDS)
        return ready


@contextlib.contextmanager
def running_service(model: str = "scripted", **settings: object) -> Iterator[RunningService]:
    """Run a service with these settings while the context is active. Example of a setting: `max_file_bytes=1000`.

    Settings are the fields of `Settings`. The service listens on a free port of 127.0.0.1, and has a temporary data
    folder. It does not get the caller's environment variables `AGENTSVC_*` and `SERVICE_API_KEY`. If the calling
    process is killed, the service also ends, but its folder remains. Raises `RuntimeError` if the service does not
    start.

    >>> with running_service() as service:  # doctest: +SKIP
    ...     AgentService(service.api_key, base_url=service.base_url).runs.start("say hello")
    """
    with tempfile.TemporaryDirectory(prefix="agentsvc-") as folder:
        service = RunningService(Path(folder), model, settings)
        try:
            service.start()
            yield service
        finally:
            service.stop()


_REPLAYING: Final = contextlib.ExitStack()
"""Holds the service of `replay_conversation`, which ends with this process."""


def replay_conversation(path: str | os.PathLike[str]) -> None:
    """Make this notebook kernel answer questions from a recorded conversation. The recorded tool calls are executed
    again.

    A separate service, which runs until the kernel ends, gives the answers. Other notebooks are not affected. Raises
    `RuntimeError` if the recording can't be read.

    >>> replay_conversation("data/sales-review.txt")  # doctest: +SKIP
    """
    _REPLAYING.close()
    service = _REPLAYING.enter_context(running_service(f"scripted:{Path(path).resolve()}"))
    # Functions registered with `atexit` run in reverse order. So the service ends before `tempfile` removes its folder.
    atexit.register(_REPLAYING.close)
    os.environ["AGENTSVC_BASE_URL"], os.environ["SERVICE_API_KEY"] = service.base_url, service.api_key


def _environment() -> dict[str, str]:
    private = (PREFIX, "SERVICE_API_KEY")
    return {name: value for name, value in os.environ.items() if not name.startswith(private)}
