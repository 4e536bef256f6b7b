"""A client whose requests get scripted answers, under a clock that only sleeping moves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService, AsyncAgentService, StefanBrainError
from agentsvc_nb.client.transport.aio import AsyncIO
from agentsvc_nb.clock import SystemClock, use_clock

KEY = "svc_sk_top-secret"
RUN_ID = "6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11"
HOST = "http://service.test"
V1 = "/api/developers/v1"
RESET = httpx.ReadError("reset")
Scripted = httpx.Response | Exception
Call = Callable[[Any], Any]


def blocking(base_url: str, call: Call, **options: Any) -> Any:
    """Make a call with a blocking client; read streams and pages to their end."""
    with AgentService(KEY, base_url, **options) as client:
        value = call(client)
        return list(value) if hasattr(value, "first") or hasattr(value, "__next__") else value


def awaited(base_url: str, call: Call, **options: Any) -> Any:
    async def use() -> Any:
        async with AsyncAgentService(KEY, base_url, **options) as client:
            value = call(client)
            if hasattr(value, "__await__"):
                value = await value
            return [each async for each in value] if hasattr(value, "__aiter__") else value

    return asyncio.run(use())


FACES: dict[str, Callable[..., Any]] = {"blocking": blocking, "async": awaited}


class Clock(SystemClock):
    """Time as the client sees it: a wait moves it and returns at once. `day` is today in UTC."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.skipped = 0.0
        self.day = date(2026, 3, 1)

    def monotonic(self) -> float:
        return sum(self.slept, 1_000.0) + self.skipped

    def time_ns(self) -> int:
        return int(datetime(self.day.year, self.day.month, self.day.day, 12, tzinfo=UTC).timestamp()) * 10**9

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Replace the clock, also of asyncio's waits, and the dice: a random wait is the longest that it can be."""
    clock = Clock()

    async def sleep(io: AsyncIO, seconds: float) -> None:
        clock.slept.append(seconds)

    monkeypatch.setattr(AsyncIO, "sleep", sleep)
    monkeypatch.setattr(random, "random", lambda: 1.0)
    with use_clock(clock):
        yield clock


class Network:
    """Answers requests with what it was given, in order, and keeps them; complains about one too many."""

    def __init__(self, answers: Iterable[Scripted], clock: Clock, face: str = "blocking") -> None:
        self._answers = iter(answers)
        self._face = face
        self.clock, self.slept = clock, clock.slept
        self.requests: list[httpx.Request] = []
        self.transport = httpx.MockTransport(self._answer)
        self.client = AgentService(KEY, HOST, transport=self.transport)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        answer = next(self._answers, None)
        assert answer is not None, f"one request too many: {request.method} {request.url}"
        if isinstance(answer, Exception):
            raise answer  # else a copy, because tests of both faces may share an answer
        return httpx.Response(answer.status_code, headers=answer.headers, stream=answer.stream)

    def call(self, call: Call, **options: Any) -> Any:
        return FACES[self._face](HOST, call, transport=self.transport, **options)

    def error(self, call: Call, **options: Any) -> Any:
        with pytest.raises(StefanBrainError) as caught:
            self.call(call, **options)
        return caught.value


Networks = Callable[..., Network]


@pytest.fixture
def network(clock: Clock) -> Networks:
    """A blocking client on scripted answers: `network(answer(200), ...).client`."""
    return lambda *answers: Network(answers, clock)


@pytest.fixture(params=FACES)
def both(request: pytest.FixtureRequest, clock: Clock) -> Networks:
    """The same for each face: `both(answer(200), ...).call(lambda client: client.runs.get("..."))`."""
    return lambda *answers: Network(answers, clock, request.param)


def answer(status: int = 200, body: Any = None, **headers: str) -> httpx.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=body if body is not None else {}, headers=given)


def failure(code: str, status: int, message: str = "No.", top: Any = None, **headers: str) -> httpx.Response:
    return answer(status, {"error": {"message": message, "type": "api_error", "code": code}, **(top or {})}, **headers)


def run(status: str = "queued", **more: Any) -> dict[str, Any]:
    return {"object": "agent_run", "run_id": RUN_ID, "status": status, "chat": "chat_1", **more}
