"""A run's events as they happen. Each comes exactly once, also when the connection drops and is opened again."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

from agentsvc_nb.client import options
from agentsvc_nb.client.core import ApiRequest, Core, described
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError, after
from agentsvc_nb.client.events import EventPage, RunEvent, parse_event
from agentsvc_nb.client.models import Run, read
from agentsvc_nb.client.sse import EventDecoder, ServerSentEvent
from agentsvc_nb.client.transport.io import Response, Stopper
from agentsvc_nb.wire.limits import RUN_POLL_SECONDS, STREAM_PING_SECONDS
from agentsvc_nb.wire.runs import TERMINAL

if TYPE_CHECKING:
    from agentsvc_nb.client.client_tools import ClientCalls

BACKOFF_SECONDS: Final = 5.0
"""Longest wait between two connections."""
READ_SECONDS: Final = 75.0
"""Without a byte for the time of five pings the connection is dead. Less than the gateway's 120 s."""


class ResumableEventStream:
    """Reads one run's events with an id over `after`, until the core's deadline; `EventStream` is its public face.

    `cursor` is the id of the last event handed out, and `run` the record as of that event. Each connection resumes
    after `cursor`, so an event that was received but not handed out is sent again.
    """

    _response: Response | None = None  # of the class, too: Ctrl-C may end `__init__` before it is set

    def __init__(self, core: Core, run: Run[Any], after: int = 0) -> None:
        self.run = run
        self.cursor = after
        self.reconnects = 0
        self._core = core
        self._io = core.io
        self._last: Response | None = None  # the head of the latest one, also when it is closed
        self._waiting: deque[RunEvent] = deque()
        self._decoder = EventDecoder()
        self._gap = -1  # the id after which ids are known to be missing
        self._opened = False
        self._opened_at = 0.0
        self._events_here = 0  # events of the current connection
        self._failures = 0  # failures in a row
        self._done = False  # closed, or the last event was received
        self._unreadable: StefanBrainError | None = None  # told when what waits is handed out
        self._stopper = Stopper()
        self._calls: ClientCalls | None = core.client_calls.get(run.run_id)
        self._worked = False  # whether the calls of the events handed out were executed

    @property
    def request_id(self) -> str | None:
        """The id of the request of the latest connection; before the first, of that which the run was read with."""
        return self._last.headers.get("x-request-id") if self._last else self.run._request_id

    async def next(self) -> RunEvent | None:
        """The next event, None after the last. Raises `StefanBrainError` when the stream cannot be resumed, and
        `JobTimeoutError` at the deadline."""
        while not (event := self.received()):
            if not await self.advance():
                return None
        return event

    def received(self) -> RunEvent | None:
        """The next event if it is here, else None: then `advance`."""
        if self._calls and not self._worked:
            return None
        # Ctrl-C may come between any two steps: an event leaves the queue only after the cursor has moved to it.
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
                self._calls.note(event)
        elif event.type == "run.status" and isinstance(status := event.payload.get("status"), str):
            self.run = self.run.model_copy(update={"status": status})
        self.cursor = event.id
        self._worked = False
        return event

    def _end(self, run: Run[Any]) -> None:
        self.run = run
        if run.status != "failed":  # a failed run may be resumed
            self._core.client_calls.pop(run.run_id, None)

    async def final_status(self) -> Run[Any]:
        """Read to the end and return the ended run. A closed stream polls the run every 3 s instead.

        Raises as `next`.
        """
        while await self.next():
            pass
        while not self.run.ended:
            await self._in_time()
            run = await self._core.ask(Run, ApiRequest("runs.get", {"run_id": self.run.run_id}))
            self.run = run.with_shape(self.run.shape)
            await self._core.sleep(0 if self.run.ended else RUN_POLL_SECONDS)
        return self.run

    async def close(self) -> None:
        self._done = True
        self._stopper.stop()
        self._waiting.clear()
        await self._hang_up()
        if self._calls:
            await self._calls.leave()

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
            raise described(error, self._last) if self._last else error from None

    async def _complete_the_end(self) -> None:
        """Fetch the run's record and put it into the last event, which is waiting and was too small to carry it."""
        end = self._waiting[0]
        try:
            run = await self._core.ask(Run, self._request("runs.get"))
        except APIConnectionError:
            if self._stopper.stopped:
                return
            raise
        if self._waiting:  # empty if another thread closed the stream meanwhile
            self._waiting[0] = replace(end, payload={"run": run.model_dump(mode="json")})

    async def advance(self) -> bool:
        """One step towards the next event: execute calls of it, connect, or read. False after the last event.

        Raises as `next`.
        """
        if self._calls:
            before = self._worked
            await self._calls.work()
            self._worked = True
            if not before:
                return True
        if self._waiting:
            await self._complete_the_end()
            return True
        if self._done:
            return False
        if self._response is None:
            await self._in_time()  # out here: within, its error would be taken for that of a closed stream
        try:
            if self._unreadable:
                raise self._unreadable
            if self._response is None:
                await self._connect()
            # As little as possible for each chunk, which may be far smaller than an event: this is most of its cost.
            read, decode, response = self._io.read, self._decoder.feed, self._response
            while response and not self._waiting and not self._done:
                chunk = await read(response)
                if self._done:  # closed by another thread
                    break
                if self._failures and self._io.now() - self._opened_at > STREAM_PING_SECONDS:
                    self._failures = 0  # a connection that outlasted a ping works, even if the run has no events
                if chunk is None:
                    await self._at_end(response)
                elif (frames := decode(chunk)) and not self._queue(frames):
                    await self._take_page()
                    break
                if self._calls:
                    break  # answers that could not be sent before are sent now
        except StefanBrainError as error:
            if not self._done:  # if another thread closed the stream meanwhile, a broken read is no failure
                await self._dropped(described(error, self._response) if self._response else error)
        except BaseException:
            # An interrupt may have come between reading and queueing. Drop the connection: the next one asks for all
            # events after the cursor again, so none is lost.
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
            wrong = "The address answered something other than an event stream; check the base URL."
            raise described(StefanBrainError(wrong), response)

    def _request(self, name: str, **query: int) -> ApiRequest:
        """A request that `close` ends, also from another thread."""
        return ApiRequest(name, {"run_id": self.run.run_id}, query, stopper=self._stopper)

    def _queue(self, frames: list[ServerSentEvent]) -> bool:
        """Queue the events that are new. False at one before which events are missing.

        One that cannot be read is told by `advance`, after those before it were handed out.
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
        """Take the next events from a page, which has them in order, and connect again after it: ids have no gaps, so
        the stream left events out or sends them out of order."""
        await self._hang_up()
        last = self._waiting[-1].id if self._waiting else self.cursor
        page = await self._core.ask(EventPage, self._request("runs.events", after=last))
        if self._done:  # closed by another thread
            return
        self._gap = last  # if there is nothing between, there never was
        for event in sorted(page.data, key=attrgetter("id")):
            if event.id > last:
                last = event.id
                self._add(event)

    async def _at_end(self, response: Response) -> None:
        """Handle a connection that ended without `run.ended`. Raises `APIConnectionError` if events are missing.

        If it brought no event, ask whether any is left: a stream that begins after the last event is empty.
        """
        if not self._events_here:
            page = await self._core.ask(EventPage, self._request("runs.events", after=self.cursor, limit=1))
            self._done = not page.data and page.status in TERMINAL
        if not self._done:
            raise described(APIConnectionError("The event stream ended before the run."), response)

    async def _dropped(self, error: StefanBrainError) -> None:
        """Wait before the next connection. Raises `error` after `max_retries` failures in a row; an event resets the
        count."""
        await self._hang_up()
        if error.late:
            raise after(self._out_of_time(), error)
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
        return described(late, self._last) if self._last else late


def _event(frame: ServerSentEvent) -> RunEvent:
    try:
        try:
            # A third of the time of `json.loads`, but it refuses lone surrogates and depths that `json.loads` accepts.
            data = from_json(frame.data)
        except ValueError:
            # As `json.loads` does with bytes, but for the encodings that no stream of events has.
            data = json.loads(frame.data.decode("utf-8", "surrogatepass"))
        return parse_event(data)
    except (ValueError, RecursionError) as wrong:
        what = f"The stream sent an event that cannot be read (after id {frame.id or 0}): {wrong}."
        raise StefanBrainError(what) from None
