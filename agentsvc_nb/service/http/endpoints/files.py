"""Projects, chats and files over HTTP."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from agentsvc_nb.formats import queries as grammar
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import MultipartForm, Rules, is_multipart, read_form
from agentsvc_nb.service.http.operations import file_response
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import chats
from agentsvc_nb.service.records.files import UploadRecord
from agentsvc_nb.service.usecases import chats as chat_usecases
from agentsvc_nb.service.usecases import files as file_usecases
from agentsvc_nb.service.usecases import searching
from agentsvc_nb.service.usecases.chats import Where
from agentsvc_nb.tools.port import ReadTooLong
from agentsvc_nb.wire.files import NewName, NewProject, ProjectList, RetiredChat, StagedFiles
from agentsvc_nb.wire.limits import PAGE_MAX, QUERY_MAX_CHARS, SEARCH_SECONDS


async def projects_create(context: RequestContext) -> Response:
    given = bodies.checked(NewProject, await bodies.read_object(context.request), "invalid_json")
    account, now = context.key.account, context.now
    record = await context.write(lambda tx: chats.create_project(tx, account, given.name, now))
    return answer(record.public(), 201)


async def projects_list(context: RequestContext) -> Response:
    found = context.read(lambda tx: chats.projects(tx, context.key.account))
    return answer(ProjectList(data=[record.public() for record in found]))


async def chats_retire(context: RequestContext) -> Response:
    account, chat, now = context.key.account, context.path("chat"), context.now
    await context.write(lambda tx: chat_usecases.retire(tx, chat, account, now))
    return answer(RetiredChat(id=chat))


async def files_upload(context: RequestContext) -> Response:
    """Stage files; with `chat_id` also put them into that chat."""
    chat = context.request.query_params.get("chat_id")
    chat_usecases.check(Where(chat))
    storage = context.services.storage
    contents = [await storage.describe(name, blob) for name, blob in (await _received(context, chat)).files]
    account, now, ttl_ms = context.key.account, context.now, int(context.services.settings.upload_ttl_seconds * 1000)

    def use(tx: Tx) -> list[UploadRecord]:
        if chat is not None:
            file_usecases.put_uploads(tx, storage.index, chat, contents, now)
        return file_usecases.stage(tx, account, contents, now, ttl_ms)

    staged = await context.write(use, long=chat is not None)
    return answer(StagedFiles(files=[record.public() for record in staged]))


async def _received(context: RequestContext, chat: str | None) -> MultipartForm:
    """The files of an upload, kept, once it is known that the chat may have them."""
    if not is_multipart(context.request):
        raise ApiError("invalid_multipart", "Send the files as multipart/form-data, field `files`.")
    rules = Rules("file_too_large", "too_many_files", context.services.settings.max_file_bytes)
    form = await read_form(context.request, context.services.blobs, rules)
    try:
        if not form.files:
            raise ApiError("invalid_multipart", "The upload holds no file; send them in the field `files`.")
        if chat is not None:
            context.read(lambda tx: chat_usecases.of_account(tx, chat, context.key.account))
        await form.keep()
    except BaseException:
        form.discard()
        raise
    return form


async def files_list(context: RequestContext) -> Response:
    chat, account = bodies.text(context, "chat_id"), context.key.account
    after = context.request.query_params.get("after", "")
    limit = bodies.integer(context, "limit", PAGE_MAX, 1, PAGE_MAX)
    return answer(context.read(lambda tx: file_usecases.page(tx, account, chat, after, limit)))


async def files_search(context: RequestContext) -> Response:
    chat, q, account = bodies.text(context, "chat_id"), bodies.text(context, "q"), context.key.account
    if len(q) > QUERY_MAX_CHARS:
        raise ApiError("invalid_query", f"`q` must have 1 to {QUERY_MAX_CHARS} characters.", param="q")
    index = context.services.storage.index
    try:
        found = await asyncio.to_thread(
            context.read, lambda tx: searching.search(tx, index, account, chat, q), SEARCH_SECONDS
        )
    except ReadTooLong:
        raise ApiError("invalid_query", grammar.TOO_LONG, param="q") from None
    return answer(found)


async def files_download(context: RequestContext) -> Response:
    chat, path, account = bodies.text(context, "chat_id"), bodies.text(context, "path"), context.key.account
    return file_response(context, context.read(lambda tx: file_usecases.get(tx, account, chat, path)))


async def files_rename(context: RequestContext) -> Response:
    chat, path, account = bodies.text(context, "chat_id"), bodies.text(context, "path"), context.key.account
    given = bodies.checked(NewName, await bodies.read_object(context.request), "invalid_json")
    index, name = context.services.storage.index, given.name.strip() or None
    record = await context.write(lambda tx: file_usecases.rename(tx, index, account, chat, path, name), long=True)
    return answer(record.public())
