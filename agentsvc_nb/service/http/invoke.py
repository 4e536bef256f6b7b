"""Calling a tool over HTTP (contract §5): an answer, or for an asynchronous tool the acceptance of its job."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.actions import direct as actions
from agentsvc_nb.service.actions.jobs import Submit
from agentsvc_nb.service.http import bodies, tools
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.ask import ask
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.ports.tools import Tool
from agentsvc_nb.service.work import direct
from agentsvc_nb.service.work.tools.ask_stefanbrain import AskStefanBrain
from agentsvc_nb.wire.tools import ToolError, ToolResult


async def invoke(call: Call) -> Response:
    document = await bodies.read_object(call.request)
    described = tools.find(call, call.path("name"))
    if described.name == AskStefanBrain.name:
        return await ask(call, document)
    submit = tools.submission(call, described, document)
    if described.asynchronous:
        return await tools.accept(call, submit)
    return answer(await _run(call, call.backend.tools[described.name], submit))


async def _run(call: Call, tool: Tool, submit: Submit) -> ToolResult:
    """A tool's failure is an answer, too: `is_error` (spec.md "Tool and job envelope")."""
    key, settings, began = call.key, call.backend.settings, call.now
    bill, chat = await call.write(lambda tx: actions.begin(tx, key, submit.where, settings, began))
    outcome = await direct.run(call.backend.storage, tool, tool.Input.model_validate(submit.input), chat)
    ended = call.now
    await call.write(lambda tx: actions.end(tx, bill, outcome.uses, ended))
    return ToolResult(
        tool=tool.name,
        is_error=outcome.error is not None,
        error=None if outcome.error is None else ToolError(code=outcome.error[0], message=outcome.error[1]),
        content=outcome.content,
        data=outcome.data,
        chat=chat.id,
    )
