"""The API's handlers for tools: the catalog, jobs, direct calls, and `ask_stefanbrain`, which starts a run."""

from __future__ import annotations

import asyncio
from typing import Final, get_args
from urllib.parse import unquote, urlsplit

from starlette.responses import Response

from agentsvc_nb.documents import media_types
from agentsvc_nb.service.accounts.money import price_of
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.files.file_records import Content
from agentsvc_nb.service.http import bodies, models
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import answer
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.jobs import AskSubmission, JobSubmission
from agentsvc_nb.service.runner import tool_context
from agentsvc_nb.service.runs import routes as run_routes
from agentsvc_nb.service.runs import start_request, tool_calls
from agentsvc_nb.service.runs.run_records import RunLimits
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.sql import public
from agentsvc_nb.tools import port
from agentsvc_nb.tools.catalog import AskInput, AskStefanBrain, add_ask_tool
from agentsvc_nb.tools.catalog import describe as describe_tool
from agentsvc_nb.tools.port import CatalogEntry, Tool, WorkFailure
from agentsvc_nb.tools.support.fetching import Fetched, Fetcher
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, MB
from agentsvc_nb.wire.runs import NewRun
from agentsvc_nb.wire.tools import JobStatus, ToolError, ToolList, ToolResult

_PICTURE_BYTES: Final = 20 * MB
_PICTURE_SECONDS: Final = 10.0


async def tools_list(context: RequestContext) -> Response:
    return answer(ToolList(data=[describe_tool(tool) for tool in add_ask_tool(context.services.tools).values()]))


async def tools_describe(context: RequestContext) -> Response:
    return answer(describe_tool(find(context, context.path("name"))))


async def tools_invoke(context: RequestContext) -> Response:
    document = await bodies.read_object(context)
    described = find(context, context.path("name"))
    if described.name == AskStefanBrain.name:
        return await _ask(context, document)
    submit = await parse_submission(context, described, document)
    if described.asynchronous:
        return await accept(context, submit)
    return answer(await run_directly(context, context.services.tools[described.name], submit))


async def run_directly(context: RequestContext, tool: Tool, submit: JobSubmission) -> ToolResult:
    """Run a tool within this request. A failed tool's response has `is_error` (docs/api/tools-and-jobs.md)."""
    call = await tool_calls.begin_call(context.use_case, context.key, submit)
    charges = context.services.jobs.track_charges(call)
    try:
        given = tool.Input.model_validate(submit.input)
        outcome = await tool_context.execute(context.services.storage, tool, given, call.chat, charges)
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


async def jobs_submit(context: RequestContext) -> Response:
    document = await bodies.read_object(context)
    tool = find(context, document.get("tool"))
    if not tool.asynchronous:
        raise ApiError(
            "unsupported_tool_request", f"{tool.name} is not asynchronous. Call it with `POST /tools/{{name}}/invoke`."
        )
    return await accept(context, await parse_submission(context, tool, document))


async def accept(context: RequestContext, submit: JobSubmission) -> Response:
    """Submit a job and return 202."""
    record = await jobs.submit(context.use_case, context.key, submit)
    return answer(record.accepted(), 202)


async def jobs_list(context: RequestContext) -> Response:
    return answer(await jobs.page_of_account(context.use_case, bodies.list_query(context, get_args(JobStatus))))


async def jobs_status(context: RequestContext) -> Response:
    where = bodies.chat_of_query(context)
    record = await jobs.get(context.use_case, context.key.account, context.path("job_id"), where)
    return answer(record.public(context.now))


async def jobs_result(context: RequestContext) -> Response:
    where = bodies.chat_of_query(context)
    return answer(await jobs.result(context.use_case, context.key.account, context.path("job_id"), where))


async def jobs_cancel(context: RequestContext) -> Response:
    where = bodies.chat_of_query(context)
    record = await jobs.cancel(context.use_case, context.key.account, context.path("job_id"), where)
    return answer(record.public(context.now))


def find(context: RequestContext, name: object) -> CatalogEntry:
    """Return the tool's entry in the catalog. Raises `unsupported_tool_request` and `tool_not_found`."""
    if not isinstance(name, str):
        raise ApiError("unsupported_tool_request", "`tool` must be the name of a tool.")
    tool = add_ask_tool(context.services.tools).get(name)
    if tool is None:
        raise ApiError("tool_not_found", f"There is no tool {name[:80]!r}.")
    return tool


async def parse_submission(context: RequestContext, tool: CatalogEntry, document: bodies.Document) -> JobSubmission:
    """Validate a tool request. Include the Idempotency-Key if the tool deduplicates requests.

    Raises `invalid_tool_input`, and what `bodies.chat_of_body` and `bodies.idempotency_key` raise.
    """
    sent = document.get("input")
    if "client_tools" in document or (isinstance(sent, dict) and sent.get("client_tools") is not None):
        why = "Only runs (`POST /runs`) can have client tools, because nobody would answer the calls of a job."
        raise ApiError("invalid_tool_input", why, field="client_tools")
    given = await bodies.run_check(context, _parse_input, document)
    checked = await bodies.validate_body(context, tool.Input, given, "invalid_tool_input")
    where = bodies.chat_of_body(document, new_allowed=True)
    header = bodies.idempotency_key(context)
    repeats, worst = header if tool.idempotent else None, price_of(tool.max_charges(checked))
    return JobSubmission(tool.name, tool.family, given, where, context.received_at, repeats, worst)


def _parse_input(document: bodies.Document) -> bodies.Document:
    """Return the `input` of a body, without null values. Raises `invalid_tool_input`."""
    given = port.without_nulls(document.get("input", {}))
    if not isinstance(given, dict):
        raise ApiError("invalid_tool_input", "`input` must be an object.", field="input")
    return given


# `ask_stefanbrain` starts a run and returns a job as the run's handle.


async def _ask(context: RequestContext, document: bodies.Document) -> Response:
    given = await _ask_request(context, document)
    job, new = await jobs.submit_ask(context.use_case, context.key, given)
    if new and (seconds := context.services.settings.ask_handle_seconds):
        until = run_routes.held_until(context, seconds)
        job = await jobs.wait_for_ask(context.use_case, job, until)
    if job.ended_at is None:
        return answer(job.accepted(), 202)
    error = job.error
    if job.status == "cancelled":
        error = {"code": "cancelled", "message": "The run was cancelled."}
    return answer(public(ToolResult, job, is_error=error is not None, error=error))


async def _ask_request(context: RequestContext, document: bodies.Document) -> AskSubmission:
    # Check these fields first, because their errors have their own codes.
    asked = _parse_input(document)
    choice = start_request.parse(NewRun, {"message": "?", **{n: asked[n] for n in ("model", "effort") if n in asked}})
    start_request.check_model(context, choice.model)
    submit = await parse_submission(context, AskStefanBrain(), document)
    given = AskInput.model_validate(submit.input)
    if len(given.file_ids) + len(given.image_urls) > ATTACHMENTS_MAX:
        raise ApiError("too_many_attachments")
    model = choice.model or context.services.settings.offered[0]
    if model == "scripted":
        await start_request.check_script(given.message)
    contents = await start_request.read_uploads(context, given.file_ids) if given.file_ids else []
    shown, unreached = await _fetch_pictures(context, given.image_urls)
    start = Start(
        given.message,
        submit.where,
        model,
        context.received_at,
        contents=[*contents, *shown],
        limits=start_request.add_default_limit(context, RunLimits(), model),
        effort=choice.effort,
        unavailable=await models.why_unavailable(context, choice.model) if choice.model else None,
    )
    return AskSubmission(start, submit, len(shown), tuple(unreached))


async def _fetch_pictures(context: RequestContext, urls: list[str]) -> tuple[list[Content], list[str]]:
    """Return the fetched pictures, and a sentence for each picture that could not be fetched.

    Raises `invalid_tool_input` for an address that the service must not fetch.
    """
    fetcher = Fetcher(context.services.settings.fetch_allow)
    found = await asyncio.gather(*(_fetch_picture(fetcher, number, url) for number, url in enumerate(urls)))
    kept = [
        await context.services.storage.store(
            media_types.safe_name(unquote(urlsplit(one.url).path.rpartition("/")[2]) or "picture"), one.body
        )
        for one in found
        if isinstance(one, Fetched)
    ]
    return kept, [one for one in found if isinstance(one, str)]


async def _fetch_picture(fetcher: Fetcher, number: int, url: str) -> Fetched | str:
    try:
        found = await fetcher.get(url, max_bytes=_PICTURE_BYTES, seconds=_PICTURE_SECONDS, accept="image/*")
    except WorkFailure as failure:
        if failure.code == "address_refused":
            field = f"image_urls.{number}"
            raise ApiError("invalid_tool_input", f"{field}: {failure.message}", field=field) from None
        return failure.message
    media_type = media_types.media_type(found.body[: media_types.HEAD_BYTES]) or ""
    if found.status != 200 or not media_type.startswith("image/"):
        return (
            f"{url[:200]!r} is not a picture: its server answered with status {found.status} and the type "
            f"{media_type or 'unknown'}."
        )
    return found
