"""`%agentsvc model NAME`: another model for the embedded service, tried first, with stand-ins in the place of
providers."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keyring
import pytest

from agentsvc_nb import embedded
from agentsvc_nb.embedded import EmbeddedError
from agentsvc_nb.language_models.switch import Dialogue, SwitchError, SwitchResult, switch
from agentsvc_nb.service.folder import DataFolder
from tests.notebook.conftest import own_folders as own_folders
from tests.notebook.test_kernel import Run, jupyter
from tests.support.waiting import until
from tests.unit.agents.wires.anthropic_messages import AnthropicMessages
from tests.unit.agents.wires.reply import Body, Headers, Refused, Reply
from tests.unit.agents.wires.server import ProviderServer, provider_server

pytestmark = pytest.mark.timeout(900)
MODEL = "anthropic:claude-sonnet-4-6"
KEY = "sk-ant-typed-Qq7Zz0"
SLOW_SECONDS = 300.0
"""A switch loads the library of a hosted model twice, on a machine that may be busy."""
NO_KEY, NO_CREDIT = "invalid x-api-key", "Your credit balance is too low to access the Anthropic API."


@dataclass
class Wanting(AnthropicMessages):
    """Refuses other keys; `credit` is false for an account without any."""

    credit: bool = True
    keys: list[str] = field(default_factory=list)

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        self.keys.append(headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer "))
        if self.keys[-1] != KEY:
            return f"{NO_KEY}: {self.keys[-1]}"
        return super().complaint(path, headers, body) if self.credit else NO_CREDIT

    def wrong(self, why: str) -> Refused:
        document = super().wrong(why).document
        return Refused(401 if why.startswith(NO_KEY) else 400, document)


@pytest.fixture
def form() -> Wanting:
    return Wanting()


@pytest.fixture
def provider(form: Wanting) -> Iterator[ProviderServer]:
    with provider_server(form) as server:
        server.answers(Reply(("Blue",)))
        yield server


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AGENTSVC_MODEL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "data"
    monkeypatch.setenv("AGENTSVC_DATA", str(folder))
    yield folder
    with contextlib.suppress(EmbeddedError):
        embedded.stop(folder)


@pytest.fixture
def gateway(provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> ProviderServer:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
    return provider


class Talk:
    """A user who types these keys, one after the other, and says yes or no."""

    def __init__(self, *keys: str, yes: bool = False) -> None:
        self.prompts: list[str] = []
        self.said: list[str] = []
        self._keys, self._yes = list(keys), yes

    def switch(self, model: str, **options: Any) -> SwitchResult:
        return switch(model, Dialogue(self._key, self._answer, self.said.append, "%agentsvc model"), **options)

    def _key(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self._keys.pop(0)

    def _answer(self, question: str) -> bool:
        self.prompts.append(question)
        return self._yes


def model_now(data: Path) -> str:
    ready = embedded.status(data)
    return ready.model if ready else ""


def asked(data: Path, message: str = "Hello") -> Any:
    embedded.find_or_start(data, timeout=SLOW_SECONDS)
    with embedded.local(data) as client:
        return client.runs.wait(client.runs.start(message).run_id, poll=0.05)


def files_with(data: Path, text: str) -> list[str]:
    return [file.name for file in data.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


def test_a_key_is_asked_for_once_kept_and_used_by_whoever_starts_the_service_next(
    data: Path, gateway: ProviderServer, form: Wanting, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = Talk(f" {KEY}\n")
    told = user.switch(MODEL).describe("%agentsvc model")
    assert user.prompts == [f"Key for {gateway.url} (hidden): "]
    assert told.startswith(f"{MODEL} is now the current model.\n")
    assert "'Blue'" in told
    assert "$3.00 in / $15.00 out" in told
    assert "the model answered 'Blue', which cost " in told
    assert "stored in a file that only you can read" in told
    assert "To switch back: %agentsvc model offline" in told
    assert (model_now(data), asked(data).model) == (MODEL, MODEL)
    monkeypatch.delenv("ANTHROPIC_BASE_URL")  # another terminal, which knows nothing
    embedded.stop(data)
    assert asked(data).output == "Blue"
    assert set(form.keys) == {KEY}
    assert files_with(data, KEY) == ["model-keys.json"]
    assert stat.S_IMODE((data / "model-keys.json").stat().st_mode) == 0o600
    again = Talk()
    again.switch(MODEL)
    assert KEY not in told + repr(user.said) + "".join(os.environ.values())
    assert again.prompts == [], "a key that is kept is not asked for again"


def test_a_key_of_the_environment_is_used_and_not_kept(
    data: Path, gateway: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-wrong")
    with pytest.raises(SwitchError, match="The provider refused the key in ANTHROPIC_API_KEY"):
        Talk().switch(MODEL)
    with pytest.raises(SwitchError, match="ANTHROPIC_API_KEY is set in this environment"):
        Talk(KEY).switch(MODEL, new_key=True)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert Talk().switch(MODEL).key_place == ""
    assert asked(data).output == "Blue"
    assert files_with(data, KEY) == []


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
        assert "in the system's keyring" in Talk(KEY).switch(MODEL).describe("x")
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
        assert f"{MODEL} is now the current model." in said
        answer = printed(first.run("%%ask\nHello"))
        assert "Blue" in answer
        assert f" · {MODEL}" in answer
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
    assert "current model" in listed
    assert KEY not in said + listed
    assert set(form.keys) == {KEY}
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert kept == [data / "model-keys.json"], "neither the history of IPython nor a log or the journal has it"


def test_a_kept_key_goes_to_the_address_alone_that_it_was_typed_for(
    data: Path, gateway: ProviderServer, form: Wanting, monkeypatch: pytest.MonkeyPatch
) -> None:
    Talk(KEY).switch(MODEL)
    form.keys.clear()
    other = Wanting()
    with provider_server(other) as elsewhere:
        elsewhere.answers(Reply(("Green",)))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", elsewhere.url)
        embedded.stop(data)
        with pytest.raises(SwitchError, match="can't ask for the key"):
            switch(MODEL, Dialogue(None, None, lambda line: None, "agentsvc model"))
        assert (other.keys, form.keys) == ([], [])


@pytest.mark.parametrize(
    ("key", "credit", "sentence"),
    [
        ("sk-wrong", True, "The provider refused the key, so it was not stored: invalid x-api-key: [redacted] (401)."),
        (KEY, False, f"The provider's account has no credit for {MODEL}: {NO_CREDIT[:-1]}"),
    ],
)
def test_what_keeps_it_from_answering_is_a_sentence_and_the_model_before_stays(
    data: Path, gateway: ProviderServer, form: Wanting, key: str, credit: bool, sentence: str
) -> None:
    embedded.find_or_start(data, model="scripted", timeout=SLOW_SECONDS)
    before = embedded.status(data)
    form.credit = credit
    with pytest.raises(SwitchError) as caught:
        Talk(key).switch(MODEL)
    assert sentence in caught.value.message
    assert caught.value.message.endswith("The current model is still scripted.")
    assert ("Enter it again" in caught.value.hint) == credit
    assert "\n" not in str(caught.value)
    assert embedded.status(data) == before, "nothing was restarted"
    assert not (data / "model-keys.json").exists()
