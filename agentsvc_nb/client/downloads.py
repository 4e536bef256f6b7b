"""Downloads of a chat's files: verified by SHA-256, resumed, and skipped if already there (docs/api/files.md).

The tables that a run left are such files, too: they become DataFrames with the types of their columns.
"""

from __future__ import annotations

import csv
import functools
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from agentsvc_nb.client.core import ApiRequest, Core, described
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.client.models import frame
from agentsvc_nb.client.options import Options, hook, whole
from agentsvc_nb.client.partial_download import PartialDownload, PartialFile, matches
from agentsvc_nb.client.references import ChatRef, identifier
from agentsvc_nb.client.transport.io import OnBytes, Response, call_hook
from agentsvc_nb.client.uploads import download_target
from agentsvc_nb.wire.files import FileFacts, WorkspaceFile
from agentsvc_nb.wire.limits import MIB
from agentsvc_nb.wire.reading import read_json

if TYPE_CHECKING:
    import pandas as pd


Open = Callable[[str | None], PartialDownload]
"""Makes the `PartialDownload` for a content of this SHA-256 (None: unknown)."""

_SHA256: Final = re.compile(r'"?([0-9a-f]{64})"?')
_BLOCK_BYTES: Final = MIB // 2
"""Chunks are collected to blocks of this size before they are hashed and written."""
_GAIN_BYTES: Final = MIB
"""A connection that brought at least so much before it broke does not count as a failed attempt."""


async def download(
    core: Core,
    path: str | FileFacts,
    *,
    chat: ChatRef | None = None,
    to: str | os.PathLike[str] | None = None,
    on_progress: OnBytes | None = None,
    **options: Unpack[Options],
) -> bytes | Path:
    """Return or store the content of a file, as `files.download` describes it."""
    core, on_progress = core.scoped(options), hook("on_progress", on_progress)
    request, named = _request(core, path, chat), identifier("path", path)
    listed = None if isinstance(path, str) else path
    sha256 = listed.id if listed and _SHA256.fullmatch(listed.id) else None
    if to is None:
        return (await _fetch(core, request, named, sha256, PartialDownload, on_progress)).content()
    target = await core.io.call(lambda: download_target(to, named))
    if not await core.io.call(lambda: matches(target, sha256, listed.size_bytes if listed else None)):
        await _fetch(core, request, named, sha256, functools.partial(PartialFile, target), on_progress)
    return target


def _request(core: Core, path: str | FileFacts, chat: ChatRef | None) -> ApiRequest:
    """The request for a file: at the address that its entry names, if that is the service's, else by chat and path."""
    named = path.download_url if isinstance(path, WorkspaceFile) else ""
    if named and (link := core.origin.resolved(named)):
        return ApiRequest("files.download", link=link, stream=True)
    query = {"chat_id": identifier("chat", chat), "path": identifier("path", path)}
    return ApiRequest("files.download", query=query, stream=True)


async def head(
    core: Core, path: str | FileFacts, size: int, *, chat: ChatRef | None = None, **options: Unpack[Options]
) -> bytes:
    """The first `size` bytes of a file, or all of a shorter one; no more than that is fetched, however long it is.

    Args:
        path: a path of the chat, or an entry of `files.list`.
        size: how many bytes, at least 1.
        chat: whose file it is; an entry that was listed needs none.

    Raises:
        StefanBrainError: `file_not_found`.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.files.head("reports/prices.csv", 1000, chat="chat_1")  # doctest: +SKIP
    b'product,price\\nlamp,12\\n'
    """
    size = whole("size", size, least=1)
    core = core.scoped(options)
    request = replace(_request(core, path, chat), headers={"range": f"bytes=0-{size - 1}"})
    try:
        return await core.repeat(request, functools.partial(_begun, core, size))
    except StefanBrainError as error:
        if error.status == 416:  # an empty file has no first byte; a proxy says so without our code
            return b""
        raise


async def _begun(core: Core, size: int, request: ApiRequest) -> bytes:
    """One attempt of `head`. Stops reading after `size` bytes, because a server may ignore the range."""
    response = await core.attempt(request)
    come = bytearray()
    try:
        while len(come) < size and (chunk := await core.read_chunk(response)) is not None:
            come += chunk
    finally:
        await core.io.close(response)
    return bytes(come[:size])


async def _fetch(
    core: Core, request: ApiRequest, path: str, sha256: str | None, make: Open, on_progress: OnBytes | None
) -> PartialDownload:
    download = _Download(core, path, make, on_progress)
    try:
        if sha256:
            await download.begin(sha256)
        await core.repeat(request, download.attempt)
        return download.partial
    finally:
        download.leave()  # called directly, because a cancelled task cannot await `io.call`


class _Download:
    """The download of one file, over as many requests as it takes.

    `_continued` is True while bytes of an earlier download are reused that have not been verified.
    """

    def __init__(self, core: Core, path: str, make: Open, on_progress: OnBytes | None) -> None:
        self._core = core
        self._path = path
        self._make = make
        self._on_progress = on_progress
        self._partial: PartialDownload | None = None
        self._continued = False
        self._told = 0

    @property
    def partial(self) -> PartialDownload:
        assert self._partial is not None
        return self._partial

    async def begin(self, sha256: str | None) -> None:
        self._partial = await self._core.io.call(lambda: self._make(sha256))
        self._continued = self._partial.done > 0

    def leave(self) -> None:
        if self._partial is not None:
            self._partial.leave()

    async def attempt(self, request: ApiRequest) -> None:
        """Request what is missing until the file is complete. Raises `APIConnectionError` when a connection broke
        before it brought `_GAIN_BYTES`."""
        while not (self._partial and self._partial.whole):
            before = self._partial.done if self._partial else 0
            try:
                if await self._request(request):
                    break
            except APIConnectionError as error:
                gain = self._partial.done - before if self._partial else 0
                if error.closed or gain < _GAIN_BYTES or not self._core.settings.max_retries:
                    raise
        await self._core.io.call(self.partial.keep)

    async def _request(self, request: ApiRequest) -> bool:
        """Send one request for the missing bytes, and store what arrives. False if another request is needed."""
        response = await self._request_rest(request)
        if response is None:
            return False
        try:
            sha256 = _content_of(response)
            if self._partial is None:
                await self.begin(sha256)
                if self._continued or self.partial.whole:
                    return False
            self._expect(sha256, response)
            self.partial.answered(response.status, response.headers)
            await self._read(response)
        finally:
            await self._core.io.close(response)
        return self._checked(response)

    async def _request_rest(self, request: ApiRequest) -> Response | None:
        """The response with the missing bytes, or None after discarding a partial file that is not a prefix of the
        content (416: the content has no bytes after it)."""
        headers = self._partial.range if self._partial else {}
        try:
            return await self._core.attempt(replace(request, headers=headers))
        except StefanBrainError as error:
            if error.code != "range_not_satisfiable" or not headers:
                raise
        await self._core.io.call(self.partial.restart)
        return None

    def _expect(self, sha256: str | None, response: Response) -> None:
        if sha256 and self.partial.sha256 and sha256 != self.partial.sha256:
            changed = StefanBrainError(f"{self._path} has another content by now; list the chat's files again.")
            raise described(changed, response)

    async def _read(self, response: Response) -> None:
        """Store the body in blocks: on asyncio each write is a call in another thread, too slow for single chunks."""
        partial, come = self.partial, bytearray()
        self._told = min(self._told, partial.done)  # less when the file is requested from its beginning
        try:
            while (chunk := await self._core.read_chunk(response)) is not None:
                come += chunk
                # What a connection brought before it broke counts, too.
                if partial.done + len(come) - self._told >= _BLOCK_BYTES:
                    block, come = come, bytearray()
                    await self._take(block)
            block, come = come, bytearray()
            await self._take(block)
        finally:
            partial.take(come)

    async def _take(self, block: bytearray) -> None:
        if block:
            await self._core.io.call(functools.partial(self.partial.take, block))
            self._told = self.partial.done
            await call_hook(self._on_progress, self._told, self.partial.total)

    def _checked(self, response: Response) -> bool:
        """True if the file is complete and its hash is right.

        A wrong hash after resuming may come from a damaged partial file: the result is then False, and the file is
        requested from the beginning, once. Otherwise raises `StefanBrainError`.
        """
        partial, continued = self.partial, self._continued
        self._continued = False
        if partial.sha256 is None or partial.whole:
            return True
        if not continued:
            partial.spoiled = True
            wrong = StefanBrainError(f"What came of {self._path} does not match its SHA-256; nothing was kept.")
            raise described(wrong, response)
        partial.restart()
        return False


def _content_of(response: Response) -> str | None:
    tag = _SHA256.fullmatch(response.headers.get("etag", ""))
    return tag[1] if tag else None


# -- tables ---------------------------------------------------------------------------------------------------------
#
# As CSV with a Table Schema each (docs/api/files.md "Tables").

TABLE: Final = "table"
SCHEMA_ENDING: Final = ".schema.json"
_DTYPES: Final[Mapping[str, str]] = {
    "string": "string",
    "integer": "Int64",
    "number": "float64",
    "boolean": "boolean",
    "date": "datetime64[us]",
    "datetime": "datetime64[us]",
}
_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "integer": int,
    "number": float,
    "boolean": lambda text: text == "true",
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
}
_INTEGERS: Final = range(-(2**63), 2**63)


def table_files(files: Iterable[WorkspaceFile]) -> list[tuple[WorkspaceFile, WorkspaceFile]]:
    """Of the files of a run, the CSV of each table and its schema, in the order in which they were written."""
    outputs: dict[str, list[WorkspaceFile]] = {}
    for file in files:
        if file.output is not None and file.output.type == TABLE:
            outputs.setdefault(file.output.id, []).append(file)
    found: list[tuple[WorkspaceFile, WorkspaceFile]] = []
    for members in outputs.values():
        schemas = [file for file in members if file.path.endswith(SCHEMA_ENDING)]
        contents = [file for file in members if file not in schemas]
        found += zip(contents, schemas, strict=False)
    return found


async def fetch_tables(core: Core, chat: str, files: Iterable[WorkspaceFile], **attrs: Any) -> list[pd.DataFrame]:
    """The tables among these files. Raises `StefanBrainError`, `ImportError` without pandas."""
    frames = []
    for content, schema in table_files(files):
        data, types = await download(core, content, chat=chat), await download(core, schema, chat=chat)
        assert isinstance(data, bytes)
        assert isinstance(types, bytes)
        frames.append(read_table(data, types, chat=chat, path=content.path, **attrs))
    return frames


def read_table(data: bytes, schema: bytes, **attrs: Any) -> pd.DataFrame:
    """Return CSV with a Table Schema as a DataFrame; its `attrs` have the `title` and the `units` of columns.

    Raises `StefanBrainError` for files that do not fit each other, and `ImportError` without pandas.
    """
    try:
        told = read_json(schema)
        fields = {str(field["name"]): field for field in told["fields"]}
        header, *rows = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
        if header != list(fields):
            raise ValueError("its header is another")
        cells = {name: _values(str(fields[name]["type"]), column) for name, column in _columns(header, rows).items()}
        units = {name: field["unit"] for name, field in fields.items() if field.get("unit")}
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise StefanBrainError(f"A table of the run can't be read: {error}; download its files instead.") from None
    records = [dict(zip(header, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    dtypes = {name: _dtype(str(field["type"]), cells[name]) for name, field in fields.items()}
    return frame(records, dtypes, title=told.get("title", ""), units=units, **attrs)


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    return {name: list(column) for name, column in zip(header, columns, strict=True)}


def _values(kind: str, cells: Iterable[str]) -> list[Any]:
    read = _READERS.get(kind, str)
    return [read(cell) if cell else None for cell in cells]


def _dtype(kind: str, values: Iterable[Any]) -> str:
    if kind == "integer" and any(value is not None and value not in _INTEGERS for value in values):
        return "object"  # Python's own, which are exact
    return _DTYPES.get(kind, "object")
