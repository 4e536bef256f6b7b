"""The events of a run as callers read them: `for event in stream`, or `async for`; and their text alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import Any, Generic, Self

from agentsvc_nb.client.events import RunEvent, TextDelta
from agentsvc_nb.client.models import Data, Run
from agentsvc_nb.client.streams import ResumableEventStream
from agentsvc_nb.client.transport.io import run_sync


class _EventStream(Generic[Data]):
    """The part that the streams of both clients share."""

    def __init__(self, events: ResumableEventStream) -> None:
        self._events = events

    @property
    def run(self) -> Run[Data]:
        """Return the last known run. It comes from the start, then from the events, then from the final record."""
        return self._events.run

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def chat(self) -> str:
        return self.run.chat

    @property
    def cursor(self) -> int:
        """Return the id of the last event that you have read; pass it to `attach` as `after` to continue from there."""
        return self._events.cursor

    @property
    def reconnects(self) -> int:
        """Return how often the stream has reconnected after a dropped connection."""
        return self._events.reconnects

    @property
    def _request_id(self) -> str | None:
        """Return the id of the latest request for events, or at first the id of the request for the run."""
        return self._events.request_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.run_id!r}, {self.run.status!r}, cursor={self.cursor})"


class EventStream(_EventStream[Data]):
    """The events of a run. Leave it early with `close`, `with`, or by dropping it: the run goes on.

    >>> with client.runs.start_and_stream("Compare the two price lists") as stream:  # doctest: +SKIP
    ...     for event in stream:
    ...         print(event.type)
    ...     print(stream.final_status().output)
    """

    def final_status(self) -> Run[Data]:
        """Read to the end, and return the finished run."""
        return run_sync(self._events.final_status())

    @property
    def text(self) -> Iterator[str]:
        """Return an iterator over the pieces of the answer as they arrive, without other events.

        If an attempt crashed, its text has been returned already; `final_status().output` never contains it.

        >>> for piece in stream.text:  # doctest: +SKIP
        ...     print(piece, end="", flush=True)
        """
        return (event.text for event in self if isinstance(event, TextDelta))

    def close(self) -> None:
        """Stop reading. You may call it from another thread."""
        run_sync(self._events.close())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RunEvent:
        while not (event := self._events.received()):
            if not run_sync(self._events.advance()):
                raise StopIteration
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEventStream(_EventStream[Data]):
    """The events of a run, for `async for`; see `EventStream`."""

    async def final_status(self) -> Run[Data]:
        """Read to the end, and return the finished run."""
        return await self._events.final_status()

    @property
    def text(self) -> AsyncIterator[str]:
        """Return an iterator over the pieces of the answer as they arrive; see `EventStream.text`.

        >>> async for piece in stream.text:  # doctest: +SKIP
        ...     print(piece, end="", flush=True)
        """
        return (event.text async for event in self if isinstance(event, TextDelta))

    async def close(self) -> None:
        """Stop reading."""
        await self._events.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RunEvent:
        event = await self._events.next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncStreamStart(Generic[Data]):
    """A call that returns an `AsyncEventStream`: use it with `async with`, or `await` it. Until then it sends nothing.

    >>> async with client.runs.start_and_stream("Draft three headlines") as stream:  # doctest: +SKIP
    ...     async for event in stream:
    ...         print(event.type)
    """

    def __init__(self, open: Callable[[], Coroutine[Any, Any, ResumableEventStream]]) -> None:
        self._open = open
        self._stream: AsyncEventStream[Data] | None = None

    def __await__(self) -> Generator[Any, Any, AsyncEventStream[Data]]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> AsyncEventStream[Data]:
        self._stream = AsyncEventStream(await self._open())
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        if self._stream:
            await self._stream.close()
