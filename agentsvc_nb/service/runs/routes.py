"""Runs over HTTP (docs/api/runs.md "Start")."""

from __future__ import annotations

import json
from typing import Any, get_args

from starlette.responses import Response

from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import MultipartForm, Rules, check_length, is_multipart, read_form
from agentsvc_nb.service.http.responses import JSON, answer, answer_json
from agentsvc_nb.service.runs import call_results, client_calls, resuming, runs, start_request, tool_calls, undoing
from agentsvc_nb.service.runs.resuming import Resume
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.wire.limits import (
    EVENT_ID_MAX,
    EVENTS_PAGE_DEFAULT,
    JSON_MAX_BYTES,
    JSON_VALUES_MAX,
    PAGE_MAX,
)
from agentsvc_nb.wire.runs import (
    TERMINAL,
    CallApproval,
    NewLimits,
    NewUndo,
    RaisedLimit,
    RunStatus,
    RunUndo,
    SentList,
    Verdict,
)


async def runs_start(context: RequestContext) -> Response:
    rules = Rules("attachment_too_large", "too_many_attachments", context.services.settings.max_file_bytes)
    form = MultipartForm()
    try:
        if is_multipart(context.request):
            form = await read_form(context.request, context.services.blobs, rules)
            document = await bodies.read_payload(context, form.payload, JSON_VALUES_MAX)
        else:
            check_length(context.request, rules)
            document = await bodies.read_object(context, JSON_MAX_BYTES, JSON_VALUES_MAX)
        given = await start_request.read(context, document, form)
    except BaseException:
        form.discard()
        raise
    sync = bool(document.get("sync"))
    del document, form
    record = await runs.start(context.use_case, context.key, given)
    del given  # a message of megabytes is not kept while the start is held
    if sync:
        record = await runs.wait(
            context.use_case, record, held_until(context, context.services.settings.sync_hold_seconds)
        )
    return _started(context, record)


async def runs_list(context: RequestContext) -> Response:
    return answer(await runs.page_of_account(context.use_case, bodies.list_query(context, get_args(RunStatus))))


async def runs_get(context: RequestContext) -> Response:
    return answer_json(await runs.shown(context.use_case, context.account, context.path("run_id")))


async def runs_sent(context: RequestContext) -> Response:
    return answer(SentList(data=await runs.sent_by(context.use_case, context.account, context.path("run_id"))))


async def runs_cancel(context: RequestContext) -> Response:
    return answer_json((await cancel_run(context)).document(context.origin))


async def runs_resume(context: RequestContext) -> Response:
    limits = start_request.limits(start_request.fields(NewLimits, await bodies.read_object(context, optional=True)))
    given = Resume(context.path("run_id"), context.received_at, bodies.idempotency_key(context), limits)
    return _started(context, await resuming.resume(context.use_case, context.key, given))


async def runs_undo(context: RequestContext) -> Response:
    document = await bodies.read_object(context, optional=True)
    return answer(await undo_run(context, await bodies.checked(context, NewUndo, document, "invalid_json")))


async def runs_raise_limit(context: RequestContext) -> Response:
    return answer_json((await raise_limit(context, await bodies.read_object(context))).document(context.origin))


async def runs_approve(context: RequestContext) -> Response:
    return answer(await decide_approval(context, await bodies.read_object(context)))


async def runs_answer(context: RequestContext) -> Response:
    run_id, call_id = context.path("run_id"), context.path("call_id")
    given = await call_results.read(context)
    if given is None:
        return answer(await client_calls.prolong(context.use_case, context.key, run_id, call_id))
    return answer(await client_calls.answer(context.use_case, context.key, run_id, call_id, given))


def held_until(context: RequestContext, seconds: float) -> float:
    """The time (ms) until which the request is held: `seconds` after its receipt (docs/api/runs.md)."""
    return context.received_at + seconds * 1000


def _started(context: RequestContext, record: RunRecord) -> Response:
    """200 with the final record once the run has ended, else the 202 handle."""
    run = record.document(context.origin)
    if record.status in TERMINAL:
        return answer_json(run)
    return answer_json({**run, "status": "queued"}, 202)


async def named_run(context: RequestContext) -> RunRecord:
    """The run that the path names. Raises what `runs.get` raises."""
    return await runs.get(context.use_case, context.account, context.path("run_id"))


async def cancel_run(context: RequestContext) -> RunRecord:
    """Cancel the run that the path names."""
    return await runs.cancel(context.use_case, context.account, context.path("run_id"))


async def undo_run(context: RequestContext, given: NewUndo) -> RunUndo:
    """Undo the file changes of the run that the path names, or that undo. Raises what `undoing.undo` raises."""
    run_id, redo, force = context.path("run_id"), bool(given.redo), bool(given.force)
    return await undoing.undo(context.use_case, context.account, run_id, redo=redo, force=force)


async def raise_limit(context: RequestContext, document: dict[str, Any]) -> RunRecord:
    """Raise what the run that the path names may cost. Raises `invalid_limits`, and what `runs.raise_limit` raises."""
    given = start_request.microcents(start_request.fields(RaisedLimit, document).max_cents)
    return await runs.raise_limit(context.use_case, context.account, context.path("run_id"), given)


async def decide_approval(context: RequestContext, document: dict[str, Any]) -> CallApproval:
    """Approve or refuse the tool call that the path names. Raises `invalid_approval`, and what `tool_calls.decide`
    raises."""
    given = await bodies.checked(context, Verdict, document, "invalid_approval")
    run_id, call_id = context.path("run_id"), context.path("call_id")
    return await tool_calls.decide(context.use_case, context.account, run_id, call_id, given)


async def runs_events(context: RequestContext) -> Response:
    """The events of the run that the path names: a page, or a server-sent stream."""
    after = bodies.integer(context, "after", 0, 0, EVENT_ID_MAX)
    cursor = bodies.last_event_id(context)
    if bodies.accepts(context, "text/event-stream"):
        silent = context.request.method == "HEAD"
        # This route is not rate-limited, so the account was not checked with the key. Without this check a client could
        # resume a stream that was ended because the account was suspended.
        await context.services.access.check(context.request)
        run_id = await runs.check(context.use_case, context.account, context.path("run_id"))
        return context.services.streams.response(run_id, after if cursor is None else cursor, silent=silent)
    limit = bodies.integer(context, "limit", EVENTS_PAGE_DEFAULT, 1, PAGE_MAX)
    batch = await runs.page(context.use_case, context.account, context.path("run_id"), after, limit)
    # A `wire.runs.EventPage`; payloads are passed on as they are stored.
    data = ", ".join(event.json() for event in batch.events)
    last = batch.events[-1].id if batch.events else after
    rest = json.dumps({"next_after": last, "has_more": batch.more, "status": batch.status})
    return Response(f'{{"object": "list", "data": [{data}], {rest[1:]}', media_type=JSON)
