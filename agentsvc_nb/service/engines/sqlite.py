"""SQLite under asyncio: one writer thread with group commit, readers apart.

WAL, so that `agentsvc keys` may write beside the running server; BEGIN IMMEDIATE always, because a transaction that
upgrades from reading to writing fails when another process wrote meanwhile. See docs/decisions/0004-sqlite.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Generic, TypeVar

from agentsvc_nb.service.engines.migrations import migrate
from agentsvc_nb.service.ports.storage import Row, StoreBusy, Tx

T = TypeVar("T")
BUSY_TIMEOUT_MS = 5_000
GROUP_MAX = 200


class SqliteTx:
    """`ports.storage.Tx` over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, sql: str, /, **params: Any) -> list[Row]:
        return self._connection.execute(sql, params).fetchall()

    def one(self, sql: str, /, **params: Any) -> Row | None:
        cursor = self._connection.execute(sql, params)
        row: Row | None = cursor.fetchone()
        cursor.close()  # an UPDATE ... RETURNING left open would keep its statement busy at COMMIT
        return row

    def run(self, sql: str, /, **params: Any) -> int:
        return self._connection.execute(sql, params).rowcount


class SqliteDatabase:
    """`ports.storage.Database` on one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._readers = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._writer: threading.Thread | None = None

    def open(self) -> SqliteDatabase:
        """Bring the schema up to date and start writing. Raises `migrations.SchemaTooNew`."""
        connection = self._connect()
        try:
            migrate(connection)
        except BaseException:
            self.close()
            raise
        self._writer = threading.Thread(target=self._write_loop, args=(connection,), name="sqlite-writer", daemon=True)
        self._writer.start()
        return self

    def close(self) -> None:
        """Finish what is queued, then close every connection."""
        if self._writer is not None:
            self._jobs.put(None)
            self._writer.join()
            self._writer = None
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    async def write(self, use: Callable[[Tx], T]) -> T:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(use, done, loop))
        return await done

    def write_now(self, use: Callable[[Tx], T]) -> T:
        """`write` for the command line and tests: it blocks, whether an event loop is running or not."""
        done: Future[T] = Future()
        self._jobs.put(_Job(use, done, None))
        return done.result()

    def read(self, use: Callable[[Tx], T]) -> T:
        connection = self._reader()
        connection.execute("BEGIN")
        try:
            return use(SqliteTx(connection))
        finally:
            connection.execute("ROLLBACK")

    def look(self, use: Callable[[Tx], T]) -> T:
        return use(SqliteTx(self._reader()))

    def version(self) -> int:
        found: int = self._reader().execute("PRAGMA data_version").fetchone()["data_version"]
        return found

    def _reader(self) -> sqlite3.Connection:
        """The reading connection of this thread."""
        connection: sqlite3.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            connection = self._readers.connection = self._connect()
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.row_factory = _as_dict
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        self._connections.append(connection)
        return connection

    def _write_loop(self, connection: sqlite3.Connection) -> None:
        while (job := self._jobs.get()) is not None:
            batch = [job]
            while len(batch) < GROUP_MAX and not self._jobs.empty():
                if (job := self._jobs.get()) is None:
                    self._jobs.put(None)
                    break
                batch.append(job)
            _commit(connection, batch)


class _Job(Generic[T]):
    """`loop` is the one that `done` belongs to, None for a future of threads."""

    def __init__(
        self, use: Callable[[Tx], T], done: asyncio.Future[T] | Future[T], loop: asyncio.AbstractEventLoop | None
    ) -> None:
        self.use = use
        self.loop = loop
        self.failure: BaseException | None = None
        self._done = done
        self._result: T

    def attempt(self, connection: sqlite3.Connection) -> None:
        """Run within the group's transaction; a failure undoes this job alone."""
        connection.execute("SAVEPOINT job")
        try:
            self._result = self.use(SqliteTx(connection))
        except BaseException as error:
            connection.execute("ROLLBACK TO job")
            self.failure = error
        connection.execute("RELEASE job")

    def settle(self) -> None:
        """Tell who waits: in its event loop, if it has one."""
        if self._done.done():  # cancelled meanwhile
            return
        if self.failure is not None:
            self._done.set_exception(self.failure)
        else:
            self._done.set_result(self._result)


def _commit(connection: sqlite3.Connection, batch: list[_Job[Any]]) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
        for job in batch:
            job.attempt(connection)
        connection.execute("COMMIT")
    except BaseException as error:  # a full disk, a lock held too long: nobody's work is committed
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        for job in batch:
            job.failure = _as_ports_know_it(error)
    for loop in {job.loop for job in batch}:
        told = [job for job in batch if job.loop is loop]
        if loop is None:
            _settle(told)
            continue
        with contextlib.suppress(RuntimeError):  # a loop that was closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, told)


def _settle(batch: list[_Job[Any]]) -> None:
    """One wake-up of the loop for the whole group: each would cost more than its write."""
    for job in batch:
        job.settle()


def _as_ports_know_it(error: BaseException) -> BaseException:
    if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
        return StoreBusy(str(error))
    return error


def _as_dict(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip([column[0] for column in cursor.description], values, strict=True))
