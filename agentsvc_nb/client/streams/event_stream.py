"""A run's events as they happen, each exactly once, also when the connection drops and is opened again."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.models import Run, read
from agentsvc_nb.client.request import options
from agentsvc_nb.client.request.request import ApiRequest, Core
from agentsvc_nb.client.streams.sse import EventDecoder, ServerSentEvent
from agentsvc_nb.client.transport.io import Response, step
from agentsvc_nb.wire.limits import RUN_POLL_SECONDS, STREAM_PING_SECONDS
from agentsvc_nb.wire.runs import TERMINAL, Event, EventPage

BACKOFF_SECONDS: Final = 5.0
"""Longest wait between two connections."""
READ_SECONDS: Final = 75.0
"""Without a byte for the time of five pings the connection is dead. Less than the gateway's 120 s."""


class ResumableEventStream:
    """Reads one run's events with an id over `after`, until the core's deadline; `EventStream` is its public face.

    `cursor` is the id of the last event handed out, and `run` the record as of that event. Each connection resumes
    after `cursor`, so an event that was received but not handed out is sent again.
    """

    def __init__(self, core: Core, run: Run, after: int = 0) -> None:
        self.run, self.cursor, self.reconnects = run, after, 0
        self._core, self._io = core, core.io
        self._response: Response | None = None
        self._waiting: deque[Event] = deque()
        self._decoder = EventDecoder()
        self._opened = False
        self._opened_at = 0.0
        self._events_here = 0  # events of the current connection
        self._failures = 0  # failures in a row
        self._done = False  # closed, or the last event was received

    async def next(self) -> Event | None:
        """The next event, None after the last. Raises `StefanBrainError` when the stream cannot be resumed, and
        `JobTimeoutError` at the deadline."""
        # Ctrl-C may come between any two steps: an event leaves the queue only after the cursor has moved to it.
        while self._waiting and self._waiting[0].id <= self.cursor:
            self._waiting.popleft()
        while not self._waiting and not self._done:
            await self._in_time()
            await self._advance()
        await self._complete_the_end()
        return self._hand_over(self._waiting[0]) if self._waiting else None

    async def final_status(self) -> Run:
        """Read to the end and return the ended run. A closed stream polls the run every 3 s instead.

        Raises as `next`.
        """
        while await self.next():
            pass
        while not self.run.ended:
            await self._in_time()
            run = await self._core.ask(Run, ApiRequest("runs.get", {"run_id": self.run.run_id}))
            self.run = run.of_shape(self.run.shape)
            await self._core.rest(0 if self.run.ended else RUN_POLL_SECONDS)
        return self.run

    async def close(self) -> None:
        self._done = True
        self._waiting.clear()
        await self._hang_up()

    def _drop(self) -> None:
        response, self._response = self._response, None
        if response:
            self._io.drop(response)

    def __del__(self) -> None:
        self._drop()

    def _hand_over(self, event: Event) -> Event:
        """Update `run` from the event, then move the cursor to it."""
        record = event.payload.get("run") if event.type == "run.ended" else None
        if isinstance(record, dict):
            self.run = read(Run, json.dumps(record), "The last event").of_shape(self.run.shape)
        elif event.type == "run.status" and isinstance(status := event.payload.get("status"), str):
            self.run = self.run.model_copy(update={"status": status})
        self.cursor = event.id
        return event

    async def _complete_the_end(self) -> None:
        """Fetch the run's record and put it into the last event, if it was too large for the event to carry."""
        end = self._waiting[0] if self._waiting else None
        if end is None or end.type != "run.ended" or not end.payload.get("truncated"):
            return
        run = await self._core.ask(Run, ApiRequest("runs.get", {"run_id": self.run.run_id}))
        if self._waiting:  # empty if another thread closed the stream meanwhile
            self._waiting[0] = replace(end, payload={"run": run.model_dump(mode="json")})

    async def _advance(self) -> None:
        """One step towards the next event: connect, or read a chunk. Raises when the stream cannot be resumed."""
        try:
            if self._response is None:
                await self._connect()
            else:
                await self._receive(self._response)
        except StefanBrainError as error:
            if not self._done:  # if another thread closed the stream meanwhile, a broken read is no failure
                await self._dropped(error)
        except BaseException:
            # An interrupt may have come between reading and queueing. Drop the connection: the next one asks for all
            # events after the cursor again, so none is lost.
            self._drop()
            raise
        if self._done:
            await self._hang_up()

    async def _connect(self) -> None:
        headers = {"accept": "text/event-stream"}
        if self.cursor:
            headers["last-event-id"] = str(self.cursor)
        self.reconnects += self._opened
        self._opened = True
        request = ApiRequest(
            "runs.events", {"run_id": self.run.run_id}, headers=headers, timeout=READ_SECONDS, stream=True
        )
        response = await self._core.attempt(request)
        self._response, self._decoder, self._events_here = response, EventDecoder(), 0
        self._opened_at = self._io.now()
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            raise StefanBrainError("The address answered something other than an event stream; check the base URL.")

    async def _receive(self, response: Response) -> None:
        chunk = await self._io.read(response)
        if self._done:
            return
        if chunk is None:
            await self._at_end()
        else:
            self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        """Decode a chunk and queue its new events."""
        if self._io.now() - self._opened_at > STREAM_PING_SECONDS:
            self._failures = 0  # a connection that outlasted a ping works, even if the run has no events
        for frame in self._decoder.feed(chunk):
            event = _event(frame)
            if event.id <= (self._waiting[-1].id if self._waiting else self.cursor):
                continue
            self._waiting.append(event)
            self._failures, self._events_here = 0, self._events_here + 1
            if event.type == "run.ended":
                self._done = True
                return

    async def _at_end(self) -> None:
        """Handle a connection that ended without `run.ended`. Raises `APIConnectionError` if events are missing.

        If it brought no event, ask whether any is left: a stream that begins after the last event is empty.
        """
        if not self._events_here:
            query = {"after": self.cursor, "limit": 1}
            page = await self._core.ask(EventPage, ApiRequest("runs.events", {"run_id": self.run.run_id}, query))
            self._done = not page.data and page.status in TERMINAL
        if not self._done:
            raise APIConnectionError("The event stream ended before the run.")

    async def _dropped(self, error: StefanBrainError) -> None:
        """Wait before the next connection. Raises `error` after `max_retries` failures in a row; an event resets the
        count."""
        await self._hang_up()
        if error.late:
            raise self._out_of_time()
        self._failures += 1
        first = self._decoder.retry_seconds
        first = options.FIRST_SECONDS if first is None else first
        most = self._core.settings.max_retries
        wait = options.pause(error, self._failures, most, self._core.rng, first, BACKOFF_SECONDS)
        if wait is None:
            self._done = True
            error.attempts, error.last_event_id = self._failures, self.cursor
            go_on = f"Attach to {self.run.run_id} after event {self.cursor} to go on from there."
            error.hint = f"{error.hint} {go_on}" if error.hint and options.transient(error) else error.hint or go_on
            raise error
        await self._core.rest(wait)

    async def _hang_up(self) -> None:
        response, self._response = self._response, None
        if response:
            await self._io.close(response)

    async def _in_time(self) -> None:
        if self._core.left <= 0:
            await self.close()
            raise self._out_of_time()

    def _out_of_time(self) -> JobTimeoutError:
        self._done = True
        late = JobTimeoutError(self.run.run_id, self.run.chat)
        late.last_event_id = self.cursor
        return late


def _event(frame: ServerSentEvent) -> Event:
    try:
        return Event.from_json(json.loads(frame.data))
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        what = f"The stream sent an event that cannot be read (after id {frame.id or 0}): {wrong!r}."
        raise StefanBrainError(what) from None


class _Face:
    def __init__(self, events: ResumableEventStream) -> None:
        self._events = events

    @property
    def run(self) -> Run:
        """The run as last known: from the start, then from its events; the final record once it has ended."""
        return self._events.run

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def cursor(self) -> int:
        """Id of the last event that was handed out; attach with `after=` to go on from there."""
        return self._events.cursor

    @property
    def reconnects(self) -> int:
        """How often the stream was picked up again after a dropped connection."""
        return self._events.reconnects

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
        return step(self._events.final_status())

    def close(self) -> None:
        """Stop reading. May be called from another thread."""
        step(self._events.close())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = step(self._events.next())
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
        return await self._events.final_status()

    async def close(self) -> None:
        """Stop reading."""
        await self._events.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        event = await self._events.next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
