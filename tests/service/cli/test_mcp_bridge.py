"""`agentsvc mcp`: what it prints, and `--stdio`, a real process between a program and a real service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb.cli import main
from agentsvc_nb.testing import RunningService
from tests.service.api.mcp_caller import LEGACY, TASKS, meta


class Process:
    """`agentsvc mcp --stdio`."""

    def __init__(self, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agentsvc_nb", "mcp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )

    def send(self, message: Any) -> None:
        assert self._process.stdin is not None
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._process.stdin.write(text + b"\n")
        self._process.stdin.flush()

    def line(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def rest(self) -> list[Any]:
        """Close its input, and return what it still writes until it ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        return [json.loads(line) for line in self._process.stdout]

    def close(self) -> tuple[int, bytes]:
        """Return its exit code, and what it said on standard error."""
        self.rest()
        with self._process as ended:
            assert ended.stderr is not None
            said = ended.stderr.read()
        return ended.returncode, said


@pytest.fixture(scope="module")
def bridge(service: RunningService) -> Iterator[Process]:
    process = Process(AGENTSVC_BASE_URL=service.base_url, SERVICE_API_KEY=service.api_key)
    yield process
    assert process.close() == (0, b"")


def request(id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def test_an_older_client_is_served(bridge: Process) -> None:
    bridge.send(request(1, "initialize", protocolVersion=LEGACY, capabilities={}, clientInfo={}))
    assert bridge.line()["result"]["protocolVersion"] == LEGACY
    bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    bridge.send(request(2, "tools/call", name="ask", arguments={"message": "say Grüße"}))
    answer = bridge.line()
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (2, "Grüße")


def test_a_modern_client_is_served_with_progress(bridge: Process) -> None:
    told = meta(progressToken=7)
    bridge.send(request(1, "tools/call", name="echo_job", arguments={"steps": 2, "seconds": 0.2}, _meta=told))
    found = [bridge.line()]
    while "id" not in found[-1]:
        found.append(bridge.line())
    assert {one["method"] for one in found[:-1]} == {"notifications/progress"}
    assert found[-1]["result"]["resultType"] == "complete"


def test_requests_are_answered_side_by_side_and_cancelled(bridge: Process) -> None:
    bridge.send(request(1, "tools/call", name="ask", arguments={"message": "wait 60"}, _meta=meta()))
    bridge.send(request(2, "server/discover", _meta=meta(TASKS)))
    assert bridge.line()["id"] == 2
    bridge.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    bridge.send(request(3, "server/discover", _meta=meta()))
    assert bridge.line()["id"] == 3


def test_at_the_end_of_input_short_answers_are_waited_for_and_the_others_left(service: RunningService) -> None:
    """One that takes a second, a run that goes on, and a stream that would never end."""
    bridge = Process(AGENTSVC_BASE_URL=service.base_url, SERVICE_API_KEY=service.api_key)
    bridge.send(request(1, "subscriptions/listen", notifications={}, _meta=meta()))
    assert bridge.line()["method"] == "notifications/subscriptions/acknowledged"
    bridge.send(request(2, "tools/call", name="ask", arguments={"message": "wait 60"}, _meta=meta()))
    bridge.send(request(3, "tools/call", name="echo_job", arguments={"seconds": 0.5}, _meta=meta()))
    assert [one["id"] for one in bridge.rest()] == [3]
    assert bridge.close() == (0, b"")


def test_what_is_no_message_and_what_is_refused_is_answered(bridge: Process) -> None:
    for line in (b"no json", b"[" * 100_000, b'{"id": ' + b"1" * 5_000 + b"}"):
        bridge.send(line)
        assert bridge.line()["error"]["code"] == -32700
    bridge.send(request(1, "nothing", _meta=meta()))
    assert bridge.line()["error"]["code"] == -32601


def entries(said: str) -> list[Any]:
    """The JSON entries that were printed."""
    return [json.loads(block[: block.rindex("}") + 1]) for block in ("{" + part for part in said.split("\n{")[1:])]


def test_it_prints_entries_that_are_json_and_no_key(
    service: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", "--data", str(service.data)]) == 0
    said = capsys.readouterr().out
    own, code, zed, *reached = entries(said)
    assert own["mcpServers"]["agentsvc"]["args"][-4:] == ["mcp", "--stdio", "--data", str(service.data)]
    assert code["servers"]["agentsvc"] == {"type": "stdio", **own["mcpServers"]["agentsvc"]}
    assert zed["context_servers"] == own["mcpServers"]
    for entry in reached:
        [servers] = [value for name, value in entry.items() if name != "inputs"]
        assert servers["agentsvc"]["url"].endswith("/api/developers/v1/mcp")
    assert "svc_sk_" not in said
