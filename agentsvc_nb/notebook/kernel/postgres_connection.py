"""PostgreSQL by way of SQLAlchemy: a read-only transaction, in which the server says what a query reads before it runs.

The server plans the query and then holds a lock on each table and view that the query names or reaches. That list is
judged, and with it what the role may do. It has no list of the functions of a query, so any word of the query that is
the name of a function counts as a call of it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from sqlalchemy import Connection, text

from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import ApprovalNeeded, hides_table, is_withheld, plan_nodes
from agentsvc_nb.notebook.kernel.masking import Rules
from agentsvc_nb.notebook.kernel.sqlalchemy_connection import AnyDatabase
from agentsvc_nb.wire.text import label

_SET: Final = text("SELECT pg_catalog.set_config('agentsvc.query', :sql, true)")
_PLAN: Final = """
    DO $$ DECLARE planned refcursor := 'agentsvc_plan'; BEGIN
    OPEN planned FOR EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || pg_catalog.current_setting('agentsvc.query');
    END $$
"""
"""A cursor takes one statement alone, and EXPLAIN none that is more than a query."""
_LOCKED: Final = """
    SELECT DISTINCT relation::bigint FROM pg_catalog.pg_lock_status()
    WHERE locktype = 'relation' AND pid = pg_catalog.pg_backend_pid()
"""
_RELATIONS: Final = """
    SELECT c.oid::bigint, n.nspname, c.relname, a.attname,
        coalesce(pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'), false)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.oid IN ({})
"""
_POWER: Final = """
    SELECT rolname FROM pg_catalog.pg_roles
    WHERE (pg_catalog.pg_has_role(session_user, oid, 'MEMBER') OR pg_catalog.pg_has_role(current_user, oid, 'MEMBER'))
    AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
        OR rolname ~ '^pg_' AND rolname <> 'pg_read_all_data') LIMIT 1
"""
_WRITABLE: Final = """
    SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND (pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
        OR pg_catalog.has_any_column_privilege(c.oid, 'INSERT, UPDATE')) LIMIT 1
"""
_FUNCTIONS: Final = """
    SELECT proname, bool_and(pronamespace = 'pg_catalog'::regnamespace),
        bool_and(provolatile = 'i' OR prokind IN ('a', 'w'))
    FROM pg_catalog.pg_proc
    WHERE prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype) GROUP BY 1
"""
_STABLE_NAMES = """
    age array_to_json array_to_string bernoulli clock_timestamp concat concat_ws convert convert_from convert_to
    current_database current_schema current_user date date_add date_part date_subtract date_trunc enum_first
    enum_last enum_range extract format gen_random_uuid generate_series json_build_array json_build_object
    json_populate_record json_populate_recordset json_to_record json_to_recordset jsonb_build_array
    jsonb_build_object jsonb_path_exists_tz jsonb_path_match_tz jsonb_path_query_array_tz jsonb_path_query_first_tz
    jsonb_path_query_tz jsonb_populate_record jsonb_populate_recordset jsonb_to_record jsonb_to_recordset length
    make_timestamptz money now numeric overlaps phraseto_tsquery plainto_tsquery quote_literal quote_nullable random
    row_to_json session_user statement_timestamp system time timeofday timestamp timestamptz timetz timezone to_char
    to_date to_json to_jsonb to_number to_timestamp to_tsquery to_tsvector transaction_timestamp ts_headline uuidv4
    uuidv7 version websearch_to_tsquery xml
"""
_STABLE: Final = frozenset(_STABLE_NAMES.split())
"""Functions of PostgreSQL that depend on the clock, a setting or chance, and read no table."""
_LARGE: Final = frozenset({"repeat", "lpad", "rpad"})
"""Functions that make a value of a gigabyte, which the kernel would have to hold."""
_HIDDEN: Final = "The query reads a table that the user does not offer: database_schema lists the tables."
_WORDS: Final = re.compile(r"[^\W\d]\w*")


class Postgres(AnyDatabase):
    """PostgreSQL."""

    def begin(self, connection: Connection) -> None:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        limit = int(database_port.QUERY_SECONDS * 1000)
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {limit}")

    def check(self, connection: Connection, sql: str, rules: Rules, approved: bool) -> None:
        guarded = _functions_to_ask_for(connection)
        if not approved:
            _check_role(connection)
            _check_words(sql, guarded)
        before = _locked(connection)
        connection.execute(_SET, {"sql": sql})
        connection.exec_driver_sql(_PLAN)
        plan = connection.exec_driver_sql("FETCH ALL FROM agentsvc_plan").scalar_one()
        _check_relations(connection, before, rules, approved)
        if not approved:
            _check_plan(json.loads(plan) if isinstance(plan, str) else plan, guarded)


def _check_role(connection: Connection) -> None:
    for name in connection.exec_driver_sql(_POWER).scalars():
        raise ApprovalNeeded(f"The role of this connection can do more than read ({label(name, 80)}).")
    for name in connection.exec_driver_sql(_WRITABLE).scalars():
        raise ApprovalNeeded(f"The role of this connection may write ({label(name, 80)}).")


def _functions_to_ask_for(connection: Connection) -> set[str]:
    """Return the names of functions that do more than compute, and of all that are not PostgreSQL's own."""
    return {
        name
        for name, built_in, computes in connection.exec_driver_sql(_FUNCTIONS)
        if name in _LARGE or not built_in or not (computes or name in _STABLE)
    }


def _check_words(sql: str, guarded: set[str]) -> None:
    written = sql.lower()
    if 'u&"' in written:
        raise ApprovalNeeded('The query has names with escapes (U&"...").')
    words, unquoted = set(_WORDS.findall(written)), written.replace('""', '"')
    for name in guarded:
        lower = name.lower()
        if lower in words or (not _WORDS.fullmatch(lower) and lower in unquoted):
            raise ApprovalNeeded(f"The query uses the function {label(name, 80)}.")


def _locked(connection: Connection) -> set[int]:
    return set(connection.exec_driver_sql(_LOCKED).scalars())


def _check_relations(connection: Connection, before: set[int], rules: Rules, approved: bool) -> None:
    """Judge the relations that the server has locked. The query may read those of the user's transaction."""
    listed = ", ".join(map(str, _locked(connection)))
    for relation, schema, table, column, readable in list(
        connection.exec_driver_sql(_RELATIONS.format(listed)) if listed else ()
    ):
        named = f"{label(schema, 80)}.{label(table, 80)}"
        if hides_table(f"{schema}.{table}", rules):
            if relation not in before:
                raise LookupError(_HIDDEN)
            if not approved:
                raise ApprovalNeeded(f"Your open transaction uses {named}, so the query may read it.")
        if approved:
            continue
        if _is_system(schema):
            if relation not in before:
                raise ApprovalNeeded(f"The query reads {named}.")
        elif column is not None and readable and is_withheld(column, rules):
            raise ApprovalNeeded(f"This role may read the column {label(column, 80)} of {named}, which you withhold.")


def _is_system(schema: str) -> bool:
    return schema == "information_schema" or (schema.startswith("pg_") and not schema.startswith("pg_temp_"))


def _check_plan(plan: Any, guarded: set[str]) -> None:
    """Judge what views of the catalog scan: their own locks may be older than the query."""
    for node in plan_nodes(plan):
        schema, table, function = (str(node.get(each, "")) for each in ("Schema", "Relation Name", "Function Name"))
        if table and _is_system(schema):
            raise ApprovalNeeded(f"The query reads {label(schema, 80)}.{label(table, 80)}.")
        if function in guarded:
            raise ApprovalNeeded(f"The query uses the function {label(function, 80)}.")
