"""Read and write the archive of a backup, a tar file with these members, in this order:

    manifest.json             format, schema, engine and time, and the columns of each table
    mcp.json                  the MCP servers that the user added, without their keys; left out if there are none
    rows/TABLE/NUMBER.jsonl   rows, each as a JSON array
    contents/SHA256           the content of a file
    end.json                  counts, and one hash of all members before the contents

An archive without its last member is incomplete. The format is the same for SQLite and PostgreSQL.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import sqlite3
import tarfile
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Annotated, Any, Final, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from agentsvc_nb import __version__, clock
from agentsvc_nb.service.ports import Blobs, ContentAltered, Tx
from agentsvc_nb.service.store import migrations
from agentsvc_nb.service.store.blobs import is_intact
from agentsvc_nb.wire.reading import read_json

FORMAT: Final = 2
MANIFEST: Final = "manifest.json"
SERVERS: Final = "mcp.json"
END: Final = "end.json"
LEFT_OUT: Final = frozenset({"meta", "process", "session"})
"""Tables that backups leave out: running processes, browser sessions, and facts about one database."""
ORDERED: Final = frozenset({"job", "run", "tool_call"})
"""Tables whose `rowid` a backup contains, because lists are ordered by it."""
OF_ONE_DATABASE: Final = frozenset({"queue_job"})
"""Columns that backups leave out, because they refer to PostgreSQL's queue. After a restore, the queue is empty."""
CHUNK_BYTES: Final = 1_000_000
"""After this many bytes of rows, the next member begins."""
JSON_BYTES: Final = 1_000_000
"""The maximum size of a member that is one JSON document, such as the manifest."""
_HASH: Final = re.compile(r"[0-9a-f]{64}")

Count = Annotated[int, Field(ge=0, lt=2**63)]
Progress = Callable[[int, int], None]
"""A function that receives the amount done and the total amount."""
M = TypeVar("M", bound=BaseModel)


class BackupError(Exception):
    """A backup can't be written or restored. The message says why."""


class Manifest(BaseModel):
    """The first member of an archive, which describes the rows.

    API keys are hashed with a secret. A data folder's secret is stored in its database, so the backup contains the
    secret (`own_secret`). If the secret is AGENTSVC_SECRET, the backup contains only a hash of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal[2] = FORMAT
    version: str = __version__
    engine: Literal["sqlite", "postgresql"]
    schema_version: Count
    created_at: str
    own_secret: str | None = Field(default=None, repr=False)
    secret_hash: str | None = None
    tables: dict[str, list[str]]


class End(BaseModel):
    """The last member of an archive. `missing` counts contents that rows refer to but that were lost or altered."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    rows: Count
    contents: Count
    content_bytes: Count
    missing: Count
    sha256: str


class ColumnSpec(NamedTuple):
    name: str
    types: tuple[type, ...]
    required: bool


def list_tables(schema: int) -> dict[str, list[ColumnSpec]]:
    """Return the columns of each table in a backup with this schema. They are the same for SQLite and PostgreSQL."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrations.migrate(connection, schema)
        named = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE "
            "'file_words%' ORDER BY name"  # leaves out the search index, which differs between the databases
        )
        return {name: _columns(connection, name) for (name,) in named.fetchall() if name not in LEFT_OUT}


def _columns(connection: sqlite3.Connection, table: str) -> list[ColumnSpec]:
    types: dict[str, tuple[type, ...]] = {"TEXT": (str,), "REAL": (float, int)}
    rowid = [ColumnSpec("rowid", (int,), True)] if table in ORDERED else []
    return rowid + [
        ColumnSpec(name, types.get(declared, (int,)), bool(not_null or key))
        for _, name, declared, not_null, _, key in connection.execute(f"PRAGMA table_info({table})")
        if name not in OF_ONE_DATABASE
    ]


class ArchiveWriter:
    """Writes an archive, and counts and hashes its members."""

    def __init__(self, target: IO[bytes], manifest: Manifest) -> None:
        self.manifest = manifest
        self._tar = tarfile.open(fileobj=target, mode="w")  # noqa: SIM115 - `finish` closes it
        self._digest = hashlib.sha256()
        self._rows = self._contents = self._content_bytes = self._missing = 0
        self.add(MANIFEST, manifest.model_dump_json(indent=1).encode())

    def add(self, name: str, data: bytes) -> None:
        self._digest.update(data)
        self._add(name, len(data), io.BytesIO(data))

    def _add(self, name: str, size: int, content: IO[bytes]) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = size, 0o600, clock.now_ms() // 1000
        self._tar.addfile(member, content)
        self._tar.members.clear()  # type: ignore[attr-defined]  # tarfile would keep all members in memory

    def add_rows(self, tx: Tx, progress: Progress) -> None:
        tables = self.manifest.tables
        counts = [tx.one(f"SELECT COUNT(*) AS found FROM {table}") for table in tables]
        total = sum(row["found"] for row in counts if row)
        for table, columns in tables.items():
            chunk, number = bytearray(), 1
            for values in tx.stream(f"SELECT {', '.join(columns)} FROM {table}"):
                chunk += json.dumps(list(values), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
                self._rows += 1
                if len(chunk) >= CHUNK_BYTES:
                    self.add(f"rows/{table}/{number}.jsonl", bytes(chunk))
                    progress(self._rows, total)
                    chunk, number = bytearray(), number + 1
            if chunk:
                self.add(f"rows/{table}/{number}.jsonl", bytes(chunk))

    async def add_contents(self, blobs: Blobs, named: set[str], progress: Progress) -> None:
        """Add the file contents with these hashes. Missing or altered contents are not added, only counted."""
        for done, sha256 in enumerate(sorted(named), 1):
            with contextlib.suppress(ContentAltered):
                async with blobs.file(sha256) as path:
                    if is_intact(path):
                        with path.open("rb") as content:
                            size = os.fstat(content.fileno()).st_size
                            self._add(f"contents/{sha256}", size, content)
                        self._contents, self._content_bytes = self._contents + 1, self._content_bytes + size
            progress(done, len(named))
        self._missing = len(named) - self._contents

    def finish(self) -> End:
        end = End(
            rows=self._rows,
            contents=self._contents,
            content_bytes=self._content_bytes,
            missing=self._missing,
            sha256=self._digest.hexdigest(),
        )
        self.add(END, end.model_dump_json(indent=1).encode())
        self._tar.close()
        return end


class CheckedArchive:
    """An archive whose members have all been read and checked."""

    def __init__(self, file: Path, progress: Progress) -> None:
        """Check the archive. Raises `BackupError` if it is incomplete, altered, or has unknown members."""
        self._file = file
        self.servers: dict[str, Any] = {}
        try:
            self.end = self._check(self._members(progress))
        except (tarfile.TarError, EOFError) as error:
            raise BackupError(f"{file} is not a backup, or is incomplete ({error}).") from None

    def _check(self, members: Iterator[tuple[str, IO[bytes]]]) -> End:
        rows, contents, digest, end = 0, set[str](), hashlib.sha256(), None
        name, content = next(members, ("", io.BytesIO()))
        if name != MANIFEST:
            raise BackupError(f"{self._file} is not a backup of agentsvc: its manifest is missing.")
        digest.update(text := content.read(JSON_BYTES))
        self.manifest = _read_manifest(text)
        self._tables = _check_tables(self.manifest)
        for name, content in members:
            match name.split("/"):
                case _ if end is not None:
                    raise BackupError(f"The backup contains {name!r} after its end.")
                case ["mcp.json"]:
                    digest.update(text := content.read(JSON_BYTES))
                    self.servers = _read_servers(text)
                case ["rows", table, _] if table in self._tables and not contents:
                    rows += sum(1 for _ in self._rows(table, content, digest.update))
                case ["contents", sha256] if _HASH.fullmatch(sha256):
                    if _hash_of(content) != sha256:
                        raise BackupError(f"The backup is damaged: the content {sha256} does not match its hash.")
                    contents.add(sha256)
                case ["end.json"]:
                    end = _read(End, content.read(JSON_BYTES))
                case _:
                    raise BackupError(f"The backup contains {name!r}, which does not belong to a backup of agentsvc.")
        if end is None or end.contents != len(contents):
            raise BackupError("The backup is incomplete: its end or some contents of files are missing.")
        if (end.rows, end.sha256) != (rows, digest.hexdigest()):
            raise BackupError("The backup is damaged: its rows do not match their hash.")
        return end

    def copy_rows(self, tx: Tx, progress: Progress) -> None:
        """Insert all rows of the archive into empty tables. Raises `BackupError`."""

        def rows() -> Iterator[tuple[str, Sequence[Any]]]:
            for name, content in self._members(progress):
                kind, _, rest = name.partition("/")
                if kind == "contents":
                    return
                if kind == "rows":
                    table = rest.partition("/")[0]
                    yield from ((table, values) for values in self._rows(table, content))

        for table, found in groupby(rows(), itemgetter(0)):
            try:
                tx.copy_in(table, [column.name for column in self._tables[table]], map(itemgetter(1), found))
            except ValueError as error:
                raise BackupError(f"The backup is damaged: it contains {error}.") from None

    def contents(self, progress: Progress) -> Iterator[tuple[str, IO[bytes]]]:
        """Yield the hash of each file content, and the content."""
        for name, content in self._members(progress):
            if name.startswith("contents/"):
                yield name.removeprefix("contents/"), content

    def _members(self, progress: Progress) -> Iterator[tuple[str, IO[bytes]]]:
        """Yield the name and the content of each member. All members must be regular files."""
        total, place = self._file.stat().st_size, -1
        with tarfile.open(self._file, "r:") as tar:
            while member := tar.next():
                # Refuse a member whose position is not after the previous one: it would make this loop endless.
                is_plain = member.isreg() and not member.issparse() and member.size >= 0 and member.offset > place
                content = tar.extractfile(member) if is_plain else None
                if content is None:
                    raise BackupError(f"The backup contains {member.name!r}, which is not a regular file.")
                yield member.name, content
                place = member.offset
                tar.members.clear()  # type: ignore[attr-defined]  # tarfile would keep all members in memory
                progress(min(member.offset_data + member.size, total), total)

    def _rows(
        self, table: str, content: IO[bytes], note: Callable[[bytes], None] | None = None
    ) -> Iterator[Sequence[Any]]:
        """Yield the rows of a member. Call `note`, if given, with the JSON line of each row."""
        columns = self._tables[table]
        for line in content:
            if note is not None:
                note(line)
            try:
                values = read_json(line)
            except ValueError:
                values = None
            if type(values) is not list or len(values) != len(columns) or not all(map(_fits, columns, values)):
                raise BackupError(f"The backup is damaged: a row of the table {table} can't be read.")
            yield values


def _fits(column: ColumnSpec, value: Any) -> bool:
    """Return whether a column accepts the value. A hash must be valid, because it becomes part of a path."""
    if value is None:
        return not column.required
    if type(value) not in column.types or (type(value) is int and not -(2**63) <= value < 2**63):
        return False
    return column.name != "sha256" or _HASH.fullmatch(value) is not None


def _hash_of(content: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while piece := content.read(CHUNK_BYTES):
        digest.update(piece)
    return digest.hexdigest()


def _check_tables(manifest: Manifest) -> dict[str, list[ColumnSpec]]:
    """Return each table's columns in the archive's order. Raises `BackupError` if they do not fit its schema."""
    schema, newest = manifest.schema_version, len(migrations.read_steps())
    if schema > newest:
        raise BackupError(
            f"The backup has schema {schema}, but this version supports schemas up to {newest}: upgrade agentsvc-nb."
        )
    known = {table: {column.name: column for column in columns} for table, columns in list_tables(schema).items()}
    for table, names in manifest.tables.items():
        if sorted(names) != sorted(known.get(table, ())):
            raise BackupError(f"The backup is damaged: schema {schema} has no table {table!r} with these columns.")
    return {table: [known[table][name] for name in names] for table, names in manifest.tables.items()}


def _read_manifest(text: bytes) -> Manifest:
    with contextlib.suppress(AttributeError, ValueError):
        if isinstance(found := read_json(text).get("format"), int) and found != FORMAT:
            raise BackupError(
                f"The backup has format {found}, but this version reads only {FORMAT}: use another version."
            )
    return _read(Manifest, text)


def _read(model: type[M], text: bytes) -> M:
    try:
        return model.model_validate(read_json(text))
    except ValueError:
        raise BackupError(f"The backup is damaged: its {model.__name__.lower()} can't be read.") from None


def _read_servers(text: bytes) -> dict[str, Any]:
    try:
        return dict(read_json(text))
    except (TypeError, ValueError):
        raise BackupError("The backup is damaged: its MCP servers can't be read.") from None
