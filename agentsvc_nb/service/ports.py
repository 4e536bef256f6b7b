"""The ports of the use cases: clock, database, search index, signals and workers; and that of the blob store.

State that several processes would share is reached only through these, so that other engines can implement them.
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
        """Milliseconds since 1970, UTC."""
        ...


class Tx(Protocol):
    """One transaction. `sql` is portable between SQLite and PostgreSQL and takes `:name` parameters."""

    def all(self, sql: str, /, **params: Any) -> list[Row]: ...
    def one(self, sql: str, /, **params: Any) -> Row | None: ...
    def run(self, sql: str, /, **params: Any) -> int:
        """Execute a statement; the number of rows that it changed."""
        ...

    def check_time(self) -> None:
        """Raises `ReadTooLong` when a read has used up its seconds. To be called in long work between statements."""
        ...

    def stream(self, sql: str, /) -> Iterator[Sequence[Any]]:
        """Yield the rows of a query as sequences of values; a few at a time are in memory."""
        ...

    def copy_in(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows as fast as the database takes them; numbers that it gives go on after theirs.

        Raises `ValueError` for a row that the table does not take.
        """
        ...


class StoreBusy(Exception):
    """Another process locked the database for too long. Nothing was written; a later try may succeed."""


class StoreAway(StoreBusy):
    """The database's server does not answer. Nothing was written; a later try may succeed."""


class CommitLost(Exception):
    """The connection was lost while a write was being committed: it may be stored or not."""


STORE_LOST: Final = (StoreBusy, CommitLost)
"""What work in progress meets when its database is away. It goes on from what is stored, as after a crash."""


class StoreUnusable(Exception):
    """The database can't be used as it is; the message says why, and what to do."""


class Database(Protocol):
    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `use` in one write transaction: all of it is committed, or nothing. Raises `StoreBusy`.

        `long`: `use` indexes texts or touches many rows, so it runs in a thread; other writes wait, requests go on."""
        ...

    def read(self, use: Callable[[Tx], T], seconds: float | None = None) -> T:
        """Run `use` on a snapshot. It blocks: call it in a thread for long reads. Raises `ReadTooLong` after `seconds`
        of processor time."""
        ...

    async def read_soon(self, use: Callable[[Tx], T], *, single: bool = False) -> T:
        """`read` for a quick `use`, without holding up the event loop. `single`: without a transaction, for one
        statement, or several that need not see the same moment."""
        ...

    def version(self) -> int | None:
        """A number that changes, for this thread, after each commit of any other thread or process; None where asking
        for it would be no quicker than reading."""
        ...


class DatabaseEngine(Database, Protocol):
    """A database as the service and the command line open and close it, with the index that is in it."""

    @property
    def index(self) -> Index: ...
    def open(self) -> DatabaseEngine:
        """Bring its schema up to date. Raises `SchemaTooNew`, and `StoreAway` when nothing answers."""
        ...

    def queue(self) -> Queue | None:
        """What gives the processes that share it their work; None where one process has it to itself."""
        ...

    def close(self) -> None:
        """Finish requested writes, then close all connections. To be called in the event loop's thread."""
        ...

    def write_now(self, use: Callable[[Tx], T]) -> T:
        """A blocking `write` for the command line and tests; needs no event loop."""
        ...


class Index(Protocol):
    """Full-text index over the names and contents of workspace files, inside the database's own transactions.

    `names` are the file's own name and, if it was renamed, the member's. `query` is what `search_query.parse`
    returned. A file is found by name when one of its names matches, and not at all when a name or the contents match an
    exclusion. Results are lazy: take as many as are needed, within the transaction.
    """

    def put(self, tx: Tx, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        """Store and index a file's text and names, replacing what was there."""
        ...

    def index(self, tx: Tx, id_: int, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        """Index a text that is stored under this id, and not indexed yet."""
        ...

    def fill(self, tx: Tx, chat: str, path: str, indexed_text: IndexedText) -> None:
        """Store and index the text of a file whose names are indexed; among files written it keeps its place."""
        ...

    def rename(self, tx: Tx, chat: str, path: str, names: Sequence[str]) -> None: ...
    def drop(self, tx: Tx, chat: str, path: str) -> None: ...

    def by_name(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Paths of files found by name, last written first."""
        ...

    def by_words(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Paths of files whose contents match, best first; of equal ones the last written first."""
        ...

    def text(self, tx: Tx, chat: str, path: str) -> str:
        """The stored text; empty when there is none."""
        ...

    def texts(self, tx: Tx, chat: str, paths: Sequence[str]) -> Mapping[str, str]:
        """The stored texts at these paths, a few at a time: each may have a megabyte."""
        ...

    def set_current(self, tx: Tx) -> None: ...
    def is_current(self, tx: Tx) -> bool:
        """True if all files were indexed by this version's rules."""
        ...


class Watch(Protocol):
    """A subscription to the signals of one run or job."""

    async def wait(self, seconds: float) -> bool:
        """True when something happened since the last call, False after `seconds` without."""
        ...


class Signals(Protocol):
    """Wake-ups for watchers of runs and jobs, by their ids. A signal is a hint, the database is the truth."""

    @property
    def sent(self) -> int:
        """The number of signals so far. While it stays the same, what was read from the database is current."""
        ...

    @property
    def stopping(self) -> bool: ...
    def notify(self, name: str) -> None: ...
    def stop(self) -> None:
        """Wake all watchers because the service ends; sets `stopping`."""
        ...

    def watch(self, name: str) -> AbstractContextManager[Watch]:
        """Subscribe to a run or job, by its id. Subscribe, then read, then wait: a write between the read and the wait
        is then never missed."""
        ...


class Queue(Protocol):
    """The queue of a database that processes share. One job of the queue carries each active run and job; it is added
    in the transaction that needs it."""

    async def work(self, models: Sequence[str], execute: Callable[[str, int, int], Awaitable[None]]) -> None:
        """Take the runs and jobs of these models, until it is cancelled; return when those that were taken have ended.

        Each is given to `execute`: its id, the number of the job that carries it, and that of the worker as which this
        process is registered in the queue. It is not cancelled. What it returns from is taken off the queue.
        """
        ...


class Workers(Protocol):
    """The workers that execute runs and jobs. A wake-up is sent after the run or job was queued in the database; where
    processes share that, its queue tells them, too."""

    def wake_run(self, run_id: str) -> None: ...
    def wake_job(self, job_id: str) -> None: ...
    def wake_readings(self) -> None: ...
    def disk_fault_of_run(self, run_id: str) -> str | None:
        """What keeps the run's beginning or end from being stored now, as a clause (`disk.disk_fault`)."""
        ...

    def interrupt_run(self, run_id: str) -> None:
        """Stop the run's agent and notify the run's watchers, after its cancellation was stored."""
        ...

    def interrupt_job(self, job_id: str) -> None:
        """Stop the job's tool and notify the job's watchers, after its cancellation was stored."""
        ...


class Blob(Protocol):
    """A stored blob; `head` is enough of its beginning to recognise the media type."""

    head: bytes
    size_bytes: int

    @property
    def sha256(self) -> str: ...


class NewBlob(Blob, Protocol):
    """A blob that is being written: `write`, then `stored` or `discard`."""

    def write(self, data: bytes | memoryview) -> None: ...
    async def stored(self) -> None:
        """Finish the blob; when it returns, the blob is kept whatever happens, and a row may name it. Raises
        `BlobsUnavailable`."""
        ...

    def discard(self) -> None: ...


class BlobsUnavailable(WorkFailure):
    """The blob store does not do what it is asked; the message says why, and fails the tool that needs the blob.
    `passing`: a later try may succeed, and the operator need not do anything."""

    def __init__(self, message: str, *, passing: bool) -> None:
        super().__init__("upstream_failed", message)
        self.passing = passing


class ContentAltered(BlobsUnavailable):
    """A blob has another hash than its name."""


class Blobs(Protocol):
    """The blob store: contents by their SHA-256. What asks for a blob raises `BlobsUnavailable`."""

    incoming: Path
    """A folder for what is being received."""

    def create(self) -> NewBlob: ...
    async def store(self, data: bytes) -> Blob: ...

    def path(self, sha256: str) -> Path | None:
        """Where the blob lies if the store is a folder; None otherwise."""
        ...

    def file(self, sha256: str) -> AbstractAsyncContextManager[Path]:
        """The blob as a local file, to read only, which stays for as long as the context lasts. Nothing is at its path
        if the blob is missing."""
        ...

    async def read(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        """The bytes from `start` to before `end`, in pieces. What is wrong at the beginning is raised at once, such as
        `FileNotFoundError` for a missing blob."""
        ...

    async def heads(self, sizes: Mapping[str, int]) -> Mapping[str, bytes]:
        """Of each blob as many of its first bytes; none of those that are missing or can't be read now."""
        ...

    async def collect(self, before: int, named: Callable[[], Awaitable[set[str]]]) -> int:
        """Remove the blobs that were stored before the time `before` (ms) and are not in `named`; their number. `named`
        is asked once they are listed: a row that was written in between names a blob that was stored later."""
        ...

    async def names(self) -> set[str]:
        """The hashes of all blobs."""
        ...

    def prepare(self) -> None:
        """Remove what a killed server left half-written. Requires the data folder's lock."""
        ...
