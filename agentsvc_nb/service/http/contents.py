"""A file's bytes as they come from the blob store: whole, or in ranges, never all in memory."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import EventStreamResponse
from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import Blobs, BlobsUnavailable

log = logging.getLogger(__name__)
Range = tuple[int, int]
"""From the first byte to before the last."""


class ContentResponse(EventStreamResponse):
    """Sends a status, headers with the length, and the body's pieces; it breaks off when the store does."""

    def __init__(self, status: int, headers: Mapping[str, str], pieces: AsyncGenerator[bytes]) -> None:
        self.status_code = status
        self.background = None
        self.init_headers(headers)
        self.body_iterator = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except (BlobsUnavailable, FileNotFoundError) as error:
            log.warning("a download broke off: %s", error, extra=fields(request=scope["state"]["request_id"]))


async def response(
    context: RequestContext, record: FileRecord, disposition: str, headers: Mapping[str, str]
) -> Response:
    """The response that Starlette's `FileResponse` would give, once the store has begun to answer. The request's range
    was checked (`bodies.check_range`). Raises `BlobsUnavailable`."""
    plain = FileResponse(
        "",
        media_type=record.media_type,
        filename=record.file_name,
        content_disposition_type=disposition,
        headers=headers,
    )
    size, ranges = record.size_bytes, _ranges(context.request, record.size_bytes, headers["ETag"])
    parts: list[bytes | Range] = [*ranges] or [(0, size)]
    length = sum(end - start for start, end in ranges) if ranges else size
    if len(ranges) == 1:
        [(start, end)] = ranges
        plain.headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    elif ranges:
        boundary = secrets.token_hex(13)
        length, head = plain.generate_multipart(ranges, boundary, size, plain.headers["content-type"])
        plain.headers["Content-Type"] = f"multipart/byteranges; boundary={boundary}"
        parts = [part for one in ranges for part in (head(*one), one, b"\r\n")] + [f"--{boundary}--".encode()]
    plain.headers["Content-Length"] = str(length)
    pieces = await _pieces(context.services.blobs, record.sha256, parts)
    if context.request.method == "HEAD":
        await pieces.aclose()
    return ContentResponse(206 if ranges else 200, plain.headers, pieces)


def _ranges(request: Request, size: int, etag: str) -> Sequence[Range]:
    """The ranges of the request, in order and without overlaps; none for the whole file."""
    value = request.headers.get("range")
    if value is None or request.headers.get("if-range", etag) != etag or value.count(",") >= FileResponse.max_ranges:
        return []
    found: list[Range] = []
    for start, end in sorted(_range(part, size) for part in value.partition("=")[2].split(",")):
        if found and start <= found[-1][1]:
            start, end = found[-1][0], max(found.pop()[1], end)
        found.append((start, end))
    return found


def _range(text: str, size: int) -> Range:
    first, _, last = text.strip().partition("-")
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size


async def _pieces(blobs: Blobs, sha256: str, parts: Sequence[bytes | Range]) -> AsyncGenerator[bytes]:
    """The body. What is wrong with its first range is raised at once. Raises `BlobsUnavailable`."""
    first = next(part for part in parts if not isinstance(part, bytes))
    try:
        begun = await blobs.read(sha256, *first)
    except FileNotFoundError:
        raise ApiError("internal_error", "The content is missing from the store, or was altered there.") from None
    return _joined(blobs, sha256, parts, begun)


async def _joined(
    blobs: Blobs, sha256: str, parts: Sequence[bytes | Range], begun: AsyncGenerator[bytes] | None
) -> AsyncGenerator[bytes]:
    for part in parts:
        if isinstance(part, bytes):
            yield part
            continue
        async with aclosing(begun or await blobs.read(sha256, *part)) as pieces:
            async for piece in pieces:
                yield piece
        begun = None
