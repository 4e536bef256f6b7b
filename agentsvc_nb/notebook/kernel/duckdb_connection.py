"""A DuckDB connection of the kernel: queries in a transaction that can't write, of its own tables alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Final

import duckdb

from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import STOPPED, TOO_LONG, Selected
from agentsvc_nb.notebook.kernel.statements import Refused, Tables
from agentsvc_nb.wire.text import label

_COLUMNS: Final = """
    SELECT database_name, schema_name, table_name, column_name, data_type,
           database_name IN (current_database(), 'temp') AND schema_name = current_schema()
    FROM duckdb_columns() WHERE NOT internal ORDER BY 1, 2, 3, column_index
"""
_READING: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_TABLE_FUNCTIONS: Final = frozenset({"unnest", "generate_series", "range"})


class DuckDb:
    """A connection of DuckDB 2."""

    product = "DuckDB"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def tables(self) -> Tables:
        with _errors_told():
            found = self._connection.sql(_COLUMNS).fetchall()
        tables: dict[str, list[tuple[str, str]]] = {}
        for database, schema, table, column, kind, near in found:
            tables.setdefault(table if near else f"{database}.{schema}.{table}", []).append((column, kind))
        return tables

    def select(self, sql: str, rows: int) -> Selected:
        with _errors_told():
            self._check(sql)
            with self._read_only(), self._stopped_in_time():
                relation = self._connection.sql(sql).limit(rows + 1)
                found = self._fetched(relation)
        return Selected(relation.columns, found[:rows], len(found) > rows)

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

    def _check(self, sql: str) -> None:
        """Raise `Refused` unless DuckDB itself reads it as one query of tables that there are: a table's name may also
        be that of a file, or of a Python variable."""
        [[serialized]] = self._connection.sql("SELECT json_serialize_sql($1::VARCHAR)", params=[sql]).fetchall()
        tree = json.loads(serialized)
        if tree.get("error"):
            raise Refused(label(tree.get("error_message") or "This is not one SELECT.", 400))
        own = {name.casefold().rpartition(".")[2] for name in self.tables()}
        nodes = list(_nodes(tree["statements"]))
        # A part that WITH names may be called as it likes; what it is made of is checked itself.
        parts = {str(entry.get("key", "")).casefold() for node in nodes for entry in _parts(node)}
        for node in nodes:
            kind, table = str(node.get("type")), str(node.get("table_name", ""))
            if (kind.endswith("_NODE") and kind not in _READING) or kind == "SHOW_REF":
                raise Refused("Only a SELECT that reads is run.")
            if kind == "BASE_TABLE" and table.casefold() not in own | parts:
                raise Refused(f"There is no table {label(table, 80)}: database_schema tells which there are.")
            called = str(node["function"].get("function_name")).casefold() if kind == "TABLE_FUNCTION" else ""
            if called and called not in _TABLE_FUNCTIONS:
                raise Refused(f"The function {label(called, 80)} can't be used here.")

    @contextmanager
    def _read_only(self) -> Iterator[None]:
        """In a transaction that can't write. Within the user's it can't begin, and to try would end that."""
        now = "SELECT txid_current()"
        if self._connection.sql(now).fetchall() == self._connection.sql(now).fetchall():
            raise Refused("The user's transaction is open on this connection: ask again when it has ended.")
        self._connection.sql("BEGIN TRANSACTION READ ONLY")
        try:
            yield
        finally:
            self._connection.sql("ROLLBACK")

    @contextmanager
    def _stopped_in_time(self) -> Iterator[None]:
        timer = threading.Timer(database_port.QUERY_SECONDS, self._connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _nodes(part)


def _parts(node: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (node.get("cte_map") or {}).get("map") or []
    return found


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
