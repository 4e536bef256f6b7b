"""The tools over HTTP: the catalog, direct calls and jobs."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.usecases import jobs
from agentsvc_nb.service.usecases.jobs import Submit
from agentsvc_nb.service.usecases.money import price_of
from agentsvc_nb.tools.catalog import describe as describe_tool
from agentsvc_nb.tools.catalog import offered
from agentsvc_nb.tools.port import Described
from agentsvc_nb.wire.tools import ToolList


async def tools_list(context: RequestContext) -> Response:
    return answer(ToolList(data=[describe_tool(tool) for tool in offered(context.services.tools).values()]))


async def tools_describe(context: RequestContext) -> Response:
    return answer(describe_tool(find(context, context.path("name"))))


async def jobs_submit(context: RequestContext) -> Response:
    document = await bodies.read_object(context)
    tool = find(context, document.get("tool"))
    if not tool.asynchronous:
        raise ApiError("unsupported_tool_request", f"{tool.name} is not asynchronous: invoke it.")
    return await accept(context, await submission(context, tool, document))


async def submission(context: RequestContext, tool: Described, document: bodies.Document) -> Submit:
    """The validated body of a submit or invoke; with the Idempotency-Key if the tool deduplicates. Raises
    `invalid_tool_input`."""
    given = await bodies.aside(context, given_input, document)
    checked = await bodies.checked(context, tool.Input, given, "invalid_tool_input")
    where = bodies.chat_of_body(document, new_allowed=True)
    header = bodies.idempotency_key(context)
    repeats, worst = header if tool.idempotent else None, price_of(tool.max_charges(checked))
    return Submit(tool.name, tool.family, given, where, context.received_at, repeats, worst)


async def accept(context: RequestContext, submit: Submit) -> Response:
    """Submit a job and answer 202."""
    record = await jobs.submit(context.use_case, context.key, submit)
    return answer(record.accepted(), 202)


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


def find(context: RequestContext, name: object) -> Described:
    """The catalog's entry. Raises `unsupported_tool_request` when `name` is no text, `tool_not_found`."""
    if not isinstance(name, str):
        raise ApiError("unsupported_tool_request", "`tool` must be the name of a tool.")
    tool = offered(context.services.tools).get(name)
    if tool is None:
        raise ApiError("tool_not_found", f"There is no tool {name[:80]!r}.")
    return tool


def given_input(document: bodies.Document) -> bodies.Document:
    """The `input` of a body, without nulls. Raises `invalid_tool_input`."""
    given = bodies.without_nulls(document.get("input", {}))
    if not isinstance(given, dict):
        raise ApiError("invalid_tool_input", "`input` must be an object.", field="input")
    return given
