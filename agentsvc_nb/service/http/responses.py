"""Responses: models as JSON, failures as the error envelope, and a run's events as a server-sent stream
(docs/api/events.md "The stream")."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.payloads import StoredEvent
from agentsvc_nb.service.runs import runs
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.limits import STREAM_PING_SECONDS, STREAM_RETRY_MS
from agentsvc_nb.wire.models import Model

JSON = "application/json"


def answer(model: Model, status: int = 200) -> Response:
    return Response(model.model_dump_json(), status, media_type=JSON)


def answer_json(document: dict[str, Any], status: int = 200) -> Response:
    return Response(to_json(document, inf_nan_mode="null"), status, media_type=JSON)


def refusal(error: ApiError) -> Response:
    """The error envelope, which every non-2xx answer has (docs/api/errors.md "Envelope")."""
    response = answer_json(error.envelope(), error.row.status)
    response.headers.update(error.headers)
    return response


# Event streams.

FULL_PAGES: Final = 64
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def frame(event: StoredEvent) -> str:
    """One event as a frame. Its JSON has no line breaks, so one `data:` line is enough."""
    return f"id: {event.id}\nevent: {event.type}\ndata: {event.json()}\n\n"


@dataclass(frozen=True, slots=True)
class _EventPage:
    """The frames of events after the id `after`, read when `signals` signals had been sent.

    `last` is the id of the last event, `whole` says that no more were stored, `ended` that none will follow.
    """

    after: int
    signals: int
    frames: bytes
    last: int
    whole: bool
    ended: bool


class EventStreamResponse(Response):
    """Send frames until they end or the client goes away.

    Starlette's `StreamingResponse` does the same with a task group, which costs an idle stream 6 kB more.
    """

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[bytes]) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(_HEADERS)
        self.body_iterator = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        watch = asyncio.create_task(_cancel_at_disconnect(task, receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with aclosing(self.body_iterator):
                async for frame in self.body_iterator:
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except asyncio.CancelledError:
            if not watch.done() or task.uncancel():  # somebody else cancelled it
                raise
        finally:
            watch.cancel()


async def _cancel_at_disconnect(task: asyncio.Task[None], receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    task.cancel()


class Streams:
    """The event streams of all runs. Followers of a run that have the same cursor share one read and one encoding."""

    def __init__(self, use_case: UseCaseContext) -> None:
        self._use_case = use_case
        self._followers: Counter[str] = Counter()
        self._pages: dict[str, _EventPage] = {}
        self._reads: dict[tuple[str, int, int], asyncio.Task[_EventPage]] = {}
        """Reads under way, by run, cursor and the number of signals before them: of a thousand followers that one event
        has woken, one reads. Where reads take a while (PostgreSQL), all would have begun before the first had ended."""
        self._full: dict[tuple[str, int], _EventPage] = {}
        """The last pages that were followed by more, by run and cursor. They never change, and who follows a run from
        its start shares them with others who do."""

    @property
    def followers(self) -> int:
        """The number of open streams."""
        return self._followers.total()

    def response(self, run_id: str, after: int, *, silent: bool = False) -> EventStreamResponse:
        """The stream of a run's events after the id `after`, until the run ends. `silent`: the headers only, for a HEAD
        request, which would otherwise keep its connection open as long."""
        return EventStreamResponse(_no_frames() if silent else self._frames(run_id, after))

    async def _frames(self, run_id: str, after: int) -> AsyncGenerator[bytes]:
        """Subscribe, read, wait: an event that is written between the read and the wait ends the wait."""
        yield b"retry: %d\n\n" % STREAM_RETRY_MS
        signals = self._use_case.signals
        self._followers[run_id] += 1
        time = asyncio.get_running_loop().time
        ping_at = time() + STREAM_PING_SECONDS
        try:
            with signals.watch(run_id) as watch:
                page = await self._page(run_id, after)
                while not signals.stopping:
                    if page.frames:
                        yield page.frames
                        after = page.last
                        ping_at = time() + STREAM_PING_SECONDS
                    if not page.whole:
                        page = await self._next_page(run_id, after)
                        continue
                    if page.ended:
                        return
                    if not await watch.wait(max(0.0, ping_at - time())):
                        self._pages.pop(run_id, None)  # a signal is only a hint: read the database now and then
                        yield b": ping\n\n"
                        ping_at = time() + STREAM_PING_SECONDS
                    page = await self._page(run_id, after)
        finally:
            self._followers[run_id] -= 1
            if not self._followers[run_id]:
                del self._followers[run_id]
                self._pages.pop(run_id, None)

    async def _page(self, run_id: str, after: int) -> _EventPage:
        """The events after `after`: the shared page if it has this cursor and no signal was sent since, else a new
        read."""
        if (full := self._full.get((run_id, after))) is not None:
            return full
        page = self._pages.get(run_id)
        if page is None or page.after != after or page.signals != self._use_case.signals.sent:
            page = await self._read_once(run_id, after)
            if page.whole:
                self._pages[run_id] = page
            else:
                self._full[run_id, after] = page
                if len(self._full) > FULL_PAGES:
                    del self._full[next(iter(self._full))]
        return page

    async def _next_page(self, run_id: str, after: int) -> _EventPage:
        """`_page` for a follower that is behind, one such page at a time."""
        if (run_id, after) in self._full:
            await asyncio.sleep(0)  # others have their turn, also the news that this connection is lost
            return await self._page(run_id, after)
        async with self._use_case.more_events:
            page = await self._page(run_id, after)
            await asyncio.sleep(0)
            return page

    async def _read_once(self, run_id: str, after: int) -> _EventPage:
        key = (run_id, after, self._use_case.signals.sent)
        read = self._reads.get(key)
        if read is None:
            read = self._reads[key] = asyncio.create_task(self._read(run_id, after))
            read.add_done_callback(lambda _: self._reads.pop(key))
        return await asyncio.shield(read)  # the others wait for it, too, if this follower goes away

    async def _read(self, run_id: str, after: int) -> _EventPage:
        sent = self._use_case.signals.sent  # before the read, so that a write during it causes another read
        batch = await runs.events(self._use_case, run_id, after)
        frames = "".join(frame(event) for event in batch.events).encode()
        last = batch.events[-1].id if batch.events else after
        return _EventPage(after, sent, frames, last, not batch.more, batch.ended)


async def _no_frames() -> AsyncGenerator[bytes]:
    return
    yield
