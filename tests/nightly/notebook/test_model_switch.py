"""`%agentsvc model NAME` where a service or kernel is killed, a run goes on, or the system has a keyring."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
from pathlib import Path

import keyring
import pytest

from agentsvc_nb import embedded
from agentsvc_nb.language_models.keys import ModelKeys
from agentsvc_nb.language_models.switch import SwitchError
from agentsvc_nb.service.folder import DataFolder
from tests.nightly.notebook.test_switches import KEY, MODEL, SLOW_SECONDS, Talk, Wanting, asked, files_with, model_now
from tests.nightly.notebook.test_switches import data as data
from tests.nightly.notebook.test_switches import form as form
from tests.nightly.notebook.test_switches import gateway as gateway
from tests.nightly.notebook.test_switches import provider as provider
from tests.notebook.conftest import own_folders as own_folders
from tests.notebook.jupyter import Run, jupyter
from tests.support.waiting import until
from tests.unit.agents.wires.server import ProviderServer


def test_a_key_of_the_environment_is_used_and_not_kept(
    data: Path, gateway: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-wrong")
    with pytest.raises(SwitchError, match="The key in ANTHROPIC_API_KEY was refused"):
        Talk().switch(MODEL)
    with pytest.raises(SwitchError, match="ANTHROPIC_API_KEY is set here"):
        Talk(KEY).switch(MODEL, new_key=True)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert Talk().switch(MODEL).key_place == ""
    assert asked(data).output == "Blue"
    assert files_with(data, KEY) == []


def test_a_service_that_does_not_start_with_it_is_started_with_the_model_before(
    data: Path, gateway: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key that was just kept is gone before the service reads it."""
    embedded.find_or_start(data, model="scripted", timeout=SLOW_SECONDS)
    keep = ModelKeys.keep

    def lost(self: ModelKeys, *given: str) -> str:
        where = keep(self, *given)
        (data / "model-keys.json").unlink()
        return where

    monkeypatch.setattr(ModelKeys, "keep", lost)
    with pytest.raises(SwitchError, match=r"set ANTHROPIC_API_KEY.* scripted stays."):
        Talk(KEY).switch(MODEL)
    assert model_now(data) == "scripted"


def test_an_active_run_is_waited_for_and_not_lost(data: Path, gateway: ProviderServer) -> None:
    embedded.find_or_start(data, model="scripted", timeout=SLOW_SECONDS)
    with embedded.local(data) as client:
        run_id = client.runs.start("say begun\nwait 3600").run_id
        user, seen = Talk(KEY), []

        class Waiting(list[str]):
            def append(self, line: str) -> None:
                super().append(line)
                if "Waiting for 1 active run" in line and run_id in line:
                    seen.append((model_now(data), client.runs.get(run_id).status))
                    client.runs.cancel(run_id)

        user.said = Waiting()
        user.switch(MODEL)
        assert seen == [("scripted", "running")]
        assert client.runs.get(run_id).status == "cancelled", "and not failed with another model"
    assert model_now(data) == MODEL


def test_a_run_that_was_cut_off_goes_on_first_with_the_model_before(data: Path, gateway: ProviderServer) -> None:
    embedded.find_or_start(data, model="scripted", timeout=SLOW_SECONDS)
    ready = embedded.status(data)
    assert ready is not None
    with embedded.local(data) as client:
        run_id = client.runs.start("say begun\nwait 2\nsay ended").run_id
    os.kill(ready.pid, signal.SIGKILL)
    until(lambda: not embedded.is_held(DataFolder(data)))
    Talk(KEY).switch(MODEL)
    with contextlib.closing(sqlite3.connect(data / "service.sqlite3")) as database:
        assert database.execute("SELECT status, model FROM run WHERE run_id = ?", [run_id]).fetchone() == (
            "completed",
            "scripted",
        )


RING = """
import json, pathlib
from keyring.backend import KeyringBackend
FILE = pathlib.Path(__file__).with_suffix(".json")
class Ring(KeyringBackend):
    priority = 1
    def get_password(self, service, username):
        return json.loads(FILE.read_text()).get(username) if FILE.exists() else None
    def set_password(self, service, username, password):
        FILE.write_text(json.dumps({username: password}))
"""


def test_a_key_in_the_keyring_is_in_no_file_and_the_service_gets_it(
    data: Path, gateway: ProviderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a desktop's keyring: a backend that another process reads, too."""
    (tmp_path / "ring_of_a_test.py").write_text(RING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "ring_of_a_test.Ring")
    before = keyring.get_keyring()
    keyring.set_keyring(__import__("ring_of_a_test").Ring())
    try:
        assert "in the system's keyring" in Talk(KEY).switch(MODEL).told("x")
        assert asked(data).output == "Blue"
        assert files_with(data, KEY) == []
    finally:
        keyring.set_keyring(before)


def printed(run: Run) -> str:
    """All that a cell left, as text."""
    outputs = [*run.cell.outputs, *run.results]
    return "\n".join([run.printed, str(run.error or ""), *(output.get("text/plain", "") for output in outputs)])


def test_in_a_notebook_then_kill_9_then_in_another_notebook(
    data: Path, provider: ProviderServer, form: Wanting, tmp_path: Path
) -> None:
    with jupyter(tmp_path, ANTHROPIC_BASE_URL=provider.url, JPY_SESSION_NAME=str(tmp_path / "a.ipynb")) as first:
        said = printed(first.run(f"%agentsvc model {MODEL}", answers=(KEY,)))
        assert f"{MODEL} answers from now on." in said
        answer = printed(first.run("%%ask\nHello"))
        assert "Blue" in answer
        assert f" · {MODEL} · run " in answer
        said += answer + printed(first.run("%history\n_, dir(), In, Out"))
        os.kill(first.manager.provisioner.pid, signal.SIGKILL)
        ready = embedded.status(data)
        assert ready is not None
        os.kill(ready.pid, signal.SIGKILL)
    until(lambda: not embedded.is_held(DataFolder(data)))
    embedded.find_or_start(data, timeout=SLOW_SECONDS)  # by a process that was told nothing
    with jupyter(tmp_path, JPY_SESSION_NAME=str(tmp_path / "b.ipynb")) as second:
        assert "Blue" in printed(second.run("%%ask\nHello again"))
        listed = printed(second.run("%agentsvc model"))
    assert "answers now" in listed
    assert KEY not in said + listed
    assert set(form.keys) == {KEY}
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert kept == [data / "model-keys.json"], "neither the history of IPython nor a log or the journal has it"
