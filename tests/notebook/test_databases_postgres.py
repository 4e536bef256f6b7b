"""A PostgreSQL connection of the kernel, which PostgreSQL itself keeps from writing."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import sqlalchemy

from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import Database
from agentsvc_nb.notebook.kernel.databases import database_in, query, schema
from agentsvc_nb.notebook.kernel.masking import Rules
from tests import databases

# A cursor whose query was cut off is left to be collected.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n % 10) FROM r"


@pytest.fixture(params=["engine", "connection"])
def bound(request: pytest.FixtureRequest) -> Iterator[Any]:
    address = databases.server().new_database().replace("postgresql://", "postgresql+psycopg://", 1)
    engine = sqlalchemy.create_engine(address)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE sales (region text, amount int)")
        connection.exec_driver_sql("INSERT INTO sales VALUES ('North', 3), ('South', 5)")
        connection.exec_driver_sql(
            "CREATE FUNCTION sneaky() RETURNS int LANGUAGE sql AS 'DELETE FROM sales RETURNING 1'"
        )
        connection.exec_driver_sql("CREATE SCHEMA shop")
        connection.exec_driver_sql("CREATE VIEW shop.regions AS SELECT DISTINCT region FROM sales")
    with engine.connect() as connection:
        yield engine if request.param == "engine" else connection
    engine.dispose()
    gc.collect()  # here, where its warning is expected


@pytest.fixture
def database(bound: Any) -> Database:
    return database_in("db", {"db": bound}).database


def rows(bound: Any) -> int:
    with ExitStack() as opened:
        connection = bound if isinstance(bound, sqlalchemy.Connection) else opened.enter_context(bound.connect())
        return int(connection.exec_driver_sql("SELECT count(*) FROM sales").scalar_one())


def test_it_is_told_and_asked(database: Database) -> None:
    told = schema(database, Rules())
    assert told["database"] == "PostgreSQL"
    assert [table["name"] for table in told["tables"]] == ["sales", "shop.regions"]
    found = query(database, "SELECT region, amount FROM sales WHERE region LIKE '%th' ORDER BY 2 DESC", Rules(rows=1))
    assert found == {"columns": ["region", "amount"], "rows": [["South", 5]], "more_rows": True}


@pytest.mark.parametrize(
    "sql", ["SELECT sneaky()", "SELECT set_config('transaction_read_only', 'off', true), sneaky()"]
)
def test_a_function_that_writes_is_refused_by_the_server(bound: Any, database: Database, sql: str) -> None:
    with pytest.raises(LookupError, match=r"read-only transaction|read-write mode"):
        database.select(sql, 5)
    assert rows(bound) == 2


def test_the_user_s_transaction_stays_open_and_writes(bound: Any) -> None:
    if isinstance(bound, sqlalchemy.Engine):
        return
    bound.exec_driver_sql("INSERT INTO sales VALUES ('East', 1)")
    database = database_in("db", {"db": bound}).database
    assert query(database, "SELECT count(*) AS n FROM sales", Rules())["rows"] == [[3]]
    with pytest.raises(LookupError, match="does not exist"):
        query(database, "SELECT nowhere FROM sales", Rules())
    bound.exec_driver_sql("INSERT INTO sales VALUES ('West', 1)")
    assert rows(bound) == 4
    assert bound.exec_driver_sql("SHOW statement_timeout").scalar() == "0"


def test_a_connection_that_commits_by_itself_is_not_asked(bound: Any) -> None:
    free = bound.execution_options(isolation_level="AUTOCOMMIT")
    with pytest.raises(LookupError, match="AUTOCOMMIT"):
        query(database_in("db", {"db": free}).database, "SELECT 1", Rules())


def test_a_long_query_is_ended_and_ctrl_c_ends_one(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_port, "QUERY_SECONDS", 0.3)
    with pytest.raises(LookupError, match="was stopped: ask for less"):
        query(database, ENDLESS, Rules())
    monkeypatch.setattr(database_port, "QUERY_SECONDS", 30)
    begun = time.monotonic()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(LookupError, match="user stopped the query"):
        query(database, ENDLESS, Rules())
    assert time.monotonic() - begun < 10
    assert query(database, "SELECT count(*) AS n FROM sales", Rules())["rows"] == [[2]]
