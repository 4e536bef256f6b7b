"""A data folder keeps the settings of its last service, and no key (docs/api/embedded.md). Real processes and model
servers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb import embedded
from agentsvc_nb.embedded import EmbeddedError
from tests.service.cli.test_cli import agentsvc
from tests.unit.agents.chat_server import ChatServer, Reply, chat_server

MODEL = "openai-chat:stand-in"
KEY = "sk-own-Kk7Qz0"
PROVIDERS_KEY = "sk-of-the-provider-Zz3"
ANSWER = "Hello from your own server."
CONTEXT = 4096
_OURS = re.compile(r"AGENTSVC_|SERVICE_API_KEY|[A-Z]+_(API_KEY|BASE_URL)$")
BARE = {name: value for name, value in os.environ.items() if not _OURS.match(name)}
"""An environment that knows none of the variables."""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder of a service that never ran; whatever service holds it at the end is ended."""
    for name in set(os.environ) - set(BARE):
        monkeypatch.delenv(name)
    folder = tmp_path / "data"
    assert agentsvc("keys", "create", "--data", folder, "--name", "first").returncode == 0
    yield folder
    with contextlib.suppress(EmbeddedError):
        embedded.stop(folder)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(Reply((ANSWER,))) as made:
        yield made


def restart(data: Path, *arguments: str, **env: str) -> None:
    done = agentsvc("restart", "--data", data, *arguments, **env)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def ask(data: Path, **env: str) -> str:
    """What a new process that asks is answered; it is told nothing but the model, the cost and the chat."""
    done = agentsvc("ask", "hello", "--data", data, **env)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\[completed: .+, continue with --chat \S+\]\n", done.stderr), done.stderr
    return done.stdout.strip()


def kept(data: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((data / "settings.json").read_text())["settings"]
    return found


def files_with(data: Path, *texts: str) -> list[Path]:
    files = [(file, file.read_bytes()) for file in data.rglob("*") if file.is_file()]
    assert len(files) > 3, "the database, its log, the service's log, the settings"
    return [file for file, content in files if any(text.encode() in content for text in texts)]


def test_no_secret_is_anywhere_in_the_folder(data: Path, server: ChatServer) -> None:
    """Not in the kept settings, the database or the log; and not those within addresses. A provider's key goes to no
    address that only the folder names: it is for other programs, too, and perhaps of another user."""
    secret = "pass-Ww9-word"
    env = {
        "AGENTSVC_MODEL_URL": server.url,
        "OPENAI_API_KEY": PROVIDERS_KEY,
        "AGENTSVC_IMAGE_URL": f"http://127.0.0.1:9/v1?key={secret}",
        "AGENTSVC_META_TOKEN": f"meta-{secret}",
        "AGENTSVC_SMTP_URL": f"smtp://ada:{secret}@127.0.0.1:9",
        "AGENTSVC_WEB_SEARCH_URL": f"http://ada:{secret}@127.0.0.1:9",
        "AGENTSVC_MAIL_FROM": "ads@example.com",
    }
    restart(data, "--model", MODEL, **env)
    assert ask(data, **env) == ANSWER
    restart(data, OPENAI_API_KEY=PROVIDERS_KEY, AGENTSVC_MODEL_CONTEXT=str(CONTEXT))
    assert ask(data, OPENAI_API_KEY=PROVIDERS_KEY) == ANSWER
    restart(data, AGENTSVC_MODEL_KEY=KEY)
    assert ask(data) == ANSWER
    assert server.keys == [PROVIDERS_KEY, "none", KEY]
    assert set(kept(data)) == {"AGENTSVC_MODEL", "AGENTSVC_MODEL_URL", "AGENTSVC_MAIL_FROM", "AGENTSVC_MODEL_CONTEXT"}
    assert stat.S_IMODE((data / "settings.json").stat().st_mode) == 0o600
    assert files_with(data, secret, KEY, PROVIDERS_KEY) == []
