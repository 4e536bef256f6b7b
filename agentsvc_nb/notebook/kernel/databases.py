"""Let the agent query the database of `%%ask --connection`: list its tables and run read-only queries."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from agentsvc_nb.client.client_tools import ClientTool
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.kernel.calls import INVISIBLE, KernelCall, State
from agentsvc_nb.notebook.kernel.database_port import ApprovalNeeded, OfferedDatabase, ReadOnlyDatabase, hides_table
from agentsvc_nb.notebook.kernel.variables import BYTES, MASKED, ROWS, Description, SharingRules, shorten, to_json_value
from agentsvc_nb.notebook.redaction import is_secret_name, labels_secret
from agentsvc_nb.wire.text import forbidden, label

TABLES_LISTED: Final = 200
COLUMNS_LISTED: Final = 100
SQL_CHARS: Final = 10_000
_NULLED: Final = "The query reads columns that the user does not share. NULL replaces their values."


def find_database(name: str, variables: Mapping[str, Any]) -> OfferedDatabase:
    """Return the database of the connection in the variable `name`. Raises `AskError` if it has none."""
    if name not in variables:
        raise AskError(
            f"--connection {name}: the variable `{label(name, 80)}` does not exist; nothing was sent.",
            "Use a variable that holds a DuckDB connection, or a SQLAlchemy Engine or Connection.",
        )
    value = variables[name]
    if _is(value, "duckdb", "DuckDBPyConnection"):
        from agentsvc_nb.notebook.kernel.duckdb_database import DuckDb

        return OfferedDatabase(name, DuckDb(value))
    if not (_is(value, "sqlalchemy", "Engine") or _is(value, "sqlalchemy", "Connection")):
        raise AskError(
            f"--connection {name}: a {label(type(value).__name__, 80)} is not a database connection; nothing was sent.",
            "Use a DuckDB connection, or a SQLAlchemy Engine or Connection (`create_engine(...)`).",
        )
    if value.dialect.name == "duckdb":
        raise AskError(
            f"--connection {name}: SQLAlchemy connections to DuckDB are not supported; nothing was sent.",
            "Use a connection of DuckDB itself (`duckdb.connect(...)`).",
        )
    from agentsvc_nb.notebook.kernel import sqlalchemy_databases

    return OfferedDatabase(name, sqlalchemy_databases.open_database(value))


def _is(value: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def database_tools(
    offered: OfferedDatabase,
    rules: SharingRules,
    on_main_thread: Callable[[Callable[[], Any]], Any],
    after_approval: Callable[[str, str, Callable[[str], Any]], Any],
) -> list[ClientTool]:
    """Return the functions that the agent may call.

    If `rules.rows` is 0, the agent may not query, because even a count would reveal values.

    Args:
        on_main_thread: calls its argument on the main thread, and returns the result.
        after_approval: takes a query, the reason why it needs approval, and a function that runs a query. It shows the
            query and the reason to the user, and after approval, passes the approved query to the function.
    """
    rows, database = min(ROWS, rules.rows), offered.database

    def database_schema(table: Annotated[str, Field(max_length=300)] = "") -> Any:
        """List the tables of the user's database with their columns and types. With `table`, list only that table."""
        return on_main_thread(lambda: schema(database, rules, table))

    def query_database(sql: Annotated[str, Field(min_length=1, max_length=SQL_CHARS)]) -> Any:
        def ask() -> Description | ApprovalNeeded:
            try:
                return query(database, sql, rules)
            except ApprovalNeeded as reason:
                return reason

        found = on_main_thread(ask)
        if isinstance(found, ApprovalNeeded):
            return after_approval(sql, str(found), lambda shown: query(database, shown, rules, approved=True))
        return found

    query_database.__doc__ = (
        f"Query the user's database ({database.product}) with one SELECT in its own SQL dialect. You get at most the "
        f"first {rows} rows, so aggregate, and sort by relevance. Only reading is possible. Use the table and column "
        "names of database_schema. The user must approve a query of other data, such as files, or with unusual "
        "functions."
    )
    tools = [ClientTool(database_schema, effect=False)]
    return [*tools, ClientTool(query_database, effect=False)] if rows else tools


def schema(database: ReadOnlyDatabase, rules: SharingRules, table: str = "") -> Description:
    """Describe the tables that are not hidden, with their columns. If that is too long, give only the column counts.

    Raises `LookupError` with a sentence for the agent if no such table exists.
    """
    found = {name: columns for name, columns in database.tables().items() if not hides_table(name, rules)}
    if table:
        found = {name: columns for name, columns in found.items() if name.casefold() == table.casefold()}
        if not found:
            raise LookupError(f"There is no table {label(table, 80)}. List the tables with database_schema.")
    told: Description = {"database": database.product}
    listed = list(found.items())[:TABLES_LISTED]
    if len(found) > len(listed):
        told["not_listed"] = len(found) - len(listed)
    whole = told | {"tables": [{"name": name} | _columns(columns, rules) for name, columns in listed]}
    if table or len(json.dumps(whole)) <= BYTES:
        return shorten(whole)
    names = [{"name": label(name, 200), "columns": len(columns)} for name, columns in listed]
    return shorten(
        told | {"tables": names, "note": "Call database_schema with the name of a table to get its columns."}
    )


def _columns(columns: Sequence[tuple[str, str]], rules: SharingRules) -> Description:
    kept = [(name, kind) for name, kind in columns if not rules.hides(name)]
    shown = [{"name": label(name, 100), "type": label(kind, 60)} for name, kind in kept[:COLUMNS_LISTED]]
    told: Description = {"columns": shown}
    if len(kept) < len(columns):
        told["hidden_columns"] = len(columns) - len(kept)
    if len(kept) > len(shown):
        told["columns_not_shown"] = len(kept) - len(shown)
    return told


def query(database: ReadOnlyDatabase, sql: str, rules: SharingRules, *, approved: bool = False) -> Description:
    """Return the first rows of a query. Secret values are masked, and hidden columns are left out.

    Raises `LookupError` with a sentence for the agent, or `ApprovalNeeded` if the user must approve the query first.
    """
    if invisible := forbidden(sql):
        raise LookupError(INVISIBLE.format("query", invisible))
    found = database.select(sql.strip().rstrip(";"), min(ROWS, rules.rows), rules, approved=approved)
    kept = [at for at, name in enumerate(found.columns) if not rules.hides(name)][:COLUMNS_LISTED]
    rows = [_row(found.columns, row, kept, rules) for row in found.rows]
    told: Description = {"columns": [label(found.columns[at], 100) for at in kept], "rows": rows}
    if found.more:
        told["more_rows"] = True
    if found.nulled:
        told["note"] = _NULLED
    return shorten(told)


def _row(columns: Sequence[str], row: Sequence[Any], kept: Sequence[int], rules: SharingRules) -> list[Any]:
    def is_withheld(at: int) -> bool:
        after_name = at > 0 and labels_secret(row[at - 1])
        return after_name or is_secret_name(columns[at]) or (isinstance(row[at], str) and rules.hides(row[at]))

    return [MASKED if is_withheld(at) else to_json_value(row[at]) for at in kept]


@dataclass(eq=False)
class QueryCall(KernelCall):
    """A query that needs the user's approval, because the database can't guarantee which data it reads."""

    on_main_thread: ClassVar[bool] = False
    tool: ClassVar[str] = "query_database"
    language: ClassVar[str] = "sql"
    yes: ClassVar[tuple[str, str]] = ("Run", "Send this query to your database")
    no_tip: ClassVar[str] = "Do not run the query; the agent continues without it"
    question: ClassVar[str] = "Run this query in your database? [y]es, [n]o (and why): "
    approved_line: ClassVar[str] = "Approved. The query runs when the kernel is idle."
    refusal: ClassVar[str] = "The user refused to run this query."
    heads: ClassVar[Mapping[State, str]] = {
        "asked": "● The agent wants to run this query in your database",
        "approved": "● Approved, the query runs when the kernel is idle",
        "running": "● Running the query in your database",
        "done": "✓ The query ran in your database",
        "failed": "✗ The query failed in your database",
        "refused": "■ Refused, the query did not run",
        "stopped": "■ Stopped",
    }

    @property
    def input(self) -> dict[str, Any]:
        return {"sql": self.code, "why": self.why}
