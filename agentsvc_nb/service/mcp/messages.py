"""The messages of MCP: JSON-RPC requests, their answers, streams of events, and what may go wrong on the way."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentsvc_nb import __version__
from agentsvc_nb.wire.reading import read_json

MODERN: Final = "2026-07-28"
"""The revision without sessions."""
LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions that begin with `initialize`; the first is proposed."""
NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The parameter that the header `Mcp-Name` repeats, by method."""
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


class McpFault(Exception):
    """A request to a server failed; the subclass says what may have happened there."""


class Unavailable(McpFault):
    """The server can't be reached, or must not be used: nothing was done."""


class Refused(McpFault):
    """The server answered with an error."""


class CutOff(McpFault):
    """The request was sent and no answer came: the server may have done it."""


class Unreadable(McpFault):
    """The server answered, but its answer can't be used."""


Message = dict[str, Any]


def request(number: int, method: str, params: Mapping[str, Any], *, modern: bool) -> Message:
    """A request; one of the `modern` revision says in itself who asks."""
    sent = {**params, "_meta": _META} if modern else dict(params)
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": sent}


def reply(asked: Message) -> Message:
    """The answer to a request of the server's: it is there, and nothing else is offered."""
    answer: Message = {"jsonrpc": "2.0", "id": asked.get("id")}
    if asked.get("method") == "ping":
        return {**answer, "result": {}}
    return {**answer, "error": {"code": _METHOD_NOT_FOUND, "message": "not offered"}}


def is_request(message: Message) -> bool:
    return "method" in message and "id" in message


def answers(message: Message, number: int) -> bool:
    """Whether the message is the answer to the request of this number."""
    return message.get("id") == number and "method" not in message


def result(message: Message) -> Message:
    """The result that an answer has. Raises `Refused`, and `Unreadable` for an answer with neither result nor error."""
    error = message.get("error")
    if isinstance(error, dict):
        raise Refused(str(error.get("message") or error.get("code") or "an error without a word")[:_SHOWN_CHARS])
    found = message.get("result")
    if not isinstance(found, dict):
        raise Unreadable("it has no result")
    return found


def read(data: bytes, key: str = "") -> Message:
    """A message, without the server's own key, should it have sent that back. Raises `Unreadable`."""
    try:
        text = without(data.decode("utf-8", "replace"), key)
        found = read_json(text)
        if _HALF.search(text):
            # Half a character, which could neither be stored nor sent on.
            found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError:
        raise Unreadable("it is no JSON") from None
    if not isinstance(found, dict):
        raise Unreadable("it is no message")
    return found


def without(text: str, key: str) -> str:
    """The text without the key; a very short one is no secret, and may be part of any word."""
    return text.replace(key, "[key]") if len(key) >= _KEY_CHARS else text


def header(value: str) -> str:
    """A text as the value of a header: as it is, or in Base64 if it would not arrive unchanged.

    >>> header("report"), header("Übersicht")
    ('report', '=?base64?w5xiZXJzaWNodA==?=')
    """
    if _PLAIN.fullmatch(value) and value == value.strip() and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


class EventReader:
    """Takes the messages out of a stream of events (`text/event-stream`), piece by piece."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of the events that end in this piece."""
        self._rest.append(piece)
        if b"\n" not in piece:  # a line of megabytes comes in many pieces, which are joined once
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
