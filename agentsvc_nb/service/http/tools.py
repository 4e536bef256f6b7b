"""The tool catalog and jobs over HTTP (contract §5)."""

from __future__ import annotations

from pydantic import ValidationError
from starlette.responses import Response

from agentsvc_nb.service.actions import jobs as actions
from agentsvc_nb.service.actions.jobs import Submit
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import bodies, parameters
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.ports import Tool
from agentsvc_nb.service.rules import inputs
from agentsvc_nb.service.work.tools.catalog import describe as describe_tool
from agentsvc_nb.wire.tools import ToolList


async def list_(call: Call) -> Response:
    return answer(ToolList(data=[describe_tool(tool) for tool in call.backend.tools.values()]))


async def describe(call: Call) -> Response:
    return answer(describe_tool(_tool(call, call.path("name"))))


async def submit(call: Call) -> Response:
    document = await bodies.read_object(call.request)
    tool = _tool(call, document.get("tool"))
    if not tool.asynchronous:
        raise Fail("unsupported_tool_request", f"{tool.name} is not asynchronous: invoke it.")
    given = _input(tool, document.get("input", {}))
    where = bodies.where(document, new_allowed=True)
    header = parameters.idempotency_key(call)
    submit = Submit(tool.name, tool.family, given, where, call.received_at, header if tool.idempotent else None)
    key, settings, now = call.key, call.backend.settings, call.now
    record, new = await call.write(lambda tx: actions.submit(tx, key, submit, settings, now))
    if new:
        call.backend.jobs.wake(record.job_id)
    return answer(record.accepted(), 202)


async def status(call: Call) -> Response:
    account, job_id, where = call.key.account, call.path("job_id"), parameters.where(call)
    return answer(call.read(lambda tx: actions.get(tx, account, job_id, where)).public(call.now))


async def result(call: Call) -> Response:
    account, job_id, where = call.key.account, call.path("job_id"), parameters.where(call)
    return answer(call.read(lambda tx: actions.result(tx, account, job_id, where, call.now)))


async def cancel(call: Call) -> Response:
    account, job_id, where, now = call.key.account, call.path("job_id"), parameters.where(call), call.now
    record = await call.write(lambda tx: actions.cancel(tx, account, job_id, where, now))
    call.backend.jobs.interrupt(record.job_id)
    return answer(record.public(call.now))


def _tool(call: Call, name: object) -> Tool:
    if not isinstance(name, str):
        raise Fail("unsupported_tool_request", "`tool` must be the name of a tool.")
    tool = call.backend.tools.get(name)
    if tool is None:
        raise Fail("tool_not_found", f"There is no tool {name!r}.")
    return tool


def _input(tool: Tool, given: object) -> bodies.Document:
    """The input as it came, once it fits the tool's schema."""
    if not isinstance(given, dict):
        raise Fail("invalid_tool_input", "`input` must be an object.", field="input")
    try:
        tool.Input.model_validate(given)
    except ValidationError as error:
        field, fault = inputs.fault(error)
        raise Fail("invalid_tool_input", fault, field=field) from None
    return given
