"""An empty copy of a DuckDB connection's tables, in which DuckDB itself says what a query reads.

The copy has no data, no files, no network and no Python variables, and its settings are locked. A query that DuckDB can
bind there names tables of the connection alone; its plan lists the columns that it reads. The user's connection and its
settings stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from agentsvc_nb.notebook.kernel.database_port import (
    ONE_SELECT,
    WITHHELD,
    ApprovalNeeded,
    hides_table,
    is_withheld,
    plan_nodes,
)
from agentsvc_nb.notebook.kernel.masking import Rules
from agentsvc_nb.wire.text import label

_SETTINGS: Final = """
    SET python_enable_replacements = false;
    SET autoinstall_known_extensions = false;
    SET autoload_known_extensions = false;
    SET explain_output = 'physical_only';
    SET enable_external_access = false;
"""
_COLUMNS_READ: Final = "unused_columns"
"""The one optimizer that stays on: it drops the columns that a query does not read, and no others."""
_TABLE_FUNCTIONS: Final = frozenset({"generate_series", "json_each", "json_tree", "range", "unnest"})
_LEAVES_NAMES = """
    COLUMN_DATA_SCAN CTE_SCAN DELIM_SCAN DUMMY_SCAN EMPTY_RESULT EXPRESSION_SCAN REC_CTE_SCAN
"""
_LEAVES: Final = frozenset(_LEAVES_NAMES.split())
_READS_SQL: Final = frozenset({"json_deserialize_sql", "json_serialize_plan", "json_serialize_sql"})
_MAKES_LARGE_VALUES: Final = frozenset(
    {"array_resize", "bar", "format", "list_resize", "lpad", "printf", "repeat", "rpad"}
)
"""DuckDB does not stop within one call: `repeat('x', 3000000000)` takes minutes and 6 GB."""
_OF_ITS_TIME_NAMES = """
    + - age century current_database current_date current_localtime current_localtimestamp current_schema date_diff
    date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear
    decade era gen_random_uuid get_current_time get_current_timestamp hour isodow isoyear julian last_day
    make_timestamptz microsecond millennium millisecond minute month monthname now quarter random second strftime
    time_bucket timezone timezone_hour timezone_minute today transaction_timestamp uuid week weekday weekofyear year
    yearweek
"""
_OF_ITS_TIME: Final = frozenset(_OF_ITS_TIME_NAMES.split())
"""Functions that depend on the clock, the time zone or chance, and on nothing else of the connection."""
_MACROS_NAMES = """
    ago array_to_string current_catalog current_user date_add days_in_month fdiv generate_subscripts geomean
    geometric_mean if json json_group_array json_group_object md5_number_lower md5_number_upper nullif
    regexp_split_to_table split_part wavg weighted_avg
"""
_MACROS: Final = frozenset(_MACROS_NAMES.split())
_FUNCTIONS: Final = """
    SELECT lower(function_name) FROM duckdb_functions()
    WHERE function_type IN ('scalar', 'aggregate', 'window') GROUP BY 1
    HAVING bool_and(function_type = 'window' OR stability = 'CONSISTENT')
    UNION SELECT lower(function_name) FROM duckdb_functions()
    WHERE function_type = 'macro' AND (starts_with(function_name, 'list_') OR starts_with(function_name, 'array_'))
"""
_NOT_LISTED: Final = frozenset({"coalesce", "columns", "grouping", "grouping_id", "unnest"})


@dataclass(frozen=True)
class Column:
    database: str
    schema: str
    table: str
    name: str
    kind: str


@dataclass(frozen=True)
class Catalog:
    """The tables and views of a connection, and where it looks for a name."""

    database: str
    schema: str
    search_path: str
    columns: tuple[Column, ...]


class EmptyCopy:
    """The copy, without hidden tables."""

    def __init__(self, catalog: Catalog, rules: Rules) -> None:
        self._rules = rules
        self._left_out: list[str] = []
        self.connection = duckdb.connect(":memory:")
        self._fill(catalog)
        pure = {name for (name,) in self.connection.execute(_FUNCTIONS).fetchall()}
        self._functions = (pure | _OF_ITS_TIME | _MACROS | _NOT_LISTED) - _READS_SQL - _MAKES_LARGE_VALUES

    def _fill(self, catalog: Catalog) -> None:
        run = self.connection.execute
        databases = {catalog.database, *(each.database for each in catalog.columns)} - {"memory", "temp"}
        for name in sorted(databases):
            run(f"ATTACH ':memory:' AS {_quoted(name)}")
        run(_SETTINGS)
        tables: dict[tuple[str, str, str], list[Column]] = {}
        for each in catalog.columns:
            tables.setdefault((each.database, each.schema, each.table), []).append(each)
        for place in sorted({(catalog.database, catalog.schema), *((key[0], key[1]) for key in tables)}):
            run(f"CREATE SCHEMA IF NOT EXISTS {_quoted(*place)}")
        for key, columns in tables.items():
            if not hides_table(".".join(key), self._rules):
                self._make(key, columns)
        run(f"USE {_quoted(catalog.database, catalog.schema)}")
        if catalog.search_path:
            run(f"SET search_path = {_text(catalog.search_path)}")
        others = [name for (name,) in run("FROM duckdb_optimizers()").fetchall() if name != _COLUMNS_READ]
        run(f"SET disabled_optimizers = {_text(','.join(others))}")
        run("SET lock_configuration = true")

    def _make(self, key: tuple[str, str, str], columns: list[Column]) -> None:
        declared = ", ".join(f"{_quoted(each.name)} {each.kind}" for each in columns)
        temporary = "TEMPORARY " if key[0] == "temp" else ""
        try:
            self.connection.execute(f"CREATE {temporary}TABLE {_quoted(*key)} ({declared})")
        except duckdb.Error:  # a type of an extension
            self._left_out.append(key[2])

    def check(self, sql: str, known: Callable[[], set[str]]) -> None:
        """Raise `LookupError` or `ApprovalNeeded` unless the query reads offered columns with harmless functions.

        Args:
            known: the names of the functions of the user's connection.
        """
        self._check_functions(sql, known)
        try:
            [[_, plan]] = self.connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            if self._left_out:
                raise ApprovalNeeded(
                    f"agentsvc does not know a type in {label(', '.join(self._left_out), 200)}."
                ) from None
            raise
        for node in plan_nodes(json.loads(plan)):
            self._check_node(node)

    def _check_functions(self, sql: str, known: Callable[[], set[str]]) -> None:
        [[serialized]] = self.connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchall()
        tree = json.loads(serialized)
        if tree.get("error"):
            raise LookupError(label(tree.get("error_message") or ONE_SELECT, 400))
        if len(tree["statements"]) != 1:
            raise LookupError(ONE_SELECT)
        in_from = {id(node["function"]) for node in plan_nodes(tree) if node.get("type") == "TABLE_FUNCTION"}
        for node in plan_nodes(tree):
            if (called := node.get("function_name")) is None:
                continue
            name = str(called).casefold()
            if name in (_TABLE_FUNCTIONS if id(node) in in_from else self._functions):
                continue
            if name not in known():
                raise LookupError(f"There is no function {label(name, 80)}.")
            raise ApprovalNeeded(f"The query uses the function {label(name, 80)}.")

    def _check_node(self, node: dict[str, Any]) -> None:
        info = node.get("extra_info", {})
        if "Table" in info:
            read = info.get("Projections") or []
            for column in [read] if isinstance(read, str) else read:
                # A part of a STRUCT is shown as `column.part`.
                if is_withheld(column, self._rules) or any(
                    is_withheld(part, self._rules) for part in column.split(".")
                ):
                    raise LookupError(WITHHELD)
        elif "Function" in info:
            if (function := str(info["Function"]).casefold()) not in _TABLE_FUNCTIONS:
                raise ApprovalNeeded(f"The query reads {label(function, 80)}.")
        elif not node.get("children") and "name" in node and node["name"] not in _LEAVES:
            raise ApprovalNeeded(f"The plan of the query has the step {label(node['name'], 80)}.")


def _quoted(*names: str) -> str:
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
