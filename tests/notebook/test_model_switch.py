"""`%agentsvc model NAME`: another model for the embedded service, tried first, with stand-ins in the place of
providers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keyring
import pexpect
import pytest
from keyring.backends import fail, null

from agentsvc_nb import embedded
from agentsvc_nb.embedded import EmbeddedError
from agentsvc_nb.language_models import switch as switching
from agentsvc_nb.language_models.keys import ModelKeys
from agentsvc_nb.language_models.switch import Dialogue, Switched, SwitchError, switch
from agentsvc_nb.language_models.trial import Trial
from agentsvc_nb.notebook.models import models
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.service.folder import DataFolder
from tests.notebook.jupyter import ROOT, start_kernel
from tests.support.waiting import until
from tests.unit.agents.chat_server import Reply as ChatReply
from tests.unit.agents.chat_server import chat_server
from tests.unit.agents.wires.anthropic_messages import AnthropicMessages
from tests.unit.agents.wires.reply import Body, Headers, Refused, Reply
from tests.unit.agents.wires.server import ProviderServer, provider_server

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

    def switch(self, model: str, **options: Any) -> Switched:
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
    told = user.switch(MODEL).told("%agentsvc model")
    assert user.prompts == [f"Key for {gateway.url} (not shown): "]
    assert told.startswith(f"{MODEL} answers from now on.\n")
    assert "'Blue'" in told
    assert "Price: $3.00 in / $15.00 out per million tokens." in told
    assert "said 'Blue', which cost " in told
    assert "kept in a file that only you can read" in told
    assert "The one before again: %agentsvc model offline" in told
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
        with pytest.raises(SwitchError, match="Nobody can be asked"):
            switch(MODEL, Dialogue(None, None, lambda line: None, "agentsvc model"))
        assert (other.keys, form.keys) == ([], [])


@pytest.mark.parametrize(
    ("break_it", "model", "sentence"),
    [
        (
            lambda form, provider: None,
            MODEL,
            "That key was refused, and is not kept: invalid x-api-key: [redacted] (401).",
        ),
        (
            lambda form, provider: provider.answers(Reply(fault="no_model")),
            "anthropic:claude-none",
            "There is no model anthropic:claude-none there: model: claude-none (404).",
        ),
        (
            lambda form, provider: setattr(form, "credit", False),
            MODEL,
            f"There is no credit for {MODEL}: {NO_CREDIT[:-1]}",
        ),
        (lambda form, provider: provider.close(), MODEL, "can't be reached: Connection error: "),
    ],
    ids=["wrong key", "unknown model", "no credit", "no network"],
)
def test_what_keeps_it_from_answering_is_a_sentence_and_the_model_before_stays(
    data: Path,
    gateway: ProviderServer,
    form: Wanting,
    break_it: Callable[[Wanting, ProviderServer], None],
    model: str,
    sentence: str,
) -> None:
    embedded.find_or_start(data, model="scripted", timeout=SLOW_SECONDS)
    before = embedded.status(data)
    break_it(form, gateway)
    key = "sk-wrong" if "key was refused" in sentence else KEY
    with pytest.raises(SwitchError) as caught:
        Talk(key).switch(model)
    assert sentence in caught.value.message
    assert caught.value.message.endswith("scripted stays.")
    assert ("asks for it again" in caught.value.hint) == ("key was refused" in sentence)
    assert "\n" not in str(caught.value)
    assert embedded.status(data) == before, "nothing was restarted"
    assert not (data / "model-keys.json").exists()


def test_a_provider_that_cannot_be_reached_is_named_with_its_host(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(SwitchError) as caught:
        Talk().switch(MODEL)
    assert caught.value.message.startswith("The provider anthropic (api.anthropic.com) can't be reached: Connection")


def test_where_no_price_is_known_yet_there_is_one_column_of_them(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prices of providers come with the extra; until it is installed, an empty column would look broken."""
    session = Session(environ={}, journal=Journal(None))
    assert "in, per million tokens" in repr(models(session))
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    lines = repr(models(session)).splitlines()
    assert lines[1].endswith(" price per million tokens")
    assert any(line.endswith("said once it is chosen") for line in lines)


def test_a_kept_key_that_is_refused_is_replaced_where_one_says_so(
    data: Path, gateway: ProviderServer, form: Wanting
) -> None:
    folder = DataFolder(data)
    folder.make()
    ModelKeys(folder).keep("ANTHROPIC_API_KEY", "sk-old", "anthropic", gateway.url)
    with pytest.raises(SwitchError, match=r"The kept key was refused: .* --key` asks for another"):
        Talk().switch(MODEL)
    user = Talk(KEY)
    assert user.switch(MODEL, new_key=True).trial.answer == "Blue"
    assert len(user.prompts) == 1
    assert form.keys[-1] == KEY


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


@pytest.mark.parametrize("typed", ["", "two words", "with\ttab"])
def test_what_is_no_key_is_not_sent(data: Path, gateway: ProviderServer, form: Wanting, typed: str) -> None:
    with pytest.raises(SwitchError, match=r"That is no key; nothing was changed\. offline stays\."):
        Talk(typed).switch(MODEL)
    assert form.keys == []


@pytest.mark.parametrize("name", ["nonsense", "", "scripted:x y z:"])
def test_what_is_no_model_is_said(data: Path, name: str) -> None:
    with pytest.raises(SwitchError):
        Talk().switch(name)


def test_a_server_of_ones_own_gets_its_key_and_says_that_nothing_is_charged(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server(ChatReply(("Blue",)), wanted=KEY) as server:
        monkeypatch.setenv("AGENTSVC_MODEL_URL", server.url)
        user = Talk(KEY)
        told = user.switch("openai-chat:mine").told("agentsvc model")
        assert user.prompts == [f"Key for {server.url} (not shown): "]
        assert "Price: nothing is charged" in told
        monkeypatch.delenv("AGENTSVC_MODEL_URL")
        embedded.stop(data)
        assert asked(data).output == "Blue"
        assert set(server.keys[1:]) == {KEY}


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


@pytest.mark.parametrize("ring", [null.Keyring(), fail.Keyring()], ids=["keeps nothing", "refuses"])
def test_without_a_keyring_that_keeps_it_a_key_is_in_a_file(tmp_path: Path, ring: Any) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(ring)
    try:
        kept = ModelKeys(DataFolder(tmp_path))
        assert kept.keep("ANTHROPIC_API_KEY", KEY, "anthropic", "") == "file"
        assert KEY in (tmp_path / "model-keys.json").read_text()
    finally:
        keyring.set_keyring(before)


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


def test_how_much_an_extra_brings_is_told_before_it_is_installed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = Trial(said="It needs the agent library.", package="agentsvc-nb[agents]")
    monkeypatch.setattr(switching, "try_model", lambda *given: lacks)
    user = Talk(yes=False)
    with pytest.raises(SwitchError, match=r"Install it \(some 35 packages, 220 MB\), then"):
        user.switch("x:y")
    assert user.prompts == [
        "x:y needs agentsvc-nb[agents] (some 35 packages, 220 MB), which is not installed here. Install it now? [y/n] "
    ]


def test_a_package_that_lacks_is_offered_and_pip_tells_what_it_does(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real pip, with a package of its own in the place of the extra."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    _wheel(wheels)
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(wheels), "TARGET": str(tmp_path / "site")}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    lacks = Trial(said="The model x:y needs a package: pip install 'little'.", package="little")
    trials = [lacks, lacks, Trial(answer="Blue"), lacks]
    monkeypatch.setattr(switching, "try_model", lambda *given: trials.pop(0))
    monkeypatch.setattr(switching, "_restart", lambda *given: None)
    with pytest.raises(SwitchError, match=r"pip install 'little'\. offline stays\. Install it"):
        Talk(yes=False).switch("x:y")
    user = Talk(yes=True)
    assert user.switch("x:y").trial.answer == "Blue"
    assert (tmp_path / "site" / "little.py").exists()
    assert any(line.startswith("pip: Successfully installed little") for line in user.said)
    said: list[str] = []
    switching.install("little", said.append, tick=0.02)
    assert sum(line.startswith("pip: Installing little (") for line in said) > 1, "while pip says nothing"
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "none"))
    with pytest.raises(SwitchError, match="pip could not install little: ERROR: No matching distribution"):
        Talk(yes=True).switch("x:y")


def _wheel(folder: Path) -> None:
    import zipfile

    about = "little-1.0.dist-info"
    with zipfile.ZipFile(folder / "little-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("little.py", "")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: little\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


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


def test_in_a_terminal(data: Path, gateway: ProviderServer) -> None:
    child = pexpect.spawn(sys.executable, ["-m", "agentsvc_nb", "model", MODEL], encoding="utf-8", timeout=SLOW_SECONDS)
    child.expect_exact(f"Key for {gateway.url} (not shown): ")
    child.sendline(KEY)
    child.expect_exact(f"{MODEL} answers from now on.")
    child.expect(pexpect.EOF)
    told = str(child.before)
    assert "The one before again: agentsvc model offline" in told
    assert KEY not in told
    listed = subprocess.run([sys.executable, "-m", "agentsvc_nb", "model", "--json"], capture_output=True, check=True)
    first = json.loads(listed.stdout)[0]
    assert (first["id"], first["default"], first["price"]) == (MODEL, True, [300.0, 1500.0])
    status = subprocess.run([sys.executable, "-m", "agentsvc_nb", "status"], capture_output=True, text=True, check=True)
    assert "key:    ANTHROPIC_API_KEY is in a file that only you can read" in status.stdout


def test_a_host_without_input_says_what_to_do(data: Path, gateway: ProviderServer, kernel: Any) -> None:
    from agentsvc_nb.notebook.errors import AskError

    with pytest.raises(AskError, match=r"set ANTHROPIC_API_KEY\. Nobody can be asked for it here\. offline stays"):
        kernel.cell(f"%agentsvc model {MODEL}")


def test_names_are_completed_before_anything_was_listed(terminal: Any, data: Path) -> None:
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        text = "%agentsvc model anth"
        found = [text[: each.start] + each.text for each in terminal.Completer.completions(text, len(text))]
    assert found == [f"%agentsvc model {MODEL}"]
