"""Send a file's bytes from the blob store, whole or in ranges. The file is never entirely in memory."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import GeneratorResponse
from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import Blobs, BlobsUnavailable

log = logging.getLogger(__name__)
_RANGE = re.compile(r"\s*(?=\S*\d)(?P<first>\d{0,18})-(?P<last>\d{0,18})\s*", re.ASCII)
Range = tuple[int, int]
"""A range of bytes: the position of its first byte, and the position after its last byte."""


class ContentResponse(GeneratorResponse):
    """Sends a file's content in pieces. If the blob store fails, the response ends early."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except (BlobsUnavailable, FileNotFoundError) as error:
            log.warning("a download ended early: %s", error, extra=fields(request=scope["state"]["request_id"]))


async def response(
    context: RequestContext, record: FileRecord, disposition: str, headers: Mapping[str, str]
) -> Response:
    """Return the same response as Starlette's `FileResponse` would, once the blob store has begun to send the content.

    Raises `range_not_satisfiable` and `BlobsUnavailable`.
    """
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
    return ContentResponse(pieces, 206 if ranges else 200, plain.headers)


def _ranges(request: Request, size: int, etag: str) -> Sequence[Range]:
    """Return the parts of the requested ranges that lie within a file of `size` bytes (RFC 9110 §14.2).

    The ranges are sorted, and overlapping ranges are merged. An empty result means the whole file: there is no valid
    `Range` header, it has too many ranges, or `If-Range` names another version.

    Raises `range_not_satisfiable` if none of the requested ranges lies within the file.
    """
    unit, _, value = request.headers.get("range", "").partition("=")
    parts = [_RANGE.fullmatch(part) for part in value.split(",")]
    if unit.lower() != "bytes" or request.headers.get("if-range", etag) != etag or len(parts) > FileResponse.max_ranges:
        return []
    found: list[Range] = []
    for part in parts:
        if part is None or (part["first"] and part["last"] and int(part["first"]) > int(part["last"])):
            return []
        start = int(part["first"]) if part["first"] else max(size - int(part["last"]), 0)
        end = min(int(part["last"]) + 1, size) if part["first"] and part["last"] else size
        if start < end:
            found.append((start, end))
    if not found:
        raise ApiError("range_not_satisfiable", headers={"Content-Range": f"bytes */{size}"})
    merged: list[Range] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            start, end = merged[-1][0], max(merged.pop()[1], end)
        merged.append((start, end))
    return merged


async def _pieces(blobs: Blobs, sha256: str, parts: Sequence[bytes | Range]) -> AsyncGenerator[bytes]:
    """Return a generator of the body's pieces.

    Begin to read the first range before returning, so that this call, not the generator, raises its errors:
    `BlobsUnavailable`, and `ApiError` for a missing blob.
    """
    first = next(part for part in parts if not isinstance(part, bytes))
    try:
        begun = await blobs.read(sha256, *first)
    except FileNotFoundError:
        raise ApiError(
            "internal_error",
            "The file's content is missing from the store, or was altered there. The operator can restore it "
            "from a backup.",
        ) from None
    return _join(blobs, sha256, parts, begun)


async def _join(
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
