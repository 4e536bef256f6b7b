"""Run the service as a process: `agentsvc serve` (docs/api/embedded.md), or the same command as a child process.

The server takes the folder's lock before the slow imports, so that a second server stops at once. Imports that only the
server needs are inside functions, so that a program that starts the child process imports little.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb import __version__
from agentsvc_nb.service.config import ServiceConfig
from agentsvc_nb.service.disk import disk_fault, write_private
from agentsvc_nb.service.folder import LOG_MAX_BYTES, DataFolder, FolderFault, HeldFiles, ReadyFile

if TYPE_CHECKING:
    from socket import socket

    from agentsvc_nb.service.app import Role

PORT: Final = 8787
LAST_PORT: Final = -1
"""A `port` for services that start unattended: the port of the last server, or a free port if that one is taken."""


class ServeError(Exception):
    """The service can't start. The message says why, and what to do."""


@dataclass(frozen=True)
class ListenAddress:
    """Where the server listens and announces itself, and when it stops."""

    host: str = "127.0.0.1"
    port: int = PORT
    """The port to listen on, 0 for any free port, or `LAST_PORT`."""
    ready_file: Path | None = None
    """The path of an additional copy of the file `ready.json`, if any."""
    idle_stop: float | None = None
    """The idle time in seconds after which the server stops, or None if it never stops when idle."""


def serve(config: ServiceConfig, address: ListenAddress = ListenAddress(), *, role: Role = "service") -> None:
    """Run the server until SIGTERM, SIGINT or `idle_stop`.

    Active runs continue at the next start, or in other processes that share the database. Raises `FolderHeld` if
    another server holds the data folder, `ServeError` for an unusable port, folder or model, and `OSError` if the ready
    file or the terminal can't be written.
    """
    from agentsvc_nb.documents.memory import return_large_buffers

    folder = DataFolder(config.settings.data, config.settings.database, config.settings.shared_secret)
    try:
        folder.make()
    except FolderFault as error:
        raise ServeError(str(error)) from None
    except OSError as error:
        raise ServeError(f"The data folder can't be used ({error}): choose another with --data.") from None
    return_large_buffers()
    with folder.hold():
        folder.ready.unlink(missing_ok=True)  # a killed server may have left it
        with _bind(folder, address) as listening:
            _run_app(config, folder, address, listening, role)


def _bind(folder: DataFolder, address: ListenAddress) -> socket:
    from agentsvc_nb.service.server import bind

    if address.port == LAST_PORT:
        # Keep the address after a restart, so that open notebooks find the service again.
        try:
            return bind(address.host, folder.last_port())
        except OSError:
            return bind(address.host, 0)
    try:
        return bind(address.host, address.port)
    except (OSError, OverflowError) as error:
        place = f"{address.host}:{address.port}"
        raise ServeError(f"Can't listen on {place} ({error}): choose another --port, or 0 for a free one.") from None


def _run_app(config: ServiceConfig, folder: DataFolder, address: ListenAddress, listening: socket, role: Role) -> None:
    import uuid

    from agentsvc_nb.service.app import create_app
    from agentsvc_nb.service.http.names import OwnNames, is_loopback
    from agentsvc_nb.service.ports import BlobsUnavailable
    from agentsvc_nb.service.server import FolderLost, origin, run

    _prepare_database(config, folder)
    base_url = origin(address.host, listening.getsockname()[1])
    public_url = config.settings.public_url or base_url
    names = OwnNames.from_settings(config.settings, base_url, on_loopback=is_loopback(listening))
    token = secrets.token_urlsafe(32)
    ready = ReadyFile(
        instance=str(uuid.uuid4()),
        base_url=base_url,
        pid=os.getpid(),
        version=__version__,
        settings_hash=config.settings.settings_hash,
        sign_in_url=f"{public_url}/app/sign-in?token={token}",
        model=config.settings.model,
    )
    try:
        app = create_app(
            config.settings,
            instance=ready.instance,
            origin=public_url,
            names=names,
            sign_in_token=token,
            agent=config.agent(),
            others=config.others(),
            role=role,
            embedded=address.port == LAST_PORT,
        )
    # The model can't be used, or the blob store can't.
    except (ValueError, BlobsUnavailable) as error:
        raise ServeError(str(error)) from None
    files = [folder.ready, *([address.ready_file] if address.ready_file else [])]
    held = HeldFiles(folder)

    def announce() -> None:
        held.note_wal()
        _announce(config, folder, ready, files, role)

    try:
        run(app, listening, announce, idle_stop=address.idle_stop, is_lost=held.are_lost)
    except FolderLost:
        held.set_aside_wal()
        raise ServeError(
            f"Another program removed or replaced the lock or the database of {folder.path}, so the service "
            "stopped. It wrote nothing to the new files. Restore the missing ones, then start the service "
            "again."
        ) from None
    except SystemExit:
        raise ServeError("The service could not start. Its log has the reason.") from None
    finally:
        _remove_ready_files(ready, files)
    if refusal := app.state.service.refusal:
        raise ServeError(refusal)


def _remove_ready_files(ready: ReadyFile, files: Sequence[Path]) -> None:
    """Remove the files that announce this service, but not files that another service has written since."""
    for file in files:
        if (written := ReadyFile.read(file)) and written.instance == ready.instance:
            file.unlink(missing_ok=True)


def _prepare_database(config: ServiceConfig, folder: DataFolder) -> None:
    import sqlite3

    from agentsvc_nb.service.keyring import check_secret, ensure_own_key, open_database
    from agentsvc_nb.service.ports import StoreBusy, StoreUnavailable, StoreUnusable
    from agentsvc_nb.service.runs import processes
    from agentsvc_nb.service.store import describe_blob_place
    from agentsvc_nb.service.store.migrations import SchemaTooNew

    try:
        if config.settings.database:
            with open_database(folder) as database:
                database.write_now(lambda tx: check_secret(tx, folder))
                processes.check_contents(database, describe_blob_place(config.settings))
        ensure_own_key(folder)
    except (SchemaTooNew, StoreUnusable, FolderFault) as error:
        raise ServeError(str(error)) from None
    except StoreUnavailable as error:
        raise ServeError(f"{error}: check AGENTSVC_DATABASE and the database server.") from None
    except StoreBusy as error:
        raise ServeError(f"{error}.") from None
    except sqlite3.DatabaseError as error:
        if fault := disk_fault(error):
            raise ServeError(f"The database {folder.database} can't be opened: {fault} ({error}).") from None
        broken = f"The database {folder.database} can't be opened ({error})"
        raise ServeError(f"{broken}: restore a backup, or choose another folder with --data.") from None


def _announce(config: ServiceConfig, folder: DataFolder, ready: ReadyFile, files: list[Path], role: Role) -> None:
    from agentsvc_nb.agents.language.model_choice import startup_hint

    write_private(folder.port, ready.base_url.rpartition(":")[2])
    config.to_store.write(folder)
    for file in files:
        write_private(file, ready.to_json())
    print(f"agentsvc {ready.version} at {ready.base_url} (agent: {ready.model}, data: {folder.path})", flush=True)
    if role == "replica":
        print(
            "This process does not execute runs and jobs: start `agentsvc worker`, or `agentsvc serve --work`.",
            flush=True,
        )
    is_log = stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    if role != "worker" and not is_log:  # a log must not contain the sign-in link, which `agentsvc sign-in` prints
        print(f"Sign in at {ready.sign_in_url}", flush=True)
    if kept := sorted(config.to_store.settings.keys() - config.named.keys()):
        print(
            f"Settings stored by the last service: {', '.join(kept)}. Set a variable to an empty text to return "
            "to its default.",
            flush=True,
        )
    if ready.model == "offline" and (line := startup_hint(os.environ)):
        print(line, flush=True)


# Run the service as a child process: its command, its log and its exit code.

EXIT_HELD: Final = 75  # EX_TEMPFAIL: another server holds the folder (docs/api/embedded.md "The data folder")
END_WITH_PARENT: Final = "--end-with-parent"
TAIL_LINES: Final = 5


class ServiceProcess:
    """A child process that runs `agentsvc serve --data FOLDER ARGUMENTS` and writes to the folder's log.

    It runs in a separate session, so that neither an interrupt nor the end of a notebook kernel stops it. With
    `end_with_parent` it ends soon after this process, even if this process is killed. Raises `OSError`.
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
                folder.rotate_log()
        with self._log.open("ab") as log:
            self._log_start = log.tell()
            # -P: otherwise, a `random.py` in the notebook's folder would replace Python's module.
            command = [sys.executable, "-P", "-m", "agentsvc_nb", "serve", "--data", str(folder.path), *arguments]
            self._process = subprocess.Popen(
                [*command, END_WITH_PARENT] if end_with_parent else command,
                stdin=subprocess.PIPE if end_with_parent else subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
                **_own_session(),
            )
        # The thread reaps the process when the process ends, and prevents Popen's ResourceWarning. The thread also
        # keeps the pipe open if this object is dropped while the service runs.
        threading.Thread(target=_reap, args=(self._process,), name="service-reaper", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        return self._process.poll()

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float) -> int:
        """Wait for the end and return the exit code. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        return self._process.wait(timeout)

    def last_lines(self) -> str:
        """Return the last lines that the child process has logged, for an error message."""
        with contextlib.suppress(OSError), self._log.open("rb") as log:
            log.seek(self._log_start)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-TAIL_LINES:])
        return ""


def end_with_parent() -> None:
    """Send this process SIGTERM when its standard input ends. Call this in the service.

    Standard input is a pipe whose other end the parent process keeps open without writing. The operating system closes
    the pipe when the parent ends, for whatever reason.
    """
    pipe = os.dup(0)  # child processes of the service inherit standard input, but not this duplicate
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
