"""A command that `%agentsvc mcp` added, run by an embedded service."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.state.session import Session
from tests.notebook.conftest import own_folders as own_folders
from tests.notebook.test_mcp import KEY, plain
from tests.notebook.test_mcp import data as data
from tests.notebook.test_mcp import session as session
from tests.support.tool_server import calls, command


def test_the_embedded_service_runs_the_command_and_lists_its_tools(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Added while the service runs; the next run has it."""
    monkeypatch.setenv("AGENTSVC_MODEL", "scripted")
    client = session.client()
    assert client.runs.start("say hi", sync=True).output == "hi"
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    commands.servers_add(
        session, "small", command=command(theirs), trusted=True, key_as="TOOL_KEY", ask_key=lambda _: KEY
    )
    run = client.runs.wait(client.runs.start('call small_look {"text": "x"}\nsay done').run_id, timeout=60)
    assert run.output == "done"
    assert calls(theirs) == ["look x"]
    listed = plain(commands.tools(session))
    assert "small_look" in listed
    assert KEY not in (tmp_path / "data" / "serve.log").read_text()
