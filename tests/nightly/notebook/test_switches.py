"""`%agentsvc model NAME`: another model for the embedded service, tried first, with stand-ins in the place of
providers."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import embedded
from agentsvc_nb.embedded import EmbeddedError
from agentsvc_nb.language_models.switch import Dialogue, Switched, switch
from tests.notebook.conftest import own_folders as own_folders
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
