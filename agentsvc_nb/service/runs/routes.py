"""Runs over HTTP (docs/api/runs.md "Start")."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any, get_args

from starlette.responses import Response

from agentsvc_nb.agents import scripted
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Content
from agentsvc_nb.service.http import bodies, models
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import MultipartForm, Rules, check_length, is_multipart, read_form
from agentsvc_nb.service.http.responses import JSON, answer, answer_json
from agentsvc_nb.service.runs import call_results, client_calls, resuming, runs, start_fields, tool_calls
from agentsvc_nb.service.runs.resuming import Resume
from agentsvc_nb.service.runs.run_records import RunLimits, RunRecord
from agentsvc_nb.wire.limits import (
    EVENT_ID_MAX,
    EVENTS_PAGE_DEFAULT,
    HOSTED_RUN_CENTS,
    JSON_MAX_BYTES,
    JSON_VALUES_MAX,
    PAGE_MAX,
)
from agentsvc_nb.wire.runs import CENT, TERMINAL, CallApproval, RunStatus, SentList, Verdict


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
        given = await validated(context, document, form)
    except BaseException:
        form.discard()
        raise
    sync = bodies.sync(document)
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
    limits = start_fields.limits(await bodies.read_object(context, optional=True))
    given = Resume(context.path("run_id"), context.received_at, bodies.idempotency_key(context), limits)
    return _started(context, await resuming.resume(context.use_case, context.key, given))


async def runs_approve(context: RequestContext) -> Response:
    return answer(await decide_approval(context, await bodies.read_object(context)))


async def runs_answer(context: RequestContext) -> Response:
    run_id, call_id = context.path("run_id"), context.path("call_id")
    given = await call_results.read(context)
    if given is None:
        return answer(await client_calls.prolong(context.use_case, context.key, run_id, call_id))
    return answer(await client_calls.answer(context.use_case, context.key, run_id, call_id, given))


async def runs_events(context: RequestContext) -> Response:
    return await run_events(context)


async def validated(context: RequestContext, document: bodies.Document, form: MultipartForm) -> runs.Start:
    """The validated start; its fields are checked in the order of the table in docs/api/runs.md "Start"."""
    message = bodies.message(document)
    where = bodies.chat_of_body(document)
    files_from = start_fields.files_from(document, where)
    bodies.sync(document)
    bodies.check_on_busy(document)
    config = await bodies.output_config(context, document)
    limits = start_fields.limits(document)
    named, effort = start_fields.choice(context, document)
    client_tools = await start_fields.client_tools(context, document)
    upload_ids = bodies.file_ids(document, len(form.files))
    key = bodies.idempotency_key(context)
    model = named or context.services.settings.offered[0]
    await check_script(context, message, model)
    # Files last: what another field refuses is never kept.
    contents = [*await staged(context, upload_ids), *await _attached(context, form)]
    unavailable = await models.why_unavailable(context, named) if named else None
    return runs.Start(
        message,
        where,
        model,
        context.received_at,
        config,
        contents,
        key,
        allowed(context, limits, model),
        effort,
        unavailable,
        client_tools,
        files_from,
    )


def allowed(context: RequestContext, given: RunLimits, model: str) -> RunLimits:
    """The limits of a run; on a hosted model some money, if the start names none."""
    if given.max_microcents is None and getattr(context.services.models[model], "hosted", False):
        return replace(given, max_microcents=HOSTED_RUN_CENTS * CENT)
    return given


async def check_script(context: RequestContext, message: str, model: str) -> None:
    """Raises the error that a script demands for its own start, with the model `scripted` only (docs/api/models.md
    "scripted")."""
    if model != "scripted":
        return
    if len(message) > runs.LONG_CHARS:
        refused = await asyncio.to_thread(scripted.refusal, message)
    else:
        refused = scripted.refusal(message)
    if refused:
        raise ApiError(refused)


async def _attached(context: RequestContext, form: MultipartForm) -> list[Content]:
    await form.keep()
    return [await context.services.storage.describe(name, blob) for name, blob in form.files]


async def staged(context: RequestContext, upload_ids: list[str]) -> list[Content]:
    """The contents of the staged files with these ids. Raises `upload_not_found`."""
    if not upload_ids:
        return []
    account, now, storage = context.key.account, context.received_at, context.services.storage
    records = await files.find_staged(context.use_case, account, upload_ids, now)
    return [await storage.describe_stored(record) for record in records]


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
        run_id = await runs.check(context.use_case, context.account, context.path("run_id"))
        return context.services.streams.response(run_id, after if cursor is None else cursor, silent=silent)
    limit = bodies.integer(context, "limit", EVENTS_PAGE_DEFAULT, 1, PAGE_MAX)
    batch = await runs.page(context.use_case, context.account, context.path("run_id"), after, limit)
    return _event_page(batch, after)


def _event_page(batch: runs.EventBatch, after: int) -> Response:
    """The events as a `wire.runs.EventPage`; their payloads are passed on as they are stored."""
    data = ", ".join(event.json() for event in batch.events)
    last = batch.events[-1].id if batch.events else after
    rest = json.dumps({"next_after": last, "has_more": batch.more, "status": batch.status})
    return Response(f'{{"object": "list", "data": [{data}], {rest[1:]}', media_type=JSON)
