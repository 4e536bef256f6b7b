"""A DuckDB connection of the kernel: a query is bound in an empty copy first, then run where nothing can be written."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Final

import duckdb

from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import ONE_SELECT, STOPPED, TOO_LONG, Selected, Tables
from agentsvc_nb.notebook.kernel.duckdb_copy import Catalog, Column, EmptyCopy
from agentsvc_nb.notebook.kernel.masking import Rules

_COLUMNS: Final = """
    SELECT database_name, schema_name, table_name, column_name, data_type
    FROM duckdb_columns() WHERE NOT internal ORDER BY 1, 2, 3, column_index
"""
_PLACE: Final = "SELECT current_database(), current_schema(), current_setting('search_path')"
_FUNCTIONS: Final = "SELECT DISTINCT lower(function_name) FROM duckdb_functions()"
_OPEN: Final = "The user's transaction is open on this connection: ask again when it has ended."


class DuckDb:
    """A connection of DuckDB 2."""

    product = "DuckDB"

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._copy: tuple[Catalog, Rules, EmptyCopy] | None = None

    def tables(self) -> Tables:
        with _errors_told():
            catalog = self._catalog()
        tables: dict[str, list[tuple[str, str]]] = {}
        for each in catalog.columns:
            near = each.database in (catalog.database, "temp") and each.schema == catalog.schema
            name = each.table if near else f"{each.database}.{each.schema}.{each.table}"
            tables.setdefault(name, []).append((each.name, each.kind))
        return tables

    def select(self, sql: str, rows: int, rules: Rules, *, approved: bool = False) -> Selected:
        with _errors_told():
            if [each.type for each in self._connection.extract_statements(sql)] != [duckdb.StatementType.SELECT]:
                raise LookupError(ONE_SELECT)
            if not approved:
                copy = self._copy_of(self._catalog(), rules)
                with _stopped_in_time(copy.connection):
                    copy.check(sql, lambda: {name for (name,) in self._connection.sql(_FUNCTIONS).fetchall()})
            with self._read_only(), _stopped_in_time(self._connection):
                relation = self._connection.sql(sql).limit(rows + 1)
                found = self._fetched(relation)
        return Selected(relation.columns, found[:rows], len(found) > rows)

    def _catalog(self) -> Catalog:
        [(database, schema, path)] = self._connection.sql(_PLACE).fetchall()
        columns = tuple(Column(*row) for row in self._connection.sql(_COLUMNS).fetchall())
        return Catalog(database, schema, path, columns)

    def _copy_of(self, catalog: Catalog, rules: Rules) -> EmptyCopy:
        """Return the copy of the last query while tables and rules are the same: to make one takes 0.1 s."""
        if self._copy is None or self._copy[:2] != (catalog, rules):
            self._copy = (catalog, rules, EmptyCopy(catalog, rules))
        return self._copy[2]

    def _fetched(self, relation: Any) -> list[Any]:
        """The rows, fetched in a thread: where DuckDB 2.0 waits for its own threads, it hears of Ctrl-C too late."""
        with ThreadPoolExecutor(1) as pool:
            rows: Future[list[Any]] = pool.submit(relation.fetchall)
            try:
                return rows.result()
            finally:
                # After Ctrl-C. DuckDB forgets an interrupt that comes before its query begins: one may not be enough.
                while not wait([rows], 0.0).done:
                    self._connection.interrupt()
                    wait([rows], 0.05)

    @contextmanager
    def _read_only(self) -> Iterator[None]:
        """In a transaction that can't write. Within the user's it can't begin, and to try would end that."""
        now = "SELECT txid_current()"
        if self._connection.sql(now).fetchall() == self._connection.sql(now).fetchall():
            raise LookupError(_OPEN)
        self._connection.sql("BEGIN TRANSACTION READ ONLY")
        try:
            yield
        finally:
            self._connection.sql("ROLLBACK")


@contextmanager
def _stopped_in_time(connection: Any) -> Iterator[None]:
    timer = threading.Timer(database_port.QUERY_SECONDS, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _errors_told() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise LookupError(STOPPED) from None
    except duckdb.InterruptException:
        raise LookupError(TOO_LONG) from None
    except duckdb.Error as error:
        raise LookupError(str(error)) from None
    except RuntimeError as error:  # what DuckDB makes of an interrupt
        raise LookupError(STOPPED if "interrupted" in str(error) else str(error)) from None
