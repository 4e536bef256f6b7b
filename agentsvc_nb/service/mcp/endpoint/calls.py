"""`tools/call`: an ask is a run, a slow tool a job, a quick one is called. What goes on is a task where the client
takes one, else it is waited for on the open stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies, start_fields
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.endpoints import runs as run_endpoints
from agentsvc_nb.service.http.endpoints import tools as tool_endpoints
from agentsvc_nb.service.http.multipart import MultipartForm
from agentsvc_nb.service.mcp.endpoint import catalog, reading, results, tasks
from agentsvc_nb.service.mcp.endpoint.protocol import INVALID_PARAMS, Asked, Fault, notification
from agentsvc_nb.service.mcp.endpoint.tasks import Work
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.ports import StoreBusy
from agentsvc_nb.service.usecases import jobs, runs
from agentsvc_nb.service.usecases.chats import ChatSelector
from agentsvc_nb.tools import port
from agentsvc_nb.wire.limits import STREAM_PING_SECONDS

AWAY_SECONDS: Final = 1.0
"""Until a database that was away is asked again."""
T = TypeVar("T", bound=BaseModel)


async def call(context: RequestContext, asked: Asked) -> Message | Work:
    """The result of a call, or the work that it began. Raises `Fault`."""
    name, given = asked.text("name"), asked.mapping("arguments")
    try:
        if name in catalog.OWN:
            return await _own(context, name, given)
        if name == catalog.ASK:
            return await _ask(context, asked, given)
        return await _catalog(context, name, given)
    except ApiError as error:
        return results.refused(error)


async def _ask(context: RequestContext, asked: Asked, given: dict[str, Any]) -> Work:
    start_fields.no_client_tools({"input": given})
    if given.get("sync"):
        raise ApiError("invalid_tool_input", "`ask` takes no `sync`: it is held anyway.", field="sync")
    start = await run_endpoints.validated(context, bodies.without_nulls(given), MultipartForm())
    if asked.traceparent is not None:
        start = replace(start, traceparent=asked.traceparent)
    return await runs.start(context.use_case, context.key, start)


async def _catalog(context: RequestContext, name: str, given: dict[str, Any]) -> Message | Work:
    described = catalog.called(context.services.tools).get(name)
    if described is None:
        raise Fault(INVALID_PARAMS, f"There is no tool {name[:80]!r}.")
    own = {field: value for field, value in given.items() if field not in catalog.PLACES}
    where = {field: given[field] for field in catalog.PLACES if given.get(field) is not None}
    submit = await tool_endpoints.submission(context, described, {**where, "input": own})
    if described.asynchronous:
        return await jobs.submit(context.use_case, context.key, submit)
    return results.of_call(await tool_endpoints.run_directly(context, context.services.tools[name], submit))


async def _own(context: RequestContext, name: str, given: dict[str, Any]) -> Message:
    match _checked(catalog.OWN[name][0], given):
        case catalog.SearchFiles() as search:
            return results.result((), await reading.search(context, search))
        case catalog.ListFiles() as listing:
            return await reading.listed(context, listing)
        case catalog.ReadFile() as read:
            return await reading.text(context, read)
        case catalog.GetRun(run_id=id) | catalog.CancelRun(run_id=id):
            run = await runs.get(context.use_case, context.account, id)
            if name.startswith("cancel"):
                run = await runs.cancel(context.use_case, context.account, id)
            return results.result((), run.public(context.origin))
        case catalog.GetJob(job_id=id) | catalog.CancelJob(job_id=id):
            return await _job(context, id, cancels=name.startswith("cancel"))
    raise AssertionError(name)


async def _job(context: RequestContext, job_id: str, *, cancels: bool) -> Message:
    job = await jobs.find(context.use_case, job_id)
    if job is None or job.account != context.account:
        raise ApiError("job_not_found")
    if cancels:
        job = await jobs.cancel(context.use_case, context.account, job_id, ChatSelector(job.chat))
    return results.result((), job.public(context.now))


def _checked(model: type[T], given: dict[str, Any]) -> T:
    """The arguments as the tool's input. Raises `invalid_tool_input`."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        field, fault = port.fault(error)
        raise ApiError("invalid_tool_input", fault, field=field) from None


async def waited(context: RequestContext, asked: Asked, work: Work) -> Message:
    """The response of `messages` alone."""
    last: Message = {}
    async for message in messages(context, asked, work):
        last = message or last
    return last


async def messages(context: RequestContext, asked: Asked, work: Work) -> AsyncGenerator[Message | None]:
    """Progress of the work, if the client wants it, a None now and then while there is nothing to say, and in the end
    the response: the result, or where to ask for that. A client that goes away ends this, and not the work."""
    token, told = asked.progress_token, -1.0
    id = tasks.id_of(work)
    until = run_endpoints.held_until(context, context.services.settings.ask_handle_seconds)
    signals = context.services.use_case.signals
    with signals.watch(id) as watch:
        while True:
            left = (until - context.now) / 1000
            due = left <= 0 or signals.stopping
            try:
                work = await tasks.find(context, id)
                answer = await tasks.result(context, work) if due or work.ended_at is not None else None
            except StoreBusy:
                answer = results.goes_on(work) if due else None
                if answer is None:
                    yield None
                    await watch.wait(min(left, AWAY_SECONDS))
                    continue
            if answer is not None:
                yield asked.answer(answer)
                return
            done, total, said = tasks.progress(work)
            if token is not None and done > told:
                told = done
                shown = {"progressToken": token, "progress": done, "message": said}
                yield notification("notifications/progress", shown if total is None else {**shown, "total": total})
            if not await watch.wait(min(left, STREAM_PING_SECONDS)):
                yield None
