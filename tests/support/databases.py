"""The database on which tests run: SQLite, or with `--database postgres` PostgreSQL, which a private server has in a
temporary folder."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import open_database
from agentsvc_nb.service.ports import DatabaseEngine, Tx
from agentsvc_nb.service.store.sqlite import SqliteDatabase

CHOICES: Final = ("sqlite", "postgres")
chosen = "sqlite"
"""Set by the option `--database` (tests/conftest.py)."""

_OPTIONS: Final = (
    "-c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=300 -c shared_buffers=64MB"
)
_numbers = itertools.count(1)


class PostgresServer:
    """A PostgreSQL server of its own, which listens on a Unix socket in its folder."""

    def __init__(self, options: str = _OPTIONS) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="agentsvc-pg-"))
        self._options = options
        self._user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        if self._user:
            shutil.chown(self.folder, self._user)
        self._run("initdb", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username=postgres")
        self.start()

    def start(self) -> None:
        self._run(
            "pg_ctl", "start", "--wait", "--log", str(self.folder / "log"), "-o", f"{self._options} -k {self.folder}"
        )

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "stop", "--wait", f"--mode={mode}")

    def remove(self) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder)

    def new_database(self) -> str:
        """The address of an empty database."""
        import psycopg

        name = f"test_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy".encode())
        return self.address(name)

    def address(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(programs() / program), *arguments, "--pgdata", str(self.folder / "data")]
        quiet = subprocess.DEVNULL  # pg_ctl hands its output to the server, which would keep a pipe open
        subprocess.run(command, user=self._user, cwd="/", stdout=quiet, stderr=quiet, check=True)


def programs() -> Path:
    """Where PostgreSQL's programs are: Debian has none of the server's on the path."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not versions:
        pytest.fail("PostgreSQL is not installed: apt-get install postgresql")
    return versions[-1]


@functools.cache
def server() -> PostgresServer:
    """The server of this process, which ends with it."""
    import atexit

    made = PostgresServer()
    atexit.register(made.remove)
    return made


def opened(path: Path) -> DatabaseEngine:
    """A database, open: the file `path`, or a new one in PostgreSQL."""
    if chosen == "sqlite":
        return SqliteDatabase(path).open()
    from agentsvc_nb.service.store.postgres import PostgresDatabase

    return PostgresDatabase(server().new_database()).open()


def settings() -> dict[str, object]:
    """The settings of a service whose data is there."""
    return {} if chosen == "sqlite" else {"database": server().new_database()}


def count(folder: DataFolder, table: str) -> int:
    """The number of rows in a table of the folder's database, beside its service."""
    with open_database(folder) as database:
        (row,) = database.read(lambda tx: tx.all(f"SELECT COUNT(*) AS found FROM {table}"))
        return int(row["found"])


@contextlib.contextmanager
def kept_busy(folder: DataFolder) -> Iterator[None]:
    """Another process is writing all the time."""
    begun, done = threading.Event(), threading.Event()

    def use(tx: Tx) -> None:
        begun.set()
        while not done.wait(0.5):
            tx.all("SELECT 1")  # PostgreSQL ends a transaction that does nothing

    with open_database(folder) as database:
        writing = threading.Thread(target=database.write_now, args=(use,))
        writing.start()
        begun.wait()
        yield
        done.set()
        writing.join()


@contextlib.contextmanager
def transaction() -> Iterator[Tx]:
    """A transaction on a new database in PostgreSQL, which is not committed."""
    import psycopg

    from agentsvc_nb.service.store.migrations import postgres
    from agentsvc_nb.service.store.postgres import PostgresTx, dict_rows

    with psycopg.connect(server().new_database(), row_factory=dict_rows) as connection:
        postgres.migrate(connection)
        yield PostgresTx(connection)
        connection.rollback()
