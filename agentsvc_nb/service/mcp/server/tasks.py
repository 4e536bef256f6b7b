"""Runs and jobs as tasks (the extension of 2026-07-28): the task is the run or the job, and its id is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.mcp.endpoint import results
from agentsvc_nb.service.mcp.endpoint.protocol import INTERNAL_ERROR, INVALID_PARAMS, Asked, Fault
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.runs import runs, tool_calls
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.runs import Verdict
from agentsvc_nb.wire.text import exact

Work = RunRecord | JobRecord

_KEY: Final = "approval_"
_BROKEN: Final = frozenset({"internal_error", "attempts_exhausted"})
"""Ends for which the service is at fault, and no tool."""
_VERDICT: Final = {
    "type": "object",
    "properties": {
        "confirm": {"type": "boolean", "title": "Make this call", "description": "No is told to the agent."},
        "reason": {"type": "string", "title": "Why not", "maxLength": 1_000},
    },
    "required": ["confirm"],
}


async def find(context: RequestContext, task_id: str) -> Work:
    """The account's run or job with this id. Raises `Fault`."""
    try:
        if ids.is_run(task_id):
            return await runs.get(context.use_case, context.account, task_id)
        found = await jobs.find(context.use_case, task_id)
    except ApiError:
        found = None
    if found is None or found.account != context.account:
        raise Fault(INVALID_PARAMS, "There is no task with this id.")
    if found.follows is not None:  # an ask that was made over the other routes
        return await runs.get(context.use_case, context.account, found.follows)
    return found


def id_of(work: Work) -> str:
    return work.run_id if isinstance(work, RunRecord) else work.job_id


def begun(context: RequestContext, work: Work) -> Message:
    """The task in place of a result. It is stored by now."""
    return {"resultType": "task", **_facts(context, work, "working")}


async def get(context: RequestContext, asked: Asked) -> Message:
    asked.require_tasks()
    return await state(context, asked, await find(context, asked.text("taskId")))


async def state(context: RequestContext, asked: Asked, work: Work) -> Message:
    """The task as it is now, with its result, its error or what it asks for."""
    if work.ended_at is None:
        calls = await waiting(context, work)
        if calls and asked.elicits and _may_decide(context):
            return {**_facts(context, work, "input_required"), "inputRequests": dict(map(_request, calls))}
        facts = _facts(context, work, "working")
        if calls and isinstance(work, RunRecord):  # until somebody approves elsewhere
            facts["statusMessage"] = results.waits(context, work, calls)[0]
        return facts
    if work.status == "cancelled":
        return _facts(context, work, "cancelled")
    if error := _protocol_error(work):
        return {**_facts(context, work, "failed"), "statusMessage": error["message"], "error": error}
    # Tasks are of the newer revision alone, where each result says its kind, that in a task too.
    ended = {"resultType": "complete", **await result(context, work)}
    return {**_facts(context, work, "completed"), "result": ended}


async def result(context: RequestContext, work: Work) -> Message:
    """What the call that began the work comes to."""
    return await (results.of_run(context, work) if isinstance(work, RunRecord) else results.of_job(context, work))


async def update(context: RequestContext, asked: Asked) -> Message:
    """Take the answers to what a task asks for. One that nothing asks for any more is left alone."""
    asked.require_tasks()
    work, given = await find(context, asked.text("taskId")), asked.mapping("inputResponses")
    if isinstance(work, RunRecord) and _may_decide(context):
        for key, response in given.items():
            verdict = _verdict(response)
            if key.startswith(_KEY) and verdict is not None:
                await _decide(context, work.run_id, key.removeprefix(_KEY), verdict)
    return {}


async def cancel(context: RequestContext, asked: Asked) -> Message:
    asked.require_tasks()
    await stop(context, await find(context, asked.text("taskId")))
    return {}


async def stop(context: RequestContext, work: Work) -> Work:
    """Request that the work stop; safe to repeat."""
    if isinstance(work, RunRecord):
        return await runs.cancel(context.use_case, context.account, work.run_id)
    return await jobs.cancel(context.use_case, context.account, work.job_id, ChatSelector(work.chat))


def _facts(context: RequestContext, work: Work, status: str) -> Message:
    # What began lately is asked for more often.
    age = context.now - work.created_at
    found: Message = {
        "taskId": id_of(work),
        "status": status,
        "createdAt": rfc3339(work.created_at),
        "lastUpdatedAt": rfc3339(work.ended_at or work.started_at or work.created_at),
        "ttlMs": None,
        "pollIntervalMs": max(200, min(age // 10, 5_000)),
    }
    if isinstance(work, JobRecord) and work.progress.get("message") and work.ended_at is None:
        found["statusMessage"] = str(work.progress["message"])
    return found


def _protocol_error(work: Work) -> dict[str, Any] | None:
    """The error of work that the service itself broke off."""
    if isinstance(work, RunRecord):
        code, message = work.last_error, work.last_error_message
    else:
        code, message = (work.error or {}).get("code"), (work.error or {}).get("message")
    if code not in _BROKEN:
        return None
    return {"code": INTERNAL_ERROR, "message": message or str(code), "data": {"code": code}}


def _may_decide(context: RequestContext) -> bool:
    """Whether the key may also approve calls over the other routes."""
    return not context.key.scopes or "runs" in context.key.scopes


async def waiting(context: RequestContext, work: Work) -> list[CallRecord]:
    """The calls of the work that wait for approval."""
    if not isinstance(work, RunRecord) or work.status != "running":
        return []
    return await tool_calls.waiting(context.use_case, work.run_id)


def _request(call: CallRecord) -> tuple[str, Message]:
    said = f"The agent asks to call {call.tool} with:\n{exact(call.input, 1, results.INPUT_CHARS)}"
    return _KEY + call.call_id, {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": said, "requestedSchema": _VERDICT},
    }


def _verdict(response: object) -> Verdict | None:
    """What a user decided; None for one who only closed the form."""
    match response:
        case {"action": "accept", "content": {"confirm": bool(confirm), **rest}}:
            reason = rest.get("reason")
            return Verdict(approved=confirm, reason=reason[:1_000] if isinstance(reason, str) else None)
        case {"action": "decline"}:
            return Verdict(approved=False)
    return None


async def _decide(context: RequestContext, run_id: str, call_id: str, verdict: Verdict) -> None:
    try:
        await tool_calls.decide(context.use_case, context.account, run_id, call_id, verdict)
    except ApiError as error:
        if error.row.code not in ("call_not_found", "call_not_waiting"):
            raise


def progress(work: Work) -> tuple[float, float | None, str]:
    """How far the work is: steps done, of how many if that is known, and what is done now."""
    if isinstance(work, RunRecord):
        return float(work.last_event), None, work.status
    told: Mapping[str, Any] = work.progress
    return float(told.get("done") or 0), told.get("total"), str(told.get("message") or work.status)
