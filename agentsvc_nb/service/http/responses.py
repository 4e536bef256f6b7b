"""Create responses: models as JSON, failures as the error envelope, and a run's event stream (docs/api/events.md)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

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
    """Return the error envelope, the body of every non-2xx response (docs/api/errors.md "Envelope")."""
    response = answer_json(error.envelope(), error.row.status)
    response.headers.update(error.headers)
    return response


# Event streams.

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def frame(event: StoredEvent) -> str:
    """Return the event as a frame of a server-sent stream.

    The JSON of an event has no line breaks, so it needs only one `data:` line.
    """
    return f"id: {event.id}\nevent: {event.type}\ndata: {event.json()}\n\n"


class GeneratorResponse(StreamingResponse):
    """A response that closes its generator at once if the client disconnects between two pieces."""

    body_iterator: AsyncGenerator[bytes]

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self.body_iterator):
            await super().stream_response(send)


class EventStreamResponse(GeneratorResponse):
    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[bytes]) -> None:
        super().__init__(frames, headers=_HEADERS)


@dataclass(frozen=True, slots=True)
class _EventPage:
    """The frames of some of a run's events, after a given event."""

    frames: bytes
    last: int
    """The id of the page's last event or, if the page is empty, of the given event."""
    whole: bool
    """True if the database has no events after this page."""
    ended: bool
    """True if no further events will be written, because the run has ended or was deleted."""


@dataclass(frozen=True, slots=True)
class _SharedRead:
    """One read of a run's events, whose result several of the run's followers use."""

    after: int
    """The id of the event after which the read begins."""
    signals: int
    """The number of signals that had been sent when the read began."""
    page: asyncio.Task[_EventPage]


class Streams:
    """The event streams of all runs. A follower is one open stream of a run.

    Followers of a run that need the events after the same event share one read and one encoding.
    """

    def __init__(self, use_case: UseCaseContext) -> None:
        self._use_case = use_case
        self._followers: Counter[str] = Counter()
        self._reads: dict[str, _SharedRead] = {}

    @property
    def followers(self) -> int:
        """The number of open streams."""
        return self._followers.total()

    def response(self, run_id: str, after: int, *, silent: bool = False) -> EventStreamResponse:
        """Stream a run's events after the id `after` until the run ends. With `silent`, send only headers."""
        return EventStreamResponse(self._stream(run_id, after, silent))

    async def _stream(self, run_id: str, after: int, silent: bool) -> AsyncGenerator[bytes]:
        """Yield the run's frames until it ends. Subscribe before reading, so that the wait misses no event."""
        if silent:
            return
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
                        async with self._use_case.more_events:
                            page = await self._page(run_id, after)
                            await asyncio.sleep(0)  # let other tasks run before the next such read
                        continue
                    if page.ended:
                        return
                    if not await watch.wait(max(0.0, ping_at - time())):
                        self._reads.pop(run_id, None)  # a signal may be lost, so read the database now and then
                        yield b": ping\n\n"
                        ping_at = time() + STREAM_PING_SECONDS
                    page = await self._page(run_id, after)
        finally:
            self._followers[run_id] -= 1
            if not self._followers[run_id]:
                del self._followers[run_id]
                self._reads.pop(run_id, None)

    async def _page(self, run_id: str, after: int) -> _EventPage:
        """Return the events after the id `after`.

        Use the shared read if it begins after the same id and no signal has been sent since it began.
        """
        sent = self._use_case.signals.sent
        shared = self._reads.get(run_id)
        if shared is None or (shared.after, shared.signals) != (after, sent):
            shared = _SharedRead(after, sent, asyncio.create_task(self._read(run_id, after)))
            self._reads[run_id] = shared
        try:
            return await asyncio.shield(shared.page)  # other followers still need the read if this one disconnects
        except Exception:
            if self._reads.get(run_id) is shared:
                del self._reads[run_id]
            raise

    async def _read(self, run_id: str, after: int) -> _EventPage:
        batch = await runs.read_events(self._use_case, run_id, after)
        frames = "".join(frame(event) for event in batch.events)
        last = batch.events[-1].id if batch.events else after
        return _EventPage(frames.encode(), last, not batch.more, batch.ended)
