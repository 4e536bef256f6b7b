"""Databases of the kernel: what the agent is told, that it only reads, what the engine judges and the user approves."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import ApprovalNeeded, ReadOnlyDatabase
from agentsvc_nb.notebook.kernel.databases import find_database, query, schema
from agentsvc_nb.notebook.kernel.variables import SharingRules
from tests.notebook.test_in_kernel import answering, results

pytestmark = pytest.mark.rule("An agent only reads the kernel's database connections.")

ROWS = f"INSERT INTO sales VALUES ('North', 3, 'ghp_{'Z' * 36}'), ('South', 5, 'x'), ('West', 1, 'y')"
MADE = ("CREATE TABLE sales (region TEXT, amount INTEGER, note TEXT)", ROWS)
OPENED = {
    "duckdb": "import duckdb; db = duckdb.connect(); run = lambda sql: db.sql(sql)",
    "sqlite": "import sqlalchemy; engine = sqlalchemy.create_engine('sqlite://'); db = engine.connect()\n"
    "run = lambda sql: db.exec_driver_sql(sql)",
}
ENDLESS = {
    "duckdb": "SELECT count(*) FROM range(100000000000) WHERE random() > 2",
    "sqlite": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
}
BY_REGION = "SELECT region, sum(amount) AS sold FROM sales GROUP BY region ORDER BY sold DESC"


@pytest.fixture(params=OPENED)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def names(kind: str) -> dict[str, Any]:
    """The variables of a kernel with a connection `db`, in which there is a table."""
    variables: dict[str, Any] = {}
    exec(OPENED[kind], variables)
    for statement in MADE:
        variables["run"](statement)
    return variables


@pytest.fixture
def database(names: dict[str, Any]) -> ReadOnlyDatabase:
    return find_database("db", names).database


def test_the_schema_has_no_values_and_nothing_hidden(database: ReadOnlyDatabase) -> None:
    [table] = schema(database, SharingRules(hidden=("note",)))["tables"]
    assert table["name"] == "sales"
    assert [column["name"] for column in table["columns"]] == ["region", "amount"]
    assert table["hidden_columns"] == 1
    assert schema(database, SharingRules(hidden=("sales",)))["tables"] == []
    with pytest.raises(LookupError, match="no table other"):
        schema(database, SharingRules(), "other")


def test_a_query_has_so_many_rows_and_is_masked(database: ReadOnlyDatabase) -> None:
    told = query(database, BY_REGION, SharingRules(rows=2))
    assert told == {"columns": ["region", "sold"], "rows": [["South", 5], ["North", 3]], "more_rows": True}
    told = query(database, "SELECT note FROM sales ORDER BY amount DESC LIMIT 2", SharingRules())
    assert told["rows"] == [["x"], ["[redacted]"]]


def test_the_database_itself_refuses_to_write(database: ReadOnlyDatabase, names: dict[str, Any]) -> None:
    for write in ("DELETE FROM sales", "CREATE TABLE other (a INTEGER)"):
        with pytest.raises(LookupError):
            query(database, write, SharingRules(), approved=True)
    names["run"]("INSERT INTO sales VALUES ('East', 1, '')")  # the user's own connection writes as before
    assert names["run"]("SELECT count(*) FROM sales").fetchall() == [(4,)]


def test_an_approved_query_of_duckdb_changes_nothing() -> None:
    connection = duckdb.connect()
    connection.sql("CREATE SEQUENCE numbers")
    with pytest.raises(LookupError, match="read-only"):
        query(
            find_database("db", {"db": connection}).database, "SELECT nextval('numbers')", SharingRules(), approved=True
        )
    assert connection.sql("SELECT nextval('numbers')").fetchall() == [(1,)]


def test_what_the_user_has_not_committed_stays(names: dict[str, Any]) -> None:
    if "engine" in names:
        for name in ("db", "engine"):
            query(find_database(name, names).database, BY_REGION, SharingRules())
        assert names["db"].in_transaction()
    else:
        names["run"]("BEGIN")
        names["run"]("INSERT INTO sales VALUES ('East', 1, '')")
        with pytest.raises(LookupError, match="has an open transaction"):
            query(find_database("db", names).database, BY_REGION, SharingRules())
    assert len(names["run"]("SELECT * FROM sales").fetchall()) >= 3
    names["run"]("ROLLBACK")


def test_a_long_query_is_ended(database: ReadOnlyDatabase, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_port, "QUERY_SECONDS", 0.2)
    with pytest.raises(LookupError, match="was stopped"):
        query(database, ENDLESS[kind], SharingRules())
    monkeypatch.setattr(database_port, "QUERY_SECONDS", 30)
    assert query(database, BY_REGION, SharingRules())["rows"][0] == ["South", 5]


def test_ctrl_c_ends_a_query_and_nothing_else(database: ReadOnlyDatabase, kind: str) -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(LookupError, match="user stopped"):
        query(database, ENDLESS[kind], SharingRules())
    assert query(database, BY_REGION, SharingRules())["rows"][0] == ["South", 5]


# -- in a cell ----------------------------------------------------------------------------------------------------


def opened(shell: Any) -> None:
    shell.cell(OPENED["sqlite"])
    for statement in MADE:
        shell.cell(f"_ = run({statement!r})")


def asking(sql: str) -> str:
    return f"call query_database {json.dumps({'sql': sql})}"


RULES = SharingRules(rows=50, hidden=("sal?ry", "board*"))
SECRETS = ("90000", "hunter2", "minutes of", "file-secret", "python-secret")
JUDGED = """
CREATE TABLE sales (region TEXT, amount INTEGER, day DATE);
INSERT INTO sales VALUES ('North', 3, '2026-01-05'), ('South', 5, '2026-02-07'), ('West', 1, '2026-02-09');
CREATE TABLE users (id INTEGER, city TEXT, password TEXT);
INSERT INTO users VALUES (1, 'Rome', 'hunter2');
CREATE TABLE staff (id INTEGER, salary INTEGER, team TEXT);
INSERT INTO staff VALUES (1, 90000, 'A'), (2, 90000, 'B');
CREATE TABLE board_notes (said TEXT);
INSERT INTO board_notes VALUES ('minutes of the board');
"""


def told(database: ReadOnlyDatabase, sql: str) -> str:
    """What the agent gets: an answer, or the beginning of a word for why not."""
    try:
        return json.dumps(query(database, sql, RULES))
    except ApprovalNeeded as reason:
        return f"asks: {reason}"
    except LookupError as error:
        return f"refused: {error}"


# -- DuckDB -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a file, which is `{file}` in a query."""
    made = tmp_path_factory.mktemp("duck")
    (made / "x.csv").write_text("a,b\nfile-secret,2\n")
    return made


@pytest.fixture(scope="module")
def duck() -> ReadOnlyDatabase:
    import duckdb

    connection = duckdb.connect()
    connection.execute(JUDGED)
    connection.execute(
        "CREATE MACRO file_of(path) AS TABLE SELECT * FROM read_csv(path); SET VARIABLE kept = 'hunter2'"
    )
    return find_database("db", {"db": connection}).database


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, sum(amount) AS sold FROM sales GROUP BY region ORDER BY sold DESC LIMIT 2",
        "SELECT unnest([1, 2]), list_transform([1], lambda x: x + 1), {'a': 1}.a",
        "SELECT count(*) FROM staff",
        "SELECT * EXCLUDE (salary) FROM staff",
    ],
)
def test_duckdb_answers_ordinary_queries_at_once(duck: ReadOnlyDatabase, sql: str) -> None:
    assert told(duck, sql).startswith('{"columns"')


DUCKDB_ATTACKS = [
    # Files, the network and Python variables.
    ('with "{file}" as (select * from "{file}") select * from "{file}"', "refused"),
    ('select * from "http://127.0.0.1:9/x.parquet"', "refused"),
    ("select * from frame", "refused"),
    ("select * from read_csv('{file}')", "asks"),
    ("select * from file_of('{file}')", "asks"),
    # Withheld columns, also under other names.
    ("select * from staff", "refused"),
    ("with x(a, b, c) as (from staff) select b from x", "refused"),
    ("select t::text from staff t", "refused"),
    ("select id from staff order by salary", "refused"),
    ("select * from board_notes", "refused"),
    # The catalog, settings, and what is no query.
    ("select * from duckdb_secrets()", "asks"),
    ("select getvariable('kept')", "asks"),
    ("select 1; copy sales to '{folder}/out.csv'", "refused"),
    ("select 1 \u200f", "refused"),
]


@pytest.mark.parametrize(("sql", "how"), DUCKDB_ATTACKS)
def test_duckdb_reads_nothing_else(duck: ReadOnlyDatabase, folder: Path, sql: str, how: str) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": ["python-secret"]})  # DuckDB finds it by its name
    said = told(duck, sql.format(file=folder / "x.csv", folder=folder))
    assert said.startswith(f"{how}:"), said
    assert len(frame) == 1
    assert not [secret for secret in SECRETS if secret in said]
    assert [path.name for path in folder.iterdir()] == ["x.csv"]


def test_an_approved_query_reads_the_file(duck: ReadOnlyDatabase, folder: Path) -> None:
    sql = f"select a from read_csv('{folder}/x.csv')"
    assert query(duck, sql, RULES, approved=True)["rows"] == [["file-secret"]]
    with pytest.raises(LookupError, match="Only a single SELECT"):
        query(duck, f"copy sales to '{folder}/out.csv'", RULES, approved=True)


# -- SQLite -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import sqlalchemy

    tmp_path = tmp_path_factory.mktemp("lite")
    with contextlib.closing(sqlite3.connect(tmp_path / "main.db")) as file:
        file.executescript(
            f"""{JUDGED}
            CREATE VIEW renamed AS SELECT id, salary AS s FROM staff;
            CREATE VIRTUAL TABLE docs USING fts5(title, body);
            INSERT INTO docs VALUES ('Hello world', 'text');
            CREATE VIRTUAL TABLE letters USING fts5(title, salary);
            INSERT INTO letters VALUES ('a', '90000');"""
        )
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/main.db")
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.create_function("own", 1, lambda value: "hunter2")
        yield connection
    engine.dispose()


@pytest.fixture
def lite_database(lite: Any) -> ReadOnlyDatabase:
    return find_database("db", {"db": lite}).database


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, sum(amount) AS sold FROM sales GROUP BY region ORDER BY sold DESC LIMIT 2",
        "SELECT j.value, json_extract('{\"a\": 1}', '$.a'), '{}' ->> '$.b' FROM json_each('[1, 2]') j",
        "SELECT count(*) FROM staff",
        "SELECT title, snippet(docs, 0, '[', ']', '', 3) FROM docs WHERE docs MATCH 'hello' ORDER BY bm25(docs)",
    ],
)
def test_sqlite_answers_ordinary_queries_at_once(lite_database: ReadOnlyDatabase, sql: str) -> None:
    assert told(lite_database, sql).startswith('{"columns"')


SQLITE_ATTACKS = [
    # Withheld columns are NULL, whatever they are called.
    ("select * from staff", "null"),
    ("with x(a, b, c) as (select * from staff) select * from x", "null"),
    ("select s from renamed", "null"),
    ("select title, salary as s from letters", "refused"),
    # SQLite does not report the columns of these joins.
    ("select salary as s from (select 1 as salary where 0) full join staff using (salary)", "refused"),
    # Tables that are not offered.
    ("select * from board_notes", "refused"),
    ("select * from letters_content", "refused"),
    # What is no query.
    ("delete from sales returning *", "refused"),
    ("pragma query_only = off", "refused"),
    # Functions.
    ("select own(1)", "asks"),
    ("with recursive r(s) as (select 'x' union all select s || s from r) select max(length(s)) from r", "refused"),
]


@pytest.mark.parametrize(("sql", "how"), SQLITE_ATTACKS)
def test_sqlite_tells_nothing_else(lite: Any, lite_database: ReadOnlyDatabase, sql: str, how: str) -> None:
    said = told(lite_database, sql)
    assert said.startswith('{"columns"' if how == "null" else f"{how}:"), said
    assert not [secret for secret in SECRETS if secret in said]
    assert lite.exec_driver_sql("SELECT salary FROM staff").fetchall() == [(90000,), (90000,)]
    assert lite.exec_driver_sql("SELECT count(*) FROM sales").scalar_one() == 3


def test_the_users_own_statement_of_the_same_text_has_its_values(lite: Any, lite_database: ReadOnlyDatabase) -> None:
    own = lite.connection.driver_connection
    sql = "SELECT salary AS s FROM staff"
    assert '"rows": [[null], [null]]' in told(lite_database, sql)
    assert own.execute(sql).fetchall() == [(90000,), (90000,)]
    assert '"rows": [[null], [null]]' in told(lite_database, sql)
    assert query(lite_database, sql, RULES, approved=True)["rows"] == [[90000], [90000]]
    assert '"rows": [[null], [null]]' in told(lite_database, sql)


# -- other databases, and the user --------------------------------------------------------------------------------


def test_a_driver_that_agentsvc_does_not_know_is_never_asked_unseen() -> None:
    import sqlalchemy

    bind = sqlalchemy.create_engine("sqlite://")
    bind.dialect.name = "other"
    database = find_database("db", {"db": bind}).database
    with pytest.raises(ApprovalNeeded, match="in other"):
        query(database, "SELECT 1", RULES)
    assert query(database, "SELECT 1 AS n", RULES, approved=True)["rows"] == [[1]]
    bind.dispose()


PRINTF = "SELECT printf('%d', 41 + 1) AS n"


@pytest.mark.usefixtures("connected")
def test_the_agent_asks_the_connection_and_the_user_reads_what_the_database_cannot_vouch_for(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    opened(terminal)
    asked = answering(monkeypatch, "e", "y", "n not now")
    queries = (PRINTF, PRINTF, "SELECT region FROM sales LIMIT 1", "DELETE FROM sales")
    script = "\n".join(["call database_schema {}", *map(asking, queries), "say and on"])
    answer = terminal.cell(f"%%ask --connection db\n{script}")
    assert sorted(client.runs.get(answer.run_id).client_tools) == ["database_schema", "query_database"]
    assert len(asked) == 3, "'e' is no answer"
    tables, ran, refused, plain, write = results(client, answer.run_id)
    assert tables["content"][0]["json"]["tables"][0]["name"] == "sales"
    assert ran["content"][0]["json"]["rows"] == [["42"]]
    assert refused["is_error"]
    assert "not now" in refused["content"][0]["text"]
    assert plain["content"][0]["json"]["rows"] == [["North"]]
    assert write["is_error"]
    assert "Only a single SELECT" in write["content"][0]["text"]
    assert answer.text.endswith("and on")
    shown = capsys.readouterr().out
    assert "function printf" in shown
    assert PRINTF in shown
