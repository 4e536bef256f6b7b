"""One message of MCP as a request of ours: what is asked by whom, which revision it speaks, and what is wrong with it.

Of the revision of 2026-07-28 each request says in itself who asks; headers repeat what proxies look at, and must agree
with the body. Older revisions begin with `initialize`, of which nothing is remembered.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import to_json
from starlette.datastructures import Headers

from agentsvc_nb import __version__
from agentsvc_nb.service.mcp.messages import LEGACY, MODERN, NAMED_BY, Message

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

SPOKEN: Final = tuple(version for version in LEGACY if version != "2025-03-26")
"""Older revisions that clients may speak: that one requires that a server takes batches of messages."""
SUPPORTED: Final = [MODERN, *SPOKEN]
TASKS: Final = "io.modelcontextprotocol/tasks"
SERVER: Final = {"name": "agentsvc-nb", "title": "Agent service", "version": __version__}
_META: Final = "io.modelcontextprotocol/"
_TRACEPARENT: Final = re.compile("00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Fault(Exception):
    """Answered as a JSON-RPC error."""

    def __init__(self, code: int, message: str, *, status: int = 200, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data = code, message, status, data

    def answer(self, id: str | int | None) -> Message:
        error = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", **({} if id is None else {"id": id}), "error": error}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. `modern`: of the revision of 2026-07-28, with the `capabilities` that its client declares."""

    id: str | int
    method: str
    params: Mapping[str, Any]
    modern: bool
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tasks(self) -> bool:
        """Whether the client takes a task in place of a result."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and isinstance(extensions.get(TASKS), dict)

    @property
    def elicits(self) -> bool:
        """Whether the client can ask its user for input by a form."""
        declared = self.capabilities.get("elicitation")
        return isinstance(declared, dict) and (not declared or "form" in declared)

    @property
    def progress_token(self) -> str | int | None:
        token = _dict(self.params.get("_meta")).get("progressToken")
        return token if isinstance(token, str | int) and not isinstance(token, bool) else None

    @property
    def traceparent(self) -> str | None:
        """The trace in which the client asks (W3C Trace Context); None for what is none."""
        found = _dict(self.params.get("_meta")).get("traceparent")
        return found if isinstance(found, str) and _TRACEPARENT.fullmatch(found) else None

    def calls(self, tools: Collection[str]) -> bool:
        """Whether it is a call of one of these tools."""
        name = self.params.get("name")
        return self.method == "tools/call" and isinstance(name, str) and name in tools

    def text(self, name: str) -> str:
        """A required text among the parameters. Raises `Fault`."""
        value = self.params.get(name)
        if not isinstance(value, str) or not value:
            raise Fault(INVALID_PARAMS, f"`{name}` must be a text.")
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """An object among the parameters; empty when it is left out. Raises `Fault`."""
        value = self.params.get(name, {})
        if not isinstance(value, dict):
            raise Fault(INVALID_PARAMS, f"`{name}` must be an object.")
        return value

    def require_tasks(self) -> None:
        """Raises `Fault` unless the client declares the extension of tasks."""
        if not self.tasks:
            raise missing_capability({"extensions": {TASKS: {}}})

    def answer(self, result: Mapping[str, Any]) -> Message:
        """The response with this result; a modern one says what kind it is, and who answers."""
        if self.modern:
            meta = {**_dict(result.get("_meta")), f"{_META}serverInfo": SERVER}
            result = {"resultType": "complete", **result, "_meta": meta}
        return {"jsonrpc": "2.0", "id": self.id, "result": result}


def missing_capability(required: Mapping[str, Any]) -> Fault:
    told = {"requiredCapabilities": required}
    return Fault(MISSING_CAPABILITY, "The client does not declare a capability that this takes.", status=400, data=told)


def asked(document: Mapping[str, Any], headers: Headers) -> Asked | None:
    """The request that a body holds; None for a notification, or an answer, of which the service expects none. Raises
    `Fault`."""
    method, id, params = document.get("method"), document.get("id"), document.get("params", {})
    if document.get("jsonrpc") != "2.0" or not (isinstance(method, str) or "result" in document or "error" in document):
        raise Fault(INVALID_REQUEST, "The body must be one JSON-RPC 2.0 message.", status=400)
    if not isinstance(method, str) or "id" not in document:
        return None
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise Fault(INVALID_REQUEST, "`id` must be a text or an integer.", status=400)
    if not isinstance(params, dict):
        raise Faulty(id, Fault(INVALID_PARAMS, "`params` must be an object.", status=400))
    try:
        if _is_legacy(method, params, headers):
            return Asked(id, method, params, modern=False)
        return _modern(id, method, params, headers)
    except Fault as fault:
        raise Faulty(id, fault) from None


class Faulty(Exception):
    """A request with an id that has a fault."""

    def __init__(self, id: str | int, fault: Fault) -> None:
        super().__init__(fault.message)
        self.id, self.fault = id, fault


def _is_legacy(method: str, params: Mapping[str, Any], headers: Headers) -> bool:
    named = headers.get("mcp-protocol-version")
    if f"{_META}protocolVersion" in _dict(params.get("_meta")) or named == MODERN:
        return False
    return named in SPOKEN or named is None or method == "initialize"


def _modern(id: str | int, method: str, params: Mapping[str, Any], headers: Headers) -> Asked:
    """Raises `Fault` for what a modern request must have and has not."""
    meta = _dict(params.get("_meta"))
    version, capabilities = meta.get(f"{_META}protocolVersion"), meta.get(f"{_META}clientCapabilities")
    _same(headers, "mcp-protocol-version", version)
    requested = headers.get("mcp-protocol-version") if version is None else version
    if requested != MODERN:
        told = {"supported": SUPPORTED, "requested": requested}
        raise Fault(UNSUPPORTED_VERSION, f"This service speaks {MODERN}.", status=400, data=told)
    if version is None or not isinstance(capabilities, dict):
        left_out = "protocolVersion" if version is None else "clientCapabilities"
        raise Fault(INVALID_PARAMS, f"`_meta` must have `{_META}{left_out}`.", status=400)
    _same(headers, "mcp-method", method)
    if name := NAMED_BY.get(method):
        _same(headers, "mcp-name", params.get(name))
    return Asked(id, method, params, modern=True, capabilities=capabilities)


def _same(headers: Headers, name: str, value: Any) -> None:
    """Raises `Fault` unless the header is there once and says what the body says."""
    found = headers.getlist(name)
    if value is None and name == "mcp-protocol-version":
        return  # told as what it is: a request without its `_meta`
    if len(found) != 1:
        raise Fault(HEADER_MISMATCH, f"The header `{name}` is missing, or comes twice.", status=400)
    if not isinstance(value, str) or decoded(found[0]) != value:
        raise Fault(HEADER_MISMATCH, f"The header `{name}` does not say what the body says.", status=400)


def decoded(value: str) -> str | None:
    """A header's text, out of its Base64 if it is in any; None when that is broken.

    >>> decoded("=?base64?w5xiZXJzaWNodA==?="), decoded("report"), decoded("=?base64?a?=")
    ('Übersicht', 'report', None)
    """
    value = value.strip(" \t")
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[len("=?base64?") : -len("?=")], validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def notification(method: str, params: Mapping[str, Any]) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def encode(message: Message) -> bytes:
    return to_json(message, inf_nan_mode="null")


def frame(message: Message) -> bytes:
    """A message of a stream of events. Its JSON has no line breaks."""
    return b"event: message\ndata: " + encode(message) + b"\n\n"


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
