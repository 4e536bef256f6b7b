"""A database connection of the kernel, as `%%ask --connection` offers it: its tables, and queries that only read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from agentsvc_nb.client.client_tools import ClientTool
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.kernel.database_port import Database, OfferedDatabase
from agentsvc_nb.notebook.kernel.masking import Rules, labels_secret, telling
from agentsvc_nb.notebook.kernel.statements import SQL_CHARS, check
from agentsvc_nb.notebook.kernel.variables import BYTES, MASKED, ROWS, Described, bounded, said
from agentsvc_nb.wire.text import label

TABLES_LISTED: Final = 200
COLUMNS_LISTED: Final = 100


def database_in(name: str, variables: Mapping[str, Any]) -> OfferedDatabase:
    """The connection in the variable `name`. Raises `AskError` if there is none."""
    if name not in variables:
        raise AskError(
            f"--connection {name}: there is no variable `{label(name, 80)}`; nothing was sent.",
            "Name the variable of a DuckDB connection, or of an Engine or a Connection of SQLAlchemy.",
        )
    value = variables[name]
    if _is(value, "duckdb", "DuckDBPyConnection"):
        from agentsvc_nb.notebook.kernel.duckdb_connection import DuckDb

        return OfferedDatabase(name, DuckDb(value))
    if _is(value, "sqlalchemy", "Engine") or _is(value, "sqlalchemy", "Connection"):
        from agentsvc_nb.notebook.kernel.sqlalchemy_connection import of_sqlalchemy

        return OfferedDatabase(name, of_sqlalchemy(name, value))
    raise AskError(
        f"--connection {name}: that is a {label(type(value).__name__, 80)}; nothing was sent.",
        "Give a DuckDB connection, or an Engine or a Connection of SQLAlchemy (`create_engine(...)`).",
    )


def _is(value: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def database_tools(
    offered: OfferedDatabase, rules: Rules, on_main_thread: Callable[[Callable[[], Any]], Any]
) -> list[ClientTool]:
    """The functions that the run is offered. With `rules.rows` 0 no query: what it counts would tell of values."""
    rows, database = min(ROWS, rules.rows), offered.database

    def database_schema(table: Annotated[str, Field(max_length=300)] = "") -> Any:
        """Tell the tables of the user's database with their columns and types; of one table if it is named."""
        return on_main_thread(lambda: schema(database, rules, table))

    def query_database(sql: Annotated[str, Field(min_length=1, max_length=SQL_CHARS)]) -> Any:
        return on_main_thread(lambda: query(database, sql, rules))

    query_database.__doc__ = (
        f"Ask the user's database ({database.product}) one SELECT in its own SQL. You get the first {rows} rows at "
        "most: aggregate, and order by what matters. Only reading is possible. Write no comments."
    )
    tools = [ClientTool(database_schema, effect=False)]
    return [*tools, ClientTool(query_database, effect=False)] if rows else tools


def schema(database: Database, rules: Rules, table: str = "") -> Described:
    """The tables that are not hidden, with their columns; without these where they would be too much."""
    found = {name: columns for name, columns in database.tables().items() if not _hides(rules, name)}
    if table:
        found = {name: columns for name, columns in found.items() if name.casefold() == table.casefold()}
        if not found:
            raise LookupError(f"There is no table {label(table, 80)}; database_schema tells which there are.")
    told: Described = {"database": database.product}
    listed = list(found.items())[:TABLES_LISTED]
    if len(found) > len(listed):
        told["not_listed"] = len(found) - len(listed)
    whole = told | {"tables": [{"name": name} | _columns(columns, rules) for name, columns in listed]}
    if table or len(json.dumps(whole)) <= BYTES:
        return bounded(whole)
    names = [{"name": label(name, 200), "columns": len(columns)} for name, columns in listed]
    return bounded(told | {"tables": names, "note": "Give a table's name for its columns."})


def _hides(rules: Rules, table: str) -> bool:
    return any(map(rules.hides, {table, *table.split(".")}))


def _columns(columns: Sequence[tuple[str, str]], rules: Rules) -> Described:
    kept = [(name, kind) for name, kind in columns if not rules.hides(name)]
    shown = [{"name": label(name, 100), "type": label(kind, 60)} for name, kind in kept[:COLUMNS_LISTED]]
    told: Described = {"columns": shown}
    if len(kept) < len(columns):
        told["hidden_columns"] = len(columns) - len(kept)
    if len(kept) > len(shown):
        told["columns_not_shown"] = len(kept) - len(shown)
    return told


def query(database: Database, sql: str, rules: Rules) -> Described:
    """The first rows of a query, masked as those of a variable. Raises `LookupError` with a sentence."""
    found = database.select(check(sql, database.tables(), rules), min(ROWS, rules.rows))
    kept = [at for at, name in enumerate(found.columns) if not rules.hides(name)][:COLUMNS_LISTED]
    rows = [_row(found.columns, row, kept, rules) for row in found.rows]
    told: Described = {"columns": [label(found.columns[at], 100) for at in kept], "rows": rows}
    return bounded(told | ({"more_rows": True} if found.more else {}))


def _row(columns: Sequence[str], row: Sequence[Any], kept: Iterable[int], rules: Rules) -> list[Any]:
    def is_withheld(at: int) -> bool:
        after_name = at > 0 and labels_secret(row[at - 1])
        return after_name or telling(columns[at]) or (isinstance(row[at], str) and rules.hides(row[at]))

    return [MASKED if is_withheld(at) else said(row[at]) for at in kept]
