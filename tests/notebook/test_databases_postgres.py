"""A PostgreSQL connection of the kernel: PostgreSQL keeps it from writing, and says what each query reads."""

from __future__ import annotations

import gc
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
import sqlalchemy

from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import ApprovalNeeded, Database
from agentsvc_nb.notebook.kernel.databases import database_in, query, schema
from agentsvc_nb.notebook.kernel.variables import Rules
from tests.support import databases

# A cursor whose query was cut off is left to be collected.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n % 10) FROM r"
RULES = Rules(rows=50, hidden=("sal?ry", "board*"))
SECRETS = ("90000", "hunter2", "minutes of")
MADE = """
CREATE TABLE sales (region text, amount int, day date);
INSERT INTO sales VALUES ('North', 3, '2026-01-05'), ('South', 5, '2026-02-07');
CREATE TABLE customers (id int, name text, region text);
INSERT INTO customers VALUES (1, 'Ada', 'North');
CREATE TABLE users (id int, city text, password text);
INSERT INTO users VALUES (1, 'Rome', 'hunter2');
CREATE TABLE staff (id int, salary int, team text) PARTITION BY RANGE (id);
CREATE TABLE staff_1 PARTITION OF staff FOR VALUES FROM (0) TO (9);
INSERT INTO staff VALUES (1, 90000, 'A');
CREATE TABLE board_notes (said text, at date) PARTITION BY RANGE (at);
CREATE TABLE notes_2026 PARTITION OF board_notes FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
INSERT INTO board_notes VALUES ('minutes of the board', '2026-03-01');
CREATE VIEW board_view AS SELECT said AS s FROM notes_2026;
CREATE VIEW pay AS SELECT id, salary FROM staff;
CREATE VIEW cities AS SELECT id, city FROM users;
CREATE VIEW sessions AS SELECT pid FROM pg_stat_activity;
CREATE SCHEMA shop;
CREATE VIEW shop.regions AS SELECT DISTINCT region FROM sales;
CREATE FUNCTION sneaky() RETURNS int LANGUAGE sql AS 'DELETE FROM sales RETURNING 1';
CREATE FUNCTION "Odd name"(sql text) RETURNS text LANGUAGE sql AS $$ SELECT query_to_xml(sql, true, true, '')::text $$;
CREATE FUNCTION lower(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT n';
GRANT USAGE ON SCHEMA shop TO reader;
GRANT SELECT ON sales, customers, cities, sessions, shop.regions, board_notes, notes_2026, board_view TO reader;
GRANT SELECT (id, city) ON users TO reader;
GRANT SELECT (id, team) ON staff TO reader;
GRANT SELECT ON sales, users, staff TO auditor;
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


@pytest.fixture(scope="module")
def auditors() -> Iterator[sqlalchemy.Engine]:
    engine = made("auditor")
    yield engine
    engine.dispose()
    gc.collect()


@pytest.fixture(params=["engine", "connection"])
def bound(request: pytest.FixtureRequest) -> Iterator[Any]:
    engine = made("postgres")
    with engine.connect() as connection:
        yield engine if request.param == "engine" else connection
    engine.dispose()
    gc.collect()  # here, where its warning is expected


@pytest.fixture
def database(bound: Any) -> Database:
    return database_in("db", {"db": bound}).database


def told(bind: Any, sql: str) -> str:
    """What the agent gets: an answer, or the beginning of a word for why not."""
    try:
        return json.dumps(query(database_in("db", {"db": bind}).database, sql, RULES))
    except ApprovalNeeded as reason:
        return f"asks: {reason}"
    except LookupError as error:
        return f"refused: {error}"


def rows(bound: Any) -> int:
    with ExitStack() as opened:
        connection = bound if isinstance(bound, sqlalchemy.Connection) else opened.enter_context(bound.connect())
        return int(connection.exec_driver_sql("SELECT count(*) FROM sales").scalar_one())


def test_it_is_told_and_asked(readers: sqlalchemy.Engine) -> None:
    database = database_in("db", {"db": readers}).database
    shown = schema(database, RULES)
    assert shown["database"] == "PostgreSQL"
    names = [table["name"] for table in shown["tables"]]
    assert {"sales", "shop.regions"} <= set(names)
    assert not [name for name in names if name.startswith("board")]
    found = query(database, "SELECT region, amount FROM sales WHERE region LIKE '%th' ORDER BY 2 DESC;", Rules(rows=1))
    assert found == {"columns": ["region", "amount"], "rows": [["South", 5]], "more_rows": True}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, sum(amount) AS sold FROM sales GROUP BY region ORDER BY sold DESC LIMIT 2 OFFSET 0",
        "TABLE sales",
        "SELECT c.name, s.amount FROM sales s JOIN customers c USING (region) -- a comment",
        "SELECT * FROM sales NATURAL JOIN customers",
        "WITH big AS MATERIALIZED (SELECT * FROM sales WHERE amount > 1) SELECT count(*) FROM big",
        "SELECT region, sum(amount) OVER (ORDER BY day ROWS UNBOUNDED PRECEDING) FROM sales",
        "SELECT rank() OVER w, lag(amount) OVER w FROM sales WINDOW w AS (ORDER BY amount)",
        "SELECT date_trunc('month', day) AS m, to_char(day, 'YYYY-MM'), count(*) FROM sales GROUP BY 1, 2 ORDER BY m",
        "SELECT extract(year FROM day), current_date - day, day + interval '3 days', age(now(), day) FROM sales",
        "SELECT upper(region) || '-' || substring(region FROM 1 FOR 2), regexp_replace(region, 'o', '0') FROM sales",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount), string_agg(region, ',') FROM sales",
        "SELECT CASE WHEN amount > 2 THEN 'a' ELSE 'b' END, coalesce(region, '?'), amount::numeric / 2 FROM sales",
        "SELECT * FROM sales s WHERE EXISTS (SELECT FROM customers c WHERE c.region = s.region) AND region ILIKE '%TH'",
        "SELECT json_agg(s), array_agg(region), jsonb_build_object('a', 1) ->> 'a' FROM sales s",
        "SELECT d::date FROM generate_series(date '2026-01-01', date '2026-01-05', interval '1 day') d",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r",
        "SELECT x.y, count(*) FILTER (WHERE amount > 1) FROM sales, LATERAL (VALUES (1), (2)) x(y) GROUP BY CUBE (x.y)",
        "SELECT $$it's$$, E'a\\nb'",
        "SELECT * FROM cities",
        "SELECT team, count(*) FROM staff GROUP BY team",
        "SELECT * FROM shop.regions",
        "SELECT id, city FROM users WHERE city ~ '^R'",
    ],
)
def test_a_reader_has_ordinary_queries_answered_at_once(readers: sqlalchemy.Engine, sql: str) -> None:
    assert told(readers, sql).startswith('{"columns"')


ATTACKS = [
    # Functions that take SQL, reach the server, or are the owner's.
    ("select * from ts_stat('select password from users')", "asks"),
    ("select * from ts_stat('select pg_terminate_backend(pid)::text::tsvector from pg_stat_activity')", "asks"),
    ("select query_to_xml('select * from users', true, true, '')", "asks"),
    ("select pg_catalog.table_to_xml('sales', true, true, '')", "asks"),
    ('select "pg_terminate_backend"(1)', "asks"),
    ("select pg_TERMINATE_backend(pid) from (select 1 as pid) x", "asks"),
    ('select U&"pg_t\\0065rminate_backend"(1)', "asks"),
    ("select pg_read_file('/etc/passwd')", "asks"),
    ("select lo_get(1)", "asks"),
    ("select set_config('statement_timeout', '0', false)", "asks"),
    ("select current_setting('data_directory')", "asks"),
    ("select pg_advisory_lock(1)", "asks"),
    ("select pg_notify('a', 'b')", "asks"),
    ("select sneaky()", "asks"),
    ("select 'pg_sleep'", "asks"),  # any word counts as a call
    ("select \"Odd name\"('select 1')", "asks"),
    ("select lower(1)", "asks"),
    ("select repeat('x', 900000000)", "asks"),
    # Functions in the parts of a query that a plan does not show.
    ("select region from sales limit length(pg_read_file('/etc/passwd'))", "asks"),
    ("select * from (values (pg_terminate_backend(1)), (true)) v", "asks"),
    (
        "select sum(amount) over (order by day rows between pg_backend_pid() preceding and current row) from sales",
        "asks",
    ),
    ("select region from sales where false and pg_cancel_backend(1)", "asks"),
    ("with x as (select sneaky()) select 1", "asks"),
    ("select s.sneaky from (select 1) s", "asks"),
    # The catalog.
    ("select query from pg_stat_activity", "asks"),
    ("select * from pg_settings", "asks"),
    ("select * from information_schema.columns", "asks"),
    ("select rolname from pg_roles", "asks"),
    ("select (select count(*) from pg_class)", "asks"),
    ("select * from sessions", "asks"),
    # Hidden tables, also as a view or a partition.
    ("select * from board_notes", "refused"),
    ('select * from public."board_notes" x(a)', "refused"),
    ("select * from board_view", "refused"),
    ("select count(*) from sales where exists (select from board_notes)", "refused"),
    ("select 1 from board_notes where false", "refused"),
    # Columns that the role may not read.
    ("select * from users", "refused"),
    ("select distinct on (1) * from (select * from users) t(a, b, c)", "refused"),
    ("with x(a, b) as (table users) select * from x", "refused"),
    ("select j.c from (users cross join sales t) j(a, b, c)", "refused"),
    ("select t::text from users t", "refused"),
    ("select id from staff order by salary", "refused"),
    ("select id from staff natural join (select 90000 as salary) x", "refused"),
    ("select * from pay", "refused"),
    # What is no query.
    ("select 1; select 2", "refused"),
    ("select 1; commit; delete from sales", "refused"),
    ("delete from sales returning *", "refused"),
    ("with x as (delete from sales returning *) select * from x", "refused"),
    ("select * into copied from sales", "refused"),
    ("select * from sales for update", "refused"),
    ("copy sales to stdout", "refused"),
    ("explain analyze select 1", "refused"),
    ("show all", "refused"),
    ("set role postgres", "refused"),
    ("do $$ begin perform 1; end $$", "refused"),
    ("create temp view x as select 1", "refused"),
    ("listen a", "refused"),
    ("fetch all from agentsvc_plan", "refused"),
    ("call sneaky()", "asks"),
]


@pytest.mark.parametrize(("sql", "how"), ATTACKS)
def test_a_reader_has_nothing_else_read(readers: sqlalchemy.Engine, sql: str, how: str) -> None:
    said = told(readers, sql)
    assert said.startswith(f"{how}:"), said
    assert not [secret for secret in SECRETS if secret in said.replace("90000 as salary", "")]
    assert rows(readers) == 2


@pytest.mark.parametrize(
    "sql",
    [
        "select * from ts_stat('select city::tsvector || password::tsvector from users')",
        "select ts_stat from ts_stat('select pg_terminate_backend(1)::text::tsvector')",
        "select distinct on (1) * from (select * from users) t(a, b, c)",
        "with x(a, b, c) as (table users) select * from x",
        "select j.c from (users cross join sales t) j(a, b, c)",
        "select t::text from users t",
        "select b from staff t(a, b, c)",
        "select city from users",  # the server has no word for which columns a query reads
    ],
)
def test_a_role_that_may_read_withheld_columns_has_queries_of_them_approved(
    auditors: sqlalchemy.Engine, sql: str
) -> None:
    said = told(auditors, sql)
    assert said.startswith("asks:"), said
    assert told(auditors, "select count(*) from sales").startswith('{"columns"')


def test_a_role_that_can_do_more_has_each_query_approved(bound: Any, database: Database) -> None:
    with pytest.raises(ApprovalNeeded, match=r"can do more than read"):
        query(database, "SELECT 1", RULES)
    assert query(database, "SELECT count(*) AS n FROM sales", RULES, approved=True)["rows"] == [[2]]


@pytest.mark.parametrize(
    ("grant", "sql", "why"),
    [
        ("GRANT INSERT ON customers TO reader", "select 1", "may write (public.customers)"),
        ("GRANT UPDATE (name) ON customers TO reader", "select 1", "may write (public.customers)"),
        ("GRANT pg_signal_backend TO reader", "select 1", "can do more than read (pg_signal_backend)"),
        ("GRANT SELECT ON users TO reader", "select city from users", "the column password of public.users"),
        ("GRANT SELECT ON staff TO reader", "select team from staff", "the column salary of public.staff"),
        ("GRANT SELECT ON pay TO reader", "select id from pay", "the column salary of public.pay"),
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
        with psycopg.connect(databases.server().address("postgres")) as connection:
            connection.execute("REVOKE pg_signal_backend FROM reader")


@pytest.mark.parametrize(
    "sql", ["SELECT sneaky()", "SELECT set_config('transaction_read_only', 'off', true), sneaky()"]
)
def test_a_function_that_writes_is_refused_by_the_server(bound: Any, database: Database, sql: str) -> None:
    with pytest.raises(LookupError, match=r"read-only transaction|read-write mode"):
        query(database, sql, Rules(), approved=True)
    assert rows(bound) == 2


def test_two_statements_are_not_run_after_approval_either(bound: Any, database: Database) -> None:
    with pytest.raises(LookupError, match="multi-query"):
        query(database, "SELECT 1; COMMIT; DELETE FROM sales", Rules(), approved=True)
    assert rows(bound) == 2


def test_what_the_users_transaction_has_used_is_not_taken_for_unread(readers: sqlalchemy.Engine) -> None:
    with readers.connect() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM board_view")
        connection.exec_driver_sql("SELECT count(*) FROM pg_class")
        assert "Your open transaction uses public.board_" in told(connection, "select * from board_view")
        connection.rollback()
        connection.exec_driver_sql("SELECT count(*) FROM pg_class")
        assert told(connection, "select count(*) from sales").startswith("{")
        assert told(connection, "select relname from pg_class").startswith("asks: The query reads pg_catalog.pg_class")


def test_the_user_s_transaction_stays_open_and_writes(bound: Any) -> None:
    if isinstance(bound, sqlalchemy.Engine):
        return
    bound.exec_driver_sql("INSERT INTO sales VALUES ('East', 1)")
    database = database_in("db", {"db": bound}).database
    assert query(database, "SELECT count(*) AS n FROM sales", Rules(), approved=True)["rows"] == [[3]]
    with pytest.raises(LookupError, match="does not exist"):
        query(database, "SELECT nowhere FROM sales", Rules(), approved=True)
    bound.exec_driver_sql("INSERT INTO sales VALUES ('West', 1)")
    assert rows(bound) == 4
    assert bound.exec_driver_sql("SHOW statement_timeout").scalar() == "0"


def test_a_connection_that_commits_by_itself_is_not_asked(bound: Any) -> None:
    free = bound.execution_options(isolation_level="AUTOCOMMIT")
    with pytest.raises(LookupError, match="AUTOCOMMIT"):
        query(database_in("db", {"db": free}).database, "SELECT 1", Rules())


def test_a_long_query_is_ended_and_ctrl_c_ends_one(readers: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    database = database_in("db", {"db": readers}).database
    monkeypatch.setattr(database_port, "QUERY_SECONDS", 0.3)
    with pytest.raises(LookupError, match="was stopped: ask for less"):
        query(database, ENDLESS, Rules())
    monkeypatch.setattr(database_port, "QUERY_SECONDS", 30)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(LookupError, match="user stopped the query"):
        query(database, ENDLESS, Rules())
    assert query(database, "SELECT count(*) AS n FROM sales", Rules())["rows"] == [[2]]
