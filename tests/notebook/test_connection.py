"""`%agentsvc`: where the key comes from, and where in a service is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend

from agentsvc_nb import AgentService
from agentsvc_nb.notebook import commands
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


def test_a_key_is_asked_for_and_shown_nowhere(session: Session, service: RunningService) -> None:
    asked: list[str] = []

    def ask_key(prompt: str) -> str:
        asked.append(prompt)
        return f" {service.api_key}\n"

    said = commands.connect(session, service.base_url, ask_key)
    assert service.base_url in asked[0]
    assert "(a typed key)" in said
    assert service.api_key not in said + repr(session.keys) + repr(session)
    assert len(commands.tools(session)) > 1
    commands.connect(session, service.base_url, ask_key)
    assert len(asked) == 1, "a key that is known is not asked for again"
    session.close()


def test_a_key_is_kept_in_the_keyring_and_found_there_by_the_next_kernel(service: RunningService, ring: Ring) -> None:
    first, second = (Session(environ={}, journal=Journal(None)) for _ in range(2))
    commands.connect(first, service.base_url, lambda _: service.api_key, keep_key=True)
    assert list(ring.kept) == [("agentsvc-nb", service.base_url)]
    assert "the key is from the keyring" in commands.connect(second, service.base_url)
    assert len(commands.tools(second)) > 1
    second.close()


@pytest.mark.usefixtures("connected")
def test_a_chat_is_moved_to_when_it_is_there(terminal: Any, client: AgentService) -> None:
    chat = client.runs.start("say x", sync=True).chat
    terminal.cell(f"%agentsvc chat {chat}")
    assert terminal.cell("%%ask\nsay y").chat == chat
    with pytest.raises(AskError, match="chat_not_found"):
        terminal.cell("%agentsvc chat chat_of_nobody")
    with pytest.raises(AskError, match="'17' is not a chat id"):
        terminal.cell("%agentsvc chat 17")
    assert terminal.cell("%%ask\nsay z").chat == chat


@pytest.mark.usefixtures("connected")
def test_a_project_is_found_by_its_name_or_made(terminal: Any, client: AgentService) -> None:
    with pytest.raises(AskError, match="There is no project Winter sale 7") as caught:
        terminal.cell('%agentsvc project "Winter sale 7"')
    assert "--create" in caught.value.hint
    terminal.cell('%agentsvc project "Winter sale 7" --create')
    (made,) = [project for project in client.projects.list() if project.name == "Winter sale 7"]
    assert terminal.cell("%%ask\nsay x").run.project == made.id
    terminal.cell("%agentsvc project")
    assert terminal.cell("%%ask\nsay x").run.project is None
    terminal.cell('%agentsvc project "Winter sale 7"')
    assert terminal.cell("%%job echo_job\nsteps: 1\nseconds: 0").status == "succeeded"


@pytest.mark.usefixtures("connected")
def test_what_a_run_sent_to_models_is_shown(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = terminal.cell("%%ask\nsay x").run.run_id
    terminal.cell("%agentsvc sent last")
    assert f"Run {run} sent nothing to a language model." in capsys.readouterr().out
