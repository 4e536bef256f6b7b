"""What a cassette holds: one exchange a line, as JSON, in the order in which they ended.

There is nothing secret on it and nothing that differs from one recording to the next: of a request its method, path,
query, body and the headers that change what is answered; of an answer its status, a few headers and the body. The
API key is not there; where the service repeats it, it reads REDACTED.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Final

import httpx

_ASKED: Final = ("accept", "last-event-id", "range")
_ANSWERED: Final = (
    *("content-type", "content-encoding", "content-length", "content-range"),
    *("etag", "location", "retry-after"),
)
_BOUNDARY: Final = re.compile(r"multipart/form-data; boundary=(\S+)")
REDACTED: Final = "REDACTED"
STREAM: Final = "text/event-stream"

Chunk = str | dict[str, str]
"""Text, or `{"base64": ...}`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, by what it means: two that ask for the same are equal."""

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
class Exchange:
    """A request and its answer. The chunks of a stream of events are kept as they came; all else is one.

    `broken`: the connection was lost before the answer's end.
    """

    asked: Asked
    status: int
    headers: dict[str, str]
    chunks: list[Chunk]
    broken: bool = False

    def line(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, line: str) -> Exchange:
        fields = json.loads(line)
        return cls(**fields | {"asked": Asked(**fields["asked"])})

    def content(self) -> list[bytes]:
        return [
            chunk.encode() if isinstance(chunk, str) else base64.b64decode(chunk["base64"]) for chunk in self.chunks
        ]


def asked(request: httpx.Request) -> Asked:
    """What a request that has been read asks for."""
    headers = {name: request.headers[name] for name in _ASKED if name in request.headers}
    if headers.get("accept") != STREAM:
        headers.pop("accept", None)
    query = sorted([name, value] for name, value in request.url.params.multi_items())
    return Asked(request.method, request.url.path, query, headers, _body(request))


def kept(headers: httpx.Headers) -> dict[str, str]:
    return {name: headers[name] for name in _ANSWERED if name in headers}


def chunk(content: bytes) -> Chunk:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def redacted(content: bytes, secrets: list[str]) -> bytes:
    for secret in secrets:
        content = content.replace(secret.encode(), REDACTED.encode())
    return content


def key(request: httpx.Request) -> list[str]:
    """The credential of a request, if any."""
    given = [request.headers.get("authorization", "").removeprefix("Bearer "), request.headers.get("x-api-key", "")]
    return [secret for secret in given if secret]


def _body(request: httpx.Request) -> Any:
    content = redacted(request.content, key(request))
    if found := _BOUNDARY.fullmatch(request.headers.get("content-type", "")):
        content = content.replace(found[1].encode(), b"boundary")
    if not content:
        return None
    try:
        return json.loads(content)
    except ValueError:
        return {"sha256": hashlib.sha256(content).hexdigest(), "files": _names(content)}


def _names(multipart: bytes) -> list[str]:
    return [name.decode("utf-8", "replace") for name in re.findall(rb'filename="([^"]*)"', multipart)]
