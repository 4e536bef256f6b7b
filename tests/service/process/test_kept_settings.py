"""A data folder keeps the settings of its last service, and no key (docs/api/embedded.md). Real processes and model
servers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentsvc_nb import embedded
from agentsvc_nb.embedded import EmbeddedError
from agentsvc_nb.service.config import KeptSettings
from agentsvc_nb.service.folder import DataFolder
from tests.service.cli.test_cli import agentsvc
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.agents.chat_server import ChatServer, Reply, chat_server

Ending = Callable[[Path], None]
MODEL = "openai-chat:stand-in"
HOSTED = "anthropic:claude-sonnet-4-6"
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


def set_up(data: Path, server: ChatServer) -> None:
    """As docs/models.md says."""
    own = {"AGENTSVC_MODEL_URL": server.url, "AGENTSVC_MODEL_KEY": KEY, "AGENTSVC_MODEL_CONTEXT": str(CONTEXT)}
    restart(data, "--model", MODEL, **own)


def ask(data: Path, **env: str) -> str:
    """What a new process that asks is answered; it is told nothing but which run it was."""
    done = agentsvc("ask", "hello", "--data", data, **env)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\[run \S+, chat \S+: completed\]\n", done.stderr), done.stderr
    return done.stdout.strip()


def refused(data: Path, **env: str) -> str:
    """The sentence of an ask that fails."""
    done = agentsvc("ask", "hello", "--data", data, **env)
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr.rpartition("agentsvc: ")[2].strip()


def kept(data: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((data / "settings.json").read_text())["settings"]
    return found


def files_with(data: Path, *texts: str) -> list[Path]:
    files = [(file, file.read_bytes()) for file in data.rglob("*") if file.is_file()]
    assert len(files) > 3, "the database, its log, the service's log, the settings"
    return [file for file, content in files if any(text.encode() in content for text in texts)]


def keep(data: Path, settings: dict[str, str]) -> None:
    """As a service leaves it that was served with these."""
    KeptSettings(settings, provider=settings["AGENTSVC_MODEL"].partition(":")[0]).write(DataFolder(data))


@contextlib.contextmanager
def serving(data: Path, **env: str) -> Iterator[None]:
    """With all the time that the library of a hosted model takes to load on a busy machine."""
    command = [sys.executable, "-m", "agentsvc_nb", "serve", "--data", str(data), "--port", "0"]
    with subprocess.Popen(command, env=BARE | env, stdout=subprocess.DEVNULL) as process:
        try:
            until(lambda: process.poll() is not None or embedded.status(data) is not None)
            yield
        finally:
            process.kill()


def end_by_idling(data: Path) -> None:
    """Serve it with a short idle stop, from a process that knows nothing, and wait for that."""
    embedded.stop(data)
    command = [sys.executable, "-m", "agentsvc_nb", "serve", "--data", str(data), "--port", "0", "--idle-stop", "0.1"]
    assert subprocess.run(command, env=BARE, stdout=subprocess.DEVNULL, timeout=PATIENCE_SECONDS).returncode == 0


def end_by_killing(data: Path) -> None:
    ready = embedded.status(data)
    assert ready is not None
    os.kill(ready.pid, signal.SIGKILL)
    until(lambda: not embedded.is_held(DataFolder(data)))


def test_no_secret_is_anywhere_in_the_folder(data: Path, server: ChatServer) -> None:
    """Not in the kept settings, the database or the log; and not those within addresses."""
    secret = "pass-Ww9-word"
    env = {
        "AGENTSVC_MODEL_URL": server.url,
        "AGENTSVC_MODEL_KEY": KEY,
        "OPENAI_API_KEY": PROVIDERS_KEY,
        "AGENTSVC_IMAGE_URL": f"http://127.0.0.1:9/v1?key={secret}",
        "AGENTSVC_META_TOKEN": f"meta-{secret}",
        "AGENTSVC_SMTP_URL": f"smtp://ada:{secret}@127.0.0.1:9",
        "AGENTSVC_WEB_SEARCH_URL": f"http://ada:{secret}@127.0.0.1:9",
        "AGENTSVC_MAIL_FROM": "ads@example.com",
    }
    restart(data, "--model", MODEL, **env)
    ask(data, **env)
    restart(data)
    ask(data)
    assert set(kept(data)) == {"AGENTSVC_MODEL", "AGENTSVC_MODEL_URL", "AGENTSVC_MAIL_FROM"}
    assert stat.S_IMODE((data / "settings.json").stat().st_mode) == 0o600
    assert files_with(data, secret, KEY, PROVIDERS_KEY) == []


def test_a_providers_key_goes_to_no_address_that_only_the_folder_names(data: Path, server: ChatServer) -> None:
    """It is for other programs, too, and perhaps of another who does not know of the address."""
    restart(data, "--model", MODEL, AGENTSVC_MODEL_URL=server.url, OPENAI_API_KEY=PROVIDERS_KEY)
    assert ask(data) == ANSWER
    restart(data, OPENAI_API_KEY=PROVIDERS_KEY)
    assert ask(data, OPENAI_API_KEY=PROVIDERS_KEY) == ANSWER
    assert server.keys == [PROVIDERS_KEY, "none"]
    restart(data, OPENAI_API_KEY=PROVIDERS_KEY, AGENTSVC_MODEL_URL=server.url)
    ask(data)
    assert server.keys[-1] == PROVIDERS_KEY
