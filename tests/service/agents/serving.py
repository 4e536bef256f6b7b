"""Services whose model is a server of the test's. They run in this process, which takes a tenth of the time, unless a
test kills them; a provider's variables are set as its line of docs/models.md says."""

from __future__ import annotations

import contextlib
import json
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from agentsvc_nb import AgentService
from agentsvc_nb.service.app import create_app
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import create_key
from agentsvc_nb.service.server import bind, origin
from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.wire.runs import Run
from tests.unit.agents.chat_server import Reply, chat_server
from tests.unit.agents.wires.providers import Provider
from tests.unit.agents.wires.server import ProviderServer, provider_server

MODEL = "openai-chat:stand-in"


def loading(*groups: str) -> Reply:
    """The reply with which a model loads tools."""
    return Reply(calls=(("search_tools", json.dumps({"queries": groups})),))


class Serving:
    """A service, and the stand-in where the provider of its model would be."""

    def __init__(self, folder: DataFolder, client: AgentService, server: ProviderServer) -> None:
        self.folder, self.client, self.server = folder, client, server

    def ask(self, message: str, *replies: Reply, **options: Any) -> Run:
        """Return the run when it has ended. The model gives these replies, or what it was told before."""
        if replies:
            self.server.answers(*replies)
        run = self.client.runs.wait(self.client.runs.start(message, **options).run_id, poll=0.05, timeout=60)
        assert self.server.refused == []
        return run

    def events(self, run: Run, kind: str) -> list[dict[str, Any]]:
        return [event.payload for event in self.client.runs.iterate_events(run.run_id) if event.type == kind]

    def said(self, run: Run) -> str:
        """The text so far, of its first events."""
        events = self.client.runs.events(run.run_id).data
        return "".join(event.payload["text"] for event in events if event.type == "text.delta")

    def last(self) -> list[dict[str, Any]]:
        """The messages of the last call."""
        found: list[dict[str, Any]] = self.server.asked[-1]["messages"]
        return found


@contextlib.contextmanager
def language_service(*replies: Reply, **settings: object) -> Iterator[Serving]:
    given = {"model_patience_seconds": 0, "model_context": 32_768}
    with (
        chat_server(*replies) as server,
        tempfile.TemporaryDirectory(prefix="agentsvc-") as data,
        service_here(MODEL, Path(data), **{**given, "model_url": server.url, **settings}) as client,
    ):
        yield Serving(DataFolder(Path(data)), client, server)


@contextlib.contextmanager
def serving(provider: Provider, line: str = "", **settings: object) -> Iterator[Serving]:
    """Serve the model of the provider's recommended line, or `line`."""
    with (
        provider_server(provider.form) as server,
        tempfile.TemporaryDirectory(prefix="agentsvc-") as data,
        pytest.MonkeyPatch.context() as patch,
    ):
        model, given = model_settings(provider, server, patch)
        with service_here(line or model, Path(data), **{"model_patience_seconds": 0, **given, **settings}) as client:
            yield Serving(DataFolder(Path(data)), client, server)


def model_settings(
    provider: Provider, server: ProviderServer, patch: pytest.MonkeyPatch
) -> tuple[str, dict[str, object]]:
    """Return the recommended model and its settings, with the server's address; other variables are set."""
    model, variables = provider.recommended()
    given: dict[str, object] = {}
    for name, value in {**variables, provider.key: "any", provider.address: server.url + provider.path}.items():
        if name.startswith("AGENTSVC_"):
            given[name.removeprefix("AGENTSVC_").lower()] = value
        else:
            patch.setenv(name, value)
    return model, given


@contextlib.contextmanager
def service_here(model: str, data: Path, **settings: object) -> Iterator[AgentService]:
    """Run a service in this process."""
    given = Settings.from_env({variable(name): str(value) for name, value in settings.items()}, data=data, model=model)
    key = create_key(DataFolder(data), name="test")
    app = create_app(given, instance="test")
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
