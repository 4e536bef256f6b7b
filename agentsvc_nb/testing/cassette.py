"""The file format of a cassette: one JSON line per request and its response, in the order in which responses ended.

A cassette holds no secrets, and nothing that differs between two recordings of the same requests. A request is stored
as method, path, query, body and the headers that affect the response; a response as status, a few headers and body.
The API key is not stored; where the service repeats it, the cassette says REDACTED.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Final

import httpx

_REQUEST_HEADERS: Final = ("accept", "last-event-id", "range")
_RESPONSE_HEADERS: Final = (
    "content-type",
    "content-encoding",
    "content-length",
    "content-range",
    "etag",
    "location",
    "retry-after",
)
_BOUNDARY: Final = re.compile(r"multipart/form-data; boundary=(\S+)")
REDACTED: Final = "REDACTED"
STREAM: Final = "text/event-stream"
_REQUEST_FIELD: Final = "asked"  # unchanged, because users have recorded cassettes with this name

Chunk = str | dict[str, str]
"""A piece of a body: text, or `{"base64": ...}` if it is not UTF-8."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request in a canonical form: two requests for the same thing are equal."""

    method: str
    path: str
    query: list[list[str]]
    headers: dict[str, str]
    body: Any

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query)
        more = [f"{name}: {value}" for name, value in self.headers.items()]
        body = [] if self.body is None else [json.dumps(self.body, ensure_ascii=False, sort_keys=True)]
        return " ".join([self.method, f"{self.path}?{query}" if query else self.path, *more, *body])


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """A request and its response.

    Attributes:
        chunks: the chunks of an event stream as they arrived; any other body as a single chunk.
        broken: True if the connection was lost before the end of the response.
    """

    request: RecordedRequest
    status: int
    headers: dict[str, str]
    chunks: list[Chunk]
    broken: bool = False

    def line(self) -> str:
        fields = asdict(self)
        return json.dumps({_REQUEST_FIELD: fields.pop("request"), **fields})

    @classmethod
    def read(cls, line: str) -> RecordedExchange:
        fields = json.loads(line)
        return cls(RecordedRequest(**fields.pop(_REQUEST_FIELD)), **fields)

    def body(self) -> list[bytes]:
        """The chunks as bytes."""
        return [
            chunk.encode() if isinstance(chunk, str) else base64.b64decode(chunk["base64"]) for chunk in self.chunks
        ]


def canonical(request: httpx.Request) -> RecordedRequest:
    """The canonical form of a request whose body has been read."""
    headers = {name: request.headers[name] for name in _REQUEST_HEADERS if name in request.headers}
    if headers.get("accept") != STREAM:
        headers.pop("accept", None)
    query = sorted([name, value] for name, value in request.url.params.multi_items())
    return RecordedRequest(request.method, request.url.path, query, headers, _body(request))


def response_headers(headers: httpx.Headers) -> dict[str, str]:
    """The headers that are recorded."""
    return {name: headers[name] for name in _RESPONSE_HEADERS if name in headers}


def to_chunk(content: bytes) -> Chunk:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def redact(content: bytes, secrets: list[str]) -> bytes:
    for secret in secrets:
        content = content.replace(secret.encode(), REDACTED.encode())
    return content


def credentials(request: httpx.Request) -> list[str]:
    """The API keys of a request, if any."""
    found = [request.headers.get("authorization", "").removeprefix("Bearer "), request.headers.get("x-api-key", "")]
    return [secret for secret in found if secret]


def _body(request: httpx.Request) -> Any:
    content = redact(request.content, credentials(request))
    # A multipart boundary is random: replaced, so that two requests with the same files are equal.
    if found := _BOUNDARY.fullmatch(request.headers.get("content-type", "")):
        content = content.replace(found[1].encode(), b"boundary")
    if not content:
        return None
    try:
        return json.loads(content)
    except ValueError:
        return {"sha256": hashlib.sha256(content).hexdigest(), "files": _file_names(content)}


def _file_names(multipart: bytes) -> list[str]:
    return [name.decode("utf-8", "replace") for name in re.findall(rb'filename="([^"]*)"', multipart)]
