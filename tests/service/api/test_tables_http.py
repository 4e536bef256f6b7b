"""Tables asked in runs of a real service: of one's own files, in a process of their own (decision 41)."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.testing import RunningService, running_service
from tests.service.api.conftest import Opened, Wire
from tests.support.contents import incoming
from tests.support.waiting import until
from tests.unit.tools.test_sandbox import gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
SECRET = b"name,salary\nBoss,999999\n"
SALES = b"channel,revenue\nsearch,100.50\nsocial,70\n"
SLOW = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"


@pytest.fixture(scope="module")
def tabled() -> Iterator[RunningService]:
    with running_service() as service:
        yield service


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


def test_each_account_asks_its_own_tables_only(tabled: RunningService, opened: Opened) -> None:
    ours, theirs = opened(tabled, tabled.create_key("ours")), opened(tabled, tabled.create_key("theirs"))
    secret = chat_with(theirs, "secret.csv", SECRET)
    assert "999999" in asked(theirs, secret, "SELECT salary FROM secret")
    own = chat_with(ours, "sales.csv", SALES)
    assert "170.50" in asked(ours, own, "SELECT sum(revenue) FROM sales")
    kept = tabled.data / "tables" / f"{hashlib.sha256(SECRET).hexdigest()}.csv.duckdb"
    assert kept.exists()
    for sql in (
        "SELECT * FROM secret",
        f"ATTACH '{kept.name}' AS o; SELECT * FROM o.t0",
        f"ATTACH '{kept}' AS o; SELECT * FROM o.t0",
        f"SELECT * FROM read_blob('{kept}')",
        "SELECT * FROM glob('*')",
        f"SELECT * FROM read_csv('{incoming(tabled).parent}/*/*')",
    ):
        said = asked(ours, own, sql)
        assert '"is_error": true' in said, (sql, said)
        assert "Boss" not in said
    assert "| 1 |" in asked(ours, own, "SELECT count(*) FROM duckdb_tables()")
    assert not has_engine(tabled.pid), "the service's own process never imports the engine"


def test_a_file_that_is_replaced_is_read_anew(tabled: RunningService, opened: Opened) -> None:
    wire = opened(tabled)
    chat = wire.new_chat()
    for number in (41, 42):
        wire.finish(f'write few.json [{{"n": {number}}}, {{"n": 1}}]', chat=chat)
        assert str(number + 1) in asked(wire, chat, "SELECT sum(n) FROM few")


def test_a_cancelled_run_takes_its_question_back(tabled: RunningService, opened: Opened) -> None:
    wire = opened(tabled)
    chat = chat_with(wire, "sales.csv", SALES)
    asked(wire, chat, "SELECT 1")
    before = {pid: _ticks(pid) for pid in engines(tabled)}
    run = wire.start(script(SLOW), chat=chat)
    busy = until(lambda: [pid for pid, ticks in before.items() if _ticks(pid) > ticks + 50])
    wire("POST", f"/runs/{run['run_id']}/cancel")
    until(lambda: not set(busy) & engines(tabled))
    assert "170.50" in asked(wire, chat, "SELECT sum(revenue) FROM sales")


def _ticks(pid: int) -> int:
    """The processor time of a process, in hundredths of a second."""
    try:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    except OSError:
        return 0


def test_children_end_with_a_service_that_is_killed_and_harm_it_not_when_they_are(opened: Opened) -> None:
    with running_service() as service:
        wire = opened(service)
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
