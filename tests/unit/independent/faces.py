"""The ways to use the client, and what must be so after any call."""

import asyncio
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentsvc_nb import AgentService, AsyncAgentService, AsyncEventStream, EventStream, StefanBrainError
from tests.unit.independent.mock import Mock
from tests.unit.independent.records import KEY

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


def inside_a_loop(origin: str, call: Call, key: str = KEY, **options: Any) -> Any:
    async def run() -> Any:
        return blocking(origin, call, key, **options)

    return asyncio.run(run())


def awaited(origin: str, call: Call, key: str = KEY, **options: Any) -> Any:
    async def run() -> Any:
        async with AsyncAgentService(key, origin, **options) as client:
            return await _awaited(call(client))

    return asyncio.run(run())


FACES: dict[str, Face] = {"blocking": blocking, "in a loop": inside_a_loop, "async": awaited}


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
    """Make a call that reads the stream which `start` gives, and asks for the finished run."""

    def follow(stream: Any) -> Followed:
        with stream:
            events = list(stream)
            return Followed(events, stream.final_status(), stream.cursor, stream.reconnects)

    async def follow_async(start: Any) -> Followed:
        async with start as stream:
            events = [event async for event in stream]
            return Followed(events, await stream.final_status(), stream.cursor, stream.reconnects)

    return lambda client: (follow if isinstance(client, AgentService) else follow_async)(start(client))


@dataclass
class Outcome:
    value: Any = None
    error: BaseException | None = None
    notices: list[Any] = field(default_factory=list)

    @property
    def failure(self) -> Any:
        """The error, which has to be one of the client's own."""
        assert self.error is not None, f"it gave {self.value!r}"
        if not isinstance(self.error, StefanBrainError):
            raise AssertionError(f"it raised {type(self.error).__name__}: {self.error}") from self.error
        return self.error


def outcome(mock: Mock, face: str, call: Call, **options: Any) -> Outcome:
    """Make a call, and check that it left no connection, and an error without the key that can be pickled."""
    result = Outcome()
    try:
        result.value = FACES[face](mock.origin, call, on_retry=result.notices.append, **options)
    except Exception as error:
        result.error = error
    assert mock.left(), "a connection is still there after the client was closed"
    if isinstance(result.error, StefanBrainError):
        again = pickle.loads(pickle.dumps(result.error))
        assert (type(again), str(again), vars(again)) == (type(result.error), str(result.error), vars(result.error))
        assert KEY not in f"{vars(again)}{result.error!r}{result.error}"
    return result
