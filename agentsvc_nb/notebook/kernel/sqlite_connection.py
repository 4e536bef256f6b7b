"""SQLite by way of SQLAlchemy: its authorizer judges each table, column and function of a query.

A query runs on the driver's own connection. Meanwhile its authorizer and its progress handler are ours; a user who has
set some of their own has to set them again.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection

from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import (
    ONE_SELECT,
    ApprovalNeeded,
    Selected,
    Tables,
    hides_table,
    is_withheld,
)
from agentsvc_nb.notebook.kernel.masking import Rules
from agentsvc_nb.notebook.kernel.sqlalchemy_connection import AnyDatabase, driver_of, errors_told
from agentsvc_nb.wire.text import label

_INNOCUOUS: Final = 0x200000
"""SQLITE_INNOCUOUS: by SQLite's word a function without side effects, which tells of its arguments alone."""
_FUNCTIONS: Final = f"""
    SELECT lower(name) FROM pragma_function_list GROUP BY 1
    HAVING min(builtin) AND (min((flags & {_INNOCUOUS}) <> 0) OR lower(name) LIKE 'json%')
"""
_OPERATORS: Final = frozenset({"->", "->>", "bm25", "highlight", "match", "snippet"})
"""Harmless functions of JSON and full-text search, which are not marked innocuous in each version."""
_ENDLESS: Final = frozenset({"printf", "format"})
"""`printf('%.*c', 900000000, 'x')` takes ten seconds, whatever the limits: nothing stops SQLite within a function."""
_ENTRIES: Final = """
    SELECT name, type = 'table' AND rootpage = 0 FROM "{}".sqlite_master
    WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid
"""
_TABLE_COLUMNS: Final = "SELECT name, type FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1"
_TABLE_FUNCTIONS: Final = ("json_each", "json_tree")
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
}
"""`replace`, `instr`, GLOB and LIKE take as long as both texts multiplied: at these lengths a fraction of a second."""
_TOO_LARGE: Final = "A value has over 100,000 bytes, which is the most that a query may read or make here."
_STEPS: Final = 100
"""After how many steps of its machine SQLite asks whether to go on. A step with long texts takes long."""
_JOINS: Final = re.compile(r"\b(?:natural|using)\b", re.IGNORECASE)
_WRITE_ON: Final = "Write the join with ON: NATURAL and USING are not possible where some columns are not offered."
_NO_TABLE: Final = "There is no table {}: database_schema lists the tables."


class Sqlite(AnyDatabase):
    """SQLite."""

    product = "SQLite"

    def tables(self) -> Tables:
        with errors_told(), self._own() as own:
            return _Schema(own).tables

    def select(self, sql: str, rows: int, rules: Rules, *, approved: bool = False) -> Selected:
        begun = time.monotonic()
        with errors_told(begun), self._own() as own:
            judge = _Judge(_Schema(own), rules)
            with _writing_nothing(own, begun):
                if approved:
                    return _selected(own, f"/* approved */ {sql}", rows)
                return judge.selected(sql, rows)

    @contextmanager
    def _own(self) -> Iterator[sqlite3.Connection]:
        """The driver's connection; SQLAlchemy begins no transaction for it, so there is none to roll back."""
        if isinstance(self.bind, Connection):
            yield driver_of(self.bind)
            return
        borrowed = self.bind.raw_connection()
        own: Any = borrowed.driver_connection
        try:
            yield own
        finally:
            borrowed.close()


class _Schema:
    """The tables, functions and modules of a connection.

    Attributes:
        shadows: tables in which virtual tables keep their contents, such as those of full-text search, and whose.
    """

    def __init__(self, own: sqlite3.Connection) -> None:
        self.own = own
        self.tables: dict[str, list[tuple[str, str]]] = {}
        self.shadows: dict[str, str] = {}
        for (database,) in _rows(own, "SELECT name FROM pragma_database_list"):
            self._read(database)
        self.functions = {name for (name,) in _rows(own, _FUNCTIONS)} | _OPERATORS
        self.functions = {name for name in self.functions - _ENDLESS if not name.startswith("sqlite_")}
        self.modules = {name.casefold() for (name,) in _rows(own, "SELECT name FROM pragma_module_list")}
        for name in _TABLE_FUNCTIONS:  # SQLite makes its entry now, which the authorizer would take for a write
            _rows(own, f"SELECT 1 FROM {name}('[]')")

    def _read(self, database: str) -> None:
        entries = _rows(self.own, _ENTRIES.format(database.replace('"', '""')))
        virtual = [name for name, is_virtual in entries if is_virtual]
        for name, _ in entries:
            if owner := next((each for each in virtual if name.startswith(f"{each}_")), ""):
                self.shadows[name.casefold()] = owner.casefold()
                continue
            columns = _rows(self.own, _TABLE_COLUMNS, (name, database))
            shown = name if database in ("main", "temp") else f"{database}.{name}"
            self.tables[shown] = [(str(column), str(kind)) for column, kind in columns]


class _Judge:
    """The authorizer of one query: what it reads, and why it must not."""

    def __init__(self, schema: _Schema, rules: Rules) -> None:
        self._schema, self._rules = schema, rules
        self._tables = set(map(_bare, schema.tables))
        self._hidden = {_bare(name) for name in schema.tables if hides_table(name, rules)}
        self._withholding = self._hidden | {
            _bare(name)
            for name, columns in schema.tables.items()
            if any(is_withheld(column, rules) for column, _ in columns)
        }
        self._refusal = self._doubt = ""
        self._nulled = False

    def selected(self, sql: str, rows: int) -> Selected:
        # SQLite does not tell its authorizer of columns that NATURAL and USING join.
        if self._withholding and _JOINS.search(sql):
            raise LookupError(_WRITE_ON)
        own = self._schema.own
        own.set_authorizer(self._authorized)
        try:
            # The comment keeps the user's own statement of the same text from being the one that was judged.
            found = _selected(own, f"/* agent */ {sql}", rows)
        except sqlite3.DatabaseError:
            if self._refusal:
                raise LookupError(self._refusal) from None
            if self._doubt:
                raise ApprovalNeeded(self._doubt) from None
            raise
        finally:
            own.set_authorizer(None)
        return Selected(found.columns, found.rows, found.more, self._nulled)

    def _authorized(self, action: int, name: str | None, part: str | None, database: str | None, _: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            return self._read(name or "", part or "")
        if action == sqlite3.SQLITE_FUNCTION:
            if (part or "").casefold() in self._schema.functions:
                return sqlite3.SQLITE_OK
            self._doubt = f"The query uses the function {label(part or '', 80)}."
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA and name == "data_version" and part is None:  # of full-text search
            return sqlite3.SQLITE_OK
        self._refusal = ONE_SELECT
        return sqlite3.SQLITE_DENY

    def _read(self, table: str, column: str) -> int:
        name = table.casefold()
        if name in _TABLE_FUNCTIONS:
            return sqlite3.SQLITE_OK
        if name in self._tables - self._hidden:
            if column and is_withheld(column, self._rules):
                self._nulled = True
                return sqlite3.SQLITE_IGNORE
            return sqlite3.SQLITE_OK
        if self._schema.shadows.get(name, name) not in {name, *self._withholding}:
            return sqlite3.SQLITE_OK
        # SQLite reports a common table expression without a column, and what the expression reads in calls of its own.
        known = name in self._tables | self._schema.shadows.keys() | self._schema.modules or name.startswith("sqlite_")
        if not column and not known:
            return sqlite3.SQLITE_OK
        self._refusal = _NO_TABLE.format(label(table, 80))
        return sqlite3.SQLITE_DENY


def _bare(table: str) -> str:
    """The name without that of its database."""
    return table.rpartition(".")[2].casefold()


def _rows(own: sqlite3.Connection, sql: str, parameters: tuple[str, ...] = ()) -> list[Any]:
    """Return tuples, whatever the user has set as the connection's `row_factory`."""
    cursor = own.cursor()
    cursor.row_factory = None
    return cursor.execute(sql, parameters).fetchall()


def _selected(own: sqlite3.Connection, sql: str, rows: int) -> Selected:
    cursor = own.cursor()
    cursor.row_factory = None
    try:
        cursor.execute(sql)
        found = cursor.fetchmany(rows + 1)
        return Selected([str(column[0]) for column in cursor.description or ()], found[:rows], len(found) > rows)
    except sqlite3.DataError:
        raise LookupError(_TOO_LARGE) from None
    finally:
        cursor.close()


@contextmanager
def _writing_nothing(own: sqlite3.Connection, begun: float) -> Iterator[None]:
    """SQLite refuses writes, and asks now and then whether to go on: that is when Python hears of an interrupt."""
    [(before,)] = _rows(own, "PRAGMA query_only")
    limits = {limit: own.setlimit(limit, most) for limit, most in _LIMITS.items()}
    own.execute("PRAGMA query_only = ON")
    own.set_progress_handler(lambda: time.monotonic() - begun > database_port.QUERY_SECONDS, _STEPS)
    try:
        yield
    finally:
        own.set_progress_handler(None, 0)
        own.execute(f"PRAGMA query_only = {int(before)}")
        for limit, most in limits.items():
            own.setlimit(limit, most)
