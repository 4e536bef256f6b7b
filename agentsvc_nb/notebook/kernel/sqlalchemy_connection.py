"""An Engine or a Connection of SQLAlchemy: queries in a transaction that is rolled back.

SQLite and PostgreSQL judge queries themselves (`sqlite_connection`, `postgres_connection`). Of other databases the user
approves each query.
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

from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import STOPPED, TOO_LONG, ApprovalNeeded, Selected, Tables
from agentsvc_nb.notebook.kernel.masking import Rules

_NAMES: Final = {"postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB", "mssql": "SQL Server"}
_OWN_SCHEMAS: Final = frozenset({"information_schema", "performance_schema", "pg_catalog", "mysql", "sys"})
SCHEMAS: Final = 20
_NO_TRANSACTION: Final = (
    "This connection commits by itself (AUTOCOMMIT), so a query can't be rolled back: nothing was run."
)


class AnyDatabase:
    """A database that SQLAlchemy speaks to."""

    def __init__(self, bind: Engine | Connection) -> None:
        self.bind = bind

    @property
    def product(self) -> str:
        name = self.bind.dialect.name
        return _NAMES.get(name, name)

    def tables(self) -> Tables:
        with errors_told(), self._transaction() as connection:
            return _reflected(connection)

    def select(self, sql: str, rows: int, rules: Rules, *, approved: bool = False) -> Selected:
        begun = time.monotonic()
        with errors_told(begun), self._transaction() as connection, _cancelled_in_time(connection):
            self.check(connection, sql, rules, approved)
            # Percent signs and colons are the statement's own; a server's cursor hands out no more than is asked for.
            options = {"no_parameters": True, "stream_results": True, "max_row_buffer": rows + 1}
            result = connection.exec_driver_sql(sql, execution_options=options)
            try:
                found = [tuple(row) for row in result.fetchmany(rows + 1)]
                return Selected(list(result.keys()), found[:rows], len(found) > rows)
            finally:
                result.close()

    def begin(self, connection: Connection) -> None:
        """Prepare the transaction of a query."""

    def check(self, connection: Connection, sql: str, rules: Rules, approved: bool) -> None:
        """Raise `ApprovalNeeded` or `LookupError` for a query that must not run as it is."""
        if not approved:
            raise ApprovalNeeded(f"agentsvc can't limit what a query reads in {self.product}.")

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """A transaction of its own, within the user's if there is one; what was done in it is taken back."""
        with _connected(self.bind) as connection:
            if _commits_by_itself(driver_of(connection)):
                raise LookupError(_NO_TRANSACTION)
            transaction = connection.begin_nested() if connection.in_transaction() else connection.begin()
            try:
                self.begin(connection)
                yield connection
            finally:
                transaction.rollback()


@contextmanager
def _connected(bind: Engine | Connection) -> Iterator[Connection]:
    if isinstance(bind, Connection):
        yield bind
    else:
        with bind.connect() as connection:
            yield connection


def driver_of(connection: Connection) -> Any:
    """Return the connection of the driver."""
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
def _cancelled_in_time(connection: Connection) -> Iterator[None]:
    """Cancel what takes too long, where the driver can."""
    timer = threading.Timer(database_port.QUERY_SECONDS, getattr(driver_of(connection), "cancel", lambda: None))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def errors_told(begun: float = 0.0) -> Iterator[None]:
    """Turn errors of the database into `LookupError`; `begun`: when a query began."""
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
