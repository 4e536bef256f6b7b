"""What is wrong is said in one clear sentence, the cell fails, and nothing is sent."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from agentsvc_nb.notebook.connection import connect
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.testing import RunningService

KEY = "svc_sk_" + "secret" * 7
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key and an address where nothing listens: what is sent would be an APIConnectionError."""
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    monkeypatch.setenv("AGENTSVC_BASE_URL", NOWHERE)


@pytest.mark.usefixtures("no_service")
@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%ask\n{{client}}", "{{client}}: there is no variable `client`"),
        ("%%ask\n   \n", "The message is empty"),
        ("%%ask --file missing.csv\nx", "There is no file missing.csv"),
        ("%%ask --fast\nx", "unrecognized arguments: --fast"),
        ("%%ask --chat ../x\nx", "'../x' is no chat id"),
        ("%%ask --chat chat_1 --new-chat\nx", "--chat and --new-chat exclude each other"),
        ("%%job create_images\nno colon", "'no colon' is not `key: value`"),
        ("%%job create_images\n" + '{"a":' * 100_000, "The input is not JSON: it is nested too deeply"),
        ("%files get x", "This notebook has no chat yet"),
        ("%runs cancel 17", "'17' is not a run id"),
        ("%agentsvc connect https://me:pw@x.example", "must not carry a password"),
    ],
)
def test_nothing_is_sent(terminal: Any, cell: str, said: str) -> None:
    with pytest.raises(AskError) as caught:
        terminal.cell(cell)
    assert said in str(caught.value)
    lines = caught.value._render_traceback_()
    assert 1 <= len(lines) <= 2
    assert "APIConnection" not in "".join(lines)


def test_a_key_without_an_address_names_both_choices(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    with pytest.raises(AskError, match="nothing was sent") as caught:
        terminal.cell("%%ask\nx")
    hint = caught.value.hint
    assert all(word in hint for word in ("AGENTSVC_BASE_URL", "%agentsvc connect URL", "unset SERVICE_API_KEY"))


def test_an_address_where_nothing_answers_leaves_the_connection_as_it_was(
    terminal: Any, service: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.cell(f"%agentsvc connect {service.base_url}")
    with pytest.raises(AskError, match=f"Nothing answers at {NOWHERE}.*left as it was"):
        terminal.cell(f"%agentsvc connect {NOWHERE}")
    terminal.cell("%agentsvc")
    assert capsys.readouterr().out.count(f"service  {service.base_url}") == 2


def test_any_answer_will_do_and_no_key_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                heads.append(connection.recv(4096).decode())
                connection.sendall(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert url in connect(Session(environ={"SERVICE_API_KEY": KEY}, journal=Journal(None)), f"{url}/")
        thread.join(30)
    assert heads[0].startswith("GET /healthz ")
    assert KEY not in heads[0]
