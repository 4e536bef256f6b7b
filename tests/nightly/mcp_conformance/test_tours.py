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
from tests.nightly.mcp_conformance import NODE, ROOM
from tests.nightly.mcp_conformance.tour import connected, tour

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


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("way", WAYS)
def test_the_inspector(toured: RunningService, tmp_path: Path, way: str, era: str) -> None:
    env = {**_environment(toured), "HOME": str(tmp_path)}
    own = [part for name in ("AGENTSVC_BASE_URL", "SERVICE_API_KEY") for part in ("-e", f"{name}={env[name]}")]
    key = f"Authorization: Bearer {toured.api_key}"
    at = ["--transport", "http", "--server-url", env["AGENTSVC_URL"], "--header", key] if way == "http" else own

    def ask(method: str, *more: str) -> dict[str, Any]:
        """One request, by a process of its own."""
        head: list[str | Path] = [NODE, INSPECTOR, "--protocol-era", era, "--format", "json", *at, "--method", method]
        bridge = ["--", *BRIDGE] if way == "stdio" else []
        done = subprocess.run([*head, *more, *bridge], env=env, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result

    assert {"ask", "search_files"} <= {tool["name"] for tool in ask("tools/list", "--strict")["tools"]}
    told = json.dumps({"message": "write notes.txt summer sale\nsay Grüße"})
    asked = ask("tools/call", "--tool-name", "ask", "--tool-args-json", told)["structuredContent"]
    assert asked["output"] == "Grüße"
    assert ask("resources/read", "--uri", asked["files"][0]["uri"])["contents"][0]["text"] == "summer sale"
