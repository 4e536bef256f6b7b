"""The faces of `following.Following`: a run's events for `for` and for `async for`."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from agentsvc_nb.client.results.models import Run
from agentsvc_nb.client.streams.following import Following
from agentsvc_nb.client.transport.io import step
from agentsvc_nb.wire.events import Event


class _Face:
    def __init__(self, following: Following) -> None:
        self._following = following

    @property
    def run(self) -> Run:
        """The run as last known: from the start, then from its events; the final record once it has ended."""
        return self._following.run

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def cursor(self) -> int:
        """Id of the last event that was handed out; attach with `after=` to go on from there."""
        return self._following.cursor

    @property
    def reconnects(self) -> int:
        """How often the stream was picked up again after a dropped connection."""
        return self._following.reconnects

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.run_id!r}, {self.run.status!r}, cursor={self.cursor})"


class EventStream(_Face):
    """The events of a run; leave it early with `close`, `with`, or by dropping it, and the run goes on.

    >>> with client.runs.start_and_stream("Compare the two price lists") as stream:  # doctest: +SKIP
    ...     for event in stream:
    ...         print(event.type)
    ...     print(stream.final_status().output)
    """

    def final_status(self) -> Run:
        """Read to the end; the finished run."""
        return step(self._following.final_status())

    def close(self) -> None:
        """Stop reading. May be called from another thread."""
        step(self._following.close())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = step(self._following.next())
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncEventStream(_Face):
    """The events of a run, for `async for`; see `EventStream`."""

    async def final_status(self) -> Run:
        """Read to the end; the finished run."""
        return await self._following.final_status()

    async def close(self) -> None:
        """Stop reading."""
        await self._following.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        event = await self._following.next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
