"""A PostgreSQL connection of the kernel: PostgreSQL keeps it from writing, and says what each query reads."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy

from agentsvc_nb.notebook.kernel.database_port import ApprovalNeeded
from agentsvc_nb.notebook.kernel.databases import find_database, query, schema
from agentsvc_nb.notebook.kernel.variables import SharingRules
from tests.support import databases

# A cursor whose query was cut off is left to be collected.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
RULES = SharingRules(rows=50, hidden=("board*",))
SECRETS = ("hunter2", "minutes of")
MADE = """
CREATE TABLE sales (region text, amount int, day date);
INSERT INTO sales VALUES ('North', 3, '2026-01-05'), ('South', 5, '2026-02-07');
CREATE TABLE customers (id int, name text, region text);
INSERT INTO customers VALUES (1, 'Ada', 'North');
CREATE TABLE users (id int, city text, password text);
INSERT INTO users VALUES (1, 'Rome', 'hunter2');
CREATE TABLE board_notes (said text, at date) PARTITION BY RANGE (at);
CREATE TABLE notes_2026 PARTITION OF board_notes FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
INSERT INTO board_notes VALUES ('minutes of the board', '2026-03-01');
CREATE VIEW board_view AS SELECT said AS s FROM notes_2026;
CREATE SCHEMA shop;
CREATE VIEW shop.regions AS SELECT DISTINCT region FROM sales;
CREATE FUNCTION sneaky() RETURNS int LANGUAGE sql AS 'DELETE FROM sales RETURNING 1';
GRANT USAGE ON SCHEMA shop TO reader;
GRANT SELECT ON sales, customers, shop.regions, board_notes, notes_2026, board_view TO reader;
GRANT SELECT (id, city) ON users TO reader;
GRANT SELECT ON sales, users TO auditor;
"""


def made(user: str) -> sqlalchemy.Engine:
    """An engine of a role: `postgres` may do everything, `reader` read what is offered, `auditor` withheld columns."""
    server = databases.server()
    address = server.new_database()
    with psycopg.connect(address) as connection:
        for (role,) in connection.execute(
            "SELECT name FROM unnest(ARRAY['reader', 'auditor']) name WHERE name NOT IN (SELECT rolname FROM pg_roles)"
        ).fetchall():
            connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        connection.execute(MADE)
    return sqlalchemy.create_engine(address.replace("postgresql://postgres@", f"postgresql+psycopg://{user}@", 1))


@pytest.fixture(scope="module")
def readers() -> Iterator[sqlalchemy.Engine]:
    engine = made("reader")
    yield engine
    engine.dispose()
    gc.collect()


def told(bind: Any, sql: str) -> str:
    """What the agent gets: an answer, or the beginning of a word for why not."""
    try:
        return json.dumps(query(find_database("db", {"db": bind}).database, sql, RULES))
    except ApprovalNeeded as reason:
        return f"asks: {reason}"
    except LookupError as error:
        return f"refused: {error}"


def test_it_is_told_and_asked(readers: sqlalchemy.Engine) -> None:
    database = find_database("db", {"db": readers}).database
    shown = schema(database, RULES)
    assert shown["database"] == "PostgreSQL"
    names = [table["name"] for table in shown["tables"]]
    assert {"sales", "shop.regions"} <= set(names)
    assert not [name for name in names if name.startswith("board")]
    found = query(
        database, "SELECT region, amount FROM sales WHERE region LIKE '%th' ORDER BY 2 DESC;", SharingRules(rows=1)
    )
    assert found == {"columns": ["region", "amount"], "rows": [["South", 5]], "more_rows": True}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT date_trunc('month', day) AS m, to_char(day, 'YYYY-MM'), count(*) FROM sales GROUP BY 1, 2 ORDER BY m",
        "SELECT * FROM sales s WHERE EXISTS (SELECT FROM customers c WHERE c.region = s.region) AND region ILIKE '%TH'",
        "SELECT * FROM shop.regions",
    ],
)
def test_a_reader_has_ordinary_queries_answered_at_once(readers: sqlalchemy.Engine, sql: str) -> None:
    assert told(readers, sql).startswith('{"columns"')


ATTACKS = [
    # Functions that take SQL, reach the server, or are the owner's; also in parts of a query that a plan does not show.
    ("select * from ts_stat('select password from users')", "asks"),
    ('select "pg_terminate_backend"(1)', "asks"),
    ("select sneaky()", "asks"),
    ("select region from sales limit length(pg_read_file('/etc/passwd'))", "asks"),
    # The catalog.
    ("select query from pg_stat_activity", "asks"),
    # Hidden tables, also as a view or a partition.
    ("select * from board_view", "refused"),
    ("select count(*) from sales where exists (select from board_notes)", "refused"),
    # Columns that the role may not read.
    ("select t::text from users t", "refused"),
    # What is no query.
    ("select 1; commit; delete from sales", "refused"),
    ("with x as (delete from sales returning *) select * from x", "refused"),
    ("select * from sales for update", "refused"),
]


@pytest.mark.parametrize(("sql", "how"), ATTACKS)
def test_a_reader_has_nothing_else_read(readers: sqlalchemy.Engine, sql: str, how: str) -> None:
    said = told(readers, sql)
    assert said.startswith(f"{how}:"), said
    assert not [secret for secret in SECRETS if secret in said]
    assert '"rows": [[2]]' in told(readers, "SELECT count(*) FROM sales")


def test_a_role_that_may_read_withheld_columns_has_queries_of_them_approved() -> None:
    engine = made("auditor")
    try:
        # The server has no word for which columns a query reads.
        assert told(engine, "select city from users").startswith("asks:")
        assert told(engine, "select count(*) from sales").startswith('{"columns"')
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    ("grant", "sql", "why"),
    [
        ("GRANT INSERT ON customers TO reader", "select 1", "can write (public.customers)"),
        ("GRANT SELECT ON users TO reader", "select city from users", "the column password of public.users"),
    ],
)
def test_more_rights_mean_approval(grant: str, sql: str, why: str) -> None:
    engine = made("reader")
    try:
        assert not told(engine, "select count(*) from sales").startswith("asks")
        with psycopg.connect(databases.server().address(str(engine.url.database))) as connection:
            connection.execute(grant.encode())
        assert why in told(engine, sql)
    finally:
        engine.dispose()


def test_a_function_that_writes_is_refused_by_the_server() -> None:
    engine = made("postgres")
    with engine.connect() as connection:
        database = find_database("db", {"db": connection}).database
        for sql in ("SELECT sneaky()", "SELECT set_config('transaction_read_only', 'off', true), sneaky()"):
            with pytest.raises(ApprovalNeeded, match="can do more than read"):
                query(database, sql, RULES)
            with pytest.raises(LookupError, match=r"read-only transaction|read-write mode"):
                query(database, sql, SharingRules(), approved=True)
        assert query(database, "SELECT count(*) AS n FROM sales", RULES, approved=True)["rows"] == [[2]]
    engine.dispose()
    gc.collect()  # here, where its warning is expected


def test_what_the_users_transaction_has_used_is_not_taken_for_unread(readers: sqlalchemy.Engine) -> None:
    with readers.connect() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM board_view")
        connection.exec_driver_sql("SELECT count(*) FROM pg_class")
        assert "Your open transaction uses public.board_" in told(connection, "select * from board_view")
        connection.rollback()
        connection.exec_driver_sql("SELECT count(*) FROM pg_class")
        assert told(connection, "select count(*) from sales").startswith("{")
        assert told(connection, "select relname from pg_class").startswith("asks: The query reads pg_catalog.pg_class")
