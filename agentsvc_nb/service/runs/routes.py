"""Define the HTTP routes of runs (docs/api/runs.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import ValidationError
from starlette.responses import Response

from agentsvc_nb.service import payloads
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import MultipartForm, MultipartLimits, check_length, is_multipart, read_form
from agentsvc_nb.service.http.responses import JSON, answer, answer_json
from agentsvc_nb.service.runs import (
    call_results,
    client_calls,
    resuming,
    runs,
    standing,
    start_request,
    tool_calls,
    undoing,
)
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.runs.resuming import Resume
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.tools import port
from agentsvc_nb.wire.limits import (
    EVENT_ID_MAX,
    EVENT_PAYLOAD_BYTES,
    EVENTS_PAGE_DEFAULT,
    JSON_MAX_BYTES,
    JSON_VALUES_MAX,
    PAGE_MAX,
)
from agentsvc_nb.wire.runs import (
    TERMINAL,
    CallApproval,
    Lasts,
    NewClientTool,
    NewLimits,
    NewUndo,
    RaisedLimit,
    RevokedApproval,
    RunStatus,
    RunUndo,
    SentList,
    StandingApprovalList,
    Verdict,
)


async def runs_start(context: RequestContext) -> Response:
    rules = MultipartLimits("attachment_too_large", "too_many_attachments", context.services.settings.max_file_bytes)
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
    del given  # free the memory of a large message while the request waits
    if sync:
        record = await runs.wait(
            context.use_case, record, held_until(context, context.services.settings.sync_hold_seconds)
        )
    return _started(context, record)


async def runs_list(context: RequestContext) -> Response:
    return answer(await runs.list_runs(context.use_case, bodies.list_query(context, get_args(RunStatus))))


async def runs_get(context: RequestContext) -> Response:
    return answer_json(await runs.get_json(context.use_case, context.account, context.path("run_id")))


async def runs_sent(context: RequestContext) -> Response:
    return answer(SentList(data=await runs.list_sent(context.use_case, context.account, context.path("run_id"))))


async def runs_cancel(context: RequestContext) -> Response:
    return answer_json((await cancel_run(context)).document(context.origin))


async def runs_resume(context: RequestContext) -> Response:
    limits = start_request.to_limits(start_request.parse(NewLimits, await bodies.read_object(context, optional=True)))
    given = Resume(context.path("run_id"), context.received_at, bodies.idempotency_key(context), limits)
    return _started(context, await resuming.resume(context.use_case, context.key, given))


async def runs_undo(context: RequestContext) -> Response:
    document = await bodies.read_object(context, optional=True)
    return answer(await undo_run(context, await bodies.validate_body(context, NewUndo, document, "invalid_json")))


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
    """Return the time (ms) by which the service must respond: `seconds` after it received the request."""
    return context.received_at + seconds * 1000


def _started(context: RequestContext, record: RunRecord) -> Response:
    """Return 200 with the final run if the run has ended. Otherwise return 202 with the run in the status `queued`."""
    run = record.document(context.origin)
    if record.status in TERMINAL:
        return answer_json(run)
    return answer_json({**run, "status": "queued"}, 202)


async def named_run(context: RequestContext) -> RunRecord:
    """Return the run whose id is in the request's path. Raises what `runs.get` raises."""
    return await runs.get(context.use_case, context.account, context.path("run_id"))


async def cancel_run(context: RequestContext) -> RunRecord:
    """Cancel the run whose id is in the request's path."""
    return await runs.cancel(context.use_case, context.account, context.path("run_id"))


async def undo_run(context: RequestContext, given: NewUndo) -> RunUndo:
    """Undo or redo the file changes of the run whose id is in the request's path. Raises what `undoing.undo` raises."""
    run_id, redo, force = context.path("run_id"), bool(given.redo), bool(given.force)
    return await undoing.undo(context.use_case, context.account, run_id, redo=redo, force=force)


async def raise_limit(context: RequestContext, document: dict[str, Any]) -> RunRecord:
    """Raise a run's cost limit. Raises `invalid_limits`, and what `runs.raise_limit` raises."""
    given = start_request.to_microcents(start_request.parse(RaisedLimit, document).max_cents)
    return await runs.raise_limit(context.use_case, context.account, context.path("run_id"), given)


async def decide_approval(context: RequestContext, document: dict[str, Any]) -> CallApproval:
    """Approve or refuse a tool call. Raises `invalid_approval`, and what `tool_calls.decide` raises."""
    given = await bodies.validate_body(context, Verdict, document, "invalid_approval")
    run_id, call_id = context.path("run_id"), context.path("call_id")
    if given.input is not None or given.standing is not None:
        call, client_tools = await tool_calls.get_with_client_tools(context.use_case, context.account, run_id, call_id)
        if given.input is not None and (fault := await _input_fault(context, call, client_tools, given)):
            raise ApiError("invalid_approval", fault, field="input")
        names = [tool.name for tool in client_tools]
        if given.standing is not None and (fault := _standing_fault(context, call, names, given)):
            raise ApiError("invalid_approval", fault, field="standing")
    return await tool_calls.decide(context.use_case, context.account, run_id, call_id, given)


async def _input_fault(
    context: RequestContext, call: CallRecord, client_tools: Sequence[NewClientTool], given: Verdict
) -> str | None:
    """Return why the changed input is invalid, or None.

    Accept any input of an MCP tool here, because the runner checks it before the call.
    """
    assert given.input is not None
    # The input must fit into an event, together with these fields.
    fields = {"call_id": call.call_id, "tool": call.tool, "expires_at": rfc3339(0), **given.model_dump()}
    if not payloads.fits(fields):
        return f"The changed input is too large: an event must not exceed {EVENT_PAYLOAD_BYTES:,} bytes."
    if schema := next((tool.input_schema for tool in client_tools if tool.name == call.tool), None):
        return await context.services.schemas.check_answer(json.dumps(given.input, ensure_ascii=False), schema)
    if tool := context.services.run_tools.get(call.tool):
        try:
            await bodies.run_check(context, port.validate, tool.Input, given.input)
        except ValidationError as error:
            return port.describe_invalid_field(error)[1]
    return None


def _standing_fault(
    context: RequestContext, call: CallRecord, client_tools: Sequence[str], given: Verdict
) -> str | None:
    """Return why the service can't store this standing approval, or None if it can."""
    assert given.standing is not None
    if given.standing.lasts not in (allowed := durations(context, call.tool, client_tools)):
        return "`lasts` must be `run` for a tool of the caller." if allowed else standing.NOT_ALLOWED
    return standing.check_folder(given.standing, call.input if given.input is None else given.input)


def durations(context: RequestContext, tool: str, client_tools: Sequence[str]) -> Sequence[Lasts]:
    """Return how long a standing approval of the tool may last.

    Return () if the tool allows no standing approval. This is so for all tools of MCP servers.
    """
    if tool in client_tools:
        return standing.FOR_RUN
    own = context.services.run_tools.get(tool)
    return () if own is None else standing.durations(own)


async def runs_standing_approvals(context: RequestContext) -> Response:
    found = await standing.list_all(context.use_case, context.account)
    return answer(StandingApprovalList(data=[each.public() for each in found]))


async def runs_revoke_approval(context: RequestContext) -> Response:
    approval_id = context.path("approval_id")
    await standing.revoke(context.use_case, context.account, approval_id)
    return answer(RevokedApproval(id=approval_id))


async def runs_events(context: RequestContext) -> Response:
    """Return a page of the run's events, or a server-sent stream of them if the client accepts one."""
    after = bodies.integer(context, "after", 0, 0, EVENT_ID_MAX)
    cursor = bodies.last_event_id(context)
    if bodies.accepts(context, "text/event-stream"):
        silent = context.request.method == "HEAD"
        # Check the account here, because this route has no rate limit, which would check the account. Otherwise a
        # client of a suspended account could resume its stream.
        await context.services.access.check(context.request)
        run_id = await runs.check(context.use_case, context.account, context.path("run_id"))
        return context.services.streams.response(run_id, after if cursor is None else cursor, silent=silent)
    limit = bodies.integer(context, "limit", EVENTS_PAGE_DEFAULT, 1, PAGE_MAX)
    batch = await runs.list_events(context.use_case, context.account, context.path("run_id"), after, limit)
    # Send the payloads as they are stored, without parsing them. The document has the form of `wire.runs.EventPage`.
    data = ", ".join(event.json() for event in batch.events)
    last = batch.events[-1].id if batch.events else after
    rest = json.dumps({"next_after": last, "has_more": batch.more, "status": batch.status})
    return Response(f'{{"object": "list", "data": [{data}], {rest[1:]}', media_type=JSON)
