"""DuckDB with tables made of Python's rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import duckdb

from agentsvc_nb.documents.plans.dialect import definition, quoted
from tests.plans.oracle import Data


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One for all tests: each takes some fifty milliseconds to start."""
    return duckdb.connect(":memory:", config={"threads": 1})


def engine(tables: Iterable[Data]) -> duckdb.DuckDBPyConnection:
    """An engine with these tables and no others."""
    made = _connection()
    for (name,) in made.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        made.execute(f"DROP TABLE {quoted(name)}")
    for data in tables:
        made.execute(definition(data.profile))
        marks = f"({', '.join('?' * len(data.profile.columns))})"
        if data.rows:
            values = [cell for row in data.rows for cell in row]
            made.execute(
                f"INSERT INTO {quoted(data.profile.name)} VALUES {', '.join([marks] * len(data.rows))}", values
            )
    return made
