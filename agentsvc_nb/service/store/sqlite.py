"""SQLite under asyncio: all writes that are requested in one turn of the event loop share one transaction; each thread
reads on a connection of its own."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from agentsvc_nb.service.disk import inode
from agentsvc_nb.service.ports import Row, StoreBusy, Tx
from agentsvc_nb.service.store.fts import FtsIndex
from agentsvc_nb.service.store.migrations import migrate
from agentsvc_nb.service.store.writes import GroupedWrites, Job, settle
from agentsvc_nb.tools.support.stopping import ReadTime, ReadTooLong

T = TypeVar("T")
BUSY_TIMEOUT_MS = 5_000
LOOK_SECONDS = 0.05
"""How often a read's time is looked at."""


class SqliteTx:
    """`ports.Tx` over one connection."""

    def __init__(self, connection: sqlite3.Connection, time: ReadTime | None = None) -> None:
        self._connection = connection
        self._time = time

    def all(self, sql: str, /, **params: Any) -> list[Row]:
        return self._connection.execute(sql, params).fetchall()

    def one(self, sql: str, /, **params: Any) -> Row | None:
        cursor = self._connection.execute(sql, params)
        row: Row | None = cursor.fetchone()
        cursor.close()  # an UPDATE ... RETURNING left open would keep its statement busy at COMMIT
        return row

    def run(self, sql: str, /, **params: Any) -> int:
        return self._connection.execute(sql, params).rowcount

    def check_time(self) -> None:
        if self._time is not None:
            self._time.check()


class SqliteDatabase(GroupedWrites):
    """`ports.DatabaseEngine` on one file."""

    index: Final = FtsIndex()

    def __init__(self, path: Path) -> None:
        super().__init__("sqlite-writer")
        self._path = path
        self._readers = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection
        self._writing = threading.Lock()
        self._file: tuple[int, int] | None = None  # known once it is open

    def open(self) -> SqliteDatabase:
        """Open the file and bring its schema up to date. Raises `migrations.SchemaTooNew`."""
        self._writer = self._connect()
        try:
            migrate(self._writer)
        except BaseException:
            self.close()
            raise
        self._file = inode(self._path)
        return self

    def channel(self) -> None:
        """The data folder's lock keeps others away."""

    def close(self) -> None:
        """Finish requested writes, then close all connections. To be called in the event loop's thread."""
        self.finish_writes()
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def _commit_here(self) -> None:
        """Make the requested writes, unless another process is writing."""
        failure = None
        try:
            self._commit_within(0, self._asked)
        except StoreBusy:
            return
        except Exception as error:
            failure = error
        jobs, self._asked = self._asked, []
        settle(jobs, failure)

    def _commit(self, jobs: list[Job[Any]], seconds: float = math.inf) -> list[Job[Any]]:
        return self._commit_within(BUSY_TIMEOUT_MS, jobs, seconds)

    def _commit_within(self, patience_ms: int, jobs: list[Job[Any]], seconds: float = math.inf) -> list[Job[Any]]:
        """`_commit`, which raises `StoreBusy` after `patience_ms`."""
        connection = self._writer
        with self._writing:
            try:
                # In the event loop the patience is 0: while another process writes, the writer's thread waits instead.
                connection.execute(f"PRAGMA busy_timeout = {patience_ms}")
                connection.execute("BEGIN IMMEDIATE")
                until = time.monotonic() + seconds
                for count, job in enumerate(jobs):
                    if count and job.long and time.monotonic() > until:
                        break
                    connection.execute("SAVEPOINT job")
                    if not job.attempt(SqliteTx(connection)):
                        connection.execute("ROLLBACK TO job")
                    connection.execute("RELEASE job")
                else:
                    count = len(jobs)
                connection.execute("COMMIT")
                return jobs[count:]
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                    raise StoreBusy(str(error)) from error
                raise

    def read(self, use: Callable[[Tx], T], seconds: float | None = None) -> T:
        connection = self._reader()
        connection.execute("BEGIN")
        time = ReadTime(seconds)
        try:
            with _interrupted(connection, time) if seconds is not None else contextlib.nullcontext():
                return use(SqliteTx(connection, time))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise ReadTooLong from error
            raise
        finally:
            connection.execute("ROLLBACK")

    async def read_soon(self, use: Callable[[Tx], T], *, single: bool = False) -> T:
        return use(SqliteTx(self._reader())) if single else self.read(use)

    def version(self) -> int:
        found: int = self._reader().execute("PRAGMA data_version").fetchone()["data_version"]
        return found

    def _reader(self) -> sqlite3.Connection:
        """The connection with which this thread reads."""
        connection: sqlite3.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            if self._file not in (None, inode(self._path)):  # a connection would open, or make, another database
                raise StoreBusy("the database was removed or replaced")
            connection = self._readers.connection = self._connect()
        return connection

    def _connect(self) -> sqlite3.Connection:
        # Transactions are begun by hand, and `close` closes the connections of all threads.
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            connection.row_factory = _as_dict
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            # Nothing is lost when the process dies; of a power cut see docs/decisions/0004-sqlite.md.
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        self._connections.append(connection)
        return connection


@contextlib.contextmanager
def _interrupted(connection: sqlite3.Connection, time: ReadTime) -> Iterator[None]:
    """Interrupt the connection when the time is over, from another thread: the full-text index can be at work for long
    within one step of SQLite's virtual machine, and a progress handler is called between steps only."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            if time.is_over():
                connection.interrupt()

    looking = threading.Thread(target=look, name="read-deadline", daemon=True)
    looking.start()
    try:
        yield
    finally:
        done.set()
        looking.join()  # a late interrupt would hit the next read


def _as_dict(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip([column[0] for column in cursor.description], values, strict=True))


def copy(source: Path, target: Path) -> None:
    """Write a consistent copy of the database to `target`. Raises `sqlite3.DatabaseError`."""
    with beside(source) as original, contextlib.closing(sqlite3.connect(target)) as snapshot:
        # In one step, which reads one snapshot while the server goes on writing. In several steps, each write of the
        # server would restart the copy.
        original.backup(snapshot)


def damage(path: Path) -> str | None:
    """The first fault that SQLite's quick check finds; None for an undamaged file. Raises `sqlite3.DatabaseError`."""
    return DamageSearch(path).run()


class DamageSearch:
    """SQLite's quick check of a whole file, which another thread can end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def run(self) -> str | None:
        """The first fault; None for an undamaged file. Raises `sqlite3.DatabaseError`."""
        with beside(self._path) as self._connection:
            found: str = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        return None if found == "ok" else found

    def fault(self) -> str | None:
        """`run`, in which a file that is no database is damaged, and one that can't be opened now is not."""
        try:
            return self.run()
        except sqlite3.OperationalError:
            return None
        except sqlite3.DatabaseError as error:
            return str(error)

    def end(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()


@contextlib.contextmanager
def beside(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to an existing database, without migrating it. Raises `sqlite3.OperationalError` without one."""
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        yield connection
