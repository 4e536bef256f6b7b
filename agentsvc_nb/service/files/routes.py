"""The API's handlers for files of a chat."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.documents import search_query
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.http import bodies, contents
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import MultipartForm, MultipartLimits, is_multipart, read_form
from agentsvc_nb.service.http.responses import answer
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.wire.files import (
    NewName,
    RestoredVersion,
    StagedFiles,
)
from agentsvc_nb.wire.limits import PAGE_MAX, QUERY_MAX_CHARS


async def files_upload(context: RequestContext) -> Response:
    """Stage files. With `chat_id` or `session`, also put the files into that chat."""
    where = bodies.chat_of_body({**context.request.query_params, "chat": context.request.query_params.get("chat_id")})
    storage = context.services.storage
    contents = [await storage.describe(name, blob) for name, blob in (await _receive(context, where)).files]
    staged, chat = await files.upload(context.use_case, context.key.account, contents, where)
    return answer(StagedFiles(files=[record.public(chat) for record in staged]))


async def _receive(context: RequestContext, where: chats.ChatSelector) -> MultipartForm:
    """Read an upload's files and store them as blobs, all or none. Raises errors of `read_form` and `check_upload`."""
    if not is_multipart(context.request):
        raise ApiError("invalid_multipart", "Send the files as multipart/form-data, in the field `files`.")
    rules = MultipartLimits("file_too_large", "too_many_files", context.services.settings.max_file_bytes)
    form = await read_form(context.request, context.services.blobs, rules)
    try:
        if not form.files:
            raise ApiError("invalid_multipart", "The request contains no file. Send files in the field `files`.")
        await chats.check_upload(context.use_case, context.key.account, where)
        # Store the blobs after all checks, because `discard` removes only blobs that are not yet stored.
        await form.keep()
    except BaseException:
        form.discard()
        raise
    return form


async def files_list(context: RequestContext) -> Response:
    chat, account = bodies.text(context, "chat_id"), context.key.account
    after = context.request.query_params.get("after", "")
    limit = bodies.integer(context, "limit", PAGE_MAX, 1, PAGE_MAX)
    return answer(await files.page(context.use_case, account, chat, after, limit))


async def files_search(context: RequestContext) -> Response:
    chat, q, account = bodies.text(context, "chat_id"), bodies.text(context, "q"), context.key.account
    if len(q) > QUERY_MAX_CHARS:
        raise ApiError("invalid_query", f"`q` must have 1 to {QUERY_MAX_CHARS} characters.", param="q")
    try:
        found = await files.search(context.use_case, account, chat, q)
    except ReadTooLong:
        raise ApiError("invalid_query", search_query.TOO_LONG, param="q") from None
    return answer(found)


async def files_download(context: RequestContext) -> Response:
    chat, path, account = bodies.text(context, "chat_id"), bodies.text(context, "path"), context.key.account
    version = bodies.file_version(context)
    return await file_response(context, await files.get(context.use_case, account, chat, path, version))


async def files_versions(context: RequestContext) -> Response:
    chat, path, account = bodies.text(context, "chat_id"), bodies.text(context, "path"), context.key.account
    return answer(await files.versions(context.use_case, account, chat, path))


async def files_restore(context: RequestContext) -> Response:
    chat, path, account = bodies.text(context, "chat_id"), bodies.text(context, "path"), context.key.account
    given = await bodies.validate_body(context, RestoredVersion, await bodies.read_object(context), "invalid_json")
    return answer((await files.restore(context.use_case, account, chat, path, given.version)).public())


async def files_rename(context: RequestContext) -> Response:
    chat, path, account = bodies.text(context, "chat_id"), bodies.text(context, "path"), context.key.account
    given = await bodies.validate_body(context, NewName, await bodies.read_object(context), "invalid_json")
    record = await files.rename(context.use_case, account, chat, path, given.name.strip() or None)
    return answer(record.public())


async def file_response(context: RequestContext, record: FileRecord, disposition: str = "attachment") -> Response:
    """Return a response with the whole file, or with the byte ranges that the request's `Range` header names.

    Raises `range_not_satisfiable` and `BlobsUnavailable`.
    """
    headers = {"ETag": f'"{record.sha256}"', "X-Content-Type-Options": "nosniff"}
    return await contents.response(context, record, disposition, headers)
