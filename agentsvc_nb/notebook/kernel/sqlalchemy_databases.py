"""Let the agent query the database of a SQLAlchemy Engine or Connection, in a transaction that is rolled back.

- SQLite: its authorizer callback allows or denies each table, column and function that a query uses. The authorizer and
  the progress handler of the connection are replaced for this, so users who have set their own must set them again.
- PostgreSQL: the server plans the query in a read-only transaction before it runs. The server then holds a lock on each
  table and view that the query uses directly or indirectly. This module checks these locks and the permissions of the
  database role. The server does not list the functions, so each word of the query that is the name of a function counts
  as a call of that function.
- Other databases: the user must approve each query.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import SQLAlchemyError

from agentsvc_nb import clock
from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import (
    ONE_SELECT,
    ApprovalNeeded,
    ReadOnlyDatabase,
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

_NAMES: Final = {"postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB", "mssql": "SQL Server"}
_OWN_SCHEMAS: Final = frozenset({"information_schema", "performance_schema", "pg_catalog", "mysql", "sys"})
_SCHEMAS_LISTED: Final = 20
_NO_TRANSACTION: Final = "This connection uses AUTOCOMMIT, so a query can't be rolled back; nothing was run."


def open_database(bind: Engine | Connection) -> ReadOnlyDatabase:
    """Return the database of an Engine or a Connection."""
    if bind.dialect.name == "sqlite" and bind.dialect.driver == "pysqlite":
        return Sqlite(bind)
    return Postgres(bind) if bind.dialect.name == "postgresql" else AnyDatabase(bind)


class AnyDatabase:
    """Any database that SQLAlchemy supports. The user must approve each query."""

    def __init__(self, bind: Engine | Connection) -> None:
        self.bind = bind

    @property
    def product(self) -> str:
        name = self.bind.dialect.name
        return _NAMES.get(name, name)

    def tables(self) -> Tables:
        found: dict[str, list[tuple[str, str]]] = {}
        with convert_errors(SQLAlchemyError), self._transaction() as connection:
            inspector = inspect(connection)
            default = inspector.default_schema_name
            others = [name for name in inspector.get_schema_names() if name not in _OWN_SCHEMAS | {default}]
            schemas = [None, *(name for name in others if not name.startswith("pg_"))]
            for schema in schemas[:_SCHEMAS_LISTED]:
                for (_, table), columns in inspector.get_multi_columns(schema=schema, kind=ObjectKind.ANY).items():
                    rows = [(str(column["name"]), str(column["type"])) for column in columns]
                    found[f"{schema}.{table}" if schema else table] = rows
        return found

    def select(self, sql: str, rows: int, rules: SharingRules, *, approved: bool = False) -> SelectedRows:
        with (
            convert_errors(SQLAlchemyError),
            self._transaction() as connection,
            limit_time(getattr(_driver_of(connection), "cancel", lambda: None)),
        ):
            self.check(connection, sql, rules, approved)
            # `no_parameters`: percent signs and colons are part of the SQL. `stream_results`: fetch only the requested
            # rows.
            options = {"no_parameters": True, "stream_results": True, "max_row_buffer": rows + 1}
            result = connection.exec_driver_sql(sql, execution_options=options)
            try:
                found = [tuple(row) for row in result.fetchmany(rows + 1)]
                return SelectedRows(list(result.keys()), found[:rows], len(found) > rows)
            finally:
                result.close()

    def begin(self, connection: Connection) -> None:
        """Prepare the transaction in which a query runs. Subclasses may override this."""

    def check(self, connection: Connection, sql: str, rules: SharingRules, approved: bool) -> None:
        """Raise `ApprovalNeeded` if the user must approve the query, or `LookupError` if it must not run at all."""
        if not approved:
            raise ApprovalNeeded(f"agentsvc can't limit what a query reads in {self.product}.")

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Begin a transaction, or a savepoint in the user's transaction, for the `with` block, then roll it back."""
        with self._connected() as connection:
            driver = _driver_of(connection)
            asked = getattr(driver, "get_autocommit", None)  # a method in MySQL's driver, an attribute in most
            if bool(asked()) if asked is not None else getattr(driver, "autocommit", None) is True:
                raise LookupError(_NO_TRANSACTION)
            transaction = connection.begin_nested() if connection.in_transaction() else connection.begin()
            try:
                self.begin(connection)
                yield connection
            finally:
                transaction.rollback()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        if isinstance(self.bind, Connection):
            yield self.bind
        else:
            with self.bind.connect() as connection:
                yield connection


def _driver_of(connection: Connection) -> Any:
    return connection.connection.driver_connection


# -- SQLite -------------------------------------------------------------------------------------------------------

_INNOCUOUS: Final = 0x200000
"""SQLite's flag for functions that have no side effects and whose result depends only on their arguments."""
_INNOCUOUS_FUNCTIONS: Final = f"""
    SELECT lower(name) FROM pragma_function_list GROUP BY 1
    HAVING min(builtin) AND (min((flags & {_INNOCUOUS}) <> 0) OR lower(name) LIKE 'json%')
"""
_OPERATORS: Final = frozenset({"->", "->>", "bm25", "highlight", "match", "snippet"})
"""Harmless functions of JSON and full-text search. Some versions of SQLite do not flag them as innocuous."""
_ENDLESS: Final = frozenset({"printf", "format"})
"""Functions that can't be stopped in time: `printf('%.*c', 900000000, 'x')` takes ten seconds, and SQLite can't be
interrupted within a function.
"""
_SQLITE_TABLES: Final = r"""
    SELECT schema, name, type FROM pragma_table_list WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'
"""
_SQLITE_COLUMNS: Final = "SELECT name, type FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1"
_MODULES: Final = "SELECT name FROM pragma_module_list"
_JSON_TABLES: Final = ("json_each", "json_tree")
_LIMITS: Final = {sqlite3.SQLITE_LIMIT_LENGTH: 100_000, sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500}
"""SQLite's limits while a query runs. `replace`, `instr`, GLOB and LIKE take time in proportion to the product of the
lengths of two texts. With these limits, this time is a fraction of a second.
"""
_TOO_LARGE: Final = "A value exceeds 100,000 bytes, the limit for values that a query reads or creates."
_STEPS: Final = 100
"""After this many steps, SQLite calls the progress handler. A single step with long texts may already take a while."""
_JOINS: Final = re.compile(r"\b(?:natural|using)\b", re.IGNORECASE)
_WRITE_ON: Final = (
    "Write the join with ON. NATURAL and USING are not allowed, because the user does not share some columns."
)


class Sqlite(AnyDatabase):
    """A SQLite database that the agent may query."""

    product = "SQLite"

    def tables(self) -> Tables:
        with convert_errors(SQLAlchemyError, sqlite3.Error), self._driver_connection() as own:
            return _SqliteAuthorizer(own, SharingRules()).tables

    def select(self, sql: str, rows: int, rules: SharingRules, *, approved: bool = False) -> SelectedRows:
        with convert_errors(SQLAlchemyError, sqlite3.Error), self._driver_connection() as own:
            judge = _SqliteAuthorizer(own, rules)
            with _read_only(own):
                # Because of the comment, SQLite does not reuse the user's cached statement with the same text, which
                # was not authorized.
                return _select(own, f"/* approved */ {sql}", rows) if approved else judge.select(sql, rows)

    @contextmanager
    def _driver_connection(self) -> Iterator[sqlite3.Connection]:
        """Yield the driver's connection. SQLAlchemy begins no transaction for it, so there is nothing to roll back."""
        with self._connected() as connection:
            yield _driver_of(connection)


class _SqliteAuthorizer:
    """Decides what one query may read, as SQLite's authorizer callback. It records why the query was refused.

    Attributes:
        tables: the columns of each table. Shadow tables, in which virtual tables such as full-text search store their
            data, are left out.
    """

    def __init__(self, own: sqlite3.Connection, rules: SharingRules) -> None:
        self._own, self._rules = own, rules
        self._refusal = self._doubt = ""
        self._nulled = False
        self.tables: dict[str, list[tuple[str, str]]] = {}
        self._shadows, hidden, withheld = set[str](), set[str](), set[str]()
        for schema, name, kind in _rows(own, _SQLITE_TABLES):
            if kind == "shadow":
                self._shadows.add(name.casefold())
                continue
            shown = name if schema in ("main", "temp") else f"{schema}.{name}"
            columns = self.tables[shown] = _rows(own, _SQLITE_COLUMNS, (name, schema))
            if hides_table(shown, rules):
                hidden.add(name.casefold())
            if hides_table(shown, rules) or any(is_withheld(column, rules) for column, _ in columns):
                withheld.add(name.casefold())
        tables = {name.rpartition(".")[2].casefold() for name in self.tables}
        self._withholding = bool(withheld)
        beginnings = tuple(f"{name}_" for name in withheld)
        self._readable = tables - hidden | {name for name in self._shadows if not name.startswith(beginnings)}
        self._known = tables | self._shadows | {name.casefold() for (name,) in _rows(own, _MODULES)}
        named = {name for (name,) in _rows(own, _INNOCUOUS_FUNCTIONS)} | _OPERATORS
        self._functions = {name for name in named - _ENDLESS if not name.startswith("sqlite_")}
        for name in _JSON_TABLES:  # let SQLite create its entry now: the authorizer would deny that as a write
            _rows(own, f"SELECT 1 FROM {name}('[]')")

    def select(self, sql: str, rows: int) -> SelectedRows:
        # SQLite does not tell the authorizer which columns are joined by NATURAL and USING.
        if self._withholding and _JOINS.search(sql):
            raise LookupError(_WRITE_ON)
        self._own.set_authorizer(self._authorize)
        try:
            found = _select(self._own, f"/* agent */ {sql}", rows)
        except sqlite3.DatabaseError:
            if self._refusal:
                raise LookupError(self._refusal) from None
            if self._doubt:
                raise ApprovalNeeded(self._doubt) from None
            raise
        finally:
            self._own.set_authorizer(None)
        return SelectedRows(found.columns, found.rows, found.more, self._nulled)

    def _authorize(self, action: int, name: str | None, part: str | None, database: str | None, _: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            return self._read(name or "", part or "")
        if action == sqlite3.SQLITE_FUNCTION:
            if (part or "").casefold() in self._functions:
                return sqlite3.SQLITE_OK
            self._doubt = f"The query uses the function {label(part or '', 80)}."
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA and name == "data_version" and part is None:  # used by full-text search
            return sqlite3.SQLITE_OK
        self._refusal = ONE_SELECT
        return sqlite3.SQLITE_DENY

    def _read(self, table: str, column: str) -> int:
        name = table.casefold()
        if name in _JSON_TABLES:
            return sqlite3.SQLITE_OK
        if name in self._readable:
            if column and name not in self._shadows and is_withheld(column, self._rules):
                self._nulled = True
                return sqlite3.SQLITE_IGNORE
            return sqlite3.SQLITE_OK
        # For a common table expression, SQLite calls the authorizer without a column, and separately for each table
        # that the expression reads.
        if not column and name not in self._known and not name.startswith("sqlite_"):
            return sqlite3.SQLITE_OK
        self._refusal = f"There is no table {label(table, 80)}. List the tables with database_schema."
        return sqlite3.SQLITE_DENY


def _rows(own: sqlite3.Connection, sql: str, parameters: tuple[str, ...] = ()) -> list[Any]:
    """Return the rows as tuples, even if the connection has another `row_factory`."""
    cursor = own.cursor()
    cursor.row_factory = None
    return cursor.execute(sql, parameters).fetchall()


def _select(own: sqlite3.Connection, sql: str, rows: int) -> SelectedRows:
    cursor = own.cursor()
    cursor.row_factory = None
    try:
        cursor.execute(sql)
        found = cursor.fetchmany(rows + 1)
        return SelectedRows([str(column[0]) for column in cursor.description or ()], found[:rows], len(found) > rows)
    except sqlite3.DataError:
        raise LookupError(_TOO_LARGE) from None
    finally:
        cursor.close()


@contextmanager
def _read_only(own: sqlite3.Connection) -> Iterator[None]:
    """In the `with` block, let SQLite refuse writes, limit time and value sizes, and let Python notice interrupts."""
    [(before,)] = _rows(own, "PRAGMA query_only")
    limits = {limit: own.setlimit(limit, most) for limit, most in _LIMITS.items()}
    own.execute("PRAGMA query_only = ON")
    ends = clock.monotonic() + database_port.QUERY_SECONDS
    own.set_progress_handler(lambda: clock.monotonic() > ends, _STEPS)
    try:
        yield
    finally:
        own.set_progress_handler(None, 0)
        own.execute(f"PRAGMA query_only = {int(before)}")
        for limit, most in limits.items():
            own.setlimit(limit, most)


# -- PostgreSQL ---------------------------------------------------------------------------------------------------

_SET_QUERY: Final = text("SELECT pg_catalog.set_config('agentsvc.query', :sql, true)")
_PLAN: Final = """
    DO $$ DECLARE planned refcursor := 'agentsvc_plan'; BEGIN
    OPEN planned FOR EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || pg_catalog.current_setting('agentsvc.query');
    END $$
"""
"""Plans a query without running it. The cursor refuses a second statement, and EXPLAIN refuses commands like DROP."""
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
_PG_FUNCTIONS: Final = """
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
"""Functions of PostgreSQL that read no table, but whose result depends on the clock, a setting or chance."""
_LARGE: Final = frozenset({"repeat", "lpad", "rpad"})
"""Functions that can return a gigabyte, for which the kernel would need memory."""
_HIDDEN: Final = "The query reads a table that the user does not share. List the tables with database_schema."
_WORDS: Final = re.compile(r"[^\W\d]\w*")


class Postgres(AnyDatabase):
    """A PostgreSQL database that the agent may query."""

    def begin(self, connection: Connection) -> None:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(database_port.QUERY_SECONDS * 1000)}")

    def check(self, connection: Connection, sql: str, rules: SharingRules, approved: bool) -> None:
        guarded = _functions_to_ask_for(connection)
        if not approved:
            _check_role(connection)
            _check_words(sql, guarded)
        before = _read_locks(connection)
        connection.execute(_SET_QUERY, {"sql": sql})
        connection.exec_driver_sql(_PLAN)
        plan = connection.exec_driver_sql("FETCH ALL FROM agentsvc_plan").scalar_one()
        _check_relations(connection, before, rules, approved)
        if not approved:
            _check_plan(json.loads(plan) if isinstance(plan, str) else plan, guarded)


def _check_role(connection: Connection) -> None:
    for name in connection.exec_driver_sql(_POWER).scalars():
        raise ApprovalNeeded(f"The role of this connection can do more than read ({label(name, 80)}).")
    for name in connection.exec_driver_sql(_WRITABLE).scalars():
        raise ApprovalNeeded(f"The role of this connection can write ({label(name, 80)}).")


def _functions_to_ask_for(connection: Connection) -> set[str]:
    """Return the names of functions that need approval: not built in, or able to do more than compute a value."""
    return {
        name
        for name, built_in, computes in connection.exec_driver_sql(_PG_FUNCTIONS)
        if name in _LARGE or not built_in or not (computes or name in _STABLE)
    }


def _check_words(sql: str, guarded: set[str]) -> None:
    written = sql.lower()
    if 'u&"' in written:
        raise ApprovalNeeded('The query contains Unicode-escaped names (U&"...").')
    words, unquoted = set(_WORDS.findall(written)), written.replace('""', '"')
    for name in guarded:
        lower = name.lower()
        if lower in words or (not _WORDS.fullmatch(lower) and lower in unquoted):
            raise ApprovalNeeded(f"The query uses the function {label(name, 80)}.")


def _read_locks(connection: Connection) -> set[int]:
    return set(connection.exec_driver_sql(_LOCKED).scalars())


def _check_relations(connection: Connection, before: set[int], rules: SharingRules, approved: bool) -> None:
    """Raise `LookupError` or `ApprovalNeeded` if the server has locked a table or view that is not shared.

    The server locks each table and view that the query uses.

    Args:
        before: the ids of the tables and views that were locked before this query, by the user's transaction.
        approved: whether the user has approved the query. Then only tables that the rules hide are refused.
    """
    listed = ", ".join(map(str, _read_locks(connection)))
    for relation, schema, table, column, readable in list(
        connection.exec_driver_sql(_RELATIONS.format(listed)) if listed else ()
    ):
        named = f"{label(schema, 80)}.{label(table, 80)}"
        if hides_table(f"{schema}.{table}", rules):
            if relation not in before:
                raise LookupError(_HIDDEN)
            if not approved:
                raise ApprovalNeeded(
                    f"Your open transaction uses {named}, which you do not share. The query could read it."
                )
        if approved:
            continue
        if _is_system(schema):
            if relation not in before:
                raise ApprovalNeeded(f"The query reads {named}.")
        elif column is not None and readable and is_withheld(column, rules):
            raise ApprovalNeeded(
                f"The database role can read the column {label(column, 80)} of {named}, which you do not share."
            )


def _is_system(schema: str) -> bool:
    return schema == "information_schema" or (schema.startswith("pg_") and not schema.startswith("pg_temp_"))


def _check_plan(plan: Any, guarded: set[str]) -> None:
    """Raise `ApprovalNeeded` if the query plan reads a system table or calls a function in `guarded`.

    The locks do not show this: a function has no lock, and a system table may have been locked before the query.
    """
    for node in plan_nodes(plan):
        schema, table, function = (str(node.get(each, "")) for each in ("Schema", "Relation Name", "Function Name"))
        if table and _is_system(schema):
            raise ApprovalNeeded(f"The query reads {label(schema, 80)}.{label(table, 80)}.")
        if function in guarded:
            raise ApprovalNeeded(f"The query uses the function {label(function, 80)}.")
