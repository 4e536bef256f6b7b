"""A command of an MCP server in a service's folder (docs/mcp.md)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.service.folder import ReadyFile
from agentsvc_nb.service.mcp.servers import OwnServers, ServerConfig
from agentsvc_nb.service.serve import ServiceProcess
from agentsvc_nb.testing import running_service
from tests.service.api.test_approval import ended, of, waiting
from tests.support.tool_server import command
from tests.support.waiting import PATIENCE_SECONDS, until


@pytest.mark.sqlite("starts an embedded service, whose data lie in its own folder")
def test_a_command_in_the_folder_is_for_an_embedded_service_alone(tmp_path: Path) -> None:
    """`agentsvc serve` starts no program that a file in its data folder names; the same folder embedded does."""
    folder = tmp_path / "tools"
    folder.mkdir()
    script = "call small_stamp {}\nsay done"
    with running_service() as plain, AgentService(plain.api_key, plain.base_url) as client:
        OwnServers(plain.folder).add(ServerConfig("small", command=command(folder)))
        run = ended(client, client.runs.start(script).run_id)
        assert "no tool" in of(client, run.run_id, "tool.result")[-1]["content"][0]["text"]
        assert of(client, run.run_id, "warning") == []
        assert list(folder.iterdir()) == [], "it was not started"
        plain.stop()
        embedded = ServiceProcess(plain.folder, ["--port", "last", "--model", "scripted"], env=dict(os.environ))
        try:
            until(lambda: (ready := ReadyFile.read(plain.folder.ready)) and ready.pid == embedded.pid)
            waiting(client, client.runs.start(script).run_id)
            assert (folder / "pid").exists()
        finally:
            embedded.terminate()
            embedded.wait(PATIENCE_SECONDS)
