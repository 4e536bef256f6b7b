"""Projects, chats and files over HTTP."""

from __future__ import annotations

import asyncio

from starlette.responses import FileResponse, Response

from agentsvc_nb.formats import queries as grammar
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import Form, Rules, is_multipart, read_form
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import chats
from agentsvc_nb.service.records.files import FileRecord, UploadRecord
from agentsvc_nb.service.usecases import chats as chat_actions
from agentsvc_nb.service.usecases import files as actions
from agentsvc_nb.service.usecases import searching
from agentsvc_nb.service.usecases.chats import Where
from agentsvc_nb.tools.port import ReadTooLong
from agentsvc_nb.wire.files import NewName, NewProject, ProjectList, RetiredChat, StagedFiles
from agentsvc_nb.wire.limits import PAGE_MAX, QUERY_MAX_CHARS, SEARCH_SECONDS


async def create_project(call: RequestContext) -> Response:
    given = bodies.checked(NewProject, await bodies.read_object(call.request), "invalid_json")
    account, now = call.key.account, call.now
    record = await call.write(lambda tx: chats.create_project(tx, account, given.name, now))
    return answer(record.public(), 201)


async def list_projects(call: RequestContext) -> Response:
    found = call.read(lambda tx: chats.projects(tx, call.key.account))
    return answer(ProjectList(data=[record.public() for record in found]))


async def retire(call: RequestContext) -> Response:
    account, chat, now = call.key.account, call.path("chat"), call.now
    await call.write(lambda tx: chat_actions.retire(tx, chat, account, now))
    return answer(RetiredChat(id=chat))


async def upload(call: RequestContext) -> Response:
    """Stage files; with `chat_id` also put them into that chat."""
    chat = call.request.query_params.get("chat_id")
    chat_actions.check(Where(chat))
    storage = call.backend.storage
    contents = [await storage.describe(name, blob) for name, blob in (await _received(call, chat)).files]
    account, now, ttl_ms = call.key.account, call.now, int(call.backend.settings.upload_ttl_seconds * 1000)

    def use(tx: Tx) -> list[UploadRecord]:
        if chat is not None:
            actions.put_uploads(tx, storage.index, chat, contents, now)
        return actions.stage(tx, account, contents, now, ttl_ms)

    staged = await call.write(use, long=chat is not None)
    return answer(StagedFiles(files=[record.public() for record in staged]))


async def _received(call: RequestContext, chat: str | None) -> Form:
    """The files of an upload, kept, once it is known that the chat may have them."""
    if not is_multipart(call.request):
        raise ApiError("invalid_multipart", "Send the files as multipart/form-data, field `files`.")
    rules = Rules("file_too_large", "too_many_files", call.backend.settings.max_file_bytes)
    form = await read_form(call.request, call.backend.blobs, rules)
    try:
        if not form.files:
            raise ApiError("invalid_multipart", "The upload holds no file; send them in the field `files`.")
        if chat is not None:
            call.read(lambda tx: chat_actions.of_account(tx, chat, call.key.account))
        await form.keep()
    except BaseException:
        form.discard()
        raise
    return form


async def list_(call: RequestContext) -> Response:
    chat, account = bodies.text(call, "chat_id"), call.key.account
    after = call.request.query_params.get("after", "")
    limit = bodies.integer(call, "limit", PAGE_MAX, 1, PAGE_MAX)
    return answer(call.read(lambda tx: actions.page(tx, account, chat, after, limit)))


async def search(call: RequestContext) -> Response:
    chat, q, account = bodies.text(call, "chat_id"), bodies.text(call, "q"), call.key.account
    if len(q) > QUERY_MAX_CHARS:
        raise ApiError("invalid_query", f"`q` must have 1 to {QUERY_MAX_CHARS} characters.", param="q")
    index = call.backend.storage.index
    try:
        found = await asyncio.to_thread(
            call.read, lambda tx: searching.search(tx, index, account, chat, q), SEARCH_SECONDS
        )
    except ReadTooLong:
        raise ApiError("invalid_query", grammar.TOO_LONG, param="q") from None
    return answer(found)


async def download(call: RequestContext) -> Response:
    chat, path, account = bodies.text(call, "chat_id"), bodies.text(call, "path"), call.key.account
    return content(call, call.read(lambda tx: actions.get(tx, account, chat, path)))


def content(call: RequestContext, record: FileRecord, disposition: str = "attachment") -> Response:
    """The bytes, whole or a range; Starlette answers ranges that exist."""
    found = call.backend.blobs.path(record.sha256)
    if not found.is_file():
        raise ApiError("internal_error", "The file's content is missing from the data folder.")
    etag = f'"{record.sha256}"'
    if call.request.headers.get("if-range", etag) == etag:
        bodies.check_range(call, record.size_bytes)
    headers = {"ETag": etag, "X-Content-Type-Options": "nosniff"}
    return FileResponse(
        found,
        media_type=record.media_type,
        filename=record.file_name,
        content_disposition_type=disposition,
        headers=headers,
    )


async def rename(call: RequestContext) -> Response:
    chat, path, account = bodies.text(call, "chat_id"), bodies.text(call, "path"), call.key.account
    given = bodies.checked(NewName, await bodies.read_object(call.request), "invalid_json")
    index, name = call.backend.storage.index, given.name.strip() or None
    record = await call.write(lambda tx: actions.rename(tx, index, account, chat, path, name), long=True)
    return answer(record.public())
