"""A run's events as a server-sent stream (contract §3)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from functools import partial

from starlette.responses import StreamingResponse

from agentsvc_nb.service.records import runs
from agentsvc_nb.service.work.storage import Storage
from agentsvc_nb.wire.events import Event
from agentsvc_nb.wire.limits import PAGE_MAX, STREAM_PING_SECONDS, STREAM_RETRY_MS
from agentsvc_nb.wire.runs import TERMINAL

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def stream(storage: Storage, run_id: str, after: int) -> StreamingResponse:
    return StreamingResponse(_frames(storage, run_id, after), media_type="text/event-stream", headers=_HEADERS)


def frame(event: Event) -> str:
    """One event as a frame; JSON holds no line break, so one `data:` line is enough."""
    return f"id: {event.id}\nevent: {event.type}\ndata: {json.dumps(asdict(event), ensure_ascii=False)}\n\n"


async def _frames(storage: Storage, run_id: str, after: int) -> AsyncIterator[str]:
    """Subscribe, read, wait: what is written between the read and the wait wakes the wait."""
    yield f"retry: {STREAM_RETRY_MS}\n\n"
    with storage.signals.watch(run_id) as watch:
        while not storage.signals.stopping:
            run = storage.db.read(lambda tx: runs.get(tx, run_id))
            found = storage.db.read(partial(runs.events, run_id=run_id, after=after, limit=PAGE_MAX))
            if found:
                yield "".join(frame(event) for event in found)
                after = found[-1].id
            elif run is None or run.status in TERMINAL:
                return
            elif not await watch.wait(STREAM_PING_SECONDS):
                yield ": ping\n\n"
