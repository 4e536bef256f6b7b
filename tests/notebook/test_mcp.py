"""`%agentsvc mcp`: servers whose tools runs of the embedded service use (docs/mcp.md), with real ones."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import embedded
from agentsvc_nb.embedded import EmbeddedError
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from tests.notebook.test_connection import Ring
from tests.notebook.test_connection import ring as ring

KEY = "svr_0123456789"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTSVC_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def session(data: Path) -> Iterator[Session]:
    found = Session(environ={}, journal=Journal(None))
    yield found
    found.close()
    with contextlib.suppress(EmbeddedError):
        embedded.stop(data)


def plain(value: Any) -> str:
    text: str = value._repr_mimebundle_()["text/plain"]
    return text


def test_a_server_is_added_listed_and_removed(terminal: Any, data: Path) -> None:
    terminal.cell("%agentsvc mcp add tickets https://Tickets.example/mcp --trust")
    terminal.cell("%agentsvc mcp add notes -- npx -y 'notes server' --key /tmp")
    kept = json.loads((data / "mcp.json").read_text())
    assert (kept["tickets"]["allow"], kept["tickets"]["trusted"]) == (["tickets.example"], True)
    assert kept["notes"]["command"] == ["npx", "-y", "notes server", "--key", "/tmp"]
    listed = plain(terminal.cell("%agentsvc mcp"))
    assert "https://Tickets.example/mcp" in listed
    assert "the command npx" in listed
    terminal.cell("%agentsvc mcp remove notes")
    assert "npx" not in plain(terminal.cell("%agentsvc mcp list"))


@pytest.mark.parametrize(
    "line",
    [
        "add tickets http://tickets.example/mcp",
        "add tickets https://ada:secret@tickets.example/mcp",
    ],
)
def test_what_is_wrong_is_said_and_nothing_added(terminal: Any, data: Path, line: str) -> None:
    with pytest.raises(AskError) as caught:
        terminal.cell(f"%agentsvc mcp {line}")
    assert "secret" not in str(caught.value)
    assert not (data / "mcp.json").exists()


def test_a_key_is_kept_in_the_keyring_and_shown_nowhere(session: Session, data: Path, ring: Ring) -> None:
    said = commands.servers_add(session, "tickets", "https://tickets.example/mcp?a=b", ask_key=lambda _: KEY)
    assert "in the keyring" in said
    assert "a=b" not in said
    assert list(ring.kept.values()) == [KEY]
    assert KEY not in (data / "mcp.json").read_text() + said + plain(commands.servers(session))
