"""Parse MCP messages from clients, and build responses.

A request of the revision 2026-07-28 (`modern`) says which client sent it, and its headers repeat the fields that
proxies need. In older revisions, a client first calls `initialize`; the service stores no session for it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import to_json
from starlette.datastructures import Headers

from agentsvc_nb import __version__
from agentsvc_nb.service.mcp.messages import LEGACY, MODERN, NAME_PARAMETERS, Message

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

HANDSHAKE_VERSIONS: Final = tuple(version for version in LEGACY if version != "2025-03-26")
"""The older revisions that clients may use. 2025-03-26 is missing, because it requires batches of messages."""
SUPPORTED_VERSIONS: Final = [MODERN, *HANDSHAKE_VERSIONS]
TASKS: Final = "io.modelcontextprotocol/tasks"
SERVER: Final = {"name": "agentsvc-nb", "title": "Agent service", "version": __version__}
_META: Final = "io.modelcontextprotocol/"
_TRACEPARENT: Final = re.compile("00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Fault(Exception):
    """A request failed with a JSON-RPC error. `id` is the id of the request, or None if the id is unknown."""

    def __init__(self, code: int, message: str, *, status: int = 200, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data = code, message, status, data
        self.id: str | int | None = None

    def response(self) -> Message:
        error = {"code": self.code, "message": self.message} | ({} if self.data is None else {"data": self.data})
        return {"jsonrpc": "2.0", **({} if self.id is None else {"id": self.id}), "error": error}


@dataclass(frozen=True, slots=True)
class McpRequest:
    """A request from a client.

    `modern` is True for a request of the revision 2026-07-28. Only such a request declares `capabilities`.
    """

    id: str | int
    method: str
    params: Mapping[str, Any]
    modern: bool
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def supports_tasks(self) -> bool:
        """Whether the client accepts a task in place of a result."""
        return isinstance(_as_dict(self.capabilities.get("extensions")).get(TASKS), dict)

    @property
    def supports_forms(self) -> bool:
        """Whether the client can show a form to its user (MCP calls this elicitation)."""
        declared = self.capabilities.get("elicitation")
        return isinstance(declared, dict) and (not declared or "form" in declared)

    @property
    def progress_token(self) -> str | int | None:
        token = _as_dict(self.params.get("_meta")).get("progressToken")
        return token if isinstance(token, str | int) and not isinstance(token, bool) else None

    @property
    def traceparent(self) -> str | None:
        """The client's span (W3C Trace Context), or None if the request contains no valid `traceparent`."""
        found = _as_dict(self.params.get("_meta")).get("traceparent")
        return found if isinstance(found, str) and _TRACEPARENT.fullmatch(found) else None

    def get_text(self, name: str) -> str:
        """Return the parameter `name`, which must be a string and not empty. Raises `Fault`."""
        value = self.params.get(name)
        if not isinstance(value, str) or not value:
            raise Fault(INVALID_PARAMS, f"`{name}` must be a string.")
        return value

    def get_object(self, name: str) -> dict[str, Any]:
        """Return the parameter `name`, which must be an object, or `{}` if it is missing. Raises `Fault`."""
        value = self.params.get(name, {})
        if not isinstance(value, dict):
            raise Fault(INVALID_PARAMS, f"`{name}` must be an object.")
        return value

    def require_tasks(self) -> None:
        """Raise `Fault` unless the client declares the tasks extension."""
        if not self.supports_tasks:
            raise missing_capability({"extensions": {TASKS: {}}})

    def response(self, result: Mapping[str, Any]) -> Message:
        """Build the response with this result. A modern response also has the result's type and the server's name."""
        if self.modern:
            meta = {**_as_dict(result.get("_meta")), f"{_META}serverInfo": SERVER}
            result = {"resultType": "complete", **result, "_meta": meta}
        return {"jsonrpc": "2.0", "id": self.id, "result": result}


def missing_capability(required: Mapping[str, Any]) -> Fault:
    message = "This request needs a capability that the client does not declare."
    return Fault(MISSING_CAPABILITY, message, status=400, data={"requiredCapabilities": required})


def parse_request(document: Mapping[str, Any], headers: Headers) -> McpRequest | None:
    """Parse a message as a request. Return None for a notification or a response. Raises `Fault`."""
    method, id, params = document.get("method"), document.get("id"), document.get("params", {})
    if document.get("jsonrpc") != "2.0" or not (isinstance(method, str) or "result" in document or "error" in document):
        raise Fault(INVALID_REQUEST, "The body must be a single JSON-RPC 2.0 message.", status=400)
    if not isinstance(method, str) or "id" not in document:
        return None
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise Fault(INVALID_REQUEST, "`id` must be a string or an integer.", status=400)
    try:
        if not isinstance(params, dict):
            raise Fault(INVALID_PARAMS, "`params` must be an object.", status=400)
        meta, named = _as_dict(params.get("_meta")), headers.get("mcp-protocol-version")
        if f"{_META}protocolVersion" in meta or named == MODERN:
            return _parse_modern(id, method, params, meta, headers)
        if named is None or named in HANDSHAKE_VERSIONS or method == "initialize":
            return McpRequest(id, method, params, modern=False)
        return _parse_modern(id, method, params, meta, headers)
    except Fault as fault:
        fault.id = id
        raise


def _parse_modern(
    id: str | int, method: str, params: Mapping[str, Any], meta: Mapping[str, Any], headers: Headers
) -> McpRequest:
    version, capabilities = meta.get(f"{_META}protocolVersion"), meta.get(f"{_META}clientCapabilities")
    if version is not None:
        _check_header(headers, "mcp-protocol-version", version)
    requested = headers.get("mcp-protocol-version") if version is None else version
    if requested != MODERN:
        data = {"supported": SUPPORTED_VERSIONS, "requested": requested}
        raise Fault(UNSUPPORTED_VERSION, f"This request needs the revision {MODERN}.", status=400, data=data)
    if version is None or not isinstance(capabilities, dict):
        missing = "protocolVersion" if version is None else "clientCapabilities"
        raise Fault(INVALID_PARAMS, f"`_meta` must contain `{_META}{missing}`.", status=400)
    _check_header(headers, "mcp-method", method)
    if name := NAME_PARAMETERS.get(method):
        _check_header(headers, "mcp-name", params.get(name))
    return McpRequest(id, method, params, modern=True, capabilities=capabilities)


def _check_header(headers: Headers, name: str, value: Any) -> None:
    """Raise `Fault` unless the request has the header exactly once, with the given value."""
    found = headers.getlist(name)
    if len(found) != 1:
        raise Fault(HEADER_MISMATCH, f"The header `{name}` must be sent exactly once.", status=400)
    if not isinstance(value, str) or decode_header(found[0]) != value:
        raise Fault(HEADER_MISMATCH, f"The header `{name}` does not match the body.", status=400)


def decode_header(value: str) -> str | None:
    """Decode a header's value, which may be Base64. Return None for invalid Base64.

    >>> decode_header("=?base64?w5xiZXJzaWNodA==?="), decode_header("report"), decode_header("=?base64?a?=")
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


def _as_dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
