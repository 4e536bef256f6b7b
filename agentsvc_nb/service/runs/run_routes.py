"""The handlers of the API: the function `runs_start` handles the route `runs.start` (`wire.routes`). Here is what they
share with the pages under `/app`: operations on the run that the path names, and the response with a file's bytes."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.http import bodies, contents
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import JSON
from agentsvc_nb.service.runs import runs as run_cases  # not `runs`, which is a module of this package
from agentsvc_nb.service.runs import tool_calls
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.wire.limits import EVENT_ID_MAX, EVENTS_PAGE_DEFAULT, PAGE_MAX
from agentsvc_nb.wire.runs import CallApproval, Verdict


async def named_run(context: RequestContext) -> RunRecord:
    """The run that the path names. Raises what `runs.get` raises."""
    return await run_cases.get(context.use_case, context.account, context.path("run_id"))


async def cancel_run(context: RequestContext) -> RunRecord:
    """Cancel the run that the path names."""
    return await run_cases.cancel(context.use_case, context.account, context.path("run_id"))


async def decide_approval(context: RequestContext, document: dict[str, Any]) -> CallApproval:
    """Approve or refuse the tool call that the path names. Raises `invalid_approval`, and what `tool_calls.decide`
    raises."""
    given = await bodies.checked(context, Verdict, document, "invalid_approval")
    run_id, call_id = context.path("run_id"), context.path("call_id")
    return await tool_calls.decide(context.use_case, context.account, run_id, call_id, given)


async def run_events(context: RequestContext) -> Response:
    """The events of the run that the path names: a page, or a server-sent stream."""
    after = bodies.integer(context, "after", 0, 0, EVENT_ID_MAX)
    cursor = bodies.last_event_id(context)
    if bodies.accepts(context, "text/event-stream"):
        silent = context.request.method == "HEAD"
        # This route is not rate-limited, so the account was not checked with the key. Without this check a client could
        # resume a stream that was ended because the account was suspended.
        await context.services.access.check(context.request)
        run_id = await run_cases.check(context.use_case, context.account, context.path("run_id"))
        return context.services.streams.response(run_id, after if cursor is None else cursor, silent=silent)
    limit = bodies.integer(context, "limit", EVENTS_PAGE_DEFAULT, 1, PAGE_MAX)
    batch = await run_cases.page(context.use_case, context.account, context.path("run_id"), after, limit)
    return _event_page(batch, after)


def _event_page(batch: run_cases.EventBatch, after: int) -> Response:
    """The events as a `wire.runs.EventPage`; their payloads are passed on as they are stored."""
    data = ", ".join(event.json() for event in batch.events)
    last = batch.events[-1].id if batch.events else after
    rest = json.dumps({"next_after": last, "has_more": batch.more, "status": batch.status})
    return Response(f'{{"object": "list", "data": [{data}], {rest[1:]}', media_type=JSON)


async def file_response(context: RequestContext, record: FileRecord, disposition: str = "attachment") -> Response:
    """The file's bytes, whole or a range. Raises `range_not_satisfiable`, and `BlobsUnavailable`."""
    etag = f'"{record.sha256}"'
    if context.request.headers.get("if-range", etag) == etag:
        bodies.check_range(context, record.size_bytes)
    return await contents.response(context, record, disposition, {"ETag": etag, "X-Content-Type-Options": "nosniff"})
