"""An Engine or a Connection of SQLAlchemy: queries in a transaction that is rolled back.

SQLite and PostgreSQL are told to refuse every write meanwhile; of other databases the check of the statement and the
rollback are all there is.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Engine, inspect
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import STOPPED, TOO_LONG, Database, Selected
from agentsvc_nb.notebook.kernel.statements import Refused, Tables

_NAMES: Final = {"postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB", "mssql": "SQL Server"}
_OWN_SCHEMAS: Final = frozenset({"information_schema", "performance_schema", "pg_catalog", "mysql", "sys"})
SCHEMAS: Final = 20
_SQLITE_TABLES: Final = """
    SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
    UNION SELECT name FROM sqlite_temp_schema WHERE type IN ('table', 'view')
"""
_STEPS: Final = 10_000
"""After how many steps of its machine SQLite asks whether to go on."""
_NO_TRANSACTION: Final = (
    "This connection commits by itself (AUTOCOMMIT), so a query can't be rolled back: nothing was run."
)


def of_sqlalchemy(name: str, bind: Engine | Connection) -> Database:
    """Raises `AskError` for a database that is to be given otherwise."""
    if bind.dialect.name == "duckdb":
        raise AskError(
            f"--connection {name}: that is SQLAlchemy around DuckDB; nothing was sent.",
            "Give the connection of DuckDB itself (`duckdb.connect(...)`).",
        )
    return Sqlite(bind) if bind.dialect.name == "sqlite" else AnyDatabase(bind)


class AnyDatabase:
    """A database that SQLAlchemy speaks to."""

    def __init__(self, bind: Engine | Connection) -> None:
        self._bind = bind

    @property
    def product(self) -> str:
        name = self._bind.dialect.name
        return _NAMES.get(name, name)

    def tables(self) -> Tables:
        with _errors_told(), self._transaction() as connection:
            return _reflected(connection)

    def select(self, sql: str, rows: int) -> Selected:
        begun = time.monotonic()
        with _errors_told(begun), self._transaction() as connection, _cancelled_in_time(connection):
            # Percent signs and colons are the statement's own; a server's cursor hands out no more than is asked for.
            options = {"no_parameters": True, "stream_results": True, "max_row_buffer": rows + 1}
            result = connection.exec_driver_sql(sql, execution_options=options)
            try:
                found = [tuple(row) for row in result.fetchmany(rows + 1)]
                return Selected(list(result.keys()), found[:rows], len(found) > rows)
            finally:
                result.close()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """A transaction of its own, within the user's if there is one; what was done in it is taken back."""
        with _connected(self._bind) as connection:
            if _commits_by_itself(_driver(connection)):
                raise Refused(_NO_TRANSACTION)
            transaction = connection.begin_nested() if connection.in_transaction() else connection.begin()
            try:
                if connection.dialect.name == "postgresql":
                    connection.exec_driver_sql("SET TRANSACTION READ ONLY")
                    limit = int(database_port.QUERY_SECONDS * 1000)
                    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {limit}")
                yield connection
            finally:
                transaction.rollback()


class Sqlite(AnyDatabase):
    """SQLite by way of SQLAlchemy: asked over its own connection, which can be stopped and told to write nothing."""

    product = "SQLite"

    def tables(self) -> Tables:
        with _errors_told(), self._own() as own:
            found: dict[str, list[tuple[str, str]]] = {}
            for (table,) in own.execute(_SQLITE_TABLES):
                columns = own.execute("SELECT name, type FROM pragma_table_xinfo(?)", (table,))
                found[table] = [(str(name), str(kind)) for name, kind in columns]
            return found

    def select(self, sql: str, rows: int) -> Selected:
        begun = time.monotonic()
        with _errors_told(begun), self._own() as own, _writing_nothing(own, begun):
            cursor = own.cursor()
            cursor.row_factory = None
            try:
                cursor.execute(sql)
                found = cursor.fetchmany(rows + 1)
                names = [str(column[0]) for column in cursor.description or ()]
                return Selected(names, found[:rows], len(found) > rows)
            finally:
                cursor.close()

    @contextmanager
    def _own(self) -> Iterator[sqlite3.Connection]:
        """The driver's connection; SQLAlchemy begins no transaction for it, so there is none to roll back."""
        if isinstance(self._bind, Connection):
            yield _driver(self._bind)
            return
        borrowed = self._bind.raw_connection()
        own: Any = borrowed.driver_connection
        try:
            yield own
        finally:
            borrowed.close()


@contextmanager
def _connected(bind: Engine | Connection) -> Iterator[Connection]:
    if isinstance(bind, Connection):
        yield bind
    else:
        with bind.connect() as connection:
            yield connection


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


def _commits_by_itself(driver: Any) -> bool:
    """Most drivers have a flag for it, MySQL's a function."""
    asked = getattr(driver, "get_autocommit", None)
    return bool(asked()) if asked is not None else getattr(driver, "autocommit", None) is True


def _reflected(connection: Connection) -> Tables:
    inspector = inspect(connection)
    default = inspector.default_schema_name
    others = [name for name in inspector.get_schema_names() if name not in _OWN_SCHEMAS and not name.startswith("pg_")]
    found: dict[str, list[tuple[str, str]]] = {}
    for schema in sorted(others, key=lambda name: name != default)[:SCHEMAS]:
        own = schema == default
        reflected = inspector.get_multi_columns(schema=None if own else schema, kind=ObjectKind.ANY)
        for (_, table), columns in reflected.items():
            rows = [(str(column["name"]), str(column["type"])) for column in columns]
            found[table if own else f"{schema}.{table}"] = rows
    return found


@contextmanager
def _writing_nothing(own: sqlite3.Connection, begun: float) -> Iterator[None]:
    """SQLite refuses writes, and asks now and then whether to go on: that is when Python hears of an interrupt."""
    [before] = own.execute("PRAGMA query_only").fetchone()
    own.execute("PRAGMA query_only = ON")
    own.set_progress_handler(lambda: time.monotonic() - begun > database_port.QUERY_SECONDS, _STEPS)
    try:
        yield
    finally:
        own.set_progress_handler(None, 0)
        own.execute(f"PRAGMA query_only = {int(before)}")


@contextmanager
def _cancelled_in_time(connection: Connection) -> Iterator[None]:
    """Cancel what takes too long, where the driver can."""
    timer = threading.Timer(database_port.QUERY_SECONDS, getattr(_driver(connection), "cancel", lambda: None))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _errors_told(begun: float = 0.0) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise LookupError(STOPPED) from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        said = str(cause)
        # What ends a query that goes on and on has no error of its own.
        if begun and time.monotonic() - begun > database_port.QUERY_SECONDS:
            said = TOO_LONG
        elif said == "interrupted":  # SQLite's; it was not the time
            said = STOPPED
        raise LookupError(said) from None
