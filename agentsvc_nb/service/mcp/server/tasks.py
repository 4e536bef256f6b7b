"""Represent runs and jobs as MCP tasks (an extension of the revision 2026-07-28).

A task has the id of its run or job, which is called "work" here. For clients that do not support tasks, `follow`
streams the work's progress until its result.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Final

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.mcp.server import results
from agentsvc_nb.service.mcp.server.protocol import INTERNAL_ERROR, INVALID_PARAMS, Fault, McpRequest, notification
from agentsvc_nb.service.mcp.server.results import Work, work_id
from agentsvc_nb.service.ports import StoreBusy
from agentsvc_nb.service.runs import routes as run_routes
from agentsvc_nb.service.runs import runs, tool_calls
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import MCP_LISTEN_TASKS_MAX, STREAM_PING_SECONDS
from agentsvc_nb.wire.runs import Verdict
from agentsvc_nb.wire.text import exact

RETRY_SECONDS: Final = 1.0
"""How long to wait before the next read if the database is unavailable."""
_LISTEN_SECONDS: Final = 0.1
_KEY: Final = "approval_"
_SERVICE_FAULTS: Final = frozenset({"internal_error", "attempts_exhausted"})
_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_VERDICT: Final = {
    "type": "object",
    "properties": {
        "confirm": {
            "type": "boolean",
            "title": "Make this call",
            "description": "If you choose no, the agent learns that you refused.",
        },
        "reason": {"type": "string", "title": "Why not", "maxLength": 1_000},
    },
    "required": ["confirm"],
}


async def find(context: RequestContext, task_id: str) -> Work:
    """Return the run or job with this id. Raises `Fault` if the account has no such run or job."""
    try:
        if ids.is_run(task_id):
            return await runs.get(context.use_case, context.account, task_id)
        found = await jobs.find(context.use_case, task_id)
    except ApiError:
        found = None
    if found is None or found.account != context.account:
        raise Fault(INVALID_PARAMS, "There is no task with this id.")
    if found.follows is not None:  # a job of `ask`, submitted over another route, whose work is a run
        return await runs.get(context.use_case, context.account, found.follows)
    return found


def describe_new(context: RequestContext, work: Work) -> Message:
    """Return the MCP task for a run or job that has just been stored."""
    return {"resultType": "task", **_to_task(context, work, "working")}


async def get(context: RequestContext, request: McpRequest) -> Message:
    request.require_tasks()
    return await _read_task(context, request, await find(context, request.get_text("taskId")))


async def update(context: RequestContext, request: McpRequest) -> Message:
    """Approve or refuse the task's waiting calls according to the user's answers.

    Ignore answers that match no waiting call.
    """
    request.require_tasks()
    work, responses = await find(context, request.get_text("taskId")), request.get_object("inputResponses")
    if isinstance(work, RunRecord) and _may_approve(context):
        for key, response in responses.items():
            verdict = _parse_verdict(response)
            if not key.startswith(_KEY) or verdict is None:
                continue
            try:
                call_id = key.removeprefix(_KEY)
                await tool_calls.decide(context.use_case, context.account, work.run_id, call_id, verdict)
            except ApiError as error:
                if error.row.code not in ("call_not_found", "call_not_waiting"):
                    raise
    return {}


async def cancel(context: RequestContext, request: McpRequest) -> Message:
    request.require_tasks()
    work = await find(context, request.get_text("taskId"))
    if isinstance(work, RunRecord):
        await runs.cancel(context.use_case, context.account, work.run_id)
    else:
        await jobs.cancel(context.use_case, context.account, work.job_id, ChatSelector(work.chat))
    return {}


async def follow(context: RequestContext, request: McpRequest, work: Work) -> AsyncGenerator[Message | None]:
    """Yield progress messages, if the client requested them, and finally the response.

    If the work ends within `ask_handle_seconds`, the response contains its result. Otherwise, or if a call waits for
    approval, the response says how to get the result. If the client disconnects, the work continues.

    Each None in between keeps the connection alive.
    """
    token, sent = request.progress_token, -1.0
    id = work_id(work)
    until = run_routes.held_until(context, context.services.settings.ask_handle_seconds)
    signals = context.services.use_case.signals
    with signals.watch(id) as watch:
        while True:
            left = (until - context.now) / 1000
            due = left <= 0 or signals.stopping
            try:
                work = await find(context, id)
                # Respond at once if a call waits for approval, because the client asks its user only after a response.
                due = due or work.ended_at is not None or bool(await results.find_pending_calls(context, work))
                answer = await results.build_work_result(context, work) if due else None
            except StoreBusy:
                if not due:
                    yield None
                    await watch.wait(min(left, RETRY_SECONDS))
                    continue
                answer = results.build_unfinished(work)
            if answer is not None:
                yield request.response(answer)
                return
            done, total, message = _get_progress(work)
            if token is not None and done > sent:
                sent = done
                shown = {"progressToken": token, "progress": done, "message": message}
                yield notification("notifications/progress", shown if total is None else {**shown, "total": total})
            if not await watch.wait(min(left, STREAM_PING_SECONDS)):
                yield None


async def subscribe(context: RequestContext, request: McpRequest) -> AsyncGenerator[Message | None]:
    """Return a stream of the requested tasks' changes. Ignore ids that belong to no task. Raises `Fault`."""
    wanted = request.get_object("notifications").get("taskIds") or []
    if wanted:
        request.require_tasks()
    if not isinstance(wanted, list) or not all(isinstance(id, str) for id in wanted):
        raise Fault(INVALID_PARAMS, "`taskIds` must be a list of strings.")
    if len(wanted) > MCP_LISTEN_TASKS_MAX:
        raise Fault(INVALID_PARAMS, f"One stream must not subscribe to more than {MCP_LISTEN_TASKS_MAX} tasks.")
    known = []
    for id in dict.fromkeys(wanted):
        with contextlib.suppress(Fault):
            await find(context, id)
            known.append(id)
    return _watch(context, request, known)


async def _watch(context: RequestContext, request: McpRequest, task_ids: list[str]) -> AsyncGenerator[Message | None]:
    """Yield each change of the tasks until the client disconnects or the service stops. None is a keep-alive."""
    meta = {_SUBSCRIPTION: request.id}
    agreed = {"taskIds": list(task_ids)} if task_ids else {}
    yield notification("notifications/subscriptions/acknowledged", {"_meta": meta, "notifications": agreed})
    signals, shown = context.services.use_case.signals, dict[str, object]()
    with contextlib.ExitStack() as watches:
        # Watch the tasks, because a process that shares a database polls only watched runs and jobs for changes.
        for id in task_ids:
            watches.enter_context(signals.watch(id))
        while not signals.stopping:
            seen = signals.sent
            for id in list(task_ids):
                try:
                    work = await find(context, id)
                    state = await _read_task(context, request, work)
                except Fault:  # the work was deleted with its chat
                    task_ids.remove(id)
                    continue
                except StoreBusy:
                    seen = -1  # read again
                    await asyncio.sleep(RETRY_SECONDS)
                    break
                now = (state["status"], tuple(state.get("inputRequests", ())), state.get("statusMessage"))
                if now != shown.get(id):
                    shown[id] = now
                    yield notification("notifications/tasks", {**state, "_meta": meta})
                if work.ended_at is not None:
                    task_ids.remove(id)
            # The states stay current until a signal comes. One check of the counter `sent` costs less than one wait per
            # task.
            for _ in range(round(STREAM_PING_SECONDS / _LISTEN_SECONDS)):
                if signals.sent != seen or signals.stopping:
                    break
                await asyncio.sleep(_LISTEN_SECONDS)
            else:
                yield None
    yield request.response({"_meta": meta})


async def _read_task(context: RequestContext, request: McpRequest, work: Work) -> Message:
    """Return the task with its current status, and with its result, its error, or the approvals that it requests."""
    if work.ended_at is None:
        calls = await results.find_pending_calls(context, work)
        if calls and request.supports_forms and _may_approve(context):
            return {**_to_task(context, work, "input_required"), "inputRequests": dict(map(_approval_form, calls))}
        facts = _to_task(context, work, "working")
        # this client can't approve the call, so the message says where to approve it
        if calls and isinstance(work, RunRecord):
            facts["statusMessage"] = results.describe_approval(context, work, calls)[0]
        return facts
    if work.status == "cancelled":
        return _to_task(context, work, "cancelled")
    failed = results.get_error(work)
    if failed is not None and failed.code in _SERVICE_FAULTS:
        message = failed.message or failed.code
        error = {"code": INTERNAL_ERROR, "message": message, "data": {"code": failed.code}}
        return {**_to_task(context, work, "failed"), "statusMessage": message, "error": error}
    # In this revision each result contains its type, even the result within a task.
    result = {"resultType": "complete", **await results.build_work_result(context, work)}
    return {**_to_task(context, work, "completed"), "result": result}


def _to_task(context: RequestContext, work: Work, status: str) -> Message:
    age = context.now - work.created_at
    found: Message = {
        "taskId": work_id(work),
        "status": status,
        "createdAt": rfc3339(work.created_at),
        "lastUpdatedAt": rfc3339(work.ended_at or work.started_at or work.created_at),
        "ttlMs": None,
        "pollIntervalMs": max(200, min(age // 10, 5_000)),
    }
    if isinstance(work, JobRecord) and work.progress.get("message") and work.ended_at is None:
        found["statusMessage"] = str(work.progress["message"])
    return found


def _may_approve(context: RequestContext) -> bool:
    """Return whether the client's key allows approvals. The HTTP API needs the same scope to approve a call."""
    return not context.key.scopes or "runs" in context.key.scopes


def _approval_form(call: CallRecord) -> tuple[str, Message]:
    message = f"The agent asks to call {call.tool} with:\n{exact(call.input, 1, results.INPUT_CHARS)}"
    params = {"mode": "form", "message": message, "requestedSchema": _VERDICT}
    return _KEY + call.call_id, {"method": "elicitation/create", "params": params}


def _parse_verdict(response: object) -> Verdict | None:
    """Return the user's decision, or None if the user closed the form without a decision."""
    match response:
        case {"action": "accept", "content": {"confirm": bool(confirm), **rest}}:
            reason = rest.get("reason")
            return Verdict(approved=confirm, reason=reason[:1_000] if isinstance(reason, str) else None)
        case {"action": "decline"}:
            return Verdict(approved=False)
    return None


def _get_progress(work: Work) -> tuple[float, float | None, str]:
    """Return how much is done, how much there is in total (None if unknown), and a message.

    For a run, the number of its events so far says how much is done.
    """
    if isinstance(work, RunRecord):
        return float(work.last_event), None, work.status
    progress = work.progress
    return float(progress.get("done") or 0), progress.get("total"), str(progress.get("message") or work.status)
