"""What use cases ask of the engines: a clock, a database, an index of texts, signals and workers.

What several processes share is reached through these, and through `usecases.accounts.KeyDirectory` and
`usecases.money.RateLimiter`: another engine implements them otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

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
        """Execute; the number of rows touched."""
        ...

    def check_time(self) -> None:
        """For what takes long between statements. Raises `ReadTooLong` when a read has had its seconds."""
        ...


class StoreBusy(Exception):
    """Another process kept the database for itself for too long: nothing was written, and later it may be."""


class Database(Protocol):
    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `use` in one write transaction: all of it is committed, or nothing. Raises `StoreBusy`.

        `long`: it indexes texts or touches many rows, and is done in a thread: other writes wait, requests go on."""
        ...

    def read(self, use: Callable[[Tx], T], seconds: float | None = None) -> T:
        """Run `use` on a snapshot. Quick reads only; long ones in a thread, with the `seconds` of the processor that
        they may take. Raises `ReadTooLong`."""
        ...

    def read_single(self, use: Callable[[Tx], T]) -> T:
        """`read` for a `use` of one statement: that needs no transaction to see a snapshot."""
        ...

    def version(self) -> int:
        """Another number, for this thread, after each commit of any other thread or process."""
        ...


@dataclass(frozen=True, slots=True)
class IndexedText:
    """The text of a file, its tokens, and the prominent ones with levels (`usecases.searching.indexed_text`)."""

    text: str = ""
    words: str = ""
    levels: str = ""


class Index(Protocol):
    """Full-text index over the names and contents of workspace files, inside the database's own transactions.

    `names` are the file's name and, when it was renamed, the member's own. A query is one that `formats.queries`
    parsed; a file is found by name when one of its names matches it, and not at all when a name or the contents hold
    an exclusion. Results are lazy: take as many as are needed, within the transaction.
    """

    def put(self, tx: Tx, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        """Store and index a file's text and names, replacing what was there."""
        ...

    def rename(self, tx: Tx, chat: str, path: str, names: Sequence[str]) -> None: ...
    def drop(self, tx: Tx, chat: str, path: str) -> None: ...

    def by_name(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Paths of files found by name, the last written first."""
        ...

    def by_words(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Paths of files whose contents match, best first, and of equals the last written."""
        ...

    def text(self, tx: Tx, chat: str, path: str) -> str:
        """The stored text; empty when there is none."""
        ...

    def set_current(self, tx: Tx) -> None: ...
    def is_current(self, tx: Tx) -> bool:
        """Whether all files were indexed as this version does it."""
        ...


class Watch(Protocol):
    """One who waits for a run or job to change."""

    async def wait(self, seconds: float) -> bool:
        """True when something happened since the last call, False after `seconds` without."""
        ...


class Signals(Protocol):
    """Wake-ups by run or job id for those who watch one. A signal is a hint, the database the truth."""

    @property
    def sent(self) -> int:
        """How many there were so far: what was read at the same count is as new as can be known."""
        ...

    @property
    def stopping(self) -> bool: ...
    def notify(self, name: str) -> None: ...
    def stop(self) -> None:
        """Wake everybody for good: the service ends."""
        ...

    def watch(self, name: str) -> AbstractContextManager[Watch]:
        """Subscribe, then read, then wait: what is written between the read and the wait is never missed."""
        ...


class Workers(Protocol):
    """The workers that execute runs and jobs. What they are woken for is queued in the database already."""

    def wake_run(self, run_id: str) -> None: ...
    def wake_job(self, job_id: str) -> None: ...
    def interrupt_run(self, run_id: str) -> None:
        """The run was asked to stop: tell those who watch it, and stop its agent."""
        ...

    def interrupt_job(self, job_id: str) -> None:
        """The job was asked to stop: tell those who watch it, and stop its tool."""
        ...
