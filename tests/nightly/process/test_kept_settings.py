"""What a folder keeps of its settings, over ends of all kinds."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentsvc_nb import embedded
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.service.config import StoredSettings
from agentsvc_nb.service.folder import DataFolder
from tests.service.cli.test_cli import agentsvc
from tests.service.process.test_kept_settings import ANSWER, BARE, CONTEXT, MODEL, ask, kept, restart
from tests.service.process.test_kept_settings import data as data
from tests.service.process.test_kept_settings import server as server
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.agents.chat_server import ChatServer

Ending = Callable[[Path], None]
HOSTED = "anthropic:claude-sonnet-4-6"
KEY = "sk-own-Kk7Qz0"


def set_up(data: Path, server: ChatServer) -> None:
    """As docs/models.md says."""
    own = {"AGENTSVC_MODEL_URL": server.url, "AGENTSVC_MODEL_KEY": KEY, "AGENTSVC_MODEL_CONTEXT": str(CONTEXT)}
    restart(data, "--model", MODEL, **own)


def refused(data: Path, **env: str) -> str:
    """The sentence of an ask that fails."""
    done = agentsvc("ask", "hello", "--data", data, **env)
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr.rpartition("agentsvc: ")[2].strip()


def keep(data: Path, settings: dict[str, str]) -> None:
    """As a service leaves it that was served with these."""
    StoredSettings(settings, provider=settings["AGENTSVC_MODEL"].partition(":")[0]).write(DataFolder(data))


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


@pytest.mark.parametrize("end", [end_by_idling, end_by_killing])
def test_the_next_service_is_as_the_last_for_who_knows_none_of_it(data: Path, server: ChatServer, end: Ending) -> None:
    """The model, its address and its context; and no line about other settings, neither before nor after."""
    set_up(data, server)
    assert ask(data) == ANSWER
    assert server.keys == [KEY]
    end(data)
    assert ask(data) == ANSWER
    assert [asked["model"] for asked in server.asked] == ["stand-in"] * 2
    assert server.asked[-1]["max_completion_tokens"] == CONTEXT // 4


def test_what_one_names_anew_changes_alone_and_is_kept(data: Path, server: ChatServer) -> None:
    set_up(data, server)
    before = kept(data)
    restart(data, AGENTSVC_MODEL_CONTEXT="2000")
    assert kept(data) == before | {"AGENTSVC_MODEL_CONTEXT": "2000"}
    restart(data)
    ask(data)
    assert server.asked[-1]["max_completion_tokens"] == 500


def test_an_empty_variable_goes_back_to_the_default(data: Path, server: ChatServer) -> None:
    set_up(data, server)
    restart(data, AGENTSVC_MODEL_CONTEXT="")
    assert set(kept(data)) == {"AGENTSVC_MODEL", "AGENTSVC_MODEL_URL"}
    ask(data)
    assert server.asked[-1]["max_completion_tokens"] == 8192 // 4


def test_the_notice_names_what_differs_once_and_its_command_runs(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restart(data, AGENTSVC_RUN_CAPACITY="4")
    for name, value in {
        "DATA": str(data),
        "RUN_CAPACITY": "2",
        "MODEL": "scripted",
        "MAIL_RECIPIENTS": "@b.example, a@c.example",
        "RUN_HOLD_CENTS": "1",
    }.items():
        monkeypatch.setenv(f"AGENTSVC_{name}", value)
    session = Session(environ={}, journal=Journal(None))
    session.client()
    [notice] = session.take_notes()
    for name, values in ("MODEL", "offline, you have scripted"), ("RUN_CAPACITY", "4, you have 2"):
        assert f"AGENTSVC_{name}: the service has {values}" in notice
    assert "AGENTSVC_MAIL_RECIPIENTS: the service has" in notice
    assert "RUN_HOLD" not in notice, "the default, said aloud"
    session.client()
    assert session.take_notes() == ()
    monkeypatch.setenv("AGENTSVC_RUN_CAPACITY", "3")
    session.for_chat("chat_other").client()
    session.client()
    assert len(session.take_notes()) == 0
    session.close()
    command = notice.rpartition("with yours: ")[2]
    subprocess.run(command, shell=True, env=BARE, check=True, timeout=PATIENCE_SECONDS)
    assert kept(data)["AGENTSVC_MAIL_RECIPIENTS"] == "@b.example,a@c.example"
    monkeypatch.setenv("AGENTSVC_RUN_CAPACITY", "2")
    assert embedded.find_or_start().notice is None
