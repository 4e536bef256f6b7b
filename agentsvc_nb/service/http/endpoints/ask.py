"""Direct tool calls, and `ask_stefanbrain`, which answers with the result if that comes soon, else with a job, and
fetches pictures from their addresses."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import unquote, urlsplit

from starlette.responses import Response

from agentsvc_nb.formats import media_types
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.endpoints import runs, tools
from agentsvc_nb.service.records.files import Content
from agentsvc_nb.service.records.jobs import JobRecord
from agentsvc_nb.service.runner import tool_context
from agentsvc_nb.service.usecases import jobs, tool_calls
from agentsvc_nb.service.usecases.jobs import AskRequest, Submit
from agentsvc_nb.service.usecases.runs import Start
from agentsvc_nb.tools.catalog import AskInput, AskStefanBrain
from agentsvc_nb.tools.port import Tool, WorkFailure
from agentsvc_nb.tools.support.fetching import Fetched, Fetcher
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, MB
from agentsvc_nb.wire.tools import ToolError, ToolResult

PICTURE_BYTES: Final = 20 * MB
PICTURE_SECONDS: Final = 10.0


async def fetch(context: RequestContext, urls: list[str]) -> tuple[list[Content], list[str]]:
    """Fetch pictures; those that could be fetched, and a sentence for each that could not. Raises `invalid_tool_input`
    for an address that is not public, unless the operator allows it (`fetch_allow`)."""
    fetcher = Fetcher(context.services.settings.fetch_allow)
    found = await asyncio.gather(*(_one(fetcher, number, url) for number, url in enumerate(urls)))
    kept = [await context.services.storage.store(_name(one.url), one.body) for one in found if isinstance(one, Fetched)]
    return kept, [one for one in found if isinstance(one, str)]


async def _one(fetcher: Fetcher, number: int, url: str) -> Fetched | str:
    try:
        found = await fetcher.get(url, max_bytes=PICTURE_BYTES, seconds=PICTURE_SECONDS, accept="image/*")
    except WorkFailure as failure:
        if failure.code == "address_refused":
            field = f"image_urls.{number}"
            raise ApiError("invalid_tool_input", f"{field}: {failure.message}", field=field) from None
        return failure.message
    media_type = media_types.media_type(found.body[: media_types.HEAD_BYTES]) or ""
    if found.status != 200 or not media_type.startswith("image/"):
        return f"{url[:200]!r} is no picture: the server answered {found.status} with {media_type or 'something else'}."
    return found


def _name(url: str) -> str:
    return media_types.safe_name(unquote(urlsplit(url).path.rpartition("/")[2]) or "picture")


async def ask(context: RequestContext, document: bodies.Document) -> Response:
    given = await _given(context, document)
    job, new = await jobs.submit_ask(context.use_case, context.key, given)
    if new:
        until = runs.held_until(context, context.services.settings.ask_handle_seconds)
        job = await jobs.wait_for_ask(context.use_case, job, until)
    return answer(_result(job)) if job.ended_at is not None else answer(job.accepted(), 202)


async def _given(context: RequestContext, document: bodies.Document) -> AskRequest:
    submit = await tools.submission(context, AskStefanBrain(), document)
    given = AskInput.model_validate(submit.input)
    if len(given.file_ids) + len(given.image_urls) > ATTACHMENTS_MAX:
        raise ApiError("too_many_attachments")
    await runs.check_script(context, given.message)
    contents = await runs.staged(context, given.file_ids)
    shown, unreached = await fetch(context, given.image_urls)
    model = context.services.settings.model
    start = Start(given.message, submit.where, model, context.received_at, contents=[*contents, *shown])
    return AskRequest(start, submit, len(shown), tuple(unreached))


def _result(job: JobRecord) -> ToolResult:
    error = job.error
    if job.status == "cancelled":
        error = {"code": "cancelled", "message": "The run was cancelled."}
    return ToolResult(
        tool=job.tool,
        is_error=error is not None,
        error=None if error is None else ToolError(**error),
        content=job.content,
        data=job.data,
        chat=job.chat,
    )


async def tools_invoke(context: RequestContext) -> Response:
    document = await bodies.read_object(context)
    described = tools.find(context, context.path("name"))
    if described.name == AskStefanBrain.name:
        return await ask(context, document)
    submit = await tools.submission(context, described, document)
    if described.asynchronous:
        return await tools.accept(context, submit)
    return answer(await _run(context, context.services.tools[described.name], submit))


async def _run(context: RequestContext, tool: Tool, submit: Submit) -> ToolResult:
    """Run a tool directly. Its failure is an answer with `is_error` (docs/api/tools-and-jobs.md "Results")."""
    call = await tool_calls.begin_call(context.use_case, context.key, submit)
    charges = context.services.jobs.charges_of(call)
    try:
        given = tool.Input.model_validate(submit.input)
        outcome = await tool_context.run(context.services.storage, tool, given, call.chat, charges)
    finally:
        await context.services.jobs.end_call(call.call_id)
    return ToolResult(
        tool=tool.name,
        is_error=outcome.error is not None,
        error=None if outcome.error is None else ToolError(code=outcome.error[0], message=outcome.error[1]),
        content=outcome.content,
        data=outcome.data,
        chat=call.chat.id,
    )
