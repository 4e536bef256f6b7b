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
from tests.notebook.test_databases import asking, opened
from tests.notebook.test_in_kernel import answering, results

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


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, sum(amount) AS sold FROM sales GROUP BY region ORDER BY sold DESC LIMIT 2",
        "SELECT rank() OVER w, lag(amount) OVER w FROM sales WINDOW w AS (ORDER BY amount) QUALIFY rank() OVER w < 3",
        "SELECT unnest([1, 2]), list_transform([1], lambda x: x + 1), {{'a': 1}}.a",
        "SELECT count(*) FROM staff",
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
    ('select * from "{folder}/*.csv"', "refused"),
    ('select * from "http://127.0.0.1:9/x.parquet"', "refused"),
    ("select * from sales s join '{file}' f on true", "refused"),
    ("summarize '{file}'", "refused"),
    ("select * from frame", "refused"),
    ("select * from read_csv('{file}')", "asks"),
    ("select * from file_of('{file}')", "asks"),
    ("select * from query('select * from ''{file}''')", "asks"),
    ("select json_serialize_plan('select * from ''{file}''')", "asks"),
    # Withheld columns, also under other names.
    ("select * from staff", "refused"),
    ("select distinct on (1) * from (from staff) t(a, b, c)", "refused"),
    ("with x(a, b, c) as (from staff) select b from x", "refused"),
    ("select t::text from staff t", "refused"),
    ("select columns('s.*') from staff", "refused"),
    ("select id from staff order by salary", "refused"),
    ("select v.x from staff, (values (salary), (2)) v(x)", "refused"),
    ("select * from aux.s.staff", "refused"),
    ("select * from board_notes", "refused"),
    # The catalog, settings, and what is no query.
    ("select * from duckdb_secrets()", "asks"),
    ("select current_setting('home_directory')", "asks"),
    ("select getvariable('kept')", "asks"),
    ("select twice(2)", "asks"),
    ("copy staff to '{folder}/out.csv'", "refused"),
    ("attach '{folder}/other.db'", "refused"),
    ("select 1; copy sales to '{folder}/out.csv'", "refused"),
    ("with x as (delete from sales returning *) select * from x", "refused"),
    ("set enable_external_access = true", "refused"),
    ("select 1 \u200f", "refused"),
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


def test_a_check_leaves_the_settings_of_a_duckdb_connection(shared_duck: Duck) -> None:
    settings = "SELECT name, value FROM duckdb_settings() ORDER BY name"
    before = shared_duck.connection.sql(settings).fetchall()
    assert told(shared_duck.database, "from sales").startswith("{")
    assert told(shared_duck.database, "from staff").startswith("refused")
    assert shared_duck.connection.sql(settings).fetchall() == before
    assert shared_duck.connection.sql("SELECT max(salary) FROM staff").fetchall() == [(90000,)]


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
        "SELECT j.value, json_extract('{\"a\": 1}', '$.a'), '{}' ->> '$.b' FROM json_each('[1, 2]') j",
        "SELECT count(*) FROM staff",
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
    ('select [salary] as s, `password` as t, "Password" as u from staff, users', "null"),
    ("select id as i from staff where salary = 90000", "null"),
    ("select group_concat(team || salary) as g from staff", "null"),
    ("select s from renamed", "null"),
    ("select * from aux.pay", "null"),
    ("select title, salary as s from letters", "refused"),
    # SQLite does not report the columns of these joins.
    ("select salary as s from (select 1 as salary where 0) full join staff using (salary)", "refused"),
    ("select said as s from (select 1 as said where 0) full join main.board_notes using/**/(said)", "refused"),
    # Tables that are not offered.
    ("select * from board_notes", "refused"),
    ("select * from letters_content", "refused"),
    ("select * from sqlite_master", "refused"),
    ("select * from pragma_database_list", "refused"),
    # What is no query.
    ("select 1; delete from sales", "refused"),
    ("delete from sales returning *", "refused"),
    ("with x as (select 1) insert into sales select 1, 2, 3", "refused"),
    ("pragma query_only = off", "refused"),
    ("attach ':memory:' as x", "refused"),
    ("vacuum into 'copy.db'", "refused"),
    ("create temp table x as select * from staff", "refused"),
    # Functions.
    ("select load_extension('x')", "asks"),
    ("select own(1)", "asks"),
    ("select length(printf('%.*c', 900000000, 'x'))", "asks"),
    ("select length(zeroblob(900000000))", "refused"),
    ("with recursive r(s) as (select 'x' union all select s || s from r) select max(length(s)) from r", "refused"),
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
