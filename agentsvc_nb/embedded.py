"""A service and a client, ready: finds the service of a data folder, or starts one that outlives this process.

The lock is the truth (docs/api/embedded.md): only the server that holds `DATA/lock` writes `DATA/ready.json`, and one
that does not get the lock ends with 75. So a caller looks for a service, starts one, and looks again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Never
from urllib.parse import urlsplit

from agentsvc_nb import __version__
from agentsvc_nb.client.transport.health import Met, Unproved, meet
from agentsvc_nb.service.child import EXIT_HELD, Child
from agentsvc_nb.service.folder import DataFolder, FolderHeld, Ready
from agentsvc_nb.service.plan import ServicePlan, plan_of, restart_command
from agentsvc_nb.settings import data_folder

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService, AsyncAgentService

log = logging.getLogger(__name__)
START_SECONDS: Final = 15.0
STOP_SECONDS: Final = 12.0
IDLE_STOP_SECONDS: Final = 1800
HEALTH_SECONDS: Final = 2.0
POLL_SECONDS: Final = 0.05
AGAIN_SECONDS: Final = 1.0
"""Pause before another start after a 75: who held the folder was either starting, and is there by then, or ending."""

_shown_notices: set[str] = set()
"""Notices already shown in this process."""


class EmbeddedError(RuntimeError):
    """The embedded service could not be started, reached or stopped; the message says why."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a stack of our own functions."""
        from agentsvc_nb.client import cards

        return cards.failure(type(self).__name__, str(self), [], None, self.__traceback__)


@dataclass(frozen=True)
class Connection:
    """A service that answers, and the key to it. `notice`: a line for the user when it is not quite the one wanted."""

    base_url: str
    api_key: str = field(repr=False)
    instance: str
    notice: str | None = None

    def news(self) -> str | None:
        """The notice, once a process: a notebook looks for the service with each answer."""
        if self.notice is None or self.notice in _shown_notices:
            return None
        _shown_notices.add(self.notice)
        return self.notice


def find_or_start(
    data: str | Path | None = None, *, model: str | None = None, timeout: float = START_SECONDS
) -> Connection:
    """The service of the folder `data` (default: this user's), started if none runs, for up to `timeout` seconds.

    It is started with the settings that the folder's last one had, but for what is named here or in the environment.
    A running one is taken as it is; if it has another version, or what is named differs, `notice` says so. It has
    proved that it holds the folder's key; none is sent. Who sends one has each connection prove it anew, as the client
    of `local`. Raises `SettingsError`, and `EmbeddedError` with the log's last lines when the service does not come up
    or does not prove itself.

    >>> find_or_start().base_url
    'http://127.0.0.1:40123'
    """
    return _connection(*_found(data, model, timeout))


def revive(data: str | Path | None = None, *, model: str | None = None) -> Connection:
    """`find_or_start` for a client that its service refuses or that finds none: when the folder's key was deleted,
    the folder gets another. Raises the same."""
    import sqlite3

    from agentsvc_nb.service.keyring import ensure_own_key
    from agentsvc_nb.service.ports import StoreBusy

    folder = DataFolder(data_folder(os.environ, data))
    ready = _answering(folder)  # which proves nothing without a key
    # The database of another version would become one of this version, under its service.
    if ready is not None and ready.version == __version__ and is_held(folder):
        try:
            ensure_own_key(folder)
        except (StoreBusy, sqlite3.Error, OSError) as error:
            raise EmbeddedError(
                f"The key in {folder.key} could not be looked at or replaced ({error}): check that the disk is not "
                f"full, and that no other program keeps {folder.database} for itself."
            ) from None
    return find_or_start(data, model=model)


def local(data: str | Path | None = None, *, model: str | None = None) -> Local:
    """A client of the embedded service, which is found or started on entering and never stopped (docs/api/embedded.md).

    Takes the arguments of `find_or_start` and raises what it raises; a service that is not quite the one wanted is a
    logged warning.

    >>> with local() as client:
    ...     client.runs.start("Which files are here?", sync=True).output
    """
    return Local(data, model)


class Local:
    """`with local() as client` and `async with local() as client`. A refused connection finds or starts it again, a
    refused key is replaced."""

    def __init__(self, data: str | Path | None, model: str | None) -> None:
        self._data, self._model = data, model
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
        raise AttributeError(f"`local()` has no `{name}` before it is entered: `with local() as client:`")

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
        if notice := found.news():
            log.warning(notice)  # without any logging set up: the bare line on stderr
        return found

    def _revive(self) -> tuple[str, str]:
        found = revive(self._data, model=self._model)
        return found.base_url, found.api_key


def status(data: str | Path | None = None) -> Ready | None:
    """What the service of the folder says of itself; None when none answers. Raises `EmbeddedError` for one that does
    not prove that it is that service."""
    return _running(DataFolder(data_folder(os.environ, data)))


def stop(data: str | Path | None = None) -> bool:
    """End the service of the folder for everyone; its runs go on when it is started again. False when none ran.

    Raises `EmbeddedError` when it does not end.
    """
    folder = DataFolder(data_folder(os.environ, data))
    if not is_held(folder):
        return False
    deadline = time.monotonic() + STOP_SECONDS
    seen, told = Ready.read(folder.ready), False
    while is_held(folder) and not _succeeded(folder, seen):
        if time.monotonic() > deadline:
            raise EmbeddedError(_endless(folder, seen, told))
        if not told and (ready := _answering(folder)):  # one that does not answer is starting, or ending already
            seen, told = ready, True
            with contextlib.suppress(ProcessLookupError):
                os.kill(ready.pid, signal.SIGTERM)
        time.sleep(POLL_SECONDS)
    return True


def _succeeded(folder: DataFolder, seen: Ready | None) -> bool:
    """True if another service has taken the folder since: it was started on purpose."""
    ready = Ready.read(folder.ready)
    return seen is not None and ready is not None and ready.instance != seen.instance


def _endless(folder: DataFolder, seen: Ready | None, told: bool) -> str:
    process = f"process {seen.pid}" if seen else "its process"
    if told:
        return f"The service in {folder.path} was told to end and did not: end {process} yourself."
    return f"A server holds {folder.path} but does not answer: end {process} yourself."


def _start(folder: DataFolder, plan: ServicePlan, timeout: float) -> Ready:
    deadline = time.monotonic() + timeout
    child, again_at = _spawn(folder, plan), 0.0
    while (ready := _running(folder)) is None:
        now, code = time.monotonic(), child.exit_code()
        if now > deadline:
            raise EmbeddedError(_late(folder, timeout, child))
        if code is not None and code != EXIT_HELD:
            raise EmbeddedError(f"The service did not start (exit {code}):\n{child.last_lines()}")
        if code is None:
            again_at = now + AGAIN_SECONDS
        elif now > again_at:
            child = _spawn(folder, plan)
        time.sleep(POLL_SECONDS)
    return ready


def _spawn(folder: DataFolder, plan: ServicePlan) -> Child:
    arguments = ["--port", "last", "--idle-stop", str(IDLE_STOP_SECONDS)]
    if not plan.model_is_kept:  # what else is named stands in its environment, too
        arguments += ["--model", plan.settings.model]
    try:
        return Child(folder, arguments)
    except OSError as error:
        raise EmbeddedError(f"The data folder can't be used ({error}): name another with AGENTSVC_DATA.") from None


def _late(folder: DataFolder, timeout: float, child: Child) -> str:
    holder = Ready.read(folder.ready)
    who = f"process {holder.pid}, which holds {folder.path}, does not answer" if holder else "it is still starting"
    return f"The service was not ready within {timeout:g} s: {who}.\n{child.last_lines()}".strip()


def _found(data: str | Path | None, model: str | None, timeout: float) -> tuple[DataFolder, Ready, ServicePlan]:
    plan = plan_of(data, model)
    folder = DataFolder(plan.settings.data)
    return folder, _running(folder) or _start(folder, plan, timeout), plan


def _connection(folder: DataFolder, ready: Ready, plan: ServicePlan) -> Connection:
    try:
        key = folder.own_key()
    except OSError as error:
        raise EmbeddedError(f"The service at {ready.base_url} runs, but its key can't be read: {error}.") from None
    return Connection(ready.base_url, key, ready.instance, _notice(ready, plan))


def _running(folder: DataFolder) -> Ready | None:
    """The folder's server. A stale record's port may belong to a stranger, who can repeat what anybody can read; only
    the server proves that it holds the key. Raises `EmbeddedError` for a server that does not."""
    ready, key = Ready.read(folder.ready), _key(folder)
    if ready is None or (met := _met(ready)) is None:
        return None
    try:
        met.check(key)
    except Unproved as error:
        if _key(folder) != key:  # it was replaced meanwhile
            return _running(folder)
        if _is_of_the_holder(folder, ready):  # else it is a stranger, and the server is gone
            raise EmbeddedError(_unproved(folder, ready, str(error) if key else "there is none")) from None
        return None
    return ready


def _is_of_the_holder(folder: DataFolder, ready: Ready) -> bool:
    """Whether the record is of the server that holds the folder: one that just took it removes a dead one's first."""
    if not is_held(folder):
        return False
    time.sleep(POLL_SECONDS)
    return Ready.read(folder.ready) == ready


def _unproved(folder: DataFolder, ready: Ready, why: str) -> str:
    versions = f" (it has {ready.version}, this is {__version__})" if ready.version != __version__ else ""
    return (
        f"What answers at {ready.base_url} does not prove that it holds the key in {folder.key} ({why}), so nothing "
        f"was sent. A service of an older version can't{versions}; to restart it: {restart_command(folder.path)}"
    )


def _key(folder: DataFolder) -> str:
    """Empty when none can be read."""
    try:
        return folder.own_key()
    except OSError:
        return ""


def _answering(folder: DataFolder) -> Ready | None:
    """The record of a server that answers, unproved. Enough to stop it, for no secret is sent."""
    ready = Ready.read(folder.ready)
    return ready if ready is not None and _answers(ready) else None


def _answers(ready: Ready) -> bool:
    return _met(ready) is not None


def _met(ready: Ready) -> Met | None:
    try:
        address = urlsplit(ready.base_url)
        met = meet(address.hostname or "", address.port or 80, HEALTH_SECONDS)
    except (OSError, ValueError, Unproved):
        return None
    return met if met.health.instance == ready.instance else None


def _notice(ready: Ready, plan: ServicePlan) -> str | None:
    if ready.version != __version__:
        restart = restart_command(plan.settings.data)
        return f"The running service has version {ready.version}, this is {__version__}; to restart it: {restart}"
    return plan.notice(ready)


def is_held(folder: DataFolder) -> bool:
    """True if a server holds the folder, be it starting, answering or ending."""
    if not folder.lock.exists():
        return False
    try:
        with folder.hold():
            return False
    except FolderHeld:
        return True
