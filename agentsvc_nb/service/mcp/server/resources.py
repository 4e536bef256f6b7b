"""Offer the files of chats as MCP resources, and complete the URIs of files."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from typing import Any, Final

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.mcp.server import results
from agentsvc_nb.service.mcp.server.protocol import INVALID_PARAMS, Fault, McpRequest
from agentsvc_nb.wire.limits import MCP_CHATS_MAX, MCP_CONTENT_BYTES, PAGE_MAX

TEMPLATE: Final = {
    "uriTemplate": results.SCHEME + "{chat}/{+path}",
    "name": "file",
    "title": "A file of a chat",
    "description": "The file's content: text, or bytes in Base64.",
}
_FRESH: Final = {"ttlMs": 0, "cacheScope": "private"}
"""Cache fields with which clients do not cache files, because a run may change a file at any moment."""
_VALUES_MAX: Final = 100


def cache_fields(scope: str) -> dict[str, Any]:
    """Return fields that allow clients to cache a list for a minute. Use them for lists that only settings change."""
    return {"ttlMs": 60_000, "cacheScope": scope}


async def list_templates(context: RequestContext, request: McpRequest) -> Message:
    return {"resourceTemplates": [TEMPLATE], **cache_fields("public")}


async def read(context: RequestContext, request: McpRequest) -> Message:
    """Answer `resources/read`. Raises `Fault`."""
    address = request.get_text("uri")
    place = results.parse_uri(address)
    try:
        record = await files.get(context.use_case, context.account, *place) if place else None
    except ApiError:
        record = None
    if record is None:
        raise Fault(INVALID_PARAMS, "This resource does not exist.", data={"uri": address})
    if record.size_bytes > MCP_CONTENT_BYTES:
        message = (
            f"The file has more than {MCP_CONTENT_BYTES:,} bytes: read its text with `read_file`, or download "
            "it over HTTP."
        )
        raise Fault(INVALID_PARAMS, message, data={"uri": address})
    data, media_type = await read_content(context, record), record.media_type
    shown = {"blob": base64.b64encode(data).decode()}
    if media_type.startswith("text/") or media_type in ("application/json", "application/xml"):
        with contextlib.suppress(ValueError):
            shown = {"text": data.decode()}
    return {**_FRESH, "contents": [{"uri": address, "mimeType": media_type, **shown}]}


async def read_content(context: RequestContext, record: FileRecord) -> bytes:
    async with context.services.blobs.file(record.sha256) as file:
        return await asyncio.to_thread(file.read_bytes)


async def list_files(context: RequestContext, request: McpRequest) -> Message:
    """Answer `resources/list`: list the files of the most recently used chats, one chat after another.

    A cursor contains a chat and the last path of the previous page. Raises `Fault` for an unknown cursor.
    """
    cursor = request.params.get("cursor", "")
    if not isinstance(cursor, str) or (cursor and "/" not in cursor):
        raise Fault(INVALID_PARAMS, "`cursor` must be the `nextCursor` of the previous page.")
    recent = await _recent_chats(context)
    first, _, after = cursor.partition("/")
    for index in range(recent.index(first) if first in recent else len(recent) if first else 0, len(recent)):
        page = await files.page(context.use_case, context.account, recent[index], after, PAGE_MAX)
        after = ""
        if page.files:
            following = [f"{recent[index]}/{page.next_after}"] if page.next_after else []
            following += [f"{chat}/" for chat in recent[index + 1 : index + 2]]
            shown = [_describe_resource(page.chat, file.model_dump()) for file in page.files]
            return {**_FRESH, "resources": shown, **({"nextCursor": following[0]} if following else {})}
    return {**_FRESH, "resources": []}


def _describe_resource(chat: str, file: dict[str, Any]) -> Message:
    return {
        "uri": results.build_uri(chat, file["path"]),
        "name": file["path"],
        "description": f"A file of {chat}.",
        "mimeType": file["media_type"],
        "size": file["size_bytes"],
    }


async def complete(context: RequestContext, request: McpRequest) -> Message:
    """Answer `completion/complete` for the chat and the path in the template's URI. Complete nothing else."""
    reference, argument = request.get_object("ref"), request.get_object("argument")
    name, prefix = argument.get("name"), argument.get("value", "")
    if not isinstance(prefix, str) or not isinstance(name, str):
        raise Fault(INVALID_PARAMS, "`argument` must have a `name` and a `value`.")
    values: list[str] = []
    if reference.get("type") == "ref/resource" and reference.get("uri") == TEMPLATE["uriTemplate"]:
        known = request.get_object("context").get("arguments")
        chat = known.get("chat") if isinstance(known, dict) else None
        if name == "chat":
            values = await _recent_chats(context)
        elif name == "path" and isinstance(chat, str):
            values = await _find_paths(context, chat, prefix)
    values = [value for value in values if value.startswith(prefix)]
    return {"completion": {"values": values[:_VALUES_MAX], "hasMore": len(values) > _VALUES_MAX}}


async def _find_paths(context: RequestContext, chat: str, prefix: str) -> list[str]:
    try:
        # Pages are ordered by path, so the paths with this prefix follow the prefix directly. The prefix itself may
        # also be the path of a file.
        page = await files.page(context.use_case, context.account, chat, prefix, _VALUES_MAX + 1)
    except ApiError:
        return []
    same = await files.find(context.use_case, chat, [prefix])
    return [*(file.path for file in same), *(file.path for file in page.files)]


async def _recent_chats(context: RequestContext) -> list[str]:
    return [used.id for used in await chats.recent(context.use_case, context.account, None, MCP_CHATS_MAX)]
