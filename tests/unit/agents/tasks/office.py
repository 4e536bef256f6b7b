"""A real service in its own process, and minds where its provider would be."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.runs import Effort, Run
from tests.support.waiting import until
from tests.unit.agents.tasks.minds import Mind, reply
from tests.unit.agents.wires.providers import PROVIDERS, Provider
from tests.unit.agents.wires.reply import Body, Reply
from tests.unit.agents.wires.server import ProviderServer
from tests.unit.service.site import Site, serving

STRANGER = "127.0.0.2"
"""Where a site is that nobody approved."""


class MindServer(ProviderServer):
    """A provider whose model is `mind`. Once it has answered `held` requests, it keeps the next one waiting: `holding`
    is set, and `let_go` ends it."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider.form)
        self.mind: Mind | None = None
        self.held: int | None = None
        self.holding = threading.Event()
        self.let_go = threading.Event()
        self.faults: list[str] = []

    def think(self, mind: Mind, held: int | None = None) -> None:
        self.mind, self.held = mind, held
        for each in (self.holding, self.let_go):
            each.clear()
        self.answers()
        self.faults.clear()

    def next(self, body: Body) -> Reply:
        assert self.mind is not None
        if self.held == len(self.asked):
            self.held = None
            self.holding.set()
            self.let_go.wait(60)
            return Reply(end="lost")
        self.asked.append(body)
        try:
            return reply(self.mind, body)
        except Exception as error:  # told by the test: here it would end a thread
            self.faults.append(f"{type(error).__name__}: {error}")
            return Reply(("The mind is lost.",))


@dataclass
class Done:
    """A task's run as its caller sees it: the record, its events, and files by path as they were downloaded."""

    run: Run
    events: list[tuple[str, dict[str, Any]]]
    asked: list[Body]
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def output(self) -> str:
        assert isinstance(self.run.output, str)
        return self.run.output

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [payload for each, payload in self.events if each == kind]

    def after(self, before: Done) -> Done:
        """Both as one."""
        return Done(self.run, before.events + self.events, before.asked + self.asked, self.files)

    def results(self) -> list[str]:
        """What the model was told of calls."""
        return [one["content"][0]["text"] for one in self.of("tool.result")]

    def failures(self) -> list[str]:
        """What the model was told of calls that failed."""
        return [one["content"][0]["text"] for one in self.of("tool.result") if one["is_error"]]


class Office:
    """The service, the stand-in for its provider, a site that may be read, and one that nobody approved."""

    def __init__(self, service: RunningService, server: MindServer, site: Site, stranger: Site) -> None:
        self.service, self.server, self.site, self.stranger = service, server, site, stranger
        self.client = AgentService(service.api_key, service.base_url)

    def start(
        self,
        question: str,
        mind: Mind,
        files: Sequence[tuple[str, bytes]] = (),
        chat: str | None = None,
        held: int | None = None,
        effort: Effort | None = None,
    ) -> str:
        self.server.think(mind, held)
        return self.client.runs.start(question, files=list(files), chat=chat, effort=effort).run_id

    def ask(self, question: str, mind: Mind, files: Sequence[tuple[str, bytes]] = (), chat: str | None = None) -> Done:
        return self.done(self.start(question, mind, files, chat))

    def approval(self, run_id: str) -> dict[str, Any]:
        """The call that waits for approval."""

        def asked() -> list[dict[str, Any]]:
            self._whole()
            return [one for kind, one in self._events(run_id) if kind == "approval.requested"]

        return until(asked)[-1]

    def _whole(self) -> None:
        """Neither was a request refused, nor did a mind not know on."""
        wrong = self.server.refused + self.server.faults
        assert not wrong, "; ".join(wrong)

    def restart_in_the_middle(self) -> None:
        """Kill -9 while the model is asked, and start again."""
        assert self.server.holding.wait(60)
        self.service.kill()
        self.server.let_go.set()
        self.service.start()

    def done(self, run_id: str) -> Done:
        """The end of a run, and the files that it wrote."""
        run = self.client.runs.wait(run_id, poll=0.05, timeout=120)
        self._whole()
        assert run.status == "completed", (run.last_error, run.last_error_message)
        done = Done(run, self._events(run_id), list(self.server.asked))
        for path in {each["path"] for each in done.of("file.written")}:
            done.files[path] = self.client.files.download(path, chat=run.chat)
        return done

    def _events(self, run_id: str) -> list[tuple[str, dict[str, Any]]]:
        return [(event.type, event.payload) for event in self.client.runs.events(run_id, limit=1000).data]


@contextlib.contextmanager
def office(form: str) -> Iterator[Office]:
    """Form: a key of `PROVIDERS`."""
    provider = PROVIDERS[form]
    server = MindServer(provider)
    try:
        with serving() as site, serving(STRANGER) as stranger, _service(provider, server, site, stranger) as service:
            found = Office(service, server, site, stranger)
            with found.client:
                yield found
    finally:
        server.close()


@contextlib.contextmanager
def _service(provider: Provider, server: MindServer, site: Site, stranger: Site) -> Iterator[RunningService]:
    with pytest.MonkeyPatch.context() as patch:
        model, variables = provider.recommended()
        settings: dict[str, object] = {
            "approve_effects": "yes",
            "fetch_allow": f"{site.authority},{stranger.authority}",
        }
        for name, value in {**variables, provider.key: "any", provider.address: server.url + provider.path}.items():
            if name.startswith("AGENTSVC_"):
                settings[name.removeprefix("AGENTSVC_").lower()] = value
            else:
                patch.setenv(name, value)
        with running_service(model, **settings) as service:
            yield service
