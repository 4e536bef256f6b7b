"""SQLite under asyncio: all writes that are requested in one turn of the event loop share one transaction; each thread
reads on a connection of its own."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from agentsvc_nb.formats.children import fairness
from agentsvc_nb.formats.children.fairness import FairQueue
from agentsvc_nb.service.folder import inode
from agentsvc_nb.service.ports import Row, StoreBusy, Tx
from agentsvc_nb.service.store.migrations import migrate
from agentsvc_nb.tools.support.stopping import ReadTime, ReadTooLong

T = TypeVar("T")
BUSY_TIMEOUT_MS = 5_000
LONG_SECONDS: Final = 0.02
"""A transaction of long writes begins no other after this: those that are not long wait for its end."""
LONG_AT_ONCE: Final = 16
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


class SqliteDatabase:
    """`ports.Database` on one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._readers = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection
        self._writing = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked: list[_Job[Any]] = []
        self._long: FairQueue[_Job[Any]] = FairQueue()
        self._file: tuple[int, int] | None = None  # known once it is open
        self._due = False
        # a Future, not a Task, so loop shutdown cannot cancel it
        self._aside: asyncio.Future[list[_Job[Any]]] | None = None
        self._thread = ThreadPoolExecutor(1, "sqlite-writer")  # the default pool may be busy with files for long

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

    def close(self) -> None:
        """Finish requested writes, then close all connections. To be called in the event loop's thread."""
        self._thread.shutdown()
        with contextlib.suppress(StoreBusy):
            if self._asked:
                self._write_asked(BUSY_TIMEOUT_MS)
            while jobs := self._next_long():
                self._asked = jobs
                self._write_asked(BUSY_TIMEOUT_MS)
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # writes of an earlier, ended loop have nobody waiting for them
            self._loop, self._asked, self._long, self._aside, self._due = loop, [], FairQueue(), None, False
        if not self._due and self._aside is None:
            self._due = True
            loop.call_soon(self._end_turn)
        done: asyncio.Future[T] = loop.create_future()
        job = _Job(use, long, done)
        if long:
            self._long.put(fairness.account.get(), job)
        else:
            self._asked.append(job)
        return await done

    def write_now(self, use: Callable[[Tx], T]) -> T:
        """A blocking `write` for the command line and tests; needs no event loop."""
        job = _Job(use)
        self._commit([job], BUSY_TIMEOUT_MS)
        return job.result()

    def _end_turn(self) -> None:
        """Write the requests of this turn: in this thread, or in the writer's if another process is writing; then those
        that take long, in the writer's."""
        self._due = False
        if self._asked:
            with contextlib.suppress(StoreBusy):
                self._write_asked(0)
        jobs, self._asked = self._asked or self._next_long(), []
        if not jobs:
            return
        loop = asyncio.get_running_loop()
        self._aside = loop.run_in_executor(self._thread, self._commit, jobs, BUSY_TIMEOUT_MS, LONG_SECONDS)
        self._aside.add_done_callback(lambda done: self._written_aside(jobs, done))

    def _next_long(self) -> list[_Job[Any]]:
        """Long writes, those of each account in turn."""
        found: list[_Job[Any]] = []
        while len(found) < LONG_AT_ONCE and (taken := self._long.take()) is not None:
            self._long.done(taken[0])
            taken[1].account = taken[0]
            found.append(taken[1])
        return found

    def _written_aside(self, jobs: list[_Job[Any]], done: asyncio.Future[list[_Job[Any]]]) -> None:
        """Settle the jobs that the writer's thread has done, then write the requests that came in meanwhile."""
        self._aside = None
        failure = done.exception()
        left = [] if failure else done.result()
        _settle(jobs[: len(jobs) - len(left)], failure)
        for job in left:
            self._long.put(job.account, job)
        self._end_turn()

    def _write_asked(self, patience_ms: int) -> None:
        """Write all requests. Raises `StoreBusy` when another process is writing; the requests then stay queued."""
        failure = None
        try:
            self._commit(self._asked, patience_ms)
        except StoreBusy:
            raise
        except Exception as error:
            failure = error
        jobs, self._asked = self._asked, []
        _settle(jobs, failure)

    def _commit(self, jobs: list[_Job[Any]], patience_ms: int, seconds: float = math.inf) -> list[_Job[Any]]:
        """Run jobs in one transaction; a job's own failure undoes only that job and is not raised. Those long ones that
        would begin after so many seconds are not run, but returned.

        Raises `StoreBusy` after `patience_ms`, and any error that keeps the transaction from being committed, such as a
        full disk: no job is written then.
        """
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
                    job.attempt(connection)
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

    def read_single(self, use: Callable[[Tx], T]) -> T:
        return use(SqliteTx(self._reader()))

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
        connection.row_factory = _as_dict
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA journal_mode = WAL")
        # Nothing is lost when the process dies; a power cut may lose the last moment (docs/decisions/0004-sqlite.md).
        connection.execute("PRAGMA synchronous = NORMAL")
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


class _Job(Generic[T]):
    """A requested write. `done` receives its result or exception; None for a write that blocks."""

    def __init__(self, use: Callable[[Tx], T], long: bool = False, done: asyncio.Future[T] | None = None) -> None:
        self.long = long
        self.done = done
        self.account = ""
        self._use = use
        self._failure: BaseException | None = None
        self._result: T

    def attempt(self, connection: sqlite3.Connection) -> None:
        """Run within the group's transaction. A failure undoes this job only, and is kept for `result` or `settle`."""
        self._failure = None
        connection.execute("SAVEPOINT job")
        try:
            self._result = self._use(SqliteTx(connection))
        except BaseException as error:
            connection.execute("ROLLBACK TO job")
            # A Future cannot hold a StopIteration.
            self._failure = RuntimeError("a write ended early") if isinstance(error, StopIteration) else error
        connection.execute("RELEASE job")

    def result(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._result

    def settle(self, failure: BaseException | None) -> None:
        """Set the result or exception of `done`; `failure` is that of the whole group, if it failed."""
        if self.done is None or self.done.done():  # cancelled meanwhile
            return
        failure = failure or self._failure
        if failure is not None:
            self.done.set_exception(failure)
        else:
            self.done.set_result(self._result)


def _settle(jobs: list[_Job[Any]], failure: BaseException | None = None) -> None:
    for job in jobs:
        job.settle(failure)


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
    with beside(path) as connection:
        found: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    return None if found == "ok" else found


@contextlib.contextmanager
def beside(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to an existing database, without migrating it. Raises `sqlite3.OperationalError` without one."""
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        yield connection
