"""Implement the database (`ports.DatabaseEngine`) with SQLite. One connection writes. Each thread has a connection to
read.

The event loop's thread commits short writes. A short write takes 10 to 100 µs, and holds the interpreter's lock for
most of that time, so another thread would be slower. Write transactions begin with `BEGIN IMMEDIATE`: a transaction
that reads before it writes would fail if another process wrote in between.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from agentsvc_nb import clock
from agentsvc_nb.service.disk import inode
from agentsvc_nb.service.ports import Row, StoreBusy, Tx
from agentsvc_nb.service.store.fts import FtsIndex
from agentsvc_nb.service.store.group_commit import GroupCommit, PendingWrite
from agentsvc_nb.service.store.migrations import migrate
from agentsvc_nb.tools.support.stopping import ReadTime, ReadTooLong

T = TypeVar("T")
BUSY_TIMEOUT_MS = 5_000
DEADLINE_CHECK_SECONDS = 0.05
"""How often a read checks whether its time is over."""


class SqliteTx:
    """Implements `ports.Tx` on one connection."""

    def __init__(self, connection: sqlite3.Connection, time: ReadTime | None = None) -> None:
        self._connection = connection
        self._time = time

    def all(self, sql: str, /, **params: Any) -> list[Row]:
        return self._connection.execute(sql, params).fetchall()

    def one(self, sql: str, /, **params: Any) -> Row | None:
        cursor = self._connection.execute(sql, params)
        row: Row | None = cursor.fetchone()
        cursor.close()  # an open UPDATE ... RETURNING would prevent the COMMIT
        return row

    def run(self, sql: str, /, **params: Any) -> int:
        return self._connection.execute(sql, params).rowcount

    def check_time(self) -> None:
        if self._time is not None:
            self._time.check()

    def stream(self, sql: str, /) -> Iterator[Sequence[Any]]:
        cursor = self._connection.cursor()
        cursor.row_factory = None
        yield from cursor.execute(sql)

    def copy_in(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        into = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        try:
            self._connection.executemany(into, rows)
        except sqlite3.IntegrityError as error:
            raise ValueError(f"a row of {table} that the database can't store ({error})") from error


class SqliteDatabase(GroupCommit):
    """Implements `ports.DatabaseEngine` on one file."""

    index: Final = FtsIndex()

    def __init__(self, path: Path) -> None:
        super().__init__("sqlite-writer")
        self._path = path
        self._readers = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection
        self._writing = threading.Lock()
        self._file: tuple[int, int] | None = None  # the file's identity, known once the database is open

    def open(self) -> SqliteDatabase:
        """Open the file and migrate its schema. Raises `migrations.SchemaTooNew`."""
        self._writer = self._connect()
        try:
            migrate(self._writer)
        except BaseException:
            self.close()
            raise
        self._file = inode(self._path)
        return self

    def queue(self) -> None:
        """Return None. The lock of the data folder excludes other processes, so there is no queue."""

    def close(self) -> None:
        """Execute all requested writes, then close all connections. Call this in the event loop's thread."""
        self.finish_writes()
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def _commit_in_loop(self) -> None:
        failure = None
        try:
            self._commit_within(0, self._short)
        except StoreBusy:  # another process is writing: the writer's thread will wait for its end
            return
        except Exception as error:
            failure = error
        writes, self._short = self._short, []
        for write in writes:
            write.settle(failure)

    def _commit(self, writes: list[PendingWrite[Any]], seconds: float = math.inf) -> list[PendingWrite[Any]]:
        return self._commit_within(BUSY_TIMEOUT_MS, writes, seconds)

    def _commit_within(
        self, busy_timeout_ms: int, writes: list[PendingWrite[Any]], seconds: float = math.inf
    ) -> list[PendingWrite[Any]]:
        connection = self._writer
        with self._writing:
            try:
                connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
                connection.execute("BEGIN IMMEDIATE")
                until = clock.monotonic() + seconds
                for count, write in enumerate(writes):
                    if count and write.long and clock.monotonic() > until:
                        break
                    connection.execute("SAVEPOINT write")
                    if not write.attempt(SqliteTx(connection)):
                        connection.execute("ROLLBACK TO write")
                    connection.execute("RELEASE write")
                else:
                    count = len(writes)
                connection.execute("COMMIT")
                return writes[count:]
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
            with _interrupt_late(connection, time) if seconds is not None else contextlib.nullcontext():
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
        """Return this thread's connection for reads."""
        connection: sqlite3.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            # a new connection would open, or create, a different database
            if self._file not in (None, inode(self._path)):
                raise StoreBusy("the database was removed or replaced")
            connection = self._readers.connection = self._connect()
        return connection

    def _connect(self) -> sqlite3.Connection:
        # This class begins transactions itself. `close` closes the connections of all threads.
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            connection.row_factory = _as_dict
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            # A crash of the process loses no data. A power failure may lose the last few commits.
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        self._connections.append(connection)
        return connection


@contextlib.contextmanager
def _interrupt_late(connection: sqlite3.Connection, time: ReadTime) -> Iterator[None]:
    """Interrupt the connection's statement when the time is over.

    This needs another thread, because SQLite calls a progress handler only between the steps of its virtual machine,
    and one step in the full-text index can take long.
    """
    done = threading.Event()

    def watch() -> None:
        while not done.wait(DEADLINE_CHECK_SECONDS):
            if time.is_over():
                connection.interrupt()

    watching = threading.Thread(target=watch, name="read-deadline", daemon=True)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()  # otherwise a late interrupt would stop the next read


def _as_dict(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip([column[0] for column in cursor.description], values, strict=True))


def copy_database(source: Path, target: Path) -> None:
    """Write a consistent copy of the database to `target`. Raises `sqlite3.DatabaseError`."""
    with connect_existing(source) as original, contextlib.closing(sqlite3.connect(target)) as snapshot:
        # Copy everything in one step, which reads one snapshot while the service continues to write. With several
        # steps, each write of the service would restart the copy.
        original.backup(snapshot)


def find_damage(path: Path) -> str | None:
    """Return the first fault that SQLite's quick check finds, or None. Raises `sqlite3.DatabaseError`."""
    return DamageSearch(path).run()


class DamageSearch:
    """Runs SQLite's quick check of a database file. Another thread can stop the check with `end`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def run(self) -> str | None:
        """Return the first fault, or None for an undamaged file. Raises `sqlite3.DatabaseError`."""
        with connect_existing(self._path) as self._connection:
            found: str = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        return None if found == "ok" else found

    def fault(self) -> str | None:
        """Return the first fault, or None for an undamaged file.

        If the file is not a database, this is a fault. If the file can't be read, return None.
        """
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
def connect_existing(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect to a database without migrating it. Raises `sqlite3.OperationalError` if it does not exist."""
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        yield connection
