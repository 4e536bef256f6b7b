"""The tools over HTTP: the catalog, direct calls and jobs."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.usecases import jobs as actions
from agentsvc_nb.service.usecases.jobs import Submit
from agentsvc_nb.tools.catalog import describe as describe_tool
from agentsvc_nb.tools.catalog import offered
from agentsvc_nb.tools.port import Described
from agentsvc_nb.wire.tools import ToolList


async def list_(call: RequestContext) -> Response:
    return answer(ToolList(data=[describe_tool(tool) for tool in offered(call.backend.tools).values()]))


async def describe(call: RequestContext) -> Response:
    return answer(describe_tool(find(call, call.path("name"))))


async def submit(call: RequestContext) -> Response:
    document = await bodies.read_object(call.request)
    tool = find(call, document.get("tool"))
    if not tool.asynchronous:
        raise ApiError("unsupported_tool_request", f"{tool.name} is not asynchronous: invoke it.")
    return await accept(call, submission(call, tool, document))


def submission(call: RequestContext, tool: Described, document: bodies.Document) -> Submit:
    """The checked body of a submit or invoke, of a tool that deduplicates with its Idempotency-Key."""
    given = given_input(document)
    bodies.checked(tool.Input, given, "invalid_tool_input")
    where = bodies.chat_of_body(document, new_allowed=True)
    header = bodies.idempotency_key(call)
    return Submit(tool.name, tool.family, given, where, call.received_at, header if tool.idempotent else None)


async def accept(call: RequestContext, submit: Submit) -> Response:
    """Submit a job: the 202 acceptance."""
    key, settings, now = call.key, call.backend.settings, call.now
    record, new = await call.write(lambda tx: actions.submit(tx, key, submit, settings, now))
    if new:
        call.backend.jobs.wake(record.job_id)
    return answer(record.accepted(), 202)


async def status(call: RequestContext) -> Response:
    account, job_id, where = call.key.account, call.path("job_id"), bodies.chat_of_query(call)
    return answer(call.read(lambda tx: actions.get(tx, account, job_id, where)).public(call.now))


async def result(call: RequestContext) -> Response:
    account, job_id, where = call.key.account, call.path("job_id"), bodies.chat_of_query(call)
    return answer(call.read(lambda tx: actions.result(tx, account, job_id, where, call.now)))


async def cancel(call: RequestContext) -> Response:
    account, job_id, where, now = call.key.account, call.path("job_id"), bodies.chat_of_query(call), call.now
    origin = call.backend.storage.origin
    record = await call.write(lambda tx: actions.cancel(tx, account, job_id, where, origin, now))
    if record.follows is not None:
        call.backend.runs.interrupt(record.follows)
    call.backend.jobs.interrupt(record.job_id)
    return answer(record.public(call.now))


def find(call: RequestContext, name: object) -> Described:
    """The entry of the catalog. Raises `unsupported_tool_request` for what is no name, `tool_not_found`."""
    if not isinstance(name, str):
        raise ApiError("unsupported_tool_request", "`tool` must be the name of a tool.")
    tool = offered(call.backend.tools).get(name)
    if tool is None:
        raise ApiError("tool_not_found", f"There is no tool {name[:80]!r}.")
    return tool


def given_input(document: bodies.Document) -> bodies.Document:
    """The `input` of a body, without nulls."""
    given = bodies.without_nulls(document.get("input", {}))
    if not isinstance(given, dict):
        raise ApiError("invalid_tool_input", "`input` must be an object.", field="input")
    return given
