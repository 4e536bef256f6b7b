"""A transaction on PostgreSQL (`ports.Tx`): the named SQL translated, and values as SQLite gives them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row
from psycopg.types.numeric import Int8Dumper

from agentsvc_nb.service.ports import Row
from agentsvc_nb.service.sql import in_postgres
from agentsvc_nb.tools.support.stopping import ReadTime

psycopg.adapters.register_dumper(int, Int8Dumper)  # one type for all integers, as all columns of integers have

_PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_NUMBERED: Final = """
    SELECT column_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = :table AND is_identity = 'YES'
"""
_OUR_ORDER: Final = "rowid"
"""The column that stands for SQLite's own, which `SELECT *` does not show either."""


class PostgresTx:
    """`ports.Tx` over one connection. `plan`: its statements are planned each time, for the values that they have."""

    def __init__(
        self, connection: psycopg.Connection[Row], time: ReadTime | None = None, *, plan: bool = False
    ) -> None:
        self._connection = connection
        self._time = time
        self._prepare = False if plan else None

    def all(self, sql: str, /, **params: Any) -> list[Row]:
        return self._execute(sql, params).fetchall()

    def one(self, sql: str, /, **params: Any) -> Row | None:
        return self._execute(sql, params).fetchone()

    def run(self, sql: str, /, **params: Any) -> int:
        return self._execute(sql, params).rowcount

    def check_time(self) -> None:
        if self._time is not None:
            self._time.check()

    def stream(self, sql: str, /) -> Iterator[Sequence[Any]]:
        with self._connection.cursor("streamed", row_factory=tuple_row) as cursor:
            cursor.execute(sql.encode())
            for values in cursor:
                yield [_shown(value) if type(value) is str else value for value in values]

    def copy_in(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        into = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        try:
            with self._connection.cursor() as cursor, cursor.copy(into.encode()) as copy:
                for values in rows:
                    copy.write_row([_stored(value) if type(value) is str else value for value in values])
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            raise ValueError(f"a row of {table} that the database can't store ({error.sqlstate})") from error
        for column in self.all(_NUMBERED, table=table):
            last = f"(SELECT COALESCE(MAX({column['name']}), 0) + 1 FROM {table})"
            self.run(f"SELECT setval(pg_get_serial_sequence('{table}', '{column['name']}'), {last}, false)")
        self.run(f"ANALYZE {table}")

    def _execute(self, sql: str, params: dict[str, Any]) -> psycopg.Cursor[Row]:
        given = {name: _stored(value) if type(value) is str else value for name, value in params.items()}
        try:
            return self._connection.execute(translated(sql), given, prepare=self._prepare)
        except psycopg.DataError as error:  # as a value that SQLite cannot store
            raise ValueError(f"a value that the database can't store ({error.sqlstate})") from error


@functools.cache
def translated(sql: str) -> bytes:
    """A named statement as psycopg takes it.

    >>> translated("SELECT * FROM run WHERE run_id = :run_id")
    b'SELECT * FROM run WHERE run_id = %(run_id)s'
    """
    return _PARAMETER.sub(r"%(\1)s", in_postgres.get(sql, sql).replace("%", "%%")).encode()


def as_dict(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], dict[str, Any]]:
    """Makes the rows of a cursor (psycopg's `row_factory`)."""
    names = [column.name for column in cursor.description or ()]
    hidden = _OUR_ORDER in names

    def row(values: Sequence[Any]) -> dict[str, Any]:
        shown = (_shown(value) if type(value) is str else value for value in values)
        found = dict(zip(names, shown, strict=True))
        if hidden:
            del found[_OUR_ORDER]
        return found

    return row


# PostgreSQL's texts hold no NUL, which messages and answers may have: it is written as two characters.

_MARK: Final = "\uffff"
"""No character, and not used in texts; where it is, it is written as two, too."""


def _stored(text: str) -> str:
    if "\0" in text or _MARK in text:
        return text.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")
    return text


def _shown(text: str) -> str:
    if _MARK not in text:
        return text
    return text.replace(f"{_MARK}0", "\0").replace(f"{_MARK}1", _MARK)
