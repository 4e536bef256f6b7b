"""`%agentsvc model NAME` where a service or kernel is killed, a run goes on, or the system has a keyring."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import keyring
import pytest

from agentsvc_nb import embedded
from agentsvc_nb.service.folder import DataFolder
from tests.notebook.conftest import own_folders as own_folders
from tests.notebook.jupyter import ROOT, start_kernel
from tests.notebook.test_model_switch import KEY, MODEL, SLOW_SECONDS, Talk, Wanting, asked, files_with, model_now
from tests.notebook.test_model_switch import data as data
from tests.notebook.test_model_switch import form as form
from tests.notebook.test_model_switch import gateway as gateway
from tests.notebook.test_model_switch import provider as provider
from tests.support.waiting import until
from tests.unit.agents.wires.server import ProviderServer


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


class Notebook:
    """A real kernel whose front end answers the prompts."""

    def __init__(self, folder: Path, **environ: str) -> None:
        env = dict(os.environ) | {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / "ipython")} | environ
        self.manager, self._client = start_kernel(folder, env)
        self.prompts: list[dict[str, Any]] = []
        self.cell("%load_ext agentsvc_nb")

    def cell(self, code: str, answer: str = "") -> str:
        """All that the cell left, as text."""
        told: list[str] = []

        def prompted(message: dict[str, Any]) -> None:
            self.prompts.append(message["content"])
            self._client.input(answer)

        def shown(message: dict[str, Any]) -> None:
            content = message["content"]
            told.extend([content.get("text", ""), content.get("data", {}).get("text/plain", "")])
            told.extend(content.get("traceback", ()))

        self._client.execute_interactive(code, stdin_hook=prompted, output_hook=shown, timeout=SLOW_SECONDS)
        return "\n".join(told)

    @property
    def pid(self) -> int:
        process: Any = self.manager.provisioner
        return int(process.pid)

    def close(self) -> None:
        self._client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def test_in_a_notebook_then_kill_9_then_in_another_notebook(
    data: Path, provider: ProviderServer, form: Wanting, tmp_path: Path
) -> None:
    first = Notebook(tmp_path, ANTHROPIC_BASE_URL=provider.url, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    said = first.cell(f"%agentsvc model {MODEL}", KEY)
    assert [(each["prompt"], each["password"]) for each in first.prompts] == [
        (f"Key for {provider.url} (not shown): ", True)
    ]
    assert f"{MODEL} answers from now on." in said
    assert f"model    {MODEL}" in first.cell("%agentsvc")
    answer = first.cell("%%ask\nHello")
    assert "Blue" in answer
    assert f" · {MODEL} · run " in answer
    said += answer + first.cell("%history\n_, dir(), In, Out")
    os.kill(first.pid, signal.SIGKILL)
    ready = embedded.status(data)
    assert ready is not None
    os.kill(ready.pid, signal.SIGKILL)
    first.close()
    until(lambda: not embedded.is_held(DataFolder(data)))
    embedded.find_or_start(data, timeout=SLOW_SECONDS)  # by a process that was told nothing
    second = Notebook(tmp_path, JPY_SESSION_NAME=str(tmp_path / "b.ipynb"))
    assert "Blue" in second.cell("%%ask\nHello again")
    assert second.prompts == []
    listed = second.cell("%agentsvc model")
    assert f"{MODEL}" in listed
    assert "answers now" in listed
    second.close()
    assert KEY not in said + listed
    assert set(form.keys) == {KEY}
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert kept == [data / "model-keys.json"], "neither the history of IPython nor a log or the journal has it"
