"""Handle `tools/call`: `ask` starts a run, an asynchronous tool starts a job, and any other tool runs at once."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from typing import Any

from agentsvc_nb.agents import direct_call
from agentsvc_nb.documents import media_types
from agentsvc_nb.model_names import DIRECT_CALL
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import MultipartForm
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs import routes as tool_routes
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.mcp.server import catalog, results, schemas
from agentsvc_nb.service.mcp.server.own_tools import OWN_TOOLS
from agentsvc_nb.service.mcp.server.protocol import INVALID_PARAMS, Fault, McpRequest
from agentsvc_nb.service.mcp.server.results import Work
from agentsvc_nb.service.runs import runs, start_request
from agentsvc_nb.tools.port import CatalogEntry, without_nulls
from agentsvc_nb.wire.limits import MCP_FILES_BYTES


async def call(context: RequestContext, request: McpRequest) -> Message | Work:
    """Call the tool. Return its result, or the run or job that the call started. Raises `Fault`."""
    name, given = request.get_text("name"), without_nulls(request.get_object("arguments"))
    tool = catalog.tools_by_name(context.services.tools).get(name)
    if tool is None and name != catalog.ASK and name not in OWN_TOOLS:
        raise Fault(INVALID_PARAMS, f"There is no tool {name[:80]!r}. `tools/list` lists the tools.")
    try:
        if fault := schemas.unknown_argument(given, catalog.input_schema(tool.Input if tool else name)):
            raise ApiError("invalid_tool_input", fault)
        if tool is not None:
            return await _call_tool(context, tool, given)
        if name == catalog.ASK:
            return await _ask(context, request, given)
        own = OWN_TOOLS[name]
        return await own.answer(context, **dict(bodies.validate(own.input, given, "invalid_tool_input")))
    except ApiError as error:
        return results.build_refusal(error)


async def _call_tool(context: RequestContext, described: CatalogEntry, given: dict[str, Any]) -> Message | Work:
    where = {name: given.pop(name) for name in catalog.CHAT_ARGUMENTS if name in given}
    submit = await tool_routes.parse_submission(context, described, {**where, "input": given})
    tool = context.services.tools[described.name]
    # An MCP client's model makes this call, so the call waits for approval like a call of a run.
    effects = tool.effect or bool(tool.fetches(tool.Input.model_validate(submit.input)))
    if context.services.settings.approve_effects and effects:
        start = runs.Start(
            direct_call.message(submit.tool, submit.input),
            submit.where,
            DIRECT_CALL,
            submit.received_at,
            idempotency_key=submit.idempotency_key,
            shared=True,
        )
        return await runs.start(context.use_case, context.key, start)
    if tool.asynchronous:
        return await jobs.submit(context.use_case, context.key, submit)
    return results.build_call_result(await tool_routes.run_directly(context, tool, submit))


async def _ask(context: RequestContext, request: McpRequest, given: dict[str, Any]) -> Work:
    form = MultipartForm()
    try:
        if (files := given.pop("files", None)) is not None:
            sent = await bodies.validate_body(context, catalog.SentFiles, {"files": files}, "invalid_tool_input")
            await asyncio.to_thread(_attach, context, form, sent.files)  # use a thread, because this decodes megabytes
        start = await start_request.read(context, given, form)
    except BaseException:
        form.discard()
        raise
    if request.traceparent is not None:
        start = replace(start, traceparent=request.traceparent)
    return await runs.start(context.use_case, context.key, start)


def _attach(context: RequestContext, form: MultipartForm, files: list[catalog.SentFile]) -> None:
    """Decode the files and add them to `form`, as if the client had uploaded them in a multipart request."""
    left = min(MCP_FILES_BYTES, context.services.settings.max_file_bytes)
    for place, file in enumerate(files):
        data = _decode(file, f"files.{place}")
        left -= len(data)
        if left < 0:
            raise ApiError("attachment_too_large", f"The files together must not exceed {MCP_FILES_BYTES:,} bytes.")
        name = media_types.safe_name(file.name)
        if media_types.is_audio_or_video(data[: media_types.HEAD_BYTES]):
            raise ApiError("unsupported_attachment", f"{name!r} is audio or video, which the service does not accept.")
        blob = context.services.blobs.create()
        form.files.append((name, blob))
        blob.write(data)


def _decode(file: catalog.SentFile, field: str) -> bytes:
    if (file.text is None) == (file.base64 is None):
        raise ApiError("invalid_tool_input", f"{field}: Give either `text` or `base64`.", field=field)
    try:
        return (file.text or "").encode() if file.base64 is None else base64.b64decode(file.base64, validate=True)
    except ValueError:
        field = f"{field}.base64"
        raise ApiError("invalid_tool_input", f"{field}: Input should be valid base64.", field=field) from None
