"""The files of chats: as tools that search, list and read them, as resources, and as completions of their names."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, Final

from agentsvc_nb.documents import search_query
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.mcp.endpoint import results
from agentsvc_nb.service.mcp.endpoint.catalog import (
    ChatList,
    ListChats,
    ListedChat,
    ListFiles,
    ReadContent,
    ReadFile,
    SearchFiles,
)
from agentsvc_nb.service.mcp.endpoint.protocol import INVALID_PARAMS, Asked, Fault
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.wire.files import FileSearch
from agentsvc_nb.wire.limits import MCP_CHATS_MAX, MCP_CONTENT_BYTES, MCP_READ_CHARS, PAGE_MAX
from agentsvc_nb.wire.runs import typed

TEMPLATE: Final = {
    "uriTemplate": results.SCHEME + "{chat}/{+path}",
    "name": "file",
    "title": "A file of a chat",
    "description": "Its content: text, or bytes in Base64.",
}
FRESH: Final = {"ttlMs": 0, "cacheScope": "private"}
"""How long an answer about files holds: another run may write the next moment."""
_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_VALUES_MAX: Final = 100
_MESSAGE_CHARS: Final = 200
"""Of a chat's last message that is listed."""


async def chats_listed(context: RequestContext, given: ListChats) -> Message:
    """A page of the account's chats. Raises `invalid_tool_input`."""
    if given.after and not (given.after.isascii() and given.after.isdigit() and len(given.after) < 16):
        raise ApiError("invalid_tool_input", "`after` must be the `next_after` of the page before.", field="after")
    before = int(given.after) if given.after else None
    found = await chats.recent(context.use_case, context.account, before, given.limit)
    shown = [
        ListedChat(
            chat=one.id,
            project=one.project,
            run_id=one.run_id,
            status=one.status,
            message=None if one.message is None else typed(one.message)[:_MESSAGE_CHARS],
            used_at=rfc3339(one.used_at),
            retired=one.retired_at is not None,
        )
        for one in found
    ]
    after = str(found[-1].used_at) if len(found) == given.limit else None
    return results.result((), ChatList(chats=shown, next_after=after))


async def search(context: RequestContext, given: SearchFiles) -> FileSearch:
    try:
        return await files.search(context.use_case, context.account, given.chat, given.q)
    except ReadTooLong:
        raise ApiError("invalid_query", search_query.TOO_LONG, param="q") from None


async def listed(context: RequestContext, given: ListFiles) -> Message:
    found = await files.page(context.use_case, context.account, given.chat, given.after, given.limit)
    return results.result((), found)


async def text(context: RequestContext, given: ReadFile) -> Message:
    """A page of a file's text; a picture as one, and a link to what is neither."""
    record = await files.get(context.use_case, context.account, given.chat, given.path)
    facts = ReadContent(path=record.path, media_type=record.media_type, size_bytes=record.size_bytes)
    if record.media_type in _PICTURES and record.size_bytes <= MCP_CONTENT_BYTES:
        data = base64.b64encode(await _content(context, record)).decode()
        return results.result([{"type": "image", "data": data, "mimeType": record.media_type}], facts)
    whole = await ChatWorkspace(context.services.storage, record.chat).text(record.path)
    if not whole and record.size_bytes:
        return results.result([results.link(record)], facts)
    part, end = whole[given.offset : given.offset + MCP_READ_CHARS], given.offset + MCP_READ_CHARS
    after = end if end < len(whole) else None
    told = {"text": part, "total_chars": len(whole), "next_offset": after}
    return results.result((), facts.model_copy(update=told))


async def read(context: RequestContext, asked: Asked) -> Message:
    """`resources/read`. Raises `Fault`."""
    address = asked.text("uri")
    place = results.place(address)
    try:
        record = await files.get(context.use_case, context.account, *place) if place else None
    except ApiError:
        record = None
    if record is None:
        raise Fault(INVALID_PARAMS, "There is no such resource.", data={"uri": address})
    if record.size_bytes > MCP_CONTENT_BYTES:
        most = f"{MCP_CONTENT_BYTES:,} bytes"
        said = f"It has more than {most}: read its text with `read_file`, or download it over HTTP."
        raise Fault(INVALID_PARAMS, said, data={"uri": address})
    shown = _shown(await _content(context, record), record.media_type)
    return {**FRESH, "contents": [{"uri": address, "mimeType": record.media_type, **shown}]}


def _shown(content: bytes, media_type: str) -> dict[str, str]:
    if media_type.startswith("text/") or media_type in ("application/json", "application/xml"):
        try:
            return {"text": content.decode()}
        except ValueError:
            pass
    return {"blob": base64.b64encode(content).decode()}


async def _content(context: RequestContext, record: FileRecord) -> bytes:
    async with context.services.blobs.file(record.sha256) as file:
        return await asyncio.to_thread(file.read_bytes)


async def resources(context: RequestContext, asked: Asked) -> Message:
    """`resources/list`: the files of the chats that were used last, a page each. Raises `Fault` for a cursor that is
    none of ours."""
    recent = [used.id for used in await chats.recent(context.use_case, context.account, None, MCP_CHATS_MAX)]
    chat, _, after = _cursor(asked).partition("/")
    if chat and chat not in recent:
        return {**FRESH, "resources": []}
    place = recent.index(chat) if chat else 0
    for index in range(place, len(recent)):
        page = await files.page(context.use_case, context.account, recent[index], after, PAGE_MAX)
        after = ""
        if page.files:
            goes_on = [f"{chat}/" for chat in recent[index + 1 : index + 2]]
            if page.next_after:
                goes_on = [f"{recent[index]}/{page.next_after}"]
            shown = [_resource(page.chat, file.model_dump()) for file in page.files]
            return {**FRESH, "resources": shown, **({"nextCursor": goes_on[0]} if goes_on else {})}
    return {**FRESH, "resources": []}


def _cursor(asked: Asked) -> str:
    cursor = asked.params.get("cursor", "")
    if not isinstance(cursor, str) or (cursor and "/" not in cursor):
        raise Fault(INVALID_PARAMS, "`cursor` must be the `nextCursor` of the page before.")
    return cursor


def _resource(chat: str, file: dict[str, Any]) -> Message:
    return {
        "uri": results.uri(chat, file["path"]),
        "name": file["path"],
        "description": f"A file of {chat}.",
        "mimeType": file["media_type"],
        "size": file["size_bytes"],
    }


async def complete(context: RequestContext, asked: Asked) -> Message:
    """`completion/complete` for the template's chat and path; nothing for anything else."""
    reference, argument = asked.mapping("ref"), asked.mapping("argument")
    name, begun = argument.get("name"), argument.get("value", "")
    if not isinstance(begun, str) or not isinstance(name, str):
        raise Fault(INVALID_PARAMS, "`argument` must have a `name` and a `value`.")
    if reference.get("type") == "ref/resource" and reference.get("uri") == TEMPLATE["uriTemplate"]:
        found = await _completions(context, asked, name, begun)
        values = [value for value in found if value.startswith(begun)]
        return {"completion": {"values": values[:_VALUES_MAX], "hasMore": len(values) > _VALUES_MAX}}
    return {"completion": {"values": [], "hasMore": False}}


async def _completions(context: RequestContext, asked: Asked, name: str, begun: str) -> list[str]:
    if name == "chat":
        return [used.id for used in await chats.recent(context.use_case, context.account, None, MCP_CHATS_MAX)]
    known = asked.mapping("context").get("arguments")
    chat = known.get("chat") if isinstance(known, dict) else None
    if name != "path" or not isinstance(chat, str):
        return []
    try:
        # Paths that begin so come next after what was begun, which may be one itself.
        page = await files.page(context.use_case, context.account, chat, begun, _VALUES_MAX + 1)
    except ApiError:
        return []
    whole = await files.find(context.use_case, chat, [begun])
    return [*(file.path for file in whole), *(file.path for file in page.files)]
