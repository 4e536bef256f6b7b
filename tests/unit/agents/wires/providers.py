"""Each provider's recommended line of docs/models.md, run against its stand-in by the whole service."""

from __future__ import annotations

import contextlib
import re
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import uvicorn

from agentsvc_nb import AgentService
from agentsvc_nb.agents.language import patience
from agentsvc_nb.service.app import create_app
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import create_key
from agentsvc_nb.service.server import bind, origin
from agentsvc_nb.settings import Settings
from agentsvc_nb.wire.runs import Run
from tests.unit.agents.wires.anthropic_messages import AnthropicMessages
from tests.unit.agents.wires.chat_completions import ChatCompletions
from tests.unit.agents.wires.google_generate import GoogleGenerate
from tests.unit.agents.wires.ollama_chat import OllamaChat
from tests.unit.agents.wires.reply import Form, Reply
from tests.unit.agents.wires.responses import Responses
from tests.unit.agents.wires.server import ProviderServer, provider_server

MODELS_PAGE: Final = Path(__file__).parents[4] / "docs" / "models.md"
LINE: Final = re.compile(r"^((?:AGENTSVC_\w+=\S+ )*)agentsvc restart --model (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Provider:
    """`shown` is its name in the docs; `key` and `address` the variables of its key and of its address, which ends with
    `path`. `line` begins the model of its recommended line."""

    shown: str
    form: Form
    line: str
    key: str
    address: str
    path: str = ""

    def recommended(self) -> tuple[str, dict[str, str]]:
        """The model of the line in docs/models.md, and the variables in front of it."""
        for variables, model in LINE.findall(MODELS_PAGE.read_text()):
            if model.startswith(f"{self.line}:"):
                return model, dict(each.split("=", 1) for each in variables.split())
        raise LookupError(f"docs/models.md starts no {self.line}")


PROVIDERS: Final = {
    "responses": Provider("OpenAI", Responses(), "openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "completions": Provider(
        "Chat completions", ChatCompletions(), "openai-chat", "AGENTSVC_MODEL_KEY", "AGENTSVC_MODEL_URL", "/v1"
    ),
    "anthropic": Provider("Anthropic", AnthropicMessages(), "anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "google": Provider("Google", GoogleGenerate(), "google", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "ollama": Provider("Ollama", OllamaChat(), "ollama", "OLLAMA_API_KEY", "OLLAMA_BASE_URL", "/v1"),
}


class Serving:
    """A service in this process, so that tests can shorten its waits, with a stand-in where its provider would be."""

    def __init__(self, client: AgentService, server: ProviderServer) -> None:
        self.client, self.server = client, server

    def start(self, message: str, *replies: Reply, **options: Any) -> str:
        self.server.answers(*replies)
        return self.client.runs.start(message, **options).run_id

    def ask(self, message: str, *replies: Reply, **options: Any) -> Run:
        run = self.client.runs.wait(self.start(message, *replies, **options), poll=0.02, timeout=60)
        assert self.server.refused == []
        return run

    def events(self, run: Run, kind: str) -> list[dict[str, Any]]:
        return [event.payload for event in self.client.runs.iterate_events(run.run_id) if event.type == kind]


@contextlib.contextmanager
def serving(provider: Provider, **settings: object) -> Iterator[Serving]:
    with (
        provider_server(provider.form) as server,
        tempfile.TemporaryDirectory(prefix="agentsvc-") as data,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(patience, "FIRST_SECONDS", 0.001)
        model, variables = provider.recommended()
        for name, value in {provider.key: "any", provider.address: server.url + provider.path}.items():
            if name.startswith("AGENTSVC_"):
                variables[name] = value
            else:
                patch.setenv(name, value)
        given = Settings.from_env(variables, data=data, model=model, **settings)
        with _running(given, Path(data)) as client:
            yield Serving(client, server)


@contextlib.contextmanager
def _running(settings: Settings, data: Path) -> Iterator[AgentService]:
    key = create_key(DataFolder(data), name="test")
    app = create_app(settings, instance="test")
    config = uvicorn.Config(app, interface="asgi3", ws="none", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    with bind("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            with AgentService(key, origin("127.0.0.1", listening.getsockname()[1])) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()
