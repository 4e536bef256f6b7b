"""Two hundred clients of MCP at once, against the same over the API's own routes; what the endpoint costs a service
that nobody asks by MCP, and what the first request costs.

python -m tests.bench.mcp [--quick]
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, Final

from agentsvc_nb import AgentService
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import MCP, V1
from tests.bench.load import Load, address, measure, request
from tests.bench.process import cpu_seconds, resident_mb
from tests.bench.raw import fetch
from tests.service.api.mcp_caller import LEGACY, MODERN, meta
from tests.support.waiting import until

CLIENTS: Final = 200
REVISIONS: Final = (MODERN, LEGACY)
_ACCEPT: Final = "application/json, text/event-stream"
_SERVE: Final = "from agentsvc_nb.cli import main; main(['serve', '--data', {data!r}, '--port', '0'])"
_WITHOUT: Final = """
import sys, types
name = "agentsvc_nb.service.mcp.server.routing"
sys.modules[name] = types.ModuleType(name)
sys.modules[name].routes = lambda load: []
sys.modules[name].load_server = None
"""
"""A service as it would be without the routes of MCP."""
Row = tuple[float, float, float]
"""The service's processor time for an answer, and the seconds in which half of the answers came, and 99 of 100."""


def main(quick: bool) -> None:
    rounds, requests = (1, 1000) if quick else (5, 4000)
    _idle(1 if quick else 5)
    with running_service() as service:
        _first(service)
        run_id = _run(service)
        chat = _chat(service, run_id)
        rows: dict[str, list[tuple[str, str, str, dict[str, Any]]]] = {
            "list the tools": [("GET", f"{V1}/tools", "tools/list", {})],
            "read a run": [("GET", f"{V1}/runs/{run_id}", *_called("get_run", run_id=run_id))],
            "list the files": [("GET", f"{V1}/files?chat_id={chat}", *_called("list_files", chat=chat))],
            # It first finds the chats that were used last, which that route is told.
            "list resources": [("GET", f"{V1}/files?chat_id={chat}", "resources/list", {})],
            "search a chat": [
                ("GET", f"{V1}/files/search?q=hello&chat_id={chat}", *_called("search_files", q="hello", chat=chat))
            ],
        }
        rows["list and read"] = rows["list the tools"] + rows["read a run"]
        print(f"\n{CLIENTS} clients at once: {'':12} {'CPU ms':>8} {'p50 ms':>8} {'p99 ms':>8} {'of the route':>13}")
        for what, mixed in rows.items():
            asked = {"its route": [request(verb, path, service.api_key) for verb, path, _, _ in mixed]}
            for revision in REVISIONS:
                messages = [_message(service, revision, method, **given) for _, _, method, given in mixed]
                asked[f"MCP {revision}"] = messages
            turns = [[_loaded(service, one, requests) for one in asked.values()] for _ in range(rounds)]
            _print(what, list(asked), turns)
        turns = [[_held(service, one) for one in _asks(service).values()] for _ in range(rounds)]
        _print("ask, held", list(_asks(service)), turns)


def _print(what: str, names: Sequence[str], turns: Sequence[Sequence[Row]]) -> None:
    for name, column in zip(names, zip(*turns, strict=True), strict=True):
        cpu, p50, p99 = (median(values) * 1000 for values in zip(*column, strict=True))
        ratio = median(one[2] / turn[0][2] for one, turn in zip(column, turns, strict=True))
        print(f"{what + ', ' + name:36} {cpu:8.2f} {p50:8.1f} {p99:8.1f} {ratio:13.2f}")


def _idle(rounds: int) -> None:
    """The memory of a service that was not asked for anything, with the routes of MCP and without."""
    turns = [(_started_mb(""), _started_mb(_WITHOUT)) for _ in range(rounds)]
    there, without = (median(column) for column in zip(*turns, strict=True))
    print(f"idle: {there:.1f} MB, without the routes of MCP {without:.1f}")


def _started_mb(before: str) -> float:
    with tempfile.TemporaryDirectory(prefix="agentsvc-bench-") as folder:
        program = before + _SERVE.format(data=folder)
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
        try:
            until(DataFolder(Path(folder)).ready.exists)
            status = fetch(
                json.loads(DataFolder(Path(folder)).ready.read_text())["base_url"], request("GET", "/healthz", "")
            )
            assert status
            return resident_mb(process.pid)
        finally:
            process.terminate()
            process.wait()


def _first(service: RunningService) -> None:
    idle = resident_mb(service.pid)
    begun, ran = time.perf_counter(), cpu_seconds(service.pid)
    _right(fetch(service.base_url, _message(service, MODERN, "tools/list")))
    first = time.perf_counter() - begun
    print(f"first request: {first * 1000:.0f} ms, {cpu_seconds(service.pid) - ran:.2f} s of processor", end=", ")
    print(f"{resident_mb(service.pid) - idle:.1f} MB on {idle:.1f}")


def _loaded(service: RunningService, asked: Sequence[bytes], requests: int) -> Row:
    """Several requests at once, each by its share of the clients. Raises for any answer but the first one's."""
    loads = [
        Load(one, 200, _right(fetch(service.base_url, one)), True, CLIENTS // len(asked), requests // len(asked))
        for one in asked
    ]
    ran = cpu_seconds(service.pid)
    with ThreadPoolExecutor(len(loads)) as pool:
        measured = list(pool.map(lambda load: measure(service.base_url, load), loads))
    return _row((cpu_seconds(service.pid) - ran) / requests, [one for each in measured for one in each.latencies])


def _row(cpu: float, latencies: Sequence[float]) -> Row:
    found = sorted(latencies)
    return cpu, found[len(found) // 2], found[len(found) * 99 // 100]


def _right(body: bytes) -> bytes:
    """The body. Raises for one that says that something failed."""
    found = json.loads(body)
    assert "error" not in found, body
    assert not found.get("result", {}).get("isError"), body
    return body


def _asks(service: RunningService) -> dict[str, bytes]:
    """A start that is held until its run has ended, and the same by MCP."""
    start = json.dumps({"message": "say hello", "sync": True}).encode()
    ask = _called("ask", message="say hello")
    found = {"its route": request("POST", f"{V1}/runs", service.api_key, start)}
    found |= {f"MCP {revision}": _message(service, revision, ask[0], **ask[1]) for revision in REVISIONS}
    return found


def _held(service: RunningService, asked: bytes) -> Row:
    """All clients at once, one ask each. Raises for any answer without the agent's."""
    ran = cpu_seconds(service.pid)
    latencies = asyncio.run(_ask_all(service, asked.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)))
    return _row((cpu_seconds(service.pid) - ran) / CLIENTS, latencies)


async def _ask_all(service: RunningService, asked: bytes) -> list[float]:
    async def ask() -> float:
        into, out = await asyncio.open_connection(*address(service.base_url))
        begun = time.perf_counter()
        out.write(asked)
        answer = await into.read()
        seconds = time.perf_counter() - begun
        out.close()
        right = (
            answer.startswith(b"HTTP/1.1 200 ") and b'"status":"completed"' in answer and b'"output":"hello' in answer
        )
        assert right, answer
        return seconds

    return await asyncio.gather(*(ask() for _ in range(CLIENTS)))


def _called(tool: str, **given: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": tool, "arguments": given}


def _message(service: RunningService, revision: str, method: str, **params: Any) -> bytes:
    own = {**params, "_meta": meta()} if revision == MODERN else params
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": own}).encode()
    head, _, rest = request("POST", MCP.path, service.api_key, body, _ACCEPT).partition(b"\r\n\r\n")
    repeated = [f"MCP-Protocol-Version: {revision}"]
    if revision == MODERN:
        repeated += [f"Mcp-Method: {method}", *([f"Mcp-Name: {params['name']}"] if "name" in params else [])]
    return b"\r\n".join((head, *(line.encode() for line in repeated), b"", rest))


def _run(service: RunningService) -> str:
    with AgentService(service.api_key, service.base_url) as client:
        return client.runs.start("write a.txt hello\nsay hello", sync=True).run_id


def _chat(service: RunningService, run_id: str) -> str:
    with AgentService(service.api_key, service.base_url) as client:
        return client.runs.get(run_id).chat


if __name__ == "__main__":
    main("--quick" in sys.argv)
