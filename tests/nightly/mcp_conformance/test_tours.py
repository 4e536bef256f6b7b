"""The official clients do a tour of the service: Python's library, the TypeScript SDK and the inspector's command line,
each in both revisions, over HTTP and through `agentsvc mcp --stdio`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import MCP
from tests.nightly.mcp_conformance.suite import NODE, ROOM
from tests.nightly.mcp_conformance.tour import AD, connected, tour

BRIDGE: Final = (sys.executable, "-m", "agentsvc_nb", "mcp", "--stdio")
INSPECTOR: Final = (ROOM / "node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js").resolve()
"""Called by a link, it does nothing."""
WAYS: Final = ("http", "stdio")
ERAS: Final = {"legacy": "2025-11-25", "auto": "2026-07-28"}
SECONDS: Final = 120


@pytest.fixture(scope="module")
def toured() -> Iterator[RunningService]:
    """A service that says after two seconds where to find what takes longer."""
    with running_service(ask_handle_seconds=2) as found:
        yield found


def _environment(service: RunningService) -> dict[str, str]:
    own = {"AGENTSVC_BASE_URL": service.base_url, "SERVICE_API_KEY": service.api_key}
    return {**os.environ, **own, "AGENTSVC_URL": service.base_url + MCP.path, "AGENTSVC_KEY": service.api_key}


def _all_is_there(told: dict[str, Any], version: str) -> None:
    assert told["version"] == version
    assert {"ask", "echo_job", "search_files", "get_run", "cancel_run"} <= set(told["tools"])
    assert (told["asked"]["output"], told["asked"]["status"]) == ("Grüße", "completed")
    assert told["progress"] == sorted(set(told["progress"])) != []
    assert (told["job"]["status"], told["job"]["data"]["steps"]) == ("succeeded", 3)
    assert told["late"]["status"] == "running"
    assert (told["ended"]["run_id"], told["ended"]["status"]) == (told["late"]["run_id"], "cancelled")
    assert told["given_up"], "a run goes on though its call was given up"
    assert told["read"][0]["text"] == "summer sale at noon"
    assert [one["path"] for one in told["found"]["results"]] == ["out/Übersicht.txt"]
    assert (told["seen"]["kind"], told["seen"]["media_type"]) == ("image", "image/png")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", WAYS)
def test_the_python_library(toured: RunningService, way: str, era: str) -> None:
    async def whole() -> dict[str, Any]:
        async with asyncio.timeout(SECONDS), connected(toured, way, era) as client:
            return await tour(client)

    _all_is_there(asyncio.run(whole()), ERAS[era])


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", WAYS)
def test_the_typescript_sdk(toured: RunningService, way: str, era: str) -> None:
    command: list[str | Path] = [NODE, ROOM / "tour.mjs", era, *(BRIDGE if way == "stdio" else ())]
    done = subprocess.run(command, env=_environment(toured), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    _all_is_there(json.loads(done.stdout), ERAS[era])


class Inspector:
    """The inspector's command line: one request for each process."""

    def __init__(self, service: RunningService, home: Path, way: str, era: str) -> None:
        self._env = {**_environment(service), "HOME": str(home)}
        key = f"Authorization: Bearer {service.api_key}"
        at = ["--transport", "http", "--server-url", self._env["AGENTSVC_URL"], "--header", key]
        passed = [f"{name}={self._env[name]}" for name in ("AGENTSVC_BASE_URL", "SERVICE_API_KEY")]
        self._first = ["--protocol-era", era, "--format", "json"]
        self._first += at if way == "http" else ["-e", passed[0], "-e", passed[1]]
        self._last = ["--", *BRIDGE] if way == "stdio" else []

    def ask(self, method: str, *more: str) -> dict[str, Any]:
        command: list[str | Path] = [NODE, INSPECTOR, *self._first, "--method", method, *more, *self._last]
        done = subprocess.run(command, env=self._env, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result

    def call(self, name: str, **given: object) -> dict[str, Any]:
        found = self.ask("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(given))
        assert not found["isError"], found
        data: dict[str, Any] = found["structuredContent"]
        return data


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("way", WAYS)
def test_the_inspector(toured: RunningService, tmp_path: Path, way: str, era: str) -> None:
    inspector = Inspector(toured, tmp_path, way, era)
    tools = inspector.ask("tools/list", "--strict")["tools"]
    assert {"ask", "search_files"} <= {tool["name"] for tool in tools}
    asked = inspector.call("ask", message="write notes.txt summer sale\nsay Grüße")
    assert asked["output"] == "Grüße"
    assert inspector.call("echo_job", steps=3, seconds=1, chat="new")["data"]["steps"] == 3
    if era == "legacy":  # in the newer revision it takes a task, and stays until that has ended
        late = inspector.call("ask", message="wait 60")
        assert late["status"] == "running"
        inspector.call("cancel_run", run_id=late["run_id"])
        assert inspector.call("get_run", run_id=late["run_id"])["status"] in ("running", "cancelled")
    assert inspector.ask("resources/read", "--uri", asked["files"][0]["uri"])["contents"][0]["text"] == "summer sale"
    assert inspector.call("search_files", chat=asked["chat"], q="summer")["results"][0]["path"] == "notes.txt"
    [made] = inspector.call("create_images", request=AD, chat=asked["chat"])["files"]
    assert inspector.call("read_file", chat=asked["chat"], path=made["path"])["media_type"] == "image/png"
