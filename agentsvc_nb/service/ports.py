"""The ports of the use cases (clock, database, search index, signals and workers), and the port of the blob store.

Use cases access state that processes share only through these ports, so that other engines can implement them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from agentsvc_nb.documents.indexing import IndexedText
from agentsvc_nb.tools.port import WorkFailure

T = TypeVar("T")
Row = Mapping[str, Any]


class Clock(Protocol):
    def now(self) -> int:
        """Return milliseconds since 1970, UTC."""
        ...


class Tx(Protocol):
    """A transaction. `sql` is portable between SQLite and PostgreSQL and has `:name` parameters."""

    def all(self, sql: str, /, **params: Any) -> list[Row]: ...
    def one(self, sql: str, /, **params: Any) -> Row | None: ...
    def run(self, sql: str, /, **params: Any) -> int:
        """Execute a statement. Return the number of rows that it changed."""
        ...

    def check_time(self) -> None:
        """Raise `ReadTooLong` if a read has used up its CPU time. Call this between statements of long work."""
        ...

    def stream(self, sql: str, /) -> Iterator[Sequence[Any]]:
        """Yield the rows of a query as sequences of values, with only a few in memory at a time."""
        ...

    def copy_in(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows as fast as the database can. Numbers that the database generates later continue after those in
        the rows.

        Raises `ValueError` for a row that does not fit the table.
        """
        ...


class StoreBusy(Exception):
    """Another process locked the database for too long. Nothing was written. A later try may succeed."""


class StoreAway(StoreBusy):
    """The database's server does not answer. Nothing was written. A later try may succeed."""


class CommitLost(Exception):
    """The connection broke during the commit of a write. The write may or may not be stored."""


STORE_LOST: Final = (StoreBusy, CommitLost)
"""Errors of work whose database is unavailable. The work resumes from the stored state, as after a crash."""


class StoreUnusable(Exception):
    """The database can't be used in its current state. The message says why, and what to do."""


class Database(Protocol):
    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `use` in one write transaction: commit all of it, or nothing. Raises `StoreBusy`.

        If `long`, `use` indexes texts or changes many rows, so it runs in a thread. Other writes wait, requests go on.
        """
        ...

    def read(self, use: Callable[[Tx], T], seconds: float | None = None) -> T:
        """Run `use` on a snapshot. It blocks: call it in a thread for long reads.

        Raises `ReadTooLong` after `seconds` of CPU time.
        """
        ...

    async def read_soon(self, use: Callable[[Tx], T], *, single: bool = False) -> T:
        """Run a quick `use` on a snapshot, without blocking the event loop.

        If `single`, use no transaction: for one statement, or several that need not see the same moment.
        """
        ...

    def version(self) -> int | None:
        """Return a number that changes, for this thread, after each commit of any other thread or process.

        Return None if this number would be no faster to get than a read.
        """
        ...


class DatabaseEngine(Database, Protocol):
    """A database that the service and the command line open and close, with its index."""

    @property
    def index(self) -> Index: ...
    def open(self) -> DatabaseEngine:
        """Upgrade its schema. Raises `SchemaTooNew`, and `StoreAway` if nothing answers."""
        ...

    def queue(self) -> Queue | None:
        """Return the queue that gives work to the processes that share it, or None for a single process."""
        ...

    def close(self) -> None:
        """Finish requested writes, then close all connections. Call this in the event loop's thread."""
        ...

    def write_now(self, use: Callable[[Tx], T]) -> T:
        """Write and block, for the command line and tests. Needs no event loop."""
        ...


class Index(Protocol):
    """Full-text index of the names and contents of workspace files, inside the database's own transactions.

    `names` are the file's own name and, if a user renamed it, that name. `query` is a result of `search_query.parse`. A
    search by name finds a file if one of its names matches, and never if a name or the contents match an exclusion.
    Results are lazy: take as many as needed, within the transaction.
    """

    def put(self, tx: Tx, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        """Store and index a file's text and names, in place of the earlier ones."""
        ...

    def index(self, tx: Tx, id_: int, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        """Index a text that is stored under this id, and not yet indexed."""
        ...

    def fill(self, tx: Tx, chat: str, path: str, indexed_text: IndexedText) -> None:
        """Store and index the text of a file whose names are indexed. The file keeps its place in the order."""
        ...

    def rename(self, tx: Tx, chat: str, path: str, names: Sequence[str]) -> None: ...
    def drop(self, tx: Tx, chat: str, path: str) -> None: ...

    def by_name(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Yield paths of files found by name, last written first."""
        ...

    def by_words(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Yield paths of files whose contents match, best first. Among equals, the last written comes first."""
        ...

    def text(self, tx: Tx, chat: str, path: str) -> str:
        """Return the stored text, or ""."""
        ...

    def texts(self, tx: Tx, chat: str, paths: Sequence[str]) -> Mapping[str, str]:
        """Return the stored texts at these paths. Ask for a few at a time: each may have a megabyte."""
        ...

    def set_current(self, tx: Tx) -> None: ...
    def is_current(self, tx: Tx) -> bool:
        """Return whether all files were indexed by this version's rules."""
        ...


class Watch(Protocol):
    """A subscription to the signals of one run or job."""

    async def wait(self, seconds: float) -> bool:
        """Return True if something happened since the last call, or False after `seconds` without."""
        ...


class Signals(Protocol):
    """Wake-ups for watchers of runs and jobs, by their ids. A signal is only a hint: read the database."""

    @property
    def sent(self) -> int:
        """The number of signals so far. While it stays the same, data read from the database is current."""
        ...

    @property
    def stopping(self) -> bool: ...
    def notify(self, name: str) -> None: ...
    def stop(self) -> None:
        """Set `stopping` and wake all watchers, because the service is shutting down."""
        ...

    def watch(self, name: str) -> AbstractContextManager[Watch]:
        """Subscribe to a run or job by its id.

        Subscribe, then read, then wait, so that you never miss a write between the read and the wait.
        """
        ...


class Queue(Protocol):
    """The queue of a database that processes share.

    One queue job carries each active run and job. The transaction that needs it adds it.
    """

    async def work(self, models: Sequence[str], execute: Callable[[str, int, int], Awaitable[None]]) -> None:
        """Take runs and jobs with these models until cancelled. Return when the taken ones have ended.

        Call `execute` for each, with its id, the number of its queue job, and the number of this process's worker in
        the queue. It is not cancelled. When it returns, the queue job is done.
        """
        ...


class Workers(Protocol):
    """The workers that execute runs and jobs.

    A wake-up comes after the run or job was queued in the database. If processes share the database, its queue wakes
    them as well.
    """

    def wake_run(self, run_id: str) -> None: ...
    def wake_job(self, job_id: str) -> None: ...
    def wake_readings(self) -> None: ...
    def disk_fault_of_run(self, run_id: str) -> str | None:
        """Return the disk error that now prevents the run's start or end, as a clause (`disk.disk_fault`), or None."""
        ...

    def interrupt_run(self, run_id: str) -> None:
        """Stop the run's agent and notify the run's watchers. Call this after the cancellation is stored."""
        ...

    def interrupt_job(self, job_id: str) -> None:
        """Stop the job's tool and notify the job's watchers. Call this after the cancellation is stored."""
        ...


class Blob(Protocol):
    """A stored blob. `head` is its first bytes, enough to recognise the media type."""

    head: bytes
    size_bytes: int

    @property
    def sha256(self) -> str: ...


class NewBlob(Blob, Protocol):
    """A blob that is being written: call `write`, then `stored` or `discard`."""

    def write(self, data: bytes | memoryview) -> None: ...
    async def stored(self) -> None:
        """Finish the blob. When this returns, the blob is safely stored, and a row may refer to it.

        Raises `BlobsUnavailable`.
        """
        ...

    def discard(self) -> None: ...


class BlobsUnavailable(WorkFailure):
    """The blob store failed. The message says why, and fails the tool that needs the blob.

    If `passing`, a later try may succeed, and the operator need not do anything.
    """

    def __init__(self, message: str, *, passing: bool) -> None:
        super().__init__("upstream_failed", message)
        self.passing = passing


class ContentAltered(BlobsUnavailable):
    """A blob has another hash than its name."""


class Blobs(Protocol):
    """The blob store: contents by their SHA-256. Methods that need a blob raise `BlobsUnavailable`."""

    incoming: Path
    """A folder for blobs that are being received."""

    def create(self) -> NewBlob: ...
    async def store(self, data: bytes) -> Blob: ...

    def path(self, sha256: str) -> Path | None:
        """Return the blob's path if the store is a folder, otherwise None."""
        ...

    def file(self, sha256: str) -> AbstractAsyncContextManager[Path]:
        """Provide the blob as a local file, read-only, while the context lasts.

        The path does not exist if the blob is missing.
        """
        ...

    async def read(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        """Return the bytes from `start` to before `end`, in pieces.

        Raise errors of the beginning at once, such as `FileNotFoundError` for a missing blob.
        """
        ...

    async def heads(self, sizes: Mapping[str, int]) -> Mapping[str, bytes]:
        """Return for each blob as many of its first bytes. Leave out blobs that are missing or can't be read now."""
        ...

    async def collect(self, before: int, named: Callable[[], Awaitable[set[str]]]) -> int:
        """Remove the blobs that were stored before the time `before` (ms) and are not in `named`. Return their number.

        Call `named` after listing them: a row that was written in between refers to a blob that was stored later.
        """
        ...

    async def names(self) -> set[str]:
        """Return the hashes of all blobs."""
        ...

    def prepare(self) -> None:
        """Remove half-written files of a killed server. The caller must hold the data folder's lock."""
        ...
