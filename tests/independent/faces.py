"""The ways to use the client, and a pool that does the generated checks many at once."""

import asyncio
import os
import re
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentsvc_nb import AgentService, AsyncAgentService, AsyncEventStream, EventStream
from tests.independent.records import KEY

Call = Callable[[Any], Any]
Face = Callable[..., Any]


def _whole(value: Any) -> Any:
    if isinstance(value, EventStream):
        with value:
            return list(value)
    return list(value) if hasattr(value, "first") else value


async def _awaited(value: Any) -> Any:
    if hasattr(value, "__aenter__"):
        async with value as stream:
            return [event async for event in stream]
    if isinstance(value, AsyncEventStream) or hasattr(value, "first"):
        return [each async for each in value]
    return await value if hasattr(value, "__await__") else value


def blocking(origin: str, call: Call, key: str = KEY, **options: Any) -> Any:
    with AgentService(key, origin, **options) as client:
        return _whole(call(client))


def inside_a_loop(origin: str, call: Call, **options: Any) -> Any:
    async def run() -> Any:
        return blocking(origin, call, **options)

    return asyncio.run(run())


def awaited(origin: str, call: Call, key: str = KEY, **options: Any) -> Any:
    async def run() -> Any:
        async with AsyncAgentService(key, origin, **options) as client:
            return await _awaited(call(client))

    return asyncio.run(run())


FACES: dict[str, Face] = {"blocking": blocking, "in a loop": inside_a_loop, "async": awaited}


@dataclass(frozen=True)
class Case:
    """A check. `fault` says which fault of the client it shows, while there is one."""

    name: str
    run: Callable[[], None]
    fault: str = ""

    @property
    def group(self) -> str:
        return re.sub(r"\d+", "N", self.name.split("-")[0])


@dataclass(frozen=True)
class Group:
    """Checks of one subject, which are one test: thousands of tests would take longer than what they do."""

    name: str
    cases: tuple[Case, ...]


def generated(cases: list[Case]) -> pytest.MarkDecorator:
    """Make tests of the cases; those of known faults must fail."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.group, case.fault), []).append(case)
    params = []
    for (name, fault), members in groups.items():
        marks = [pytest.mark.xfail(strict=True, reason=fault)] if fault else []
        params.append(pytest.param(Group(name, tuple(members)), id=name + " (fault)" * bool(fault), marks=marks))
    return pytest.mark.parametrize("group", params)


@dataclass
class Pool:
    """Most of a check is waiting, so the checks of all tests that were chosen run side by side."""

    chosen: list[Group]
    results: dict[int, Future[BaseException | None]] = field(default_factory=dict)
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(24))

    def check(self, group: Group) -> None:
        """Raise unless every check of the group holds; where all of them are of a known fault, unless one does."""
        if not self.results:
            alone = "PYTEST_XDIST_WORKER" not in os.environ
            self._begin(self.chosen if alone else [group])
        elif id(group.cases[0]) not in self.results:
            self._begin([group])
        ends = [(case, self.results[id(case)].result()) for case in group.cases]
        failed = [f"{case.name}: {_told(end)}" for case, end in ends if end]
        if group.cases[0].fault and len(failed) < len(ends):
            return
        if failed:
            pytest.fail("\n".join([f"{len(failed)} of {len(ends)} checks failed:", *failed]), pytrace=False)

    def _begin(self, groups: list[Group]) -> None:
        cases = [case for group in groups for case in group.cases]
        self.results |= {id(case): self.threads.submit(_end, case) for case in cases}


def _end(case: Case) -> BaseException | None:
    try:
        case.run()
    except (Exception, pytest.fail.Exception) as error:
        return error
    return None


def _told(error: BaseException) -> str:
    """Which line did not hold, and what it said."""
    places = traceback.extract_tb(error.__traceback__)
    here = next((each for each in reversed(places) if "independent" in each.filename), places[-1])
    return f"{here.filename.rsplit('/')[-1]}:{here.lineno} `{here.line}` {type(error).__name__}: {str(error)[:300]}"


@dataclass
class Followed:
    """A stream that was read to its end."""

    events: list[Any]
    final: Any
    cursor: int
    reconnects: int

    @property
    def ids(self) -> list[int]:
        return [event.id for event in self.events]


def following(start: Call) -> Call:
    """A call that reads the stream which `start` gives, and asks for the finished run."""

    def follow(stream: Any) -> Followed:
        with stream:
            events = list(stream)
            return Followed(events, stream.final_status(), stream.cursor, stream.reconnects)

    async def follow_async(start: Any) -> Followed:
        async with start as stream:
            events = [event async for event in stream]
            return Followed(events, await stream.final_status(), stream.cursor, stream.reconnects)

    return lambda client: (follow if isinstance(client, AgentService) else follow_async)(start(client))
