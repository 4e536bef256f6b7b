"""`%agentsvc`: where the key comes from, and where in a service is asked."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend

from agentsvc_nb import AgentService
from agentsvc_nb.cli import main
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.connection import connect
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.testing import RunningService


class Ring(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


@pytest.fixture
def ring() -> Iterator[Ring]:
    before, ours = keyring.get_keyring(), Ring()
    keyring.set_keyring(ours)
    yield ours
    keyring.set_keyring(before)


@pytest.fixture
def session() -> Session:
    return Session(environ={}, journal=Journal(None))


@pytest.mark.rule("The notebook reads the key from a hidden prompt and never shows it.")
def test_a_key_is_asked_for_and_shown_nowhere(session: Session, service: RunningService) -> None:
    asked: list[str] = []

    def ask_key(prompt: str) -> str:
        asked.append(prompt)
        return f" {service.api_key}\n"

    said = commands.connect(session, service.base_url, ask_key)
    assert service.base_url in asked[0]
    assert service.api_key not in said + repr(session.keys) + repr(session)
    assert len(commands.tools(session)) > 1


def test_a_key_is_kept_in_the_keyring_and_found_there_by_the_next_kernel(service: RunningService, ring: Ring) -> None:
    first, second = (Session(environ={}, journal=Journal(None)) for _ in range(2))
    commands.connect(first, service.base_url, lambda _: service.api_key, keep_key=True)
    assert list(ring.kept) == [("agentsvc-nb", service.base_url)]
    assert "keyring" in commands.connect(second, service.base_url)
    assert len(commands.tools(second)) > 1


@pytest.mark.usefixtures("connected")
def test_a_chat_is_moved_to_when_it_is_there(terminal: Any, client: AgentService) -> None:
    chat = client.runs.start("say x", sync=True).chat
    terminal.cell(f"%agentsvc chat {chat}")
    assert terminal.cell("%%ask\nsay y").chat == chat
    with pytest.raises(AskError, match="chat_not_found"):
        terminal.cell("%agentsvc chat chat_of_nobody")
    assert terminal.cell("%%ask\nsay z").chat == chat


@pytest.mark.usefixtures("connected")
def test_a_project_is_found_by_its_name_or_made(terminal: Any, client: AgentService) -> None:
    with pytest.raises(AskError, match="no project Winter") as caught:
        terminal.cell('%agentsvc project "Winter sale 7"')
    assert "--create" in caught.value.hint
    terminal.cell('%agentsvc project "Winter sale 7" --create')
    (made,) = [project for project in client.projects.list() if project.name == "Winter sale 7"]
    assert terminal.cell("%%ask\nsay x").run.project == made.id
    terminal.cell("%agentsvc project")
    assert terminal.cell("%%ask\nsay x").run.project is None


@pytest.mark.usefixtures("connected")
def test_rules_of_the_project_are_listed_and_removed(
    terminal: Any, client: AgentService, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AskError, match="uses no project"):
        terminal.cell("%agentsvc rules")
    project = client.projects.create("Rules", "Be kind.\n\n- Revenue means gross.")
    terminal.cell(f"%agentsvc project {project.id}")
    capsys.readouterr()
    terminal.cell("%agentsvc rules")
    assert "  1  Be kind.\n  3  - Revenue means gross.\n" in capsys.readouterr().out
    for wrong in ("2", "4", "x"):
        with pytest.raises(AskError, match=f"Rule {wrong} does not exist"):
            terminal.cell(f"%agentsvc rules remove {wrong}")
    terminal.cell("%agentsvc rules remove 3")
    assert [each.instructions.strip() for each in client.projects.list() if each.id == project.id] == ["Be kind."]


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
        ("%%ask\n{{client}}", "`client` does not exist"),
        ("%%ask --file missing.csv\nx", "missing.csv"),
        ("%%ask --chat ../x\nx", "'../x'"),
        ("%%job create_images\n" + '{"a":' * 100_000, "nested too deeply"),
        ("%files get x", "no chat yet"),
        ("%runs cancel 17", "'17'"),
        ("%agentsvc connect https://me:pw@x.example", "password"),
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


def test_a_model_is_named_for_a_cell_or_for_the_notebook(
    kernel: Any, offline_service: RunningService, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", offline_service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", offline_service.base_url)
    assert kernel.cell("%%ask --model offline --effort low\nHello").run.model == "offline"
    assert " · offline, " in kernel.shown.outputs[-1]["text/plain"]
    with pytest.raises(AskError, match="nonsense"):
        kernel.cell("%%ask --model nonsense\nHello")
    with pytest.raises(AskError, match=r"does not offer nonsense\. It offers offline"):
        kernel.cell("%agentsvc model nonsense")
    kernel.cell("%agentsvc model offline")
    assert "This notebook now uses offline" in capsys.readouterr().out


SECRET = "Qq7Zz0Qq7Zz0Qq7Zz0"
TYPED = f"sk-ant-api03-{SECRET}"
NO_SHAPE = f"{SECRET}0f3a9c0f3a9c"


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SERVICE_API_KEY", "AGENTSVC_BASE_URL", "AGENTSVC_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTSVC_DATA", str(tmp_path / "data"))


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "line",
    [
        f"%agentsvc model {TYPED}",
        f"%agentsvc connect {NO_SHAPE}",
        f"%%ask --model {TYPED}\nHello",
    ],
)
def test_a_notebook_does_not_repeat_it(terminal: Any, line: str) -> None:
    with pytest.raises(AskError) as refused:
        terminal.run_cell(line).raise_error()
    assert "key" in str(refused.value) or "[redacted]" in str(refused.value)
    assert SECRET not in str(refused.value)
    assert SECRET not in repr(refused.value)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "words",
    [("model", f"anthropic:{TYPED}"), (TYPED,), ("ask", "Hello", "--model", TYPED)],
)
def test_a_command_does_not_repeat_it(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        assert main(words)
    said = "".join(capsys.readouterr())
    assert "looks like a key" in said or "[redacted]" in said
    assert SECRET not in said
