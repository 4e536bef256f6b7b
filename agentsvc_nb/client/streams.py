"""Iterate over the events of a run as they happen.

A stream returns each event exactly once, even if the connection breaks and the stream reconnects. `AsyncEventStream`
does the work. `EventStream` wraps an `AsyncEventStream` for blocking code.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, Self

from pydantic_core import from_json

from agentsvc_nb.client import options
from agentsvc_nb.client.core import ApiRequest, Core, add_request_facts
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError, copy_request
from agentsvc_nb.client.events import EventPage, RunEvent, TextDelta, parse_event
from agentsvc_nb.client.models import Data, Run, read
from agentsvc_nb.client.sse import EventDecoder, ServerSentEvent
from agentsvc_nb.client.transport.io import Response, Stopper, run_sync
from agentsvc_nb.wire.limits import RUN_POLL_SECONDS, STREAM_PING_SECONDS
from agentsvc_nb.wire.runs import TERMINAL

if TYPE_CHECKING:
    from agentsvc_nb.client.client_tools import ClientCalls

BACKOFF_SECONDS: Final = 5.0
"""The maximum number of seconds to wait before the stream connects again."""
READ_SECONDS: Final = 75.0
"""The seconds without any byte after which the client closes a connection. In this time, the service sends five pings.

The time must be less than the 120 s after which a gateway closes an idle connection.
"""


class AsyncEventStream(Generic[Data]):
    """A stream of the events of a run. Iterate over the stream with `async for`.

    An `async with` block closes the stream at its end. The run continues after you close the stream.

    >>> async with client.runs.start_and_stream("Compare the two price lists") as stream:  # doctest: +SKIP
    ...     async for event in stream:
    ...         print(event.type)
    """

    # Each connection resumes after `cursor`. So the service repeats an event that was received but not returned.

    run: Run[Data]
    """The record of the run with its latest status. After the last event, this is the final record."""
    cursor: int
    """The id of the last event that you have read. To continue later, pass it to `runs.attach` as `after`."""
    reconnects: int
    """How often the stream has reconnected after a lost connection."""
    _response: Response | None = None  # on the class, because Ctrl-C may end `__init__` too early

    def __init__(self, core: Core, run: Run[Data], after: int = 0) -> None:
        self.run = run
        self.cursor = after
        self.reconnects = 0
        self._core = core
        self._io = core.io
        self._last: Response | None = None  # the latest response, even if it is closed
        self._waiting: deque[RunEvent] = deque()
        self._decoder = EventDecoder()
        self._gap = -1  # the service has no event with the id after this id
        self._opened = False
        self._opened_at = 0.0
        self._events_here = 0  # events of the current connection
        self._failures = 0  # failures in a row
        self._done = False  # closed, or the last event was received
        self._unreadable: StefanBrainError | None = None  # an error to raise after the events before it
        self._stopper = Stopper()
        self._calls: ClientCalls | None = core.client_calls.get(run.run_id)
        self._worked = False  # True after the client tools that the returned events call were executed

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def chat(self) -> str:
        return self.run.chat

    @property
    def text(self) -> AsyncIterator[str]:
        """Return an asynchronous iterator over the pieces of the answer's text as they arrive, without other events.

        If the service crashes, the run repeats its last step. You may then have received text of the interrupted step,
        which `final_status().output` does not contain.

        >>> async for piece in stream.text:  # doctest: +SKIP
        ...     print(piece, end="", flush=True)
        """
        return (event.text async for event in self if isinstance(event, TextDelta))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RunEvent:
        event = await self._next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.run_id!r}, {self.run.status!r}, cursor={self.cursor})"

    @property
    def _request_id(self) -> str | None:
        """Return the id of the latest request for events. Before the first one, return the request id of the run."""
        return self._last.headers.get("x-request-id") if self._last else self.run._request_id

    async def _next(self) -> RunEvent | None:
        """Return the next event, or None after the last event.

        Raises `StefanBrainError` if resuming fails, and `JobTimeoutError` if the stream's time has passed.
        """
        while not (event := self._received()):
            if not await self._advance():
                return None
        return event

    def _received(self) -> RunEvent | None:
        """Return the next queued event, or None if the caller must call `_advance`."""
        if self._calls and not self._worked:
            return None
        # Ctrl-C may come between any two statements, so update the cursor before the event leaves the queue.
        waiting = self._waiting
        while waiting and waiting[0].id <= self.cursor:
            waiting.popleft()
        if not waiting:
            return None
        event = waiting[0]
        if event.type == "run.ended":
            if event.payload.get("truncated"):
                return None
            if isinstance(record := event.payload.get("run"), dict):
                self._end(self._record(record))
        elif event.type == "client_call.waiting":
            if self._calls:
                self._calls.queue(event)
        elif event.type == "run.status" and isinstance(status := event.payload.get("status"), str):
            self.run = self.run.model_copy(update={"status": status})
        self.cursor = event.id
        self._worked = False
        return event

    def _end(self, run: Run[Any]) -> None:
        self.run = run
        if run.status != "failed":  # a failed run may be resumed
            self._core.client_calls.pop(run.run_id, None)

    async def final_status(self) -> Run[Data]:
        """Read the stream to its end, and return the final record of the run.

        If the stream is closed, this method requests the record every 3 s until the run has ended. Raises the same
        errors as the iteration.
        """
        while await self._next():
            pass
        while not self.run.ended:
            await self._in_time()
            run = await self._core.ask(Run, ApiRequest("runs.get", {"run_id": self.run.run_id}))
            self.run = run.with_shape(self.run.shape)
            await self._core.sleep(0 if self.run.ended else RUN_POLL_SECONDS)
        return self.run

    async def close(self) -> None:
        """Close the stream. The run continues."""
        self._done = True
        self._stopper.stop()
        self._waiting.clear()
        await self._hang_up()
        if self._calls:
            await self._calls.report_interrupted()

    def _drop(self) -> None:
        response, self._response = self._response, None
        if response:
            self._io.drop(response)

    def __del__(self) -> None:
        self._drop()

    def _record(self, record: dict[str, Any]) -> Run[Any]:
        try:
            return read(Run, json.dumps(record), "The last event").with_shape(self.run.shape)
        except StefanBrainError as error:
            raise add_request_facts(error, self._last) if self._last else error from None

    async def _complete_the_end(self) -> None:
        """Replace the shortened run record in the queued event `run.ended` by the complete record from the service."""
        end = self._waiting[0]
        try:
            run = await self._core.ask(Run, self._request("runs.get"))
        except APIConnectionError:
            if self._stopper.stopped:
                return
            raise
        if self._waiting:  # the queue is empty if another thread has closed the stream
            self._waiting[0] = replace(end, payload={"run": run.model_dump(mode="json")})

    async def _advance(self) -> bool:
        """Execute client tools, connect or read a chunk. Return False after the last event.

        Raises the same errors as `_next`.
        """
        if self._calls:
            before = self._worked
            await self._calls.execute_queued()
            self._worked = True
            if not before:
                return True
        if self._waiting:
            await self._complete_the_end()
            return True
        if self._done:
            return False
        if self._response is None:
            await self._in_time()  # outside the `try`, which ignores errors after the stream was closed
        try:
            if self._unreadable:
                raise self._unreadable
            if self._response is None:
                await self._connect()
            # Do little per chunk: chunks may be far smaller than events, and this loop causes most of their cost.
            read, decode, response = self._io.read, self._decoder.feed, self._response
            while response and not self._waiting and not self._done:
                chunk = await read(response)
                if self._done:  # closed by another thread
                    break
                if self._failures and self._io.now() - self._opened_at > STREAM_PING_SECONDS:
                    self._failures = 0  # a connection that outlasts a ping works, even without events
                if chunk is None:
                    await self._at_end(response)
                elif (frames := decode(chunk)) and not self._queue(frames):
                    await self._take_page()
                    break
                if self._calls:
                    break  # so that `execute_queued` sends results again that could not be sent
        except StefanBrainError as error:
            if not self._done:  # not a failure if another thread has closed the stream
                await self._dropped(add_request_facts(error, self._response) if self._response else error)
        except BaseException:
            # Ctrl-C may have come after a chunk was read and before its events were queued. Drop the connection. The
            # next connection requests all events after the cursor again, so no event is lost.
            self._drop()
            raise
        if self._done:
            await self._hang_up()
        return True

    async def _connect(self) -> None:
        headers = {"accept": "text/event-stream"}
        if self.cursor:
            headers["last-event-id"] = str(self.cursor)
        self.reconnects += self._opened
        self._opened = True
        request = self._request("runs.events")
        response = await self._core.attempt(replace(request, headers=headers, timeout=READ_SECONDS, stream=True))
        self._response, self._decoder, self._events_here = response, EventDecoder(), 0
        self._last = response
        self._opened_at = self._io.now()
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            wrong = "The service did not return an event stream. Check the base URL."
            raise add_request_facts(StefanBrainError(wrong), response)

    def _request(self, name: str, **query: int) -> ApiRequest:
        """Return a request that `close` can end, even from another thread."""
        return ApiRequest(name, {"run_id": self.run.run_id}, query, stopper=self._stopper)

    def _queue(self, frames: list[ServerSentEvent]) -> bool:
        """Queue the new events. Return False if events are missing before one of them.

        If an event is unreadable, `_advance` raises its error after the caller has read the events before it.
        """
        last = self._waiting[-1].id if self._waiting else self.cursor
        for frame in frames:
            try:
                event = _event(frame)
            except StefanBrainError as error:
                if not self._waiting:
                    raise
                self._unreadable = error
                break
            if event.id <= last:
                continue
            if event.id > last + 1 and last != self._gap:
                return False
            last = event.id
            self._add(event)
            if self._done:
                break
        return True

    def _add(self, event: RunEvent) -> None:
        self._waiting.append(event)
        self._failures, self._events_here = 0, self._events_here + 1
        self._done = self._done or event.type == "run.ended"

    async def _take_page(self) -> None:
        """Queue the next events from a page of events, and close the connection.

        The ids of events have no gaps, so a gap means that the stream has omitted events or sent them in a wrong order.
        """
        await self._hang_up()
        last = self._waiting[-1].id if self._waiting else self.cursor
        page = await self._core.ask(EventPage, self._request("runs.events", after=last))
        if self._done:  # closed by another thread
            return
        self._gap = last  # if the page lacks the missing ids, those events do not exist
        for event in sorted(page.data, key=attrgetter("id")):
            if event.id > last:
                last = event.id
                self._add(event)

    async def _at_end(self, response: Response) -> None:
        """Handle a connection that ended without `run.ended`. Raises `APIConnectionError` if events are missing.

        If the connection delivered no event, ask the service whether any event is left, because a stream that starts
        after the last event is empty.
        """
        if not self._events_here:
            page = await self._core.ask(EventPage, self._request("runs.events", after=self.cursor, limit=1))
            self._done = not page.data and page.status in TERMINAL
        if not self._done:
            raise add_request_facts(APIConnectionError("The event stream ended before the run did."), response)

    async def _dropped(self, error: StefanBrainError) -> None:
        """Wait before the next connection. Raises `error` after `max_retries` failures without an event in between."""
        await self._hang_up()
        if error.late:
            raise copy_request(self._out_of_time(), error)
        self._failures += 1
        first = self._decoder.retry_seconds
        first = options.FIRST_SECONDS if first is None else first
        most = self._core.settings.max_retries
        wait = options.retry_delay(error, self._failures, most, self._core.rng, first, BACKOFF_SECONDS)
        if wait is None:
            self._done = True
            error.attempts, error.last_event_id = self._failures, self.cursor
            go_on = f"To continue, attach to {self.run.run_id} after event {self.cursor}."
            error.hint = f"{error.hint} {go_on}" if error.hint and options.is_transient(error) else error.hint or go_on
            raise error
        await self._core.sleep(wait)

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
        return add_request_facts(late, self._last) if self._last else late


class EventStream(Generic[Data]):
    """A stream of the events of a run. Iterate over the stream with `for`.

    A `with` block closes the stream at its end. The run continues after you close the stream.

    >>> with client.runs.start_and_stream("Compare the two price lists") as stream:  # doctest: +SKIP
    ...     for event in stream:
    ...         print(event.type)
    ...     print(stream.final_status().output)
    """

    def __init__(self, events: AsyncEventStream[Data]) -> None:
        self._events = events

    @property
    def run(self) -> Run[Data]:
        """Return the record of the run with its latest status. After the last event, this is the final record."""
        return self._events.run

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def chat(self) -> str:
        return self.run.chat

    @property
    def cursor(self) -> int:
        """Return the id of the last event that you have read. To continue later, pass it to `attach` as `after`."""
        return self._events.cursor

    @property
    def reconnects(self) -> int:
        """Return how often the stream has reconnected after a lost connection."""
        return self._events.reconnects

    @property
    def _request_id(self) -> str | None:
        return self._events._request_id

    def final_status(self) -> Run[Data]:
        """Read the stream to its end, and return the final record of the run.

        If the stream is closed, this method requests the record every 3 s until the run has ended. Raises the same
        errors as the iteration.
        """
        return run_sync(self._events.final_status())

    @property
    def text(self) -> Iterator[str]:
        """Return an iterator over the pieces of the answer's text as they arrive, without other events.

        If the service crashes, the run repeats its last step. You may then have received text of the interrupted step,
        which `final_status().output` does not contain.

        >>> for piece in stream.text:  # doctest: +SKIP
        ...     print(piece, end="", flush=True)
        """
        return (event.text for event in self if isinstance(event, TextDelta))

    def close(self) -> None:
        """Close the stream. The run continues. You can call this method from another thread."""
        run_sync(self._events.close())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RunEvent:
        while not (event := self._events._received()):
            if not run_sync(self._events._advance()):
                raise StopIteration
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.run_id!r}, {self.run.status!r}, cursor={self.cursor})"


class AsyncStreamStart(Generic[Data]):
    """A call that returns an `AsyncEventStream`. Use it with `async with` or `await`.

    Creating this object sends nothing. The client sends the request when you enter the block or await the object.

    >>> async with client.runs.start_and_stream("Draft three headlines") as stream:  # doctest: +SKIP
    ...     async for event in stream:
    ...         print(event.type)
    """

    def __init__(self, open: Callable[[], Coroutine[Any, Any, AsyncEventStream[Data]]]) -> None:
        self._open = open
        self._stream: AsyncEventStream[Data] | None = None

    def __await__(self) -> Generator[Any, Any, AsyncEventStream[Data]]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> AsyncEventStream[Data]:
        self._stream = await self._open()
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        if self._stream:
            await self._stream.close()


def _event(frame: ServerSentEvent) -> RunEvent:
    try:
        try:
            # `from_json` takes a third of the time of `json.loads`, but rejects lone surrogates and depths that
            # `json.loads` accepts.
            data = from_json(frame.data)
        except ValueError:
            # Decode as `json.loads` does, except for encodings that no event stream has.
            data = json.loads(frame.data.decode("utf-8", "surrogatepass"))
        return parse_event(data)
    except (ValueError, RecursionError) as wrong:
        what = f"The stream sent an event that cannot be read (after id {frame.id or 0}): {wrong}."
        raise StefanBrainError(what) from None
