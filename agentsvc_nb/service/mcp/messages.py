"""Build and parse MCP messages: JSON-RPC requests, responses, and event streams. Define the errors of requests."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentsvc_nb import __version__
from agentsvc_nb.wire.reading import read_json

MODERN: Final = "2026-07-28"
"""The MCP revision without sessions. Its requests are called "modern" in this package."""
LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The revisions in which a session begins with `initialize`. The client proposes the first of them."""
NAME_PARAMETERS: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The parameter that a modern request repeats in the header `Mcp-Name`, by method."""
CLIENT: Final = {"name": "agentsvc-nb", "version": __version__}
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_METHOD_NOT_FOUND: Final = -32601
_SHOWN_CHARS: Final = 500
_KEY_CHARS: Final = 6
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")


class McpError(Exception):
    """A request to an MCP server failed. The subclass says whether the server may have executed the request."""


class Unavailable(McpError):
    """The server can't be reached, or the client must not use it. The server has not executed the request."""


class Refused(McpError):
    """The server responded with an error."""


class ConnectionLost(McpError):
    """The client sent the request but received no response. The server may have executed the request."""


class InvalidResponse(McpError):
    """The server responded, but the client can't use the response."""


Message = dict[str, Any]


def build_request(number: int, method: str, params: Mapping[str, Any], *, modern: bool) -> Message:
    """Build a request. A `modern` request also contains the protocol revision and describes the client."""
    sent = {**params, "_meta": _META} if modern else dict(params)
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": sent}


def build_response(asked: Message) -> Message:
    """Build the client's response to a request from the server: a result for `ping`, an error for any other method."""
    answer: Message = {"jsonrpc": "2.0", "id": asked.get("id")}
    if asked.get("method") == "ping":
        return {**answer, "result": {}}
    return {**answer, "error": {"code": _METHOD_NOT_FOUND, "message": "method not supported"}}


def is_request(message: Message) -> bool:
    return "method" in message and "id" in message


def is_response_to(message: Message, number: int) -> bool:
    """Return whether `message` is the response to the request with the id `number`."""
    return message.get("id") == number and "method" not in message


def get_result(message: Message) -> Message:
    """Return the result in a response. Raises `Refused` for an error, and `InvalidResponse` for other responses."""
    error = message.get("error")
    if isinstance(error, dict):
        raise Refused(
            str(error.get("message") or error.get("code") or "it returned an error without a message")[:_SHOWN_CHARS]
        )
    found = message.get("result")
    if not isinstance(found, dict):
        raise InvalidResponse("its response has neither a result nor an error")
    return found


def parse(data: bytes, key: str = "") -> Message:
    """Parse a message from a server. Raises `InvalidResponse`.

    A server may repeat the `key` that it received. Replace this key in the message with `[key]`.
    """
    try:
        text = remove_key(data.decode("utf-8", "replace"), key)
        found = read_json(text)
        if _HALF.search(text):
            # Replace lone surrogates, because they can be neither stored nor sent.
            found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError:
        raise InvalidResponse("its response is not valid JSON") from None
    if not isinstance(found, dict):
        raise InvalidResponse("its response is not an MCP message")
    return found


def remove_key(text: str, key: str) -> str:
    """Replace `key` in the text with `[key]`. Keep a very short key, because it may be part of any word."""
    return text.replace(key, "[key]") if len(key) >= _KEY_CHARS else text


def encode_header(value: str) -> str:
    """Encode a text as a header's value: in Base64 if the text would not arrive unchanged, otherwise as it is.

    >>> encode_header("report"), encode_header("Übersicht")
    ('report', '=?base64?w5xiZXJzaWNodA==?=')
    """
    if _PLAIN.fullmatch(value) and value == value.strip() and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


class EventReader:
    """Parses an event stream (`text/event-stream`) that arrives in pieces."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Add a piece of the stream. Yield the data of each event that this piece completes."""
        self._rest.append(piece)
        # a line of megabytes arrives in many pieces: join the pieces only once, when the line is complete
        if b"\n" not in piece:
            return
        *lines, rest = b"".join(self._rest).split(b"\n")
        self._rest = [rest]
        for line in (one.removesuffix(b"\r") for one in lines):
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                event, self._data = b"\n".join(self._data), []
                if event.strip():
                    yield event
