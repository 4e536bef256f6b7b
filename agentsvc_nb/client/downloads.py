"""Download files of a chat (docs/api/files.md).

A download verifies the SHA-256 of the file, resumes after a lost connection, and skips a file that already exists.
`fetch_tables` downloads the tables of a run, which are CSV files, and returns DataFrames.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from agentsvc_nb.client.core import ApiRequest, Core, add_request_facts
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.client.models import frame
from agentsvc_nb.client.options import check_hook, check_integer
from agentsvc_nb.client.references import ChatRef, identifier
from agentsvc_nb.client.transport.io import OnBytes, Response, call_hook
from agentsvc_nb.client.uploads import download_target
from agentsvc_nb.wire.files import FileFacts, WorkspaceFile
from agentsvc_nb.wire.limits import MIB
from agentsvc_nb.wire.reading import read_json

if TYPE_CHECKING:
    import pandas as pd

_SHA256: Final = re.compile(r'"?([0-9a-f]{64})"?')
_GAIN_BYTES: Final = MIB
"""If a connection transfers at least this many bytes before it breaks, it does not count as a failed attempt."""


async def download(
    core: Core,
    path: str | FileFacts,
    *,
    chat: ChatRef | None = None,
    to: str | os.PathLike[str] | None = None,
    on_progress: OnBytes | None = None,
) -> bytes | Path:
    """Return a file's bytes. With `to`, write the bytes to a local file and return its path. See `files.download`."""
    on_progress = check_hook("on_progress", on_progress)
    request, name = _request(core, path, chat), identifier("path", path)
    target = io.BytesIO() if to is None else await core.io.run_blocking(lambda: download_target(to, name))
    file = _Download(core, name, target, on_progress)
    try:
        if not isinstance(path, str) and _SHA256.fullmatch(path.id):
            await core.io.run_blocking(functools.partial(file.open, path.id, path.size_bytes))
        await core.repeat(request, file.attempt)
    finally:
        file.close()  # not through `io.run_blocking`, because a cancelled task cannot await `io.run_blocking`
    return target if isinstance(target, Path) else target.getvalue()


def _request(core: Core, path: str | FileFacts, chat: ChatRef | None) -> ApiRequest:
    """Return the request for a file: by the file's URL if the URL is on the service, else by chat and path."""
    named = path.download_url if isinstance(path, WorkspaceFile) else ""
    if named and (link := core.origin.resolve_link(named)):
        return ApiRequest("files.download", link=link, stream=True)
    query: dict[str, Any] = {"chat_id": identifier("chat", chat), "path": identifier("path", path)}
    if isinstance(path, WorkspaceFile):  # a file of an event: request the version that the run wrote
        query["version"] = path.version
    return ApiRequest("files.download", query=query, stream=True)


async def head(core: Core, path: str | FileFacts, size: int, *, chat: ChatRef | None = None) -> bytes:
    """Return the first `size` bytes of a file. See `files.head`."""
    size = check_integer("size", size, least=1)

    async def attempt(request: ApiRequest) -> bytes:
        response = await core.attempt(request)
        content = bytearray()
        try:
            # A server may ignore the requested range and send more.
            while len(content) < size and (chunk := await core.read_chunk(response)) is not None:
                content += chunk
        finally:
            await core.io.close(response)
        return bytes(content[:size])

    try:
        return await core.repeat(replace(_request(core, path, chat), headers={"range": f"bytes=0-{size - 1}"}), attempt)
    except StefanBrainError as error:
        if error.status == 416:  # an empty file has no first byte
            return b""
        raise


class _Download:
    """Download one file with as many requests as needed, into memory or into a part file next to `target`.

    The name of the part file ends with `.part` and contains the content's SHA-256. So a later download of the same
    content can continue it. Two simultaneous downloads write the same bytes to the same offsets, so they do not damage
    each other's files.
    """

    def __init__(self, core: Core, path: str, target: Path | io.BytesIO, on_progress: OnBytes | None) -> None:
        self._core = core
        self._path = path
        self._target = target
        self._on_progress = on_progress
        self._file: BinaryIO | None = None
        self._part: Path | None = None
        self._sha256: str | None = None
        self._digest = hashlib.sha256()
        self._size = 0
        self._continued = False  # True if the file begins with unverified bytes of an earlier download
        self._spoiled = self._complete = False

    def open(self, sha256: str | None, size: int | None = None) -> None:
        """Open the part file for content with this SHA-256, and hash the bytes that it already contains.

        If the target already has this content and size, mark the download as complete instead. Raises `OSError` if the
        part file is a symbolic link.
        """
        self._sha256 = sha256
        if isinstance(self._target, io.BytesIO):
            self._file = self._target
            return
        if _matches(self._target, sha256, size):
            self._complete = True
            return
        mark = sha256[:16] if sha256 else secrets.token_hex(8)
        self._part = self._target.with_name(f"{self._target.name}.{mark}.part")
        self._file = open(self._part, "r+b", opener=_create_or_open)  # noqa: SIM115 - `close` closes it
        while block := self._file.read(MIB):
            self._digest.update(block)
            self._size += len(block)
        self._continued = self._size > 0
        self._complete = self._digest.hexdigest() == sha256

    async def attempt(self, request: ApiRequest) -> None:
        """Request the missing bytes until the file is complete, and then rename the part file to the target.

        Raises `APIConnectionError` if a connection breaks before it has transferred 1 MiB.
        """
        while not self._complete:
            before = self._size
            try:
                await self._fetch_rest(request)
            except APIConnectionError as error:
                gained = self._size - before
                if error.closed or gained < _GAIN_BYTES or not self._core.settings.max_retries:
                    raise
        await self._core.io.run_blocking(self._finish)

    async def _fetch_rest(self, request: ApiRequest) -> None:
        """Send one request for the missing bytes, store them, and verify the whole file."""
        rest = {}
        if self._size and self._sha256:
            rest = {"range": f"bytes={self._size}-", "if-range": f'"{self._sha256}"'}
        try:
            response = await self._core.attempt(replace(request, headers=rest))
        except StefanBrainError as error:
            if error.code != "range_not_satisfiable" or not rest:
                raise
            self._restart()  # the part file is longer than the content
            return
        try:
            tag = _SHA256.fullmatch(response.headers.get("etag", ""))
            sha256 = tag[1] if tag else None
            if self._file is None:
                await self._core.io.run_blocking(lambda: self.open(sha256))
                if self._continued or self._complete:
                    return
            if sha256 and self._sha256 and sha256 != self._sha256:
                changed = f"{self._path} has changed. List the chat's files again."
                raise add_request_facts(StefanBrainError(changed), response)
            start = response.headers.get("content-range", "")
            if response.status != 206 or not start.startswith(f"bytes {self._size}-"):
                self._restart()
            await self._store(response)
        finally:
            await self._core.io.close(response)
        expected = self._sha256 or sha256
        if not expected or self._digest.hexdigest() == expected:
            self._complete = True
        elif self._continued:  # the part file was damaged: request everything, once
            self._restart()
        else:
            self._spoiled = True
            wrong = StefanBrainError(f"The content of {self._path} does not match its SHA-256. Nothing was saved.")
            raise add_request_facts(wrong, response)

    async def _store(self, response: Response) -> None:
        assert self._file
        length = response.headers.get("content-length", "")
        total = self._size + int(length) if length.isdigit() else None
        while (chunk := await self._core.read_chunk(response)) is not None:
            self._digest.update(chunk)
            self._file.write(chunk)
            self._size += len(chunk)
            await call_hook(self._on_progress, self._size, total)

    def _restart(self) -> None:
        self._size, self._digest, self._continued = 0, hashlib.sha256(), False
        if self._file:
            self._file.seek(0)

    def _finish(self) -> None:
        """Rename the part file to the target. First truncate it, because its earlier content may have been longer."""
        if self._file is None:
            return  # the target already had this content
        self._file.truncate(self._size)
        if self._part is not None and isinstance(self._target, Path):
            self._file.close()
            try:
                self._part.replace(self._target)
            except FileNotFoundError:  # another download of the same content was faster
                if not _matches(self._target, self._sha256):
                    raise

    def close(self) -> None:
        """Close the part file. Delete the part file if no later download can continue it."""
        if self._part is not None and self._file is not None:
            self._file.close()
            if self._spoiled or self._sha256 is None or not self._size:
                self._part.unlink(missing_ok=True)


def _create_or_open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _matches(place: Path, sha256: str | None, size: int | None = None) -> bool:
    """Return True if `place` is a file with this SHA-256. If `size` is given, do not read a file of another size."""
    try:
        if sha256 is None or not place.is_file() or (size is not None and place.stat().st_size != size):
            return False
        with place.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False


# -- tables: CSV files with a Table Schema (docs/api/files.md "Tables") ---------------------------------------------

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
_INT64: Final = range(-(2**63), 2**63)


def table_files(files: Iterable[WorkspaceFile]) -> list[tuple[WorkspaceFile, WorkspaceFile]]:
    """Return a pair for each table of a run: its CSV file and its schema file. The tables have the order of `files`."""
    outputs: dict[str, tuple[list[WorkspaceFile], list[WorkspaceFile]]] = {}
    for file in files:
        if file.output is not None and file.output.type == TABLE:
            contents, schemas = outputs.setdefault(file.output.id, ([], []))
            (schemas if file.path.endswith(SCHEMA_ENDING) else contents).append(file)
    return [pair for members in outputs.values() for pair in zip(*members, strict=False)]


async def fetch_tables(core: Core, chat: str, files: Iterable[WorkspaceFile], **attrs: Any) -> list[pd.DataFrame]:
    """Download the tables among these files, and return them as DataFrames.

    Raises the errors of `download` and `read_table`.
    """
    frames = []
    for content, schema in table_files(files):
        data, types = await download(core, content, chat=chat), await download(core, schema, chat=chat)
        assert isinstance(data, bytes)
        assert isinstance(types, bytes)
        frames.append(read_table(data, types, chat=chat, path=content.path, **attrs))
    return frames


def read_table(data: bytes, schema: bytes, **attrs: Any) -> pd.DataFrame:
    """Return a DataFrame from a CSV file and its Table Schema, a JSON file with the columns' names and types.

    The DataFrame's `attrs` contain the table's `title`, the columns' `units`, and the given `attrs`. Raises
    `StefanBrainError` if the CSV file does not match the schema, and `ImportError` without pandas.
    """
    try:
        document = read_json(schema)
        fields = {str(field["name"]): field for field in document["fields"]}
        header, *rows = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
        if header != list(fields):
            raise ValueError("its header does not match its schema")
        kinds = {name: str(field["type"]) for name, field in fields.items()}
        readers = [(name, _READERS.get(kind, str)) for name, kind in kinds.items()]
        records = [
            {name: read(cell) if cell else None for (name, read), cell in zip(readers, row, strict=True)}
            for row in rows
        ]
        units = {name: field["unit"] for name, field in fields.items() if field.get("unit")}
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise StefanBrainError(f"A table of the run cannot be read: {error}. Download its files instead.") from None
    dtypes = {name: _DTYPES.get(kind, "object") for name, kind in kinds.items()}
    for name, kind in kinds.items():
        if kind == "integer" and any(row[name] is not None and row[name] not in _INT64 for row in records):
            dtypes[name] = "object"  # Python integers, which have no maximum
    return frame(records, dtypes, title=document.get("title", ""), units=units, **attrs)
