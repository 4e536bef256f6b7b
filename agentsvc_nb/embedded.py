"""Find the embedded service of a data folder, or start one. The service continues to run after this process ends.

A lock makes sure that a folder has only one server (docs/api/embedded.md). Only the server that holds the file lock
`DATA/lock` writes its address to `DATA/ready.json` (the ready record). A server that does not get the lock exits with
code 75. So this module looks for a service, starts one if there is none, and then looks again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Never
from urllib.parse import urlsplit

from agentsvc_nb import __version__, clock
from agentsvc_nb.client.transport.health import PeerIdentity, UnverifiedPeer, handshake
from agentsvc_nb.data_folder import data_folder
from agentsvc_nb.service.config import (
    BLOBS,
    DATABASE,
    ServiceConfig,
    embedded_environment,
    load_config,
    restart_command,
)
from agentsvc_nb.service.folder import DataFolder, FolderHeld, ForeignFolder, ReadyFile
from agentsvc_nb.service.serve import EXIT_HELD, ServiceProcess

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService, AsyncAgentService

log = logging.getLogger(__name__)
START_SECONDS: Final = 15.0
STOP_SECONDS: Final = 12.0
IDLE_STOP_SECONDS: Final = 1800
HEALTH_SECONDS: Final = 2.0
POLL_SECONDS: Final = 0.05
AGAIN_SECONDS: Final = 1.0
"""The number of seconds before a server is started again after one has exited with code 75.

After this time, the server that held the lock is ready if it was starting, or has exited if it was stopping.
"""

_shown_notices: set[str] = set()
"""The notices that this process has already shown to the user."""


class EmbeddedError(RuntimeError):
    """Raised if the embedded service could not be started, reached or stopped. The message gives the reason."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows in place of the traceback."""
        from agentsvc_nb.client import cards

        return cards.render_error(type(self).__name__, str(self), [], None, self.__traceback__)


@dataclass(frozen=True)
class Connection:
    """The address, the key and the instance id of a running service.

    If the service's version or settings differ from the requested ones, `notice` is a line that tells the user so.
    """

    base_url: str
    api_key: str = field(repr=False)
    instance: str
    notice: str | None = None

    def take_notice(self) -> str | None:
        """Return the notice if this process has not shown it yet, else None. A notebook should show it only once."""
        if self.notice is None or self.notice in _shown_notices:
            return None
        _shown_notices.add(self.notice)
        return self.notice


def find_or_start(
    data: str | Path | None = None, *, model: str | None = None, timeout: float = START_SECONDS
) -> Connection:
    """Find the service of the data folder `data` (default: this user's folder). If none is running, start it and wait
    at most `timeout` seconds for it.

    A new service gets the settings of the folder's last service, unless an argument or the environment sets them. A
    running service keeps its settings. The `notice` of the returned connection says if the service's version
    differs, or if the service has another value of a setting that an argument or the environment sets.

    The service must prove that it holds the folder's key, without receiving the key, before this function returns. A
    client that sends the key must ask for the proof on each new connection, as the client of `local` does.

    Raises `SettingsError`, and `EmbeddedError` if the service does not start or does not give the proof. The message
    contains the last lines of the log.

    >>> find_or_start().base_url  # doctest: +SKIP
    'http://127.0.0.1:40123'
    """
    config = load_config(data, model, embedded=True)
    folder = DataFolder(config.settings.data)
    return _connection(folder, _find_running(folder) or _start(folder, config, timeout), config)


def revive(data: str | Path | None = None, *, model: str | None = None) -> Connection:
    """Find or start the service again, for a client whose key was refused or whose service is no longer running.

    If the folder's key is no longer valid, it is replaced first. Raises the errors of `find_or_start`.
    """
    import sqlite3

    from agentsvc_nb.service.keyring import ensure_own_key
    from agentsvc_nb.service.ports import StoreBusy

    folder = DataFolder(data_folder(os.environ, data))
    ready = _find_responding(folder)  # without asking for the proof, because the key may be missing
    # Do not open the database of a service of another version, because this would migrate it while the service runs.
    if ready is not None and ready.version == __version__ and is_held(folder):
        try:
            ensure_own_key(folder)
        except (StoreBusy, sqlite3.Error, OSError) as error:
            raise EmbeddedError(
                f"The key in {folder.key} could not be checked or replaced ({error}). Check that the disk is not "
                f"full, and that no other program locks {folder.database}."
            ) from None
    return find_or_start(data, model=model)


def local(data: str | Path | None = None, *, model: str | None = None) -> Local:
    """Return a context manager whose value is a client of the embedded service (docs/api/embedded.md).

    Entering it finds or starts the service with the arguments `data` and `model`, logs the connection's `notice` as a
    warning, and raises the errors of `find_or_start`. Leaving it closes the client, but does not stop the service.

    >>> with local() as client:  # doctest: +SKIP
    ...     client.runs.start("Which files are here?", sync=True).output
    """
    return Local(data, model)


class Local:
    """The context manager that `local` returns. It can be used with `with` and `async with`.

    If the service refuses a connection or the key, the client finds or starts the service again (`revive`).
    """

    def __init__(self, data: str | Path | None, model: str | None) -> None:
        self._data = data
        self._model = model
        self._client: AgentService | None = None
        self._async_client: AsyncAgentService | None = None

    def __enter__(self) -> AgentService:
        from agentsvc_nb.client.api import AgentService

        found = self._find()
        self._client = AgentService(found.api_key, base_url=found.base_url, revive=self._revive)
        return self._client

    def __exit__(self, *_: object) -> None:
        assert self._client is not None
        self._client.close()

    def __getattr__(self, name: str) -> Never:
        raise AttributeError(f"`local()` has no `{name}` before you enter it: `with local() as client:`")

    async def __aenter__(self) -> AsyncAgentService:
        from agentsvc_nb.client.api import AsyncAgentService

        found = await asyncio.to_thread(self._find)
        self._async_client = AsyncAgentService(found.api_key, base_url=found.base_url, revive=self._revive)
        return self._async_client

    async def __aexit__(self, *_: object) -> None:
        assert self._async_client is not None
        await self._async_client.close()

    def _find(self) -> Connection:
        found = find_or_start(self._data, model=self._model)
        if notice := found.take_notice():
            log.warning(notice)  # goes to stderr if logging is not configured
        return found

    def _revive(self) -> tuple[str, str]:
        found = revive(self._data, model=self._model)
        return found.base_url, found.api_key


def status(data: str | Path | None = None) -> ReadyFile | None:
    """Return the ready record of the folder's service, or None if no service responds.

    Raises `EmbeddedError` if the service does not prove that it holds the folder's key.
    """
    return _find_running(DataFolder(data_folder(os.environ, data)))


def stop(data: str | Path | None = None) -> bool:
    """Stop the folder's service, also for other programs that use it. Return False if no service was running.

    Active runs continue when the service is started again.

    Raises `EmbeddedError` if the service does not stop within 12 seconds.
    """
    folder = DataFolder(data_folder(os.environ, data))
    if not is_held(folder):
        return False
    deadline = clock.monotonic() + STOP_SECONDS
    seen, told = ReadyFile.read(folder.ready), False
    while is_held(folder) and not _is_replaced(folder, seen):
        if clock.monotonic() > deadline:
            raise EmbeddedError(_stop_timeout(folder, seen, told))
        if not told and (ready := _find_responding(folder)):  # a server that does not respond is starting or stopping
            seen, told = ready, True
            with contextlib.suppress(ProcessLookupError):
                os.kill(ready.pid, signal.SIGTERM)
        clock.sleep(POLL_SECONDS)
    return True


def _is_replaced(folder: DataFolder, seen: ReadyFile | None) -> bool:
    """Return True if another service, which must not be stopped, took the folder since the record `seen` was read."""
    ready = ReadyFile.read(folder.ready)
    return seen is not None and ready is not None and ready.instance != seen.instance


def _stop_timeout(folder: DataFolder, seen: ReadyFile | None, told: bool) -> str:
    process = f"process {seen.pid}" if seen else "its process"
    if told:
        return f"The service in {folder.path} did not stop. End {process} yourself."
    return f"A service uses {folder.path} but does not answer. End {process} yourself."


def _start(folder: DataFolder, config: ServiceConfig, timeout: float) -> ReadyFile:
    """Start a service and wait until one responds, perhaps another that took the lock first. Raises `EmbeddedError`."""
    deadline = clock.monotonic() + timeout
    child, again_at = _spawn(folder, config), 0.0
    while (ready := _find_running(folder)) is None:
        now, code = clock.monotonic(), child.exit_code()
        if now > deadline:
            raise EmbeddedError(_start_timeout(folder, timeout, child))
        if code is not None and code != EXIT_HELD:
            raise EmbeddedError(f"The service did not start (exit {code}):\n{child.last_lines()}")
        if code is None:
            again_at = now + AGAIN_SECONDS
        elif now > again_at:
            child = _spawn(folder, config)
        clock.sleep(POLL_SECONDS)
    return ready


def _spawn(folder: DataFolder, config: ServiceConfig) -> ServiceProcess:
    lies = {DATABASE: "its data in PostgreSQL", BLOBS: f"its files in {config.stored.settings.get(BLOBS)}"}
    if elsewhere := [what for name, what in lies.items() if name in config.stored.settings]:
        advice = "start it with `agentsvc serve`, or choose another folder with AGENTSVC_DATA"
        raise EmbeddedError(f"The service in {folder.path} has {' and '.join(elsewhere)}: {advice}.")
    arguments = ["--port", "last", "--idle-stop", str(IDLE_STOP_SECONDS)]
    if not config.model_is_stored:  # the child gets all other settings from the environment
        arguments += ["--model", config.settings.model]
    try:
        return ServiceProcess(folder, arguments, env=embedded_environment(os.environ))
    except ForeignFolder as error:
        raise EmbeddedError(str(error)) from None
    except OSError as error:
        raise EmbeddedError(f"The data folder can't be used ({error}). Choose another with AGENTSVC_DATA.") from None


def _start_timeout(folder: DataFolder, timeout: float, child: ServiceProcess) -> str:
    holder = ReadyFile.read(folder.ready)
    who = f"process {holder.pid}, which uses {folder.path}, does not answer" if holder else "it is still starting"
    return f"The service was not ready within {timeout:g} s: {who}.\n{child.last_lines()}".strip()


def _connection(folder: DataFolder, ready: ReadyFile, config: ServiceConfig) -> Connection:
    try:
        key = folder.own_key()
    except OSError as error:
        raise EmbeddedError(
            f"The service at {ready.base_url} is running, but its key can't be read: {error}."
        ) from None
    return Connection(ready.base_url, key, ready.instance, _notice(ready, config))


def _find_running(folder: DataFolder) -> ReadyFile | None:
    """Return the ready record of the folder's server after the server has proved that it holds the folder's key. Return
    None if no server exists.

    If the record is stale, another program may use its port. That program could copy everything in the record, but it
    can't give the proof. Raises `EmbeddedError` if the server that holds the lock does not give the proof.
    """
    ready, key = ReadyFile.read(folder.ready), _key(folder)
    if ready is None or (met := _identify(ready)) is None:
        return None
    try:
        met.check(key)
    except UnverifiedPeer as error:
        if _key(folder) != key:  # another process has replaced the key
            return _find_running(folder)
        if _is_of_the_holder(folder, ready):  # otherwise the server has exited, and another program responds
            raise EmbeddedError(_missing_proof(folder, ready, str(error) if key else "the key is missing")) from None
        return None
    return ready


def _is_of_the_holder(folder: DataFolder, ready: ReadyFile) -> bool:
    """Return True if the server that holds the lock wrote this record.

    A server that gets the lock first removes the record of the previous server. So this function waits a moment, and
    reads the record again.
    """
    if not is_held(folder):
        return False
    clock.sleep(POLL_SECONDS)
    return ReadyFile.read(folder.ready) == ready


def _missing_proof(folder: DataFolder, ready: ReadyFile, why: str) -> str:
    versions = f" (it has {ready.version}, this installation has {__version__})" if ready.version != __version__ else ""
    return (
        f"The program at {ready.base_url} did not prove that it has the key in {folder.key} ({why}), so "
        f"nothing was sent. A service of an older version can't prove it{versions}. To restart the service: "
        f"{restart_command(folder.path)}"
    )


def _key(folder: DataFolder) -> str:
    """Return the folder's key, or "" if it can't be read."""
    try:
        return folder.own_key()
    except OSError:
        return ""


def _find_responding(folder: DataFolder) -> ReadyFile | None:
    """Return the ready record if the server responds, else None. No proof is needed: the caller sends no secret."""
    ready = ReadyFile.read(folder.ready)
    return ready if ready is not None and _identify(ready) is not None else None


def _identify(ready: ReadyFile) -> PeerIdentity | None:
    """Return the identity of the server that wrote the record, or None if this server does not respond."""
    try:
        address = urlsplit(ready.base_url)
        met = handshake(address.hostname or "", address.port or 80, HEALTH_SECONDS)
    except (OSError, ValueError, UnverifiedPeer):
        return None
    return met if met.health.instance == ready.instance else None


def _notice(ready: ReadyFile, config: ServiceConfig) -> str | None:
    if ready.version != __version__:
        restart = restart_command(config.settings.data)
        return (
            f"The running service has version {ready.version}, but this installation has {__version__}. Restart "
            f"it: {restart}"
        )
    for name, what in ((DATABASE, "data"), (BLOBS, "contents")):
        if os.environ.get(name) and name not in (config.stored.secrets | config.stored.settings):
            return f"{name} applies only to `agentsvc serve`. This service stores its {what} in {config.settings.data}."
    return config.notice(ready)


def is_held(folder: DataFolder) -> bool:
    """Return True if a server holds the folder's lock. The server may be starting, running or stopping."""
    if not folder.lock.exists():
        return False
    try:
        with folder.hold():
            return False
    except FolderHeld:
        return True
