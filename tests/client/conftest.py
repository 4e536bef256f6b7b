"""A network of literal bytes: a list of scripted answers, I/O whose sleeps take no time, a core on both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.origin import Origin
from agentsvc_nb.client.transport.http import SyncIO

KEY = "svc_sk_top-secret"
RUN_ID = "6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11"
Scripted = httpx.Response | Exception


class InstantIO(SyncIO):
    """Sleeping moves the clock and nothing else."""

    def __init__(self, transport: httpx.BaseTransport) -> None:
        super().__init__(transport)
        self.slept: list[float] = []
        self.day = date(2026, 3, 1)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def now(self) -> float:
        return sum(self.slept)

    def today(self) -> date:
        return self.day


def client_on(core: Core) -> AgentService:
    """A client on this core."""
    client = AgentService(KEY)
    client._use(core)
    return client


class Network:
    """Answers requests with what it was given, in order, and keeps them; complains about one too many."""

    def __init__(self, answers: Iterable[Scripted]) -> None:
        self._answers = iter(answers)
        self.requests: list[httpx.Request] = []
        self.io = InstantIO(httpx.MockTransport(self._answer))
        self.core = Core(Origin(KEY, "http://service.test"), self.io)
        self.core.rng = lambda: 1.0
        self.client = client_on(self.core)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


def answer(status: int = 200, body: Any = None, **headers: str) -> httpx.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=body if body is not None else {}, headers=given)


def failure(
    code: str, status: int, message: str = "No.", top: dict[str, Any] | None = None, **headers: str
) -> httpx.Response:
    return answer(status, {"error": {"message": message, "type": "api_error", "code": code}, **(top or {})}, **headers)


def run(status: str = "queued", **more: Any) -> dict[str, Any]:
    return {"object": "agent_run", "run_id": RUN_ID, "status": status, "chat": "chat_1", **more}


@pytest.fixture
def network() -> Callable[..., Network]:
    return lambda *answers: Network(answers)
