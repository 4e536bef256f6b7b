"""`tools/call`: an ask is a run, a slow tool a job, a quick one is called. What goes on is a task where the client
takes one, else it is waited for on the open stream."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, Final

from agentsvc_nb.agents import direct_call
from agentsvc_nb.documents import media_types
from agentsvc_nb.model_names import DIRECT_CALL
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import MultipartForm
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs import routes as tool_endpoints
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.jobs.jobs import Submit
from agentsvc_nb.service.mcp.endpoint import catalog, reading, results, schemas, tasks
from agentsvc_nb.service.mcp.endpoint.protocol import INVALID_PARAMS, Asked, Fault, notification
from agentsvc_nb.service.mcp.endpoint.tasks import Work
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.ports import StoreBusy
from agentsvc_nb.service.runs import routes as run_endpoints
from agentsvc_nb.service.runs import runs, start_request
from agentsvc_nb.tools import port
from agentsvc_nb.tools.port import Described, Tool
from agentsvc_nb.wire.limits import MCP_FILES_BYTES, STREAM_PING_SECONDS

AWAY_SECONDS: Final = 1.0
"""Until a database that was away is asked again."""


async def call(context: RequestContext, asked: Asked) -> Message | Work:
    """The result of a call, or the work that it began. Raises `Fault`."""
    name, given = asked.text("name"), port.without_nulls(asked.mapping("arguments"))
    tool = catalog.called(context.services.tools).get(name)
    if tool is None and name != catalog.ASK and name not in catalog.OWN:
        raise Fault(INVALID_PARAMS, f"There is no tool {name[:80]!r}.")
    try:
        schema = catalog.arguments_of_own(name) if tool is None else catalog.arguments_of(tool)
        if fault := schemas.unknown_argument(given, schema):
            raise ApiError("invalid_tool_input", fault)
        if tool is not None:
            return await _catalog(context, tool, given)
        return await (_ask(context, asked, given) if name == catalog.ASK else _own(context, name, given))
    except ApiError as error:
        return results.refused(error)


async def _ask(context: RequestContext, asked: Asked, given: dict[str, Any]) -> Work:
    files = given.pop("files", None)
    form = MultipartForm() if files is None else await _form(context, files)
    try:
        start = await start_request.read(context, given, form)
    except BaseException:
        form.discard()
        raise
    if asked.traceparent is not None:
        start = replace(start, traceparent=asked.traceparent)
    return await runs.start(context.use_case, context.key, start)


async def _form(context: RequestContext, files: object) -> MultipartForm:
    """The files of an `ask`, as those of a multipart start. Raises `invalid_tool_input`, `attachment_too_large` and
    `unsupported_attachment`."""
    sent = (await bodies.checked(context, catalog.SentFiles, {"files": files}, "invalid_tool_input")).files
    form = MultipartForm()

    def receive() -> None:
        left = min(MCP_FILES_BYTES, context.services.settings.max_file_bytes)
        for place, file in enumerate(sent):
            data = _bytes(file, f"files.{place}")
            left -= len(data)
            if left < 0:
                raise ApiError("attachment_too_large", f"The files together must not exceed {MCP_FILES_BYTES:,} bytes.")
            name = media_types.safe_name(file.name)
            if media_types.is_audio_or_video(data[: media_types.HEAD_BYTES]):
                raise ApiError("unsupported_attachment", f"{name!r} is audio or video.")
            blob = context.services.blobs.create()
            form.files.append((name, blob))
            blob.write(data)

    try:
        await asyncio.to_thread(receive)  # it decodes megabytes
    except BaseException:
        form.discard()
        raise
    return form


def _bytes(file: catalog.SentFile, field: str) -> bytes:
    """The file's content. Raises `invalid_tool_input`."""
    if (file.text is None) == (file.base64 is None):
        raise ApiError("invalid_tool_input", f"{field}: Give either `text` or `base64`.", field=field)
    if file.base64 is None:
        return (file.text or "").encode()
    try:
        return base64.b64decode(file.base64, validate=True)
    except ValueError:
        field = f"{field}.base64"
        raise ApiError("invalid_tool_input", f"{field}: Input should be valid base64.", field=field) from None


async def _catalog(context: RequestContext, described: Described, given: dict[str, Any]) -> Message | Work:
    own = {field: value for field, value in given.items() if field not in catalog.PLACES}
    where = {field: value for field, value in given.items() if field in catalog.PLACES}
    submit = await tool_endpoints.submission(context, described, {**where, "input": own})
    tool = context.services.tools[described.name]
    if _needs_approval(context, tool, submit):
        return await runs.start(context.use_case, context.key, _approved_first(submit))
    if tool.asynchronous:
        return await jobs.submit(context.use_case, context.key, submit)
    return results.of_call(await tool_endpoints.run_directly(context, tool, submit))


def _needs_approval(context: RequestContext, tool: Tool, submit: Submit) -> bool:
    """Whether the call may wait for approval as a run's does, for its caller is a model, too."""
    if not context.services.settings.approve_effects:
        return False
    return tool.effect or bool(tool.fetches(tool.Input.model_validate(submit.input)))


def _approved_first(submit: Submit) -> runs.Start:
    """The run that makes the call. Whoever approves calls of runs sees it, wherever that is."""
    return runs.Start(
        direct_call.message(submit.tool, submit.input),
        submit.where,
        DIRECT_CALL,
        submit.received_at,
        idempotency_key=submit.idempotency_key,
        shared=True,
    )


async def _own(context: RequestContext, name: str, given: dict[str, Any]) -> Message:
    match bodies.check(catalog.OWN[name][0], given, "invalid_tool_input"):
        case catalog.ListChats() as listing:
            return await reading.chats_listed(context, listing)
        case catalog.SearchFiles() as search:
            return results.result((), await reading.search(context, search))
        case catalog.ListFiles() as listing:
            return await reading.listed(context, listing)
        case catalog.ReadFile() as read:
            return await reading.text(context, read)
        case catalog.GetRun(run_id=id):
            return results.read(await results.of_run(context, await runs.get(context.use_case, context.account, id)))
        case catalog.CancelRun(run_id=id):
            return results.stopped(await runs.cancel(context.use_case, context.account, id))
        case catalog.GetJob(job_id=id):
            return results.read(await results.of_job(context, await _job(context, id)))
        case catalog.CancelJob(job_id=id):
            where = ChatSelector((await _job(context, id)).chat)
            return results.stopped(await jobs.cancel(context.use_case, context.account, id, where))
    raise AssertionError(name)


async def _job(context: RequestContext, job_id: str) -> JobRecord:
    job = await jobs.find(context.use_case, job_id)
    if job is None or job.account != context.account:
        raise ApiError("job_not_found")
    return job


async def waited(context: RequestContext, asked: Asked, work: Work) -> Message:
    """The response of `messages` alone."""
    last: Message = {}
    async for message in messages(context, asked, work):
        last = message or last
    return last


async def messages(context: RequestContext, asked: Asked, work: Work) -> AsyncGenerator[Message | None]:
    """Progress of the work, if the client wants it, a None now and then while there is nothing to say, and in the end
    the response: the result, or how to get it. A client that goes away ends this, and not the work."""
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
                # At once where a person is waited for, whom nobody tells before the client has an answer.
                due = due or work.ended_at is not None or bool(await tasks.waiting(context, work))
                answer = await tasks.result(context, work) if due else None
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
