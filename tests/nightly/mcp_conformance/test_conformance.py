"""The service passes the checks of the public conformance suite of MCP that a revision requires, and of its extension
of tasks. Scenarios of what the service does not offer are left out."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import uvicorn

from agentsvc_nb.service.app import create_app
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.http.names import OwnNames
from agentsvc_nb.service.keyring import ensure_own_key
from agentsvc_nb.settings import Settings
from agentsvc_nb.wire.routes import MCP
from tests.nightly.mcp_conformance import NODE, ROOM
from tests.nightly.mcp_conformance.fixtures import FixtureServer
from tests.support.waiting import until

SUITE: Final = ROOM / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
LINE: Final = re.compile(r"^[✓✗] ([\w.-]+): (\d+) passed, (\d+) failed", re.M)
"""A scenario's name and its numbers of checks."""
LEFT_OUT: Final = re.compile(
    "tools-call-(image|audio|embedded|mixed|with)|resources-(read|templates|subscribe|unsubscribe)|json-schema|"
    "prompts-|logging-|(tools-call-)?(sampling|elicitation)|input-required-result-|tasks-mrtr-composition"
)
"""Scenarios that need tools, prompts and resources of their own, or a server that asks its client in the middle."""


@pytest.fixture(scope="module")
def tested() -> Iterator[dict[str, str]]:
    """The address and the key of a service in a thread of this process. Effects wait for approval."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-") as data, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        origin = f"http://localhost:{listening.getsockname()[1]}"  # the suite refuses other names of this machine
        folder = DataFolder(Path(data))
        ensure_own_key(folder)
        settings = Settings.from_env({}, data=folder.path, model="scripted", approve_effects="true")
        names = OwnNames.from_settings(settings, origin, on_loopback=True)
        app = create_app(settings, instance="conformance", origin=origin, names=names, load_mcp=FixtureServer)
        server = uvicorn.Server(uvicorn.Config(app, interface="asgi3", log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            until(lambda: server.started)
            yield {"url": origin + MCP.path, "key": folder.key.read_text(encoding="utf-8").strip()}
        finally:
            server.should_exit = True
            thread.join()


@pytest.mark.parametrize(("revision", "checks", "tasks"), [("2026-07-28", 120, 8), ("2025-11-25", 17, 0)])
def test_no_check_fails(tested: dict[str, str], revision: str, checks: int, tasks: int) -> None:
    done = subprocess.run(
        [NODE, "--import", ROOM / "with_key.mjs", SUITE, "server", "--url", tested["url"], "--requirements", revision],
        env={**os.environ, "AGENTSVC_KEY": tested["key"]},
        capture_output=True,
        text=True,
        timeout=300,
    )
    said = done.stdout + done.stderr
    found = {name: (int(passed), int(failed)) for name, passed, failed in LINE.findall(said)}
    held = {name: both for name, both in found.items() if not LEFT_OUT.match(name)}
    assert [name for name, (_, failed) in held.items() if failed] == [], said
    assert sum(passed for passed, _ in held.values()) >= checks, said
    assert sum(name.startswith("tasks-") and passed > 0 for name, (passed, _) in held.items()) == tasks, said
