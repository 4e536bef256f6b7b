"""The API's handlers for projects and chats."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.chats import chats, projects
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import answer
from agentsvc_nb.wire.files import (
    NewProject,
    ProjectChange,
    ProjectList,
    RetiredChat,
)


async def projects_create(context: RequestContext) -> Response:
    given = await bodies.validate_body(context, NewProject, await bodies.read_object(context), "invalid_json")
    account = context.key.account
    return answer(await projects.create(context.use_case, account, given.name, given.instructions or ""), 201)


async def projects_update(context: RequestContext) -> Response:
    given = await bodies.validate_body(context, ProjectChange, await bodies.read_object(context), "invalid_json")
    return answer(await projects.update(context.use_case, context.key.account, context.path("project"), given))


async def projects_list(context: RequestContext) -> Response:
    return answer(ProjectList(data=await projects.list_all(context.use_case, context.key.account)))


async def chats_retire(context: RequestContext) -> Response:
    chat = context.path("chat")
    await chats.retire(context.use_case, context.key.account, chat)
    return answer(RetiredChat(id=chat))
