"""What endpoints and pages share: a run that the path names, its cancellation, approvals and events; a file's bytes."""

from __future__ import annotations

from typing import Any

from starlette.responses import FileResponse, Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.records.runs import RunRecord
from agentsvc_nb.service.usecases import runs as run_usecases
from agentsvc_nb.wire.limits import EVENT_ID_MAX, EVENTS_PAGE_DEFAULT, PAGE_MAX
from agentsvc_nb.wire.runs import CallApproval, Verdict


def named_run(context: RequestContext) -> RunRecord:
    """The run that the path names."""
    account, run_id = context.account, context.path("run_id")
    return context.read_single(lambda tx: run_usecases.get(tx, account, run_id))


async def cancel_run(context: RequestContext) -> RunRecord:
    """Cancel the run that the path names, and wake its worker."""
    account, run_id, origin, now = context.account, context.path("run_id"), context.services.storage.origin, context.now
    record = await context.write(lambda tx: run_usecases.cancel(tx, account, run_id, origin, now))
    context.services.runs.interrupt(record.run_id)
    return record


async def decide_approval(context: RequestContext, document: dict[str, Any]) -> CallApproval:
    """Approve or refuse the tool call that the path names, and wake its run. Raises `invalid_approval`."""
    given = bodies.checked(Verdict, document, "invalid_approval")
    account, run_id, call_id = context.account, context.path("run_id"), context.path("call_id")
    verdict = await context.write(lambda tx: run_usecases.decide(tx, account, run_id, call_id, given))
    context.services.storage.signals.notify(verdict.run_id)
    return verdict


def run_events(context: RequestContext) -> Response:
    """The events of the run that the path names: a page, or a server-sent stream."""
    after = bodies.integer(context, "after", 0, 0, EVENT_ID_MAX)
    cursor = bodies.last_event_id(context)
    if bodies.accepts(context, "text/event-stream"):
        silent = context.request.method == "HEAD"
        context.services.access.check(context.request)  # else a stream that has ended for this would begin again
        run_id = named_run(context).run_id
        return context.services.streams.response(run_id, after if cursor is None else cursor, silent=silent)
    limit = bodies.integer(context, "limit", EVENTS_PAGE_DEFAULT, 1, PAGE_MAX)
    record = named_run(context)
    return answer(context.read(lambda tx: run_usecases.page(tx, record.run_id, record.status, after, limit)))


def file_response(context: RequestContext, record: FileRecord, disposition: str = "attachment") -> Response:
    """The file's bytes, whole or a range. Raises `range_not_satisfiable`."""
    found = context.services.blobs.path(record.sha256)
    if not found.is_file():
        raise ApiError("internal_error", "The file's content is missing from the data folder.")
    etag = f'"{record.sha256}"'
    if context.request.headers.get("if-range", etag) == etag:
        bodies.check_range(context, record.size_bytes)
    headers = {"ETag": etag, "X-Content-Type-Options": "nosniff"}
    return FileResponse(
        found,
        media_type=record.media_type,
        filename=record.file_name,
        content_disposition_type=disposition,
        headers=headers,
    )
