"""Starts a service whose MCP server also has the fixtures that the conformance suite calls."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from agentsvc_nb.service.app import create_app
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.http.names import OwnNames
from agentsvc_nb.service.keyring import ensure_own_key
from agentsvc_nb.settings import Settings
from tests.nightly.mcp_conformance.fixtures import FixtureServer
from tests.support.waiting import until


@dataclass(frozen=True)
class FixtureService:
    base_url: str
    api_key: str


@contextlib.contextmanager
def fixture_service() -> Iterator[FixtureService]:
    """Run the service in a thread of this process. Effects wait for approval."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-") as data, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        base_url = f"http://localhost:{listening.getsockname()[1]}"  # the suite refuses other names of this machine
        folder = DataFolder(Path(data))
        ensure_own_key(folder)
        settings = Settings.from_env({}, data=folder.path, model="scripted", approve_effects="true")
        names = OwnNames.of(settings, base_url, on_loopback=True)
        app = create_app(settings, instance="conformance", origin=base_url, names=names, load_mcp=FixtureServer)
        server = uvicorn.Server(uvicorn.Config(app, interface="asgi3", log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            until(lambda: server.started)
            yield FixtureService(base_url, folder.key.read_text(encoding="utf-8").strip())
        finally:
            server.should_exit = True
            thread.join()
