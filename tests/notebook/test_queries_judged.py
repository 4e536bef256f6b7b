"""Queries of the agent: what the database lets pass, what it refuses, and what the user has to approve."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.kernel.database_port import ApprovalNeeded, Database
from agentsvc_nb.notebook.kernel.databases import database_in, query
from agentsvc_nb.notebook.kernel.variables import Rules
from tests.notebook.test_databases import asking, client, opened
from tests.notebook.test_in_kernel import answering, results

__all__ = ["client"]
RULES = Rules(rows=50, hidden=("sal?ry", "board*"))
SECRETS = ("90000", "hunter2", "minutes of", "file-secret", "python-secret")
MADE = """
CREATE TABLE sales (region TEXT, amount INTEGER, day DATE);
INSERT INTO sales VALUES ('North', 3, '2026-01-05'), ('South', 5, '2026-02-07'), ('West', 1, '2026-02-09');
CREATE TABLE customers (id INTEGER, name TEXT, region TEXT);
INSERT INTO customers VALUES (1, 'Ada', 'North'), (2, 'Bo', 'South');
CREATE TABLE users (id INTEGER, city TEXT, password TEXT);
INSERT INTO users VALUES (1, 'Rome', 'hunter2');
CREATE TABLE staff (id INTEGER, salary INTEGER, team TEXT);
INSERT INTO staff VALUES (1, 90000, 'A'), (2, 90000, 'B');
CREATE TABLE board_notes (said TEXT);
INSERT INTO board_notes VALUES ('minutes of the board');
CREATE VIEW regions AS SELECT DISTINCT region FROM sales;
"""


def told(database: Database, sql: str) -> str:
    """What the agent gets: an answer, or the beginning of a word for why not."""
    try:
        return json.dumps(query(database, sql, RULES))
    except ApprovalNeeded as reason:
        return f"asks: {reason}"
    except LookupError as error:
        return f"refused: {error}"


# -- DuckDB -------------------------------------------------------------------------------------------------------


class Duck:
    """A connection with a file next to it, which is `{file}` in a query."""

    def __init__(self, folder: Path) -> None:
        import duckdb

        self.folder, self.connection = folder, duckdb.connect()
        (folder / "x.csv").write_text("a,b\nfile-secret,2\n")
        self.connection.execute(MADE)
        self.connection.execute(
            f"""CREATE TEMP TABLE scratch AS SELECT 7 AS n; ATTACH ':memory:' AS aux; CREATE SCHEMA aux.s;
            CREATE TABLE aux.s.staff (salary INTEGER, k INTEGER); INSERT INTO aux.s.staff VALUES (90000, 1);
            CREATE VIEW from_file AS SELECT b FROM read_csv('{folder}/x.csv');
            CREATE MACRO file_of(path) AS TABLE SELECT * FROM read_csv(path); CREATE MACRO twice(n) AS n * 2;
            CREATE TABLE nested (id INTEGER, s STRUCT(salary INTEGER, k INTEGER));
            SET VARIABLE kept = 'hunter2'"""
        )
        self.database = database_in("db", {"db": self.connection}).database

    def filled(self, sql: str) -> str:
        return sql.format(file=self.folder / "x.csv", folder=self.folder)


@pytest.fixture(scope="module")
def shared_duck(tmp_path_factory: pytest.TempPathFactory) -> Duck:
    return Duck(tmp_path_factory.mktemp("duck"))


@pytest.fixture
def duck(tmp_path: Path) -> Duck:
    return Duck(tmp_path)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, sum(amount) AS sold FROM sales GROUP BY region ORDER BY sold DESC LIMIT 2",
        "FROM sales",
        "SELECT c.name, s.amount FROM sales s JOIN customers c USING (region)",
        "SELECT * FROM sales NATURAL JOIN customers",
        "WITH big AS (SELECT * FROM sales WHERE amount > 1) SELECT count(*) FROM big -- a comment",
        "SELECT region, amount, sum(amount) OVER (ORDER BY day ROWS UNBOUNDED PRECEDING) FROM sales",
        "SELECT rank() OVER w, lag(amount) OVER w FROM sales WINDOW w AS (ORDER BY amount) QUALIFY rank() OVER w < 3",
        "SELECT date_trunc('month', day) AS m, strftime(day, '%Y-%m'), count(*) FROM sales GROUP BY ALL ORDER BY m",
        "SELECT extract(year FROM day), current_date - day, day + INTERVAL 3 DAYS, day >= now() FROM sales",
        "SELECT upper(region) || '-' || substring(region, 1, 2), regexp_replace(region, 'o', '0') FROM sales",
        "SELECT median(amount), quantile_cont(amount, 0.9), stddev(amount), arg_max(region, amount) FROM sales",
        "SELECT CASE WHEN amount > 2 THEN 'a' ELSE 'b' END, coalesce(region, '?'), amount::DOUBLE / 2 FROM sales",
        "SELECT * FROM sales WHERE region IN (SELECT region FROM customers) AND region LIKE '%th'",
        "SELECT string_agg(DISTINCT region, ', ' ORDER BY region), list(amount) FROM sales",
        "PIVOT sales ON region IN ('North', 'South') USING sum(amount)",
        "SELECT unnest([1, 2]), list_transform([1], lambda x: x + 1), {{'a': 1}}.a",
        "SELECT d FROM generate_series(DATE '2026-01-01', DATE '2026-01-05', INTERVAL 1 DAY) t(d)",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r",
        "SUMMARIZE sales",
        "SELECT id, team FROM staff UNION ALL SELECT id, city FROM users",
        "SELECT count(*) FROM staff",
        "SELECT * FROM regions, scratch",
        "SELECT b FROM from_file",
        "SELECT k FROM aux.s.staff",
        "SELECT * EXCLUDE (salary) FROM staff",
    ],
)
def test_duckdb_answers_ordinary_queries_at_once(shared_duck: Duck, sql: str) -> None:
    assert told(shared_duck.database, shared_duck.filled(sql)).startswith('{"columns"')


DUCKDB_ATTACKS = [
    # Files, the network and Python variables.
    ('with "{file}" as (select * from "{file}") select * from "{file}"', "refused"),
    ('with recursive "{file}" as (select * from "{file}") select * from "{file}"', "refused"),
    ('with x as (select * from "{file}"), "{file}" as (select 1) select * from x', "refused"),
    ('select * from "{folder}/*.csv"', "refused"),
    ("select * from '{file}'", "refused"),
    ('select * from "http://127.0.0.1:9/x.parquet"', "refused"),
    ("select (select a from '{file}')", "refused"),
    ('select * from (values ((select a from "{file}")))', "refused"),
    ("select v.a from sales, lateral (select a from '{file}') v", "refused"),
    ("select * from sales s join '{file}' f on true", "refused"),
    ("from '{file}' select a", "refused"),
    ("summarize '{file}'", "refused"),
    ("describe '{file}'", "refused"),
    ("pivot '{file}' on b in (2) using first(a)", "refused"),
    ("select * from frame", "refused"),
    ("select * from read_csv('{file}')", "asks"),
    ("select * from read_text('{file}')", "asks"),
    ("select * from glob('{folder}/*')", "asks"),
    ("select * from sniff_csv('{file}')", "asks"),
    ("select * from file_of('{file}')", "asks"),
    ("select * from query('select * from ''{file}''')", "asks"),
    ("select * from query_table('{file}')", "asks"),
    ("select * from json_execute_serialized_sql(json_serialize_sql('select 1'))", "asks"),
    ("select json_serialize_plan('select * from ''{file}''')", "asks"),
    # Withheld columns, also under other names.
    ("select * from staff", "refused"),
    ("select distinct on (1) * from (from staff) t(a, b, c)", "refused"),
    ("with x(a, b) as (table users) select * from x", "refused"),
    ("with x(a, b, c) as (from staff) select b from x", "refused"),
    ("select b from staff t(a, b, c)", "refused"),
    ("select j.c from (users cross join sales) j(a, b, c)", "refused"),
    ("select t::text from staff t", "refused"),
    ("select to_json(t) from staff t", "refused"),
    ("select t from staff t", "refused"),
    ("select columns('s.*') from staff", "refused"),
    ("select count(*) from staff natural join (select 90000 as salary)", "refused"),
    ("select salary from (select 1 as salary) full join staff using (salary)", "refused"),
    ("select id from staff order by salary", "refused"),
    ("select id from staff limit (select max(salary) from staff)", "refused"),
    (
        "select sum(id) over (rows between (select max(salary) from staff) preceding and current row) from staff",
        "refused",
    ),
    ("select v.x from staff, (values (salary), (2)) v(x)", "refused"),
    ("unpivot staff on id, salary", "refused"),
    ("summarize staff", "refused"),
    ("select * from aux.s.staff", "refused"),
    ("select s.salary from nested", "refused"),
    ("select * from board_notes", "refused"),
    ("select 1, * from main.board_notes x(a)", "refused"),
    # The catalog, settings, and what is no query.
    ("select * from duckdb_secrets()", "asks"),
    ("select sql from sqlite_master", "asks"),
    ("select * from information_schema.columns", "asks"),
    ("show all tables", "asks"),
    ("select current_setting('home_directory')", "asks"),
    ("select getvariable('kept')", "asks"),
    ("select twice(2)", "asks"),
    ("select repeat('x', 3000000000)", "asks"),
    ("select length(range(100000000000))", "asks"),
    ("select * from range(length(lpad('x', 3000000000, 'y')))", "asks"),
    ("copy staff to '{folder}/out.csv'", "refused"),
    ("attach '{folder}/other.db'", "refused"),
    ("pragma database_list", "refused"),
    ("select 1; copy sales to '{folder}/out.csv'", "refused"),
    ("with x as (delete from sales returning *) select * from x", "refused"),
    ("explain analyze select * from staff", "refused"),
    ("set enable_external_access = true", "refused"),
    ("call pragma_version()", "refused"),
    ("create temp view x as from staff", "refused"),
    ("select 1 \u200f", "refused"),
    ("select 1 \u3164", "refused"),
]


@pytest.mark.parametrize(("sql", "how"), DUCKDB_ATTACKS)
def test_duckdb_reads_nothing_else(shared_duck: Duck, sql: str, how: str) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": ["python-secret"]})  # DuckDB finds it by its name
    said = told(shared_duck.database, shared_duck.filled(sql))
    assert said.startswith(f"{how}:"), said
    assert len(frame) == 1
    assert not [secret for secret in SECRETS if secret in said]
    assert [path.name for path in shared_duck.folder.iterdir()] == ["x.csv"]


def test_a_check_leaves_the_settings_of_a_duckdb_connection(duck: Duck) -> None:
    settings = "SELECT name, value FROM duckdb_settings() ORDER BY name"
    before = duck.connection.sql(settings).fetchall()
    assert told(duck.database, "from sales").startswith("{")
    assert told(duck.database, "from staff").startswith("refused")
    assert duck.connection.sql(settings).fetchall() == before
    assert duck.connection.sql("SELECT max(salary) FROM staff").fetchall() == [(90000,)]


def test_a_new_table_and_another_schema_are_seen_at_once(duck: Duck) -> None:
    assert told(duck.database, "select * from later").startswith("refused")
    duck.connection.execute("CREATE TABLE later AS SELECT 'new' AS v")
    assert "new" in told(duck.database, "select * from later")
    duck.connection.execute("USE aux.s")
    assert '"rows": [[1]]' in told(duck.database, "select k from staff")


def test_an_approved_query_reads_the_file(shared_duck: Duck) -> None:
    sql = shared_duck.filled("select a from read_csv('{file}')")
    assert query(shared_duck.database, sql, RULES, approved=True)["rows"] == [["file-secret"]]
    with pytest.raises(LookupError, match="Only one SELECT"):
        query(shared_duck.database, shared_duck.filled("copy sales to '{folder}/out.csv'"), RULES, approved=True)


# -- SQLite -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import sqlalchemy

    tmp_path = tmp_path_factory.mktemp("lite")
    for name, made in (
        ("main", MADE),
        ("aux", "CREATE TABLE pay (k INTEGER, salary INTEGER); INSERT INTO pay VALUES (1, 90000);"),
    ):
        with sqlite3.connect(tmp_path / f"{name}.db") as file:
            file.executescript(made)
            if name == "main":
                file.executescript(
                    """CREATE VIEW renamed AS SELECT id, salary AS s FROM staff;
                    CREATE VIRTUAL TABLE docs USING fts5(title, body);
                    INSERT INTO docs VALUES ('Hello world', 'text');
                    CREATE VIRTUAL TABLE letters USING fts5(title, salary);
                    INSERT INTO letters VALUES ('a', '90000');"""
                )
        file.close()
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/main.db")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"ATTACH '{tmp_path}/aux.db' AS aux")
        driver: Any = connection.connection.driver_connection
        driver.create_function("own", 1, lambda value: "hunter2")
        yield connection
    engine.dispose()


@pytest.fixture
def lite_database(lite: Any) -> Database:
    return database_in("db", {"db": lite}).database


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, sum(amount) AS sold FROM sales GROUP BY region ORDER BY sold DESC LIMIT 2",
        "SELECT * FROM sales",
        "SELECT c.name, s.amount FROM sales s LEFT JOIN customers c ON c.region = s.region -- a comment",
        "WITH big AS (SELECT * FROM sales WHERE amount > 1) SELECT count(*) FROM big",
        "SELECT region, sum(amount) OVER (ORDER BY day ROWS UNBOUNDED PRECEDING) FROM sales",
        "SELECT rank() OVER w, lag(amount) OVER w FROM sales WINDOW w AS (ORDER BY amount)",
        "SELECT strftime('%Y-%m', day) AS m, count(*) FROM sales GROUP BY m",
        "SELECT julianday('now') - julianday(day), date(day, '+1 month'), current_date FROM sales",
        "SELECT upper(region) || '-' || substr(region, 1, 2), replace(region, 'o', '0'), trim(region) FROM sales",
        "SELECT avg(amount), max(amount), round(total(amount), 2), group_concat(region, ', ') FROM sales",
        "SELECT CASE WHEN amount > 2 THEN 'a' ELSE 'b' END, coalesce(region, '?'), cast(amount AS REAL) / 2 FROM sales",
        "SELECT * FROM sales WHERE region IN (SELECT region FROM customers) AND region LIKE '%th'",
        "SELECT j.value, json_extract('{\"a\": 1}', '$.a'), '{}' ->> '$.b' FROM json_each('[1, 2]') j",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r",
        "SELECT id, team FROM staff UNION ALL SELECT id, city FROM users",
        "VALUES (1, 2)",
        "SELECT count(*) FROM staff",
        "SELECT k FROM aux.pay",
        "SELECT title, snippet(docs, 0, '[', ']', '', 3) FROM docs WHERE docs MATCH 'hello' ORDER BY bm25(docs)",
        "SELECT * FROM regions",
    ],
)
def test_sqlite_answers_ordinary_queries_at_once(lite_database: Database, sql: str) -> None:
    assert told(lite_database, sql).startswith('{"columns"')


SQLITE_ATTACKS = [
    # Withheld columns are NULL, whatever they are called.
    ("select * from staff", "null"),
    ("with x(a, b, c) as (select * from staff) select * from x", "null"),
    ("select a.* from (select * from users) a", "null"),
    ("select max(salary) as m, min(users.password) as p from staff, users", "null"),
    ('select [salary] as s, `password` as t, "Password" as u from staff, users', "null"),
    ("select id as i from staff where salary = 90000", "null"),
    ("select x.id as i from staff x, staff y where (x.salary, 1) in (select salary, 1 from staff)", "null"),
    ("select group_concat(team || salary) as g from staff", "null"),
    ("select json_group_array(salary) as g from staff", "null"),
    ("select salary + 0 as s from staff order by salary", "null"),
    ("select s from renamed", "null"),
    ("select * from aux.pay", "null"),
    ("with x(a, b) as (select * from aux.pay) select * from x", "null"),
    ("select p.salary as s from aux.pay as p", "null"),
    ("select first_value(salary) over () as f from staff", "null"),
    ("values ((select salary from staff))", "null"),
    ("select title, salary as s from letters", "refused"),
    # SQLite does not report the columns of these joins.
    ("select salary as s from (select 1 as salary where 0) full join staff using (salary)", "refused"),
    ("select * from (select 1 as salary where 0) natural full join staff", "refused"),
    ("select count(*) from staff natural join (select 90000 as salary)", "refused"),
    ("select said as s from (select 1 as said where 0) full join main.board_notes using/**/(said)", "refused"),
    ("select sql as s from (select 1 as sql where 0) full join sqlite_master using (sql)", "refused"),
    # Tables that are not offered.
    ("select * from board_notes", "refused"),
    ("select count(*) from board_notes", "refused"),
    ("with board_notes as (select * from main.board_notes) select * from board_notes", "refused"),
    ("select * from letters_content", "refused"),
    ("select c1 as s from letters_content", "refused"),
    ("select * from sqlite_master", "refused"),
    ("select count(*) from sqlite_schema", "refused"),
    ("select * from aux.sqlite_master", "refused"),
    ("select * from pragma_database_list", "refused"),
    ("select count(*) from pragma_table_list", "refused"),
    ("select * from dbstat", "refused"),
    # What is no query.
    ("select 1; delete from sales", "refused"),
    ("delete from sales returning *", "refused"),
    ("with x as (select 1) insert into sales select 1, 2, 3", "refused"),
    ("pragma table_info(staff)", "refused"),
    ("pragma query_only = off", "refused"),
    ("attach ':memory:' as x", "refused"),
    ("vacuum into 'copy.db'", "refused"),
    ("begin", "refused"),
    ("create temp table x as select * from staff", "refused"),
    # Functions.
    ("select load_extension('x')", "asks"),
    ("select regexp('a', 'b')", "asks"),
    ("select own(1)", "asks"),
    ("select fts3_tokenizer('simple')", "asks"),
    ("select sqlite_compileoption_get(1)", "asks"),
    ("select length(printf('%.*c', 900000000, 'x'))", "asks"),
    ("select length(format('%.900000000c', 'x'))", "asks"),
    ("select length(zeroblob(900000000))", "refused"),
    ("select length(hex(randomblob(90000000)))", "refused"),
    ("select length(replace(hex(zeroblob(40000)), '0', 'xxxxxxxx'))", "refused"),
    ("with recursive r(s) as (select 'x' union all select s || s from r) select max(length(s)) from r", "refused"),
    (
        "with recursive r(n) as (select 1 union all select n + 1 from r limit 30000) select group_concat(n) from r",
        "refused",
    ),
    (f"select 'a' like '{'%a' * 300}'", "refused"),
]


@pytest.mark.parametrize(("sql", "how"), SQLITE_ATTACKS)
def test_sqlite_tells_nothing_else(lite: Any, lite_database: Database, sql: str, how: str) -> None:
    said = told(lite_database, sql)
    assert said.startswith('{"columns"' if how == "null" else f"{how}:"), said
    assert not [secret for secret in SECRETS if secret in said.replace("= 90000", "")]
    assert lite.exec_driver_sql("SELECT salary FROM staff").fetchall() == [(90000,), (90000,)]
    assert lite.exec_driver_sql("SELECT count(*) FROM sales").scalar_one() == 3


def test_the_users_own_statement_of_the_same_text_has_its_values(lite: Any, lite_database: Database) -> None:
    own = lite.connection.driver_connection
    sql = "SELECT salary AS s FROM staff"
    assert '"rows": [[null], [null]]' in told(lite_database, sql)
    assert own.execute(sql).fetchall() == [(90000,), (90000,)]
    assert '"rows": [[null], [null]]' in told(lite_database, sql)
    assert query(lite_database, sql, RULES, approved=True)["rows"] == [[90000], [90000]]
    assert '"rows": [[null], [null]]' in told(lite_database, sql)
    assert own.execute("SELECT length(zeroblob(200000))").fetchone() == (200000,)


def test_the_users_row_factory_does_not_matter(lite: Any, lite_database: Database) -> None:
    driver: Any = lite.connection.driver_connection
    driver.row_factory = lambda cursor, row: {"row": row}
    try:
        assert '"rows": [["North"]]' in told(lite_database, "SELECT region FROM sales LIMIT 1")
    finally:
        driver.row_factory = None


# -- other databases, and the user --------------------------------------------------------------------------------


def test_a_driver_that_agentsvc_does_not_know_is_never_asked_unseen() -> None:
    import sqlalchemy

    bind = sqlalchemy.create_engine("sqlite://")
    bind.dialect.name = "other"
    database = database_in("db", {"db": bind}).database
    with pytest.raises(ApprovalNeeded, match="can't limit what a query reads in other"):
        query(database, "SELECT 1", RULES)
    assert query(database, "SELECT 1 AS n", RULES, approved=True)["rows"] == [[1]]
    bind.dispose()


PRINTF = "SELECT printf('%d', 41 + 1) AS n"


@pytest.mark.usefixtures("connected")
def test_the_user_reads_a_query_that_the_database_cannot_vouch_for(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    opened(terminal, "sqlite")
    asked = answering(monkeypatch, "e", "y", "n not now")
    script = f"{asking(PRINTF)}\n{asking(PRINTF)}\n{asking('SELECT region FROM sales LIMIT 1')}"
    answer = terminal.cell(f"%%ask --connection db\n{script}")
    assert asked == ["Run this query in your database? [y]es, [n]o (and why): "] * 3
    ran, refused, plain = results(client, answer.run_id)
    assert ran["content"][0]["json"]["rows"] == [["42"]]
    assert refused["is_error"]
    assert "The user refused to run this query. Their reason: not now" in refused["content"][0]["text"]
    assert plain["content"][0]["json"]["rows"] == [["North"]]
    shown = capsys.readouterr().out
    assert "The agent wants to run this query in your database: The query uses the function printf." in shown
    assert PRINTF in shown


@pytest.mark.usefixtures("connected")
def test_where_nobody_can_approve_it_the_query_is_not_run(terminal: Any, client: AgentService) -> None:
    opened(terminal, "sqlite")
    answer = terminal.cell(f"%%ask --connection db\n{asking(PRINTF)}")
    (refused,) = results(client, answer.run_id)
    assert refused["is_error"]
    assert "Nobody can approve this here" in refused["content"][0]["text"]


@pytest.mark.usefixtures("connected")
def test_an_approved_query_that_fails_is_told(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(terminal, "duckdb")
    answering(monkeypatch, "y")
    answer = terminal.cell(f"%%ask --connection db\n{asking('FROM read_csv(1 + 1)')}")
    (failed,) = results(client, answer.run_id)
    assert failed["is_error"]
    assert "read_csv" in failed["content"][0]["text"]
