"""A database connection of the kernel: what the agent is told of it, and that it only reads."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.kernel import database_port
from agentsvc_nb.notebook.kernel.database_port import Database
from agentsvc_nb.notebook.kernel.databases import database_in, query, schema
from agentsvc_nb.notebook.kernel.variables import Rules
from agentsvc_nb.testing import RunningService
from tests.notebook.test_in_kernel import results

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
def database(names: dict[str, Any]) -> Database:
    return database_in("db", names).database


def test_the_schema_has_no_values_and_nothing_hidden(database: Database) -> None:
    [table] = schema(database, Rules(hidden=("note",)))["tables"]
    assert table["name"] == "sales"
    assert [column["name"] for column in table["columns"]] == ["region", "amount"]
    assert table["hidden_columns"] == 1
    assert schema(database, Rules(hidden=("sales",)))["tables"] == []
    with pytest.raises(LookupError, match="no table other"):
        schema(database, Rules(), "other")


def test_a_query_has_so_many_rows_and_is_masked(database: Database) -> None:
    told = query(database, BY_REGION, Rules(rows=2))
    assert told == {"columns": ["region", "sold"], "rows": [["South", 5], ["North", 3]], "more_rows": True}
    told = query(database, "SELECT note FROM sales ORDER BY amount DESC LIMIT 2", Rules())
    assert told["rows"] == [["x"], ["[redacted]"]]


@pytest.mark.parametrize("approved", [False, True])
@pytest.mark.parametrize("write", ["DELETE FROM sales", "DROP TABLE sales", "CREATE TABLE other (a INTEGER)"])
def test_the_database_itself_refuses_to_write(
    database: Database, names: dict[str, Any], write: str, approved: bool
) -> None:
    with pytest.raises(LookupError):
        query(database, write, Rules(), approved=approved)
    names["run"]("INSERT INTO sales VALUES ('East', 1, '')")  # the user's own connection writes as before
    assert names["run"]("SELECT count(*) FROM sales").fetchall() == [(4,)]


def test_what_the_user_has_not_committed_stays(names: dict[str, Any]) -> None:
    if "engine" in names:
        for name in ("db", "engine"):
            query(database_in(name, names).database, BY_REGION, Rules())
        assert names["db"].in_transaction()
    else:
        names["run"]("BEGIN")
        names["run"]("INSERT INTO sales VALUES ('East', 1, '')")
        with pytest.raises(LookupError, match="transaction is open"):
            query(database_in("db", names).database, BY_REGION, Rules())
    assert len(names["run"]("SELECT * FROM sales").fetchall()) >= 3
    names["run"]("ROLLBACK")


def test_a_long_query_is_ended(database: Database, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_port, "QUERY_SECONDS", 0.2)
    with pytest.raises(LookupError, match="was stopped: ask for less"):
        query(database, ENDLESS[kind], Rules())
    monkeypatch.setattr(database_port, "QUERY_SECONDS", 30)
    assert query(database, BY_REGION, Rules())["rows"][0] == ["South", 5]


def test_ctrl_c_ends_a_query_and_nothing_else(database: Database, kind: str) -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(LookupError, match="user stopped the query"):
        query(database, ENDLESS[kind], Rules())
    assert query(database, BY_REGION, Rules())["rows"][0] == ["South", 5]


# -- in a cell ----------------------------------------------------------------------------------------------------


@pytest.fixture
def client(service: RunningService, connected: None) -> Iterator[AgentService]:
    with AgentService(service.api_key, service.base_url) as client:
        yield client


def opened(shell: Any, kind: str) -> None:
    shell.cell(OPENED[kind])
    for statement in MADE:
        shell.cell(f"_ = run({statement!r})")


def asking(sql: str) -> str:
    return f"call query_database {json.dumps({'sql': sql})}"


def test_the_agent_asks_the_connection_and_no_variable(terminal: Any, client: AgentService, kind: str) -> None:
    opened(terminal, kind)
    script = f"call database_schema {{}}\n{asking(BY_REGION)}\n{asking('DELETE FROM sales')}\nsay and on"
    answer = terminal.cell(f"%%ask --connection db\n{script}")
    assert sorted(client.runs.get(answer.run_id).client_tools) == ["database_schema", "query_database"]
    told, found, refused = results(client, answer.run_id)
    assert told["content"][0]["json"]["tables"][0]["name"] == "sales"
    assert found["content"][0]["json"]["rows"] == [["South", 5], ["North", 3], ["West", 1]]
    assert refused["is_error"]
    assert "Only one SELECT" in refused["content"][0]["text"]
    assert answer.text.endswith("and on")


def test_config_names_it_for_the_notebook_and_no_rows_are_no_queries(terminal: Any, client: AgentService) -> None:
    opened(terminal, "duckdb")
    terminal.cell("%config Ask.connection = 'db'\n%config Ask.kernel = 'look'\n%config Ask.kernel_rows = 0")
    answer = terminal.cell("%%ask\nsay x")
    offered = ["database_schema", "list_variables", "show_variable"]
    assert sorted(client.runs.get(answer.run_id).client_tools) == offered


@pytest.mark.usefixtures("connected")
def test_where_nobody_is_no_database_is_asked(kernel: Any) -> None:
    opened(kernel, "duckdb")
    with pytest.raises(AskError, match="nobody is at this notebook"):
        kernel.cell("%%ask --connection db\nsay x")
