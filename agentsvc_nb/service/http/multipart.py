"""Parse multipart bodies. Each file is streamed to disk and hashed, so that no file is ever entirely in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from agentsvc_nb.documents import media_types
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Blobs, BlobWriter
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, JSON_MAX_BYTES, MB, PARTS_MAX, REQUEST_SLACK_BYTES

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks


PAYLOAD: Final = "payload"
BOUNDARY_BYTES: Final = 200  # RFC 2046 allows 70
LARGE_BYTES: Final = 32 * 1024
"""Smaller chunks are parsed in the event loop, which takes less time than switching threads."""


@dataclass(frozen=True, slots=True)
class MultipartLimits:
    """The limits of a route's multipart bodies, and the error codes for bodies that exceed them."""

    too_large: str
    """The error code for a file, a `payload` or a body that is too large."""
    too_many: str
    """The error code for too many files."""
    max_file_bytes: int

    @property
    def max_request_bytes(self) -> int:
        return ATTACHMENTS_MAX * self.max_file_bytes + REQUEST_SLACK_BYTES


@dataclass(slots=True)
class MultipartForm:
    """The contents of a multipart body. The blobs of its files are temporary until `keep` is called."""

    payload: SpooledTemporaryFile[bytes] | None = None
    """The JSON of the field `payload`. If it is large, it is stored in a temporary file, because many may arrive at a
    time, and `bodies.read_payload` reads them one after another.
    """
    files: list[tuple[str, BlobWriter]] = field(default_factory=list)
    """The name and the blob of each file."""

    def discard(self) -> None:
        if self.payload is not None:
            self.payload.close()
        for _, blob in self.files:
            blob.discard()

    async def keep(self) -> None:
        for _, blob in self.files:
            await blob.commit()


def is_multipart(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


def check_length(request: Request, rules: MultipartLimits) -> None:
    """Raise `rules.too_large` before reading a body whose declared length is too large."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > rules.max_request_bytes:
        raise ApiError(rules.too_large, f"The whole request must not exceed {rules.max_request_bytes:,} bytes.")


async def read_form(request: Request, blobs: Blobs, rules: MultipartLimits) -> MultipartForm:
    """Parse the body. Leave nothing on disk after an error.

    Raises `invalid_multipart`, `unsupported_attachment` and the codes of `rules`.
    """
    check_length(request, rules)
    _, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if not boundary or len(boundary) > BOUNDARY_BYTES:
        raise ApiError("invalid_multipart", "The Content-Type header has no boundary, or one that is too long.")
    reader, received = _MultipartReader(blobs, rules), 0
    try:
        parser = MultipartParser(boundary, reader.callbacks())
        async for chunk in request.stream():
            received += len(chunk)
            if received > rules.max_request_bytes:
                raise ApiError(rules.too_large, f"The whole request must not exceed {rules.max_request_bytes:,} bytes.")
            await _parse(parser, chunk)
        parser.finalize()
        if not reader.finished:
            raise ApiError("invalid_multipart", "The multipart body ends before its last boundary.")
    except BaseException as error:
        reader.discard()
        if isinstance(error, FormParserError):
            raise ApiError("invalid_multipart", f"The multipart body can't be parsed: {error}") from None
        raise
    return reader.form


async def _parse(parser: MultipartParser, chunk: bytes) -> None:
    """Parse, hash and write a chunk of the body. Use a thread for a large chunk, as 1 MB takes 3 ms."""
    if len(chunk) < LARGE_BYTES:
        parser.write(chunk)
        return
    parsing = asyncio.get_running_loop().run_in_executor(None, parser.write, chunk)
    try:
        await asyncio.shield(parsing)
    except asyncio.CancelledError:
        await asyncio.wait([parsing])  # the thread must not write to a closed file
        raise


class _MultipartReader:
    """The parser's callbacks, which build a `MultipartForm` one part at a time."""

    def __init__(self, blobs: Blobs, rules: MultipartLimits) -> None:
        self.form = MultipartForm()
        self._blobs = blobs
        self._rules = rules
        self._header = b""
        self._value = b""
        self._disposition = b""
        self._name = ""
        self._file_name = ""
        self._blob: BlobWriter | None = None
        self._parts = 0
        self.finished = False

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._part_begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._part_data,
            "on_part_end": self._part_end,
            "on_end": self._end,
        }

    def discard(self) -> None:
        if self._blob is not None:
            self._blob.discard()
        self.form.discard()

    def _part_begin(self) -> None:
        self._disposition, self._blob = b"", None
        self._parts += 1
        if self._parts > PARTS_MAX:
            raise ApiError("invalid_multipart", f"The body has more than {PARTS_MAX} parts.")

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        # A header may arrive in pieces: the parser calls this once for each chunk that contains a part of the header.
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if self._name == PAYLOAD:  # even with a file name, because a browser adds one to a `Blob`
            if self.form.payload is not None:
                self.form.payload.close()  # of several payloads, the last one is used
            self.form.payload = SpooledTemporaryFile(LARGE_BYTES, dir=str(self._blobs.incoming))  # noqa: SIM115
            return
        if b"filename" not in options:
            return
        if len(self.form.files) >= ATTACHMENTS_MAX:
            raise ApiError(self._rules.too_many)
        self._file_name = media_types.safe_name(options[b"filename"].decode("utf-8", "replace"))
        self._blob = self._blobs.create()

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._blob is not None:
            if self._blob.size_bytes + end - start > self._rules.max_file_bytes:
                most = self._rules.max_file_bytes
                limit = f"{most / MB:g} MB" if most >= MB else f"{most:,} bytes"
                raise ApiError(
                    self._rules.too_large, f"{self._file_name!r} is larger than {limit}. Nothing was stored."
                )
            self._blob.write(memoryview(data)[start:end])
        elif self._name == PAYLOAD and self.form.payload is not None:
            self.form.payload.write(data[start:end])
            if self.form.payload.tell() > JSON_MAX_BYTES:
                raise ApiError(self._rules.too_large, "The `payload` must not exceed 16 MiB. Send long texts as files.")

    def _part_end(self) -> None:
        if self._blob is None:
            return
        # Detect the type by the first bytes, not by the name.
        if media_types.is_audio_or_video(self._blob.head):
            raise ApiError(
                "unsupported_attachment",
                f"{self._file_name!r} is audio or video, which the service does not accept. Nothing was stored.",
            )
        self.form.files.append((self._file_name, self._blob))
        self._blob = None

    def _end(self) -> None:
        self.finished = True
