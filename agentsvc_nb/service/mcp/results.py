"""Convert results of MCP servers to tool outcomes. Truncate long texts, store pictures, and fetch no links."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from agentsvc_nb.documents import media_types
from agentsvc_nb.tools.port import Outcome, ToolContext
from agentsvc_nb.wire.limits import MCP_PICTURE_BYTES, MCP_PICTURES_MAX, MCP_RESULT_CHARS, MESSAGE_CHARS

_FILE_EXTENSIONS: Final = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
_LINK_CHARS: Final = 500
_CUT: Final = "\n[... {:,} more characters are left out]"
_BLOCKS_MAX: Final = 200


async def to_outcome(result: Mapping[str, Any], server: str, context: ToolContext) -> Outcome:
    """Convert a server's result to the outcome of the call. Store each picture as a file of the chat."""
    reader = _BlockConverter(server, context)
    blocks = result.get("content")
    for block in blocks[:_BLOCKS_MAX] if isinstance(blocks, list) else ():
        if isinstance(block, dict):
            await reader.add_block(block)
    data = result.get("structuredContent")
    if not reader.has_text and data is not None:
        # A result with text repeats this data in its text, and the model would read the data twice.
        reader.add_text(json.dumps(data, ensure_ascii=False))
    if result.get("isError") is True:
        said = "\n".join(block["text"] for block in reader.content if block["type"] == "text")
        return Outcome(content=reader.content, error=("upstream_failed", said[:MESSAGE_CHARS] or "The tool failed."))
    return Outcome(content=reader.content)


class _BlockConverter:
    """Converts the content blocks of one result."""

    def __init__(self, server: str, context: ToolContext) -> None:
        self.content: list[dict[str, Any]] = []
        self.has_text = False
        self._server = server
        self._context = context
        self._chars_left = MCP_RESULT_CHARS
        self._pictures = 0

    async def add_block(self, block: Mapping[str, Any]) -> None:
        match block:
            case {"type": "text", "text": str(text)}:
                self.has_text = True
                self.add_text(text)
            case {"type": "image", "data": str(data)}:
                await self._add_picture(data)
            case {"type": "resource_link", "uri": str(uri)}:
                self.add_text(f"[link: {str(block.get('name') or uri)[:_LINK_CHARS]} at {uri[:_LINK_CHARS]}]")
            case {"type": "resource", "resource": {"text": str(text)}}:
                self.has_text = True
                self.add_text(text)
            case _:
                self.add_text(f"[{str(block.get('type') or 'a block')[:40]}: not supported]")

    def add_text(self, text: str) -> None:
        """Add a text block, truncated to the remaining number of characters."""
        if self._chars_left <= 0:
            return
        left = len(text) - self._chars_left
        shown = text[: self._chars_left] + (_CUT.format(left) if left > 0 else "")
        self._chars_left -= len(text)
        self.content.append({"type": "text", "text": shown})

    async def _add_picture(self, encoded: str) -> None:
        data = _decode_picture(encoded)
        media_type = media_types.media_type(data[: media_types.HEAD_BYTES]) if data else None
        if media_type not in _FILE_EXTENSIONS or self._pictures == MCP_PICTURES_MAX:
            self.add_text("[picture: not stored]")
            return
        self._pictures += 1
        name = hashlib.sha256(data).hexdigest()[:12]  # a repeated call writes the same file
        path = f"{self._server}/{name}.{_FILE_EXTENSIONS[media_type]}"
        await self._context.write(path, data)
        self.content.append({"type": "image", "path": path, "media_type": media_type})


def _decode_picture(encoded: str) -> bytes:
    """Decode a picture. Return `b""` if the picture is too large or is not valid Base64."""
    if len(encoded) > MCP_PICTURE_BYTES * 4 // 3 + 4:
        return b""
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""
