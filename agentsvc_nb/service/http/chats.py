"""Projects and chats over HTTP (contract §2)."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.actions import chats as actions
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.records import chats
from agentsvc_nb.wire.chats import NewProject, ProjectList, RetiredChat


async def create_project(call: Call) -> Response:
    given = bodies.checked(NewProject, await bodies.read_object(call.request), "invalid_json")
    account, now = call.key.account, call.now
    record = await call.write(lambda tx: chats.create_project(tx, account, given.name, now))
    return answer(record.public(), 201)


async def list_projects(call: Call) -> Response:
    found = call.read(lambda tx: chats.projects(tx, call.key.account))
    return answer(ProjectList(data=[record.public() for record in found]))


async def retire(call: Call) -> Response:
    account, chat, now = call.key.account, call.path("chat"), call.now
    await call.write(lambda tx: actions.retire(tx, chat, account, now))
    return answer(RetiredChat(id=chat))
