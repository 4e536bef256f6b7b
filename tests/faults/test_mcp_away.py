"""Streams of MCP while the database is away, and when something else is wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from agentsvc_nb.wire.routes import MCP, V1
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.service.api.mcp_caller import MODERN, TASKS, Json, meta, streamed
from tests.support.sampling import sampled
from tests.support.waiting import until

FAILURES = pytest.mark.parametrize("failure", sampled(["away", "busy"], "away"))
SCRIPT = "step 1\nwait 1\n" * 3 + "answer done"
ENDLESS = "step 1\nwait 60"


@pytest.fixture
def server() -> Iterator[CrashingServer]:
    with crashing_server() as found:
        found.start()
        yield found


@contextlib.contextmanager
def failing(server: CrashingServer, failure: str) -> Iterator[None]:
    """Reads fail within the block."""
    file = server.data / "reads-fail"
    new = server.data / "reads-fail.new"
    (server.data / "reads-failed").write_text("")
    new.write_text(failure)
    new.replace(file)
    yield
    file.unlink()


@contextlib.contextmanager
def opened(
    server: CrashingServer, method: str, capabilities: Mapping[str, Any] = {}, **params: Any
) -> Iterator[Iterator[Json]]:
    """The messages of the answer as they come."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta(capabilities)}}
    headers = {"Accept": "application/json, text/event-stream", "Mcp-Method": method, "MCP-Protocol-Version": MODERN}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    with server.http.stream("POST", MCP.path.removeprefix(V1), json=message, headers=headers) as answer:
        assert answer.status_code == 200
        yield streamed(answer.iter_lines())


def run(server: CrashingServer) -> str:
    """A run that has begun."""
    run_id: str = server.post("/runs", {"message": SCRIPT}).json()["run_id"]
    until(lambda: server.get(f"/runs/{run_id}")["status"] == "running")
    return run_id


def looked(server: CrashingServer) -> None:
    """Wait until the stream has tried to look."""
    until(lambda: "runs.runs.get" in (server.data / "reads-failed").read_text())


@FAILURES
def test_a_held_answer_comes_once_the_database_is_back(server: CrashingServer, failure: str) -> None:
    with opened(server, "tools/call", name="ask", arguments={"message": SCRIPT}) as messages:
        with failing(server, failure):
            looked(server)
        [answer] = messages
    assert answer["result"]["structuredContent"]["output"] == "done"


@FAILURES
def test_who_listens_hears_on_once_the_database_is_back(server: CrashingServer, failure: str) -> None:
    run_id = run(server)
    with opened(server, "subscriptions/listen", TASKS, notifications={"taskIds": [run_id]}) as messages:
        assert next(messages)["params"]["notifications"] == {"taskIds": [run_id]}
        assert next(messages)["params"]["status"] == "working"
        with failing(server, failure):
            looked(server)
        found = next(messages)["params"]
    assert (found["status"], found["result"]["structuredContent"]["output"]) == ("completed", "done")
