"""Tables asked in runs of a real service: of one's own files, in a process of their own."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import signal
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Wire
from tests.service.api.service_fixture import ServiceFixture
from tests.support.contents import incoming
from tests.support.waiting import until
from tests.unit.tools.test_sandbox import gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
SCHEMA = {
    "title": "Revenue by month",
    "fields": [{"name": "month", "type": "date", "by": "month"}, {"name": "revenue", "type": "number", "unit": "€"}],
    "missingValues": [""],
    "rows": 2,
    "more": False,
}
CSV = "month,revenue\r\n2025-01-01,12.50\r\n2025-02-01,\r\n"
SECRET = b"name,salary\nBoss,999999\n"
SALES = b"channel,revenue\nsearch,100.50\nsocial,70\n"


def leaving(*names: str) -> str:
    """A script that leaves a table of each name."""
    calls = []
    for name in names:
        files = {f"results/{name}.csv": CSV, f"results/{name}.schema.json": json.dumps(SCHEMA)}
        given = {"steps": 0, "files": files, "output": [f"table_{name}", "table"]}
        calls.append(f"call echo_job {json.dumps(given)}")
    return "\n".join([*calls, "write notes.csv a", "say done"])


def script(sql: str) -> str:
    return f"call query_tables {json.dumps({'sql': sql})}"


def chat_with(wire: Wire, name: str, content: bytes, chat: str | None = None) -> str:
    given = {"payload": json.dumps({"message": "say hello", "sync": True, **({"chat": chat} if chat else {})})}
    answer = wire("POST", "/runs", data=given, files={"file": (name, content)})
    found: str = answer.json()["chat"]
    return found


def told(wire: Wire, run: dict[str, Any]) -> dict[str, Any]:
    (event,) = [event for event in wire.events(run["run_id"]) if event["type"] == "tool.result"]
    payload: dict[str, Any] = event["payload"]
    return payload


def asked(wire: Wire, chat: str, sql: str) -> str:
    return json.dumps(told(wire, wire.finish(script(sql), chat=chat)))


def children_of(pid: int) -> set[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(child) for task in tasks for child in task.read_text().split()}


def has_engine(pid: int) -> bool:
    try:
        return "duckdb" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def engines(service: RunningService) -> set[int]:
    return {pid for pid in children_of(service.pid) if has_engine(pid)}


@pytest.mark.rule("An account's queries see only its own tables.")
def test_each_account_asks_its_own_tables_only(service: RunningService, stage: ServiceFixture) -> None:
    ours, theirs = stage.open(service, service.create_key()), stage.open(service, service.create_key())
    secret = chat_with(theirs, "secret.csv", SECRET)
    assert "999999" in asked(theirs, secret, "SELECT salary FROM secret")
    own = chat_with(ours, "sales.csv", SALES)
    assert "170.50" in asked(ours, own, "SELECT sum(revenue) FROM sales")
    kept = service.data / "tables" / f"{hashlib.sha256(SECRET).hexdigest()}.csv.duckdb"
    assert kept.exists()
    for sql in (
        "SELECT * FROM secret",
        f"ATTACH '{kept.name}' AS o; SELECT * FROM o.t0",
        f"ATTACH '{kept}' AS o; SELECT * FROM o.t0",
        f"SELECT * FROM read_blob('{kept}')",
        "SELECT * FROM glob('*')",
        f"SELECT * FROM read_csv('{incoming(service).parent}/*/*')",
    ):
        said = asked(ours, own, sql)
        assert '"is_error": true' in said, (sql, said)
        assert "Boss" not in said
    assert "| 1 |" in asked(ours, own, "SELECT count(*) FROM duckdb_tables()")
    assert not has_engine(service.pid), "the service's own process never imports the engine"


def test_children_end_with_a_service_that_is_killed_and_harm_it_not_when_they_are(
    service: RunningService, stage: ServiceFixture
) -> None:
    wire = stage.open(service)
    chat = chat_with(wire, "sales.csv", SALES)
    asked(wire, chat, "SELECT 1")
    for pid in engines(service):
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)
    assert "170.50" in asked(wire, chat, "SELECT sum(revenue) FROM sales")
    left = engines(service)
    assert left
    service.kill()
    until(lambda: not any(map(has_engine, left)))
    assert list((service.data / "tables").iterdir())
    service.start()
    assert not list((service.data / "tables").iterdir())


def check(frames: list[pd.DataFrame], run_id: str) -> None:
    assert [frame.attrs["path"] for frame in frames] == ["results/Umsätze.csv", "results/b.csv"]
    first = frames[0]
    assert [str(kind) for kind in first.dtypes] == ["datetime64[us]", "float64"]
    assert first["revenue"].sum() == 12.5
    assert first.attrs["units"] == {"revenue": "€"}
    assert (first.attrs["title"], first.attrs["run_id"]) == ("Revenue by month", run_id)


def test_the_tables_of_a_run_are_dataframes(service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.wait(client.runs.start(leaving("Umsätze", "b")))
        check(client.runs.tables(run), run.run_id)
        check(client.runs.tables(run.run_id), run.run_id)
        check(run.tables, run.run_id)
        assert run.df.equals(client.runs.get(run.run_id).df)
        assert pickle.loads(pickle.dumps(run)) == run
