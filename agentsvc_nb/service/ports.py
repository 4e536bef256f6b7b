"""The interfaces (ports) between use cases and engines: clock, database, search index, signals, workers, and blob
store.

A use case is a function for one operation of the service, such as starting a run. Use cases access the state that
processes share only through these ports, so that other engines can implement them.
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
        """Return the time in milliseconds since 1970, UTC."""
        ...


class Tx(Protocol):
    """A database transaction. `sql` is portable between SQLite and PostgreSQL and has `:name` parameters."""

    def all(self, sql: str, /, **params: Any) -> list[Row]: ...
    def one(self, sql: str, /, **params: Any) -> Row | None: ...
    def run(self, sql: str, /, **params: Any) -> int:
        """Execute a statement. Return the number of rows that it changed."""
        ...

    def check_time(self) -> None:
        """Raise `ReadTooLong` if this read has used up its CPU time. Call this between statements of a long read."""
        ...

    def stream(self, sql: str, /) -> Iterator[Sequence[Any]]:
        """Yield the rows of a query as sequences of values, with only a few in memory at a time."""
        ...

    def copy_in(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows quickly. Rows that are inserted later get larger row numbers.

        Raises `ValueError` for a row that the database can't store.
        """
        ...


class StoreBusy(Exception):
    """Another process locked the database for too long. Nothing was written. A retry may succeed."""


class StoreUnavailable(StoreBusy):
    """The database server does not respond. Nothing was written. A retry may succeed."""


class CommitLost(Exception):
    """The connection broke during the commit of a write. The write may or may not be stored."""


STORE_LOST: Final = (StoreBusy, CommitLost)
"""The errors that mean that the database is unavailable. Work that they interrupt resumes from the stored state."""


class StoreUnusable(Exception):
    """The database can't be used in its current state. The message says why, and what to do."""


class Database(Protocol):
    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `use` in one write transaction: commit all of it, or nothing. Raises `StoreBusy`.

        Set `long` if `use` indexes texts or changes many rows. It then runs in a thread. Meanwhile other writes wait,
        but other requests continue.
        """
        ...

    def read(self, use: Callable[[Tx], T], seconds: float | None = None) -> T:
        """Run `use` on a snapshot, blocking the thread. Raises `ReadTooLong` after `seconds` of CPU time."""
        ...

    async def read_soon(self, use: Callable[[Tx], T], *, single: bool = False) -> T:
        """Run `use`, which must be quick, on a snapshot, without blocking the event loop.

        With `single`, run it without a transaction. Set this for a single statement, or for statements that need not
        see the same snapshot.
        """
        ...

    def version(self) -> int | None:
        """Return a number that changes after each commit of another thread or process.

        Return None if the database can't provide such a number quickly.
        """
        ...


class DatabaseEngine(Database, Protocol):
    """A database with its search index, which the service and the command line open and close."""

    @property
    def index(self) -> Index: ...
    def open(self) -> DatabaseEngine:
        """Open and upgrade the database, and return this object. Raises `SchemaTooNew`, `StoreUnavailable`."""
        ...

    def queue(self) -> Queue | None:
        """Return the queue for the processes that share the database, or None if only one process uses the database."""
        ...

    def close(self) -> None:
        """Finish requested writes, then close all connections. Call this in the event loop's thread."""
        ...

    def write_now(self, use: Callable[[Tx], T]) -> T:
        """Run `use` in a write transaction, and block until the commit. For code without an event loop."""
        ...


class Index(Protocol):
    """The full-text index of the names and contents of files. Its methods work within transactions of the database.

    `names` has the file's own name and, if a user renamed the file, the new name. `query` is a result of
    `search_query.parse`. A search by name finds a file if one of its names matches, but never if a name or the contents
    contain an excluded word. Results are lazy: take as many as needed, within the transaction.
    """

    def put(self, tx: Tx, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        """Store and index a file's text and names, and replace earlier ones."""
        ...

    def index(self, tx: Tx, id_: int, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        """Index a stored text that is not yet indexed. `id_` is the number of the text's row."""
        ...

    def fill(self, tx: Tx, chat: str, path: str, indexed_text: IndexedText) -> None:
        """Store and index the text of a file whose names are indexed. The file keeps its place among search results."""
        ...

    def rename(self, tx: Tx, chat: str, path: str, names: Sequence[str]) -> None: ...
    def drop(self, tx: Tx, chat: str, path: str) -> None: ...

    def by_name(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Yield the paths of the files whose names match, most recently written first."""
        ...

    def by_words(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Yield the paths of files whose contents match, best first. Of equal matches, the last written comes first."""
        ...

    def text(self, tx: Tx, chat: str, path: str) -> str:
        """Return the file's stored text, or "" if it has none."""
        ...

    def texts(self, tx: Tx, chat: str, paths: Sequence[str]) -> Mapping[str, str]:
        """Return the stored texts at these paths. Request only a few, because each text may have a megabyte."""
        ...

    def set_current(self, tx: Tx) -> None: ...
    def is_current(self, tx: Tx) -> bool:
        """Return whether all files were indexed by this version's rules."""
        ...


class Watch(Protocol):
    """A subscription to the signals of one run or job."""

    async def wait(self, seconds: float) -> bool:
        """Wait for a signal. Return True if there was one since the last call, or False after `seconds` without one."""
        ...


class Signals(Protocol):
    """Notifies the watchers of a run or job that it has changed. They then read the change from the database."""

    @property
    def sent(self) -> int:
        """The number of signals so far. While it stays the same, data that was read from the database is current."""
        ...

    @property
    def stopping(self) -> bool: ...
    def notify(self, name: str) -> None: ...
    def stop(self) -> None:
        """Set `stopping` and wake all watchers, because the service is shutting down."""
        ...

    def watch(self, name: str) -> AbstractContextManager[Watch]:
        """Subscribe to a run's or job's signals, by its id. To miss no write, subscribe, then read, then wait."""
        ...


class Queue(Protocol):
    """The queue from which the processes that share a database take runs and jobs.

    Each run or job has an entry in the queue, the queue job. The transaction that queues the run or job adds the entry.
    """

    async def work(self, models: Sequence[str], execute: Callable[[str, int, int], Awaitable[None]]) -> None:
        """Claim runs and jobs for these models until cancelled. Return when the claimed ones have ended.

        Call `execute` for each claimed run or job with three arguments: its id, the number of its queue job, and the
        number of this process's worker in the queue. A cancellation of `work` does not cancel `execute`. When
        `execute` returns, the queue job is done.
        """
        ...


class Workers(Protocol):
    """The workers that execute runs and jobs. Call a `wake_` method after the transaction that queued work."""

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
    """A stored blob. `head` has its first bytes, enough to recognise the media type."""

    head: bytes
    size_bytes: int

    @property
    def sha256(self) -> str: ...


class BlobWriter(Blob, Protocol):
    """A blob that is being written: call `write`, then `commit` or `discard`."""

    def write(self, data: bytes | memoryview) -> None: ...
    async def commit(self) -> None:
        """Finish the blob. It is then on disk or in S3, and a row may refer to it. Raises `BlobsUnavailable`."""
        ...

    def discard(self) -> None: ...


class BlobsUnavailable(WorkFailure):
    """The blob store failed. The message says how. If `temporary`, a retry may succeed without an operator's help."""

    def __init__(self, message: str, *, temporary: bool) -> None:
        super().__init__("upstream_failed", message)
        self.temporary = temporary


class ContentAltered(BlobsUnavailable):
    """A blob was altered: its hash differs from its name."""


class Blobs(Protocol):
    """Stores the contents of files, named by their SHA-256 hashes. Reads and writes can raise `BlobsUnavailable`."""

    incoming: Path
    """A folder for blobs that are being received."""

    def create(self) -> BlobWriter: ...
    async def store(self, data: bytes) -> Blob: ...

    def path(self, sha256: str) -> Path | None:
        """Return the blob's path if the store is a folder, otherwise None."""
        ...

    def file(self, sha256: str) -> AbstractAsyncContextManager[Path]:
        """Provide the blob as a local, read-only file in `async with`. For a missing blob, the path does not exist."""
        ...

    async def read(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        """Return the bytes from `start` up to, but not including, `end`, in pieces.

        Errors that occur at the beginning are raised by the call itself, such as `FileNotFoundError` for a missing
        blob.
        """
        ...

    async def heads(self, sizes: Mapping[str, int]) -> Mapping[str, bytes]:
        """Return the first `sizes[hash]` bytes of each blob, by hash. Leave out missing and unreadable blobs."""
        ...

    async def collect(self, before: int, named: Callable[[], Awaitable[set[str]]]) -> int:
        """Remove blobs that were stored before `before` (ms) and that no row needs. Return the number of removed blobs.

        `named` returns the hashes that rows refer to. Call it after listing the blobs: otherwise a blob could be
        removed although a row has begun to refer to it in the meantime.
        """
        ...

    async def names(self) -> set[str]:
        """Return the hashes of all blobs."""
        ...

    def prepare(self) -> None:
        """Remove incomplete files that a killed server left. The caller must hold the data folder's lock."""
        ...
