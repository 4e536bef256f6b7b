"""Implement the database (`ports.DatabaseEngine`) with PostgreSQL.

As in SQLite, only one transaction writes at a time, in all processes together. A use case reads values, such as a
wallet, a limit, or a chat's active run, and writes accordingly. Therefore each write transaction takes one advisory
lock. The isolation level SERIALIZABLE would be no faster, because most writes change the same row of the account.

If the connection is lost during a COMMIT, the write is not retried, because the server may have stored it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row
from psycopg.types.numeric import Int8Dumper

from agentsvc_nb import clock
from agentsvc_nb.service.ports import CommitLost, Queue, Row, StoreBusy, StoreUnavailable, StoreUnusable, Tx
from agentsvc_nb.service.sql import in_postgres
from agentsvc_nb.service.store.group_commit import GroupCommit, PendingWrite
from agentsvc_nb.service.store.migrations import postgres as schema
from agentsvc_nb.service.store.tsearch import TsvectorIndex
from agentsvc_nb.tools.support.stopping import WALL_SHARE, ReadTime, ReadTooLong

T = TypeVar("T")
Connection = psycopg.Connection[Row]

READERS: Final = 8
"""The number of threads for quick reads. Each of them uses one connection while it reads."""
LOCK_SECONDS: Final = 5
IDLE_SECONDS: Final = 3
"""The server closes a connection that sends nothing for this time within a write transaction.

Otherwise a frozen or disconnected process would block the writes of all others, until those fail (`LOCK_SECONDS`) or
their processes count as dead.
"""
RETRY_SECONDS: Final = 10.0
"""How long a read or write is retried while the server does not respond. A server needs some seconds to restart."""
RETRY_PAUSE_SECONDS: Final = 0.2
WRITING: Final = 0x6167656E74737663  # "agentsvc"
PREPARE_AFTER: Final = 1
"""Prepare a statement after this number of executions. Reusing its plan saves a third of the server's CPU time."""

# With READ COMMITTED, each statement after the lock sees what the lock's previous holders have committed.
_BEGIN_WRITE: Final = f"""
    BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '{LOCK_SECONDS}s';
    SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'; SELECT pg_advisory_xact_lock({WRITING})
"""
_BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_STATUS: Final = """
    SELECT current_setting('server_version') AS server,
           CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS clock
"""
_END_READ: Final = "COMMIT"  # after a ROLLBACK, psycopg would prepare all statements again
_DEFAULTS: Final = {
    "connect_timeout": 5,
    "application_name": "agentsvc",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
}


_UNREADABLE: Final = (
    "AGENTSVC_DATABASE is not a valid address: use postgresql://USER:PASSWORD@HOST/NAME, and write "
    "special characters of the password as %XX."
)


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The status of the database server and of the database's schema.

    Attributes:
        server: the server's version.
        clock: the server's clock (ms since 1970).
        schema: the schema's version, or 0 without a schema.
        too_new: whether this program is too old for the schema.
        newest: the newest schema version that this program knows.
    """

    server: str
    clock: int
    schema: int
    too_new: bool
    newest: int


class PostgresDatabase(GroupCommit):
    """Implements `ports.DatabaseEngine` on a PostgreSQL database."""

    index: Final = TsvectorIndex()
    patience = RETRY_SECONDS

    def __init__(self, address: str) -> None:
        super().__init__("postgres-writer")
        try:
            self._given: dict[str, Any] = {**_DEFAULTS, **conninfo_to_dict(address)}
        except psycopg.Error:  # the error would contain the address, which may contain a password
            raise StoreUnusable(_UNREADABLE) from None
        # Don't use psycopg_pool: it opens and checks connections in threads of its own, but this class must know
        # whether a lost connection may have stored a write.
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self._closed = False
        self._readers = ThreadPoolExecutor(READERS, "postgres-reader")

    def __repr__(self) -> str:  # never show the address, which may contain a password
        return f"{type(self).__name__}()"

    @property
    def place(self) -> str:
        """The name and host of the database, to show to people."""
        return f"the database {self._given.get('dbname', '')} at {self._given.get('host', 'localhost')}"

    def open(self) -> PostgresDatabase:
        self._retry(self._migrate)
        return self

    def _migrate(self) -> None:
        with self._connection() as connection, _check_usable():
            schema.migrate(connection)

    def queue(self) -> Queue:
        # Commands that only read do not need this import.
        from agentsvc_nb.service.store.postgres_queue import PostgresQueue

        return PostgresQueue(self._given)

    def status(self) -> ServerStatus:
        """Return the status that `agentsvc doctor` shows. Do not change the database."""
        return self._retry(self._status)

    def _status(self) -> ServerStatus:
        with self._connection() as connection, _check_usable():
            row = connection.execute(_STATUS).fetchone()
            assert row is not None
            found = schema.version(connection)
            return ServerStatus(row["server"], row["clock"], found, schema.is_too_new(connection), schema.newest())

    def close(self) -> None:
        self.finish_writes()
        self._readers.shutdown()
        self._closed = True
        self._close_idle()

    def read(self, use: Callable[[Tx], T], seconds: float | None = None) -> T:
        # `seconds` limits CPU time, but the server can only limit the elapsed time.
        time = ReadTime(seconds)
        begin = _BEGIN_READ
        if seconds is not None:
            begin += f"; SET LOCAL statement_timeout = {math.ceil(seconds / WALL_SHARE * 1000)}"
        return self._retry(lambda: self._read(begin, use, time, seconds))

    def _read(self, begin: str, use: Callable[[Tx], T], time: ReadTime, seconds: float | None) -> T:
        with self._connection() as connection:
            connection.execute(begin, prepare=False)
            try:
                return use(PostgresTx(connection, time, replan=seconds is not None))
            except psycopg.errors.QueryCanceled as error:
                raise ReadTooLong from error
            finally:
                if not connection.closed:
                    connection.execute(_END_READ, prepare=False)

    async def read_soon(self, use: Callable[[Tx], T], *, single: bool = False) -> T:
        read = self._read_single if single else self.read
        return await asyncio.get_running_loop().run_in_executor(self._readers, read, use)

    def _read_single(self, use: Callable[[Tx], T]) -> T:
        def attempt() -> T:
            with self._connection() as connection:
                return use(PostgresTx(connection))

        return self._retry(attempt)

    def version(self) -> None:
        return None

    def _commit(self, writes: list[PendingWrite[Any]], seconds: float = math.inf) -> list[PendingWrite[Any]]:
        return self._retry(lambda: self._commit_once(writes, seconds))

    def _commit_once(self, writes: list[PendingWrite[Any]], seconds: float) -> list[PendingWrite[Any]]:
        with self._connection() as connection:
            try:
                connection.execute(_BEGIN_WRITE, prepare=False)
                done = _run_writes(connection, writes, seconds)
            except BaseException:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise
            try:
                connection.execute("COMMIT", prepare=False)
            except psycopg.OperationalError as error:
                if _is_lost(error, connection):
                    raise CommitLost(
                        "the connection to the database was lost during the write: the data may or may not be stored"
                    ) from error
                raise
        return writes[done:]

    def _retry(self, work: Callable[[], T]) -> T:
        """Call `work` and return its result.

        Retry if the connection is lost before COMMIT or the server requests a retry.
        """
        until = clock.monotonic() + self.patience
        while True:
            try:
                return work()
            except psycopg.errors.LockNotAvailable as error:
                raise StoreBusy("another process is writing to the database") from error
            except _Unavailable as unavailable:
                self._close_idle()  # the server may have restarted, which ends all connections
                if clock.monotonic() > until or self._closed:
                    raise StoreUnavailable(f"The database {unavailable}") from None
            except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
                if clock.monotonic() > until:
                    raise
            clock.sleep(RETRY_PAUSE_SECONDS)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Connection]:
        """Yield a connection for one use. Raises `_Unavailable` if the connection fails or is lost."""
        connection = self._acquire()
        try:
            yield connection
        except psycopg.Error as error:
            if isinstance(error, psycopg.errors.FeatureNotSupported):
                # A newer process has migrated the schema, so a prepared statement now returns other columns.
                connection.close()
                self._close_idle()
            if _is_lost(error, connection):
                raise _Unavailable(f"does not answer: {_one_line(error)}") from error
            raise
        finally:
            self._release(connection)

    def _acquire(self) -> Connection:
        with self._guard:
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _connect(self) -> Connection:
        try:
            made = psycopg.connect(autocommit=True, prepare_threshold=None, row_factory=dict_rows, **self._given)
            if _is_direct(made):
                made.prepare_threshold = PREPARE_AFTER
            return made
        except psycopg.Error as error:
            reason = _one_line(error)
            how = "refuses the connection" if "FATAL:" in reason or "password" in reason else "does not answer"
            raise _Unavailable(f"{how}: {reason}") from None  # the error's traceback would contain the address

    def _release(self, connection: Connection) -> None:
        usable = not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._guard:
            if usable and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _close_idle(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


class _Unavailable(Exception):
    """The server was not reached, or dropped the connection.

    The message is the end of a sentence that begins with "The database".
    """


@contextlib.contextmanager
def _check_usable() -> Iterator[None]:
    """Raise `StoreUnusable` if the database has tables of another program, or the user may not create tables."""
    try:
        yield
    except (psycopg.ProgrammingError, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise StoreUnusable(
            f"The database can't be used ({error.diag.message_primary}). Choose an empty database or one "
            "that a service created, and connect as a user who can create tables."
        ) from None


def _is_direct(connection: Connection) -> bool:
    """Return whether the connection reaches the server without a connection pooler between them.

    A pooler may use another connection for each transaction, on which our statements are not prepared. A pooler is
    recognised by its process id, which differs from the id that the server reports.
    """
    row = connection.execute("SELECT pg_backend_pid() AS pid").fetchone()
    return row is not None and row["pid"] == connection.info.backend_pid


def _is_lost(error: psycopg.Error, connection: Connection) -> bool:
    return connection.closed or isinstance(error, (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown))


def _one_line(error: psycopg.Error) -> str:
    """Format the error as one line. Errors of psycopg never contain the password."""
    return " ".join(str(error).split())


def _run_writes(connection: Connection, writes: list[PendingWrite[Any]], seconds: float) -> int:
    """Execute the writes in the transaction, each in a savepoint if there are several.

    After `seconds`, start no further long write. Return the number of executed writes.
    """
    until = clock.monotonic() + seconds
    for count, write in enumerate(writes):
        if count and write.long and clock.monotonic() > until:
            return count
        if len(writes) > 1:
            connection.execute("RELEASE write; SAVEPOINT write" if count else "SAVEPOINT write", prepare=False)
        if not write.attempt(PostgresTx(connection)):
            if write.failure is not None and not isinstance(write.failure, Exception):
                raise write.failure  # for example Ctrl-C, after which the connection is unusable
            if isinstance(write.failure, psycopg.Error) and _ends_transaction(write.failure, connection):
                raise write.failure
            connection.execute("ROLLBACK TO write" if len(writes) > 1 else "ROLLBACK; BEGIN")
    return len(writes)


def _ends_transaction(error: psycopg.Error, connection: Connection) -> bool:
    """Return whether the error has failed the whole transaction, not only one write."""
    again = (
        psycopg.errors.DeadlockDetected,
        psycopg.errors.SerializationFailure,
        psycopg.errors.FeatureNotSupported,
    )
    return isinstance(error, again) or _is_lost(error, connection)


# The transaction translates SQL with named parameters, and returns values as SQLite does.

# one type for all integers, because all integer columns have this type
psycopg.adapters.register_dumper(int, Int8Dumper)

_PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_NUMBERED: Final = """
    SELECT column_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = :table AND is_identity = 'YES'
"""
_OUR_ORDER: Final = "rowid"
"""The column that replaces SQLite's `rowid`. As in SQLite, `SELECT *` does not show it."""


class PostgresTx:
    """Implements `ports.Tx` on one connection.

    With `replan`, the server makes a new plan for each execution of a statement, which fits the values.
    """

    def __init__(
        self, connection: psycopg.Connection[Row], time: ReadTime | None = None, *, replan: bool = False
    ) -> None:
        self._connection = connection
        self._time = time
        self._prepare = False if replan else None

    def all(self, sql: str, /, **params: Any) -> list[Row]:
        return self._execute(sql, params).fetchall()

    def one(self, sql: str, /, **params: Any) -> Row | None:
        return self._execute(sql, params).fetchone()

    def run(self, sql: str, /, **params: Any) -> int:
        return self._execute(sql, params).rowcount

    def check_time(self) -> None:
        if self._time is not None:
            self._time.check()

    def stream(self, sql: str, /) -> Iterator[Sequence[Any]]:
        with self._connection.cursor("streamed", row_factory=tuple_row) as cursor:
            cursor.execute(sql.encode())
            for values in cursor:
                yield [_unescape(value) if type(value) is str else value for value in values]

    def copy_in(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        into = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        try:
            with self._connection.cursor() as cursor, cursor.copy(into.encode()) as copy:
                for values in rows:
                    copy.write_row([_escape(value) if type(value) is str else value for value in values])
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            raise ValueError(f"a row of {table} that the database can't store ({error.sqlstate})") from error
        for column in self.all(_NUMBERED, table=table):
            last = f"(SELECT COALESCE(MAX({column['name']}), 0) + 1 FROM {table})"
            self.run(f"SELECT setval(pg_get_serial_sequence('{table}', '{column['name']}'), {last}, false)")
        self.run(f"ANALYZE {table}")

    def _execute(self, sql: str, params: dict[str, Any]) -> psycopg.Cursor[Row]:
        given = {name: _escape(value) if type(value) is str else value for name, value in params.items()}
        try:
            return self._connection.execute(translate(sql), given, prepare=self._prepare)
        except psycopg.DataError as error:  # raise the same error as SQLite does for a value that can't be stored
            raise ValueError(f"a value that the database can't store ({error.sqlstate})") from error


@functools.cache
def translate(sql: str) -> bytes:
    """Translate SQL with named parameters to the syntax of psycopg.

    >>> translate("SELECT * FROM run WHERE run_id = :run_id")
    b'SELECT * FROM run WHERE run_id = %(run_id)s'
    """
    return _PARAMETER.sub(r"%(\1)s", in_postgres.get(sql, sql).replace("%", "%%")).encode()


def dict_rows(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], dict[str, Any]]:
    """Return a function that converts a row of the cursor to a dictionary (psycopg's `row_factory`)."""
    names = [column.name for column in cursor.description or ()]
    hidden = _OUR_ORDER in names

    def row(values: Sequence[Any]) -> dict[str, Any]:
        shown = (_unescape(value) if type(value) is str else value for value in values)
        found = dict(zip(names, shown, strict=True))
        if hidden:
            del found[_OUR_ORDER]
        return found

    return row


# A text in PostgreSQL can't contain NUL, but messages and answers may. NUL is stored as two characters.

_MARK: Final = "\uffff"
"""A Unicode noncharacter, which texts do not use. It marks an escaped NUL, and is itself escaped."""


def _escape(text: str) -> str:
    if "\0" in text or _MARK in text:
        return text.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")
    return text


def _unescape(text: str) -> str:
    if _MARK not in text:
        return text
    return text.replace(f"{_MARK}0", "\0").replace(f"{_MARK}1", _MARK)
