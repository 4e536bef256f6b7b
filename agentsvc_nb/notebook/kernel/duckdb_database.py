"""Let the agent query a DuckDB connection of the user. To find out what a query reads, DuckDB first plans it in an
empty copy of the tables.

The copy contains no data, has no access to files, the network or Python variables, and its settings are locked. So a
query that DuckDB can plan there uses only tables of the connection. The plan lists the columns that the query reads.
Then the query runs on the user's connection, in a transaction that can't write. The settings of that connection are not
changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import duckdb

from agentsvc_nb.notebook.kernel.database_port import (
    ONE_SELECT,
    ApprovalNeeded,
    SelectedRows,
    Tables,
    convert_errors,
    hides_table,
    is_withheld,
    limit_time,
    plan_nodes,
)
from agentsvc_nb.notebook.kernel.variables import SharingRules
from agentsvc_nb.wire.text import label

_OPEN: Final = "The user has an open transaction on this connection; nothing was run. Query again after it has ended."
_WITHHELD: Final = (
    "The query reads columns that the user does not share, by name or with `*`, NATURAL JOIN or the whole row. "
    "Use only columns that database_schema lists."
)
_COLUMNS: Final = """
    SELECT database_name, schema_name, table_name, column_name, data_type
    FROM duckdb_columns() WHERE NOT internal ORDER BY 1, 2, 3, column_index
"""
_PLACE: Final = "SELECT current_database(), current_schema(), current_setting('search_path')"
_ALL_FUNCTIONS: Final = "SELECT DISTINCT lower(function_name) FROM duckdb_functions()"
_SETTINGS: Final = """
    SET python_enable_replacements = false;
    SET autoinstall_known_extensions = false;
    SET autoload_known_extensions = false;
    SET explain_output = 'physical_only';
    SET enable_external_access = false;
"""
_COLUMNS_READ: Final = "unused_columns"
"""The only optimizer that stays enabled in the copy. It removes the columns that a query does not read from the
plan.
"""
_TABLE_FUNCTIONS: Final = frozenset({"generate_series", "json_each", "json_tree", "range", "unnest"})
_LEAVES_NAMES = "COLUMN_DATA_SCAN CTE_SCAN DELIM_SCAN DUMMY_SCAN EMPTY_RESULT EXPRESSION_SCAN REC_CTE_SCAN"
_LEAVES: Final = frozenset(_LEAVES_NAMES.split())
"""Steps of a query plan that have no input and read no table."""

# DuckDB itself says which functions only compute a value. `_HARMLESS` and `_HARMFUL` are the exceptions.
_PURE_FUNCTIONS: Final = """
    SELECT lower(function_name) FROM duckdb_functions()
    WHERE function_type IN ('scalar', 'aggregate', 'window') GROUP BY 1
    HAVING bool_and(function_type = 'window' OR stability = 'CONSISTENT')
    UNION SELECT lower(function_name) FROM duckdb_functions()
    WHERE function_type = 'macro' AND (starts_with(function_name, 'list_') OR starts_with(function_name, 'array_'))
"""
_HARMLESS_NAMES = """
    + - age century coalesce columns current_catalog current_database current_date current_localtime
    current_localtimestamp current_schema current_user date_add date_diff date_part date_sub date_trunc datediff
    datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear decade era gen_random_uuid get_current_time
    get_current_timestamp grouping grouping_id hour isodow isoyear julian last_day make_timestamptz microsecond
    millennium millisecond minute month monthname now quarter random second strftime time_bucket timezone
    timezone_hour timezone_minute today transaction_timestamp unnest uuid week weekday weekofyear year yearweek
    ago array_to_string days_in_month fdiv generate_subscripts geomean geometric_mean if json json_group_array
    json_group_object md5_number_lower md5_number_upper nullif regexp_split_to_table split_part wavg weighted_avg
"""
_HARMLESS: Final = frozenset(_HARMLESS_NAMES.split())
"""Functions and macros that only compute a value, although DuckDB does not say so. The value may depend on the clock,
settings, names or chance.
"""
_HARMFUL_NAMES = """
    json_deserialize_sql json_serialize_plan json_serialize_sql
    array_resize bar format list_resize lpad printf repeat rpad
"""
_HARMFUL: Final = frozenset(_HARMFUL_NAMES.split())
"""Functions that need approval, although DuckDB says that they only compute a value: they parse SQL, or create large
values. DuckDB can't be interrupted within `repeat('x', 3000000000)` (6 GB).
"""


class DuckDb:
    """A DuckDB 2 connection that the agent may query."""

    product = "DuckDB"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def tables(self) -> Tables:
        with _convert_errors():
            catalog = _Catalog.read(self._connection)
        found: dict[str, list[tuple[str, str]]] = {}
        for (database, schema, table), columns in catalog.tables.items():
            near = database in (catalog.database, "temp") and schema == catalog.schema
            found.setdefault(table if near else f"{database}.{schema}.{table}", []).extend(columns)
        return found

    def select(self, sql: str, rows: int, rules: SharingRules, *, approved: bool = False) -> SelectedRows:
        with _convert_errors():
            if [each.type for each in self._connection.extract_statements(sql)] != [duckdb.StatementType.SELECT]:
                raise LookupError(ONE_SELECT)
            if not approved:
                self._check(sql, rules)
            with self._read_only(), limit_time(self._connection.interrupt):
                relation = self._connection.sql(sql).limit(rows + 1)
                found = fetch(self._connection, relation)
        return SelectedRows(relation.columns, found[:rows], len(found) > rows)

    def _check(self, sql: str, rules: SharingRules) -> None:
        """Check that the query reads only shared columns and calls only harmless functions.

        Raises `LookupError` if the query must not run, or `ApprovalNeeded` if the user must approve it first.
        """
        with duckdb.connect(":memory:") as copy, limit_time(copy.interrupt):
            left_out = _make_empty_copy(copy, _Catalog.read(self._connection), rules)
            if unknown := _unknown_function(copy, sql):
                if (unknown,) in self._connection.sql(_ALL_FUNCTIONS).fetchall():
                    raise ApprovalNeeded(f"The query uses the function {label(unknown, 80)}.")
                raise LookupError(f"There is no function {label(unknown, 80)}.")
            try:
                [[_, plan]] = copy.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
            except duckdb.InterruptException:
                raise
            except duckdb.Error:
                if left_out:
                    names = label(", ".join(left_out), 200)
                    raise ApprovalNeeded(f"agentsvc does not know the type of a column in {names}.") from None
                raise
            for node in plan_nodes(json.loads(plan)):
                _check_node(node, rules)

    @contextmanager
    def _read_only(self) -> Iterator[None]:
        """Run the `with` block in a transaction that can't write. If the user has an open transaction, raise
        `LookupError`, because a second one would end it.
        """
        now = "SELECT txid_current()"
        if self._connection.sql(now).fetchall() == self._connection.sql(now).fetchall():
            raise LookupError(_OPEN)
        self._connection.sql("BEGIN TRANSACTION READ ONLY")
        try:
            yield
        finally:
            self._connection.sql("ROLLBACK")


def fetch(connection: Any, relation: Any) -> list[Any]:
    """Fetch the rows in another thread. The main thread notices Ctrl-C only while it executes Python code."""
    with ThreadPoolExecutor(1) as thread:
        rows: Future[list[Any]] = thread.submit(relation.fetchall)
        try:
            return rows.result()
        finally:
            # After Ctrl-C, DuckDB ignores an interrupt that comes before the query has begun, so interrupt until the
            # query has ended.
            while not wait([rows], 0.0).done:
                connection.interrupt()
                wait([rows], 0.05)


def _convert_errors() -> Any:
    return convert_errors(duckdb.Error, RuntimeError)  # after an interrupt, DuckDB raises RuntimeError


@dataclass(frozen=True)
class _Catalog:
    """The columns of a connection's tables, by database, schema and table, and the connection's search path."""

    database: str
    schema: str
    search_path: str
    tables: dict[tuple[str, str, str], list[tuple[str, str]]] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: Any) -> _Catalog:
        [place] = connection.sql(_PLACE).fetchall()
        catalog = cls(*place)
        for database, schema, table, column, kind in connection.sql(_COLUMNS).fetchall():
            catalog.tables.setdefault((database, schema, table), []).append((column, kind))
        return catalog


def _make_empty_copy(copy: Any, catalog: _Catalog, rules: SharingRules) -> list[str]:
    """Create an empty copy of each table that is not hidden. Return the names of tables that can't be created."""
    for name in sorted({catalog.database, *(database for database, _, _ in catalog.tables)} - {"memory", "temp"}):
        copy.execute(f"ATTACH ':memory:' AS {_quote(name)}")
    copy.execute(_SETTINGS)
    for place in sorted({(catalog.database, catalog.schema), *(key[:2] for key in catalog.tables)}):
        copy.execute(f"CREATE SCHEMA IF NOT EXISTS {_quote(*place)}")
    left_out = []
    for key, columns in catalog.tables.items():
        if hides_table(".".join(key), rules):
            continue
        declared = ", ".join(f"{_quote(name)} {kind}" for name, kind in columns)
        temporary = "TEMPORARY " if key[0] == "temp" else ""
        try:
            copy.execute(f"CREATE {temporary}TABLE {_quote(*key)} ({declared})")
        except duckdb.Error:  # the type of a column belongs to an extension
            left_out.append(key[2])
    copy.execute(f"USE {_quote(catalog.database, catalog.schema)}")
    if catalog.search_path:
        copy.execute(f"SET search_path = {_quote_text(catalog.search_path)}")
    others = [name for (name,) in copy.execute("FROM duckdb_optimizers()").fetchall() if name != _COLUMNS_READ]
    copy.execute(f"SET disabled_optimizers = {_quote_text(','.join(others))}")
    copy.execute("SET lock_configuration = true")
    return left_out


def _unknown_function(copy: Any, sql: str) -> str:
    """Return the name of a function in the query that may do more than compute a value, or an empty text."""
    [[serialized]] = copy.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchall()
    tree = json.loads(serialized)
    if tree.get("error"):
        raise LookupError(label(tree.get("error_message") or ONE_SELECT, 400))
    if len(tree["statements"]) != 1:
        raise LookupError(ONE_SELECT)
    harmless = ({name for (name,) in copy.execute(_PURE_FUNCTIONS).fetchall()} | _HARMLESS) - _HARMFUL
    in_from = {id(node["function"]) for node in plan_nodes(tree) if node.get("type") == "TABLE_FUNCTION"}
    for node in plan_nodes(tree):
        name = str(node.get("function_name", "")).casefold()
        if name and name not in (_TABLE_FUNCTIONS if id(node) in in_from else harmless):
            return name
    return ""


def _check_node(node: dict[str, Any], rules: SharingRules) -> None:
    """Raise `LookupError` if this step of the query plan reads a column that is not shared.

    Raise `ApprovalNeeded` if it may read anything else than tables.
    """
    info = node.get("extra_info", {})
    if "Table" in info:
        read = info.get("Projections") or []
        for column in [read] if isinstance(read, str) else read:
            # in a plan, a part of a STRUCT is `column.part`
            if any(is_withheld(part, rules) for part in (column, *column.split("."))):
                raise LookupError(_WITHHELD)
    elif "Function" in info:
        if (function := str(info["Function"]).casefold()) not in _TABLE_FUNCTIONS:
            raise ApprovalNeeded(f"The query uses the table function {label(function, 80)}, which can read other data.")
    elif not node.get("children") and "name" in node and node["name"] not in _LEAVES:
        raise ApprovalNeeded(f"The query plan has the step {label(node['name'], 80)}, which agentsvc does not know.")


def _quote(*names: str) -> str:
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def _quote_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
