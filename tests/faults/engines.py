"""Database, blob store and clock of the embedded service with faults: they kill the process or fail at a named point.

A point is written as a moment, an operation and a count:

    in runs.claim 2       within the transaction of the second `claim` statement of `runs/runs.sql`
    after runs.claim 2    once that transaction is committed, before the caller is told
    full runs.claim 2     the disk has no room for that statement
    blob write 3          after the third write to a blob; also `blob rename 1` (before it gets its name) and
                          `blob kept 1` (after)
    full write 1          the disk has no room for the first write to a blob

While the file `reads-fail` is in the data folder, quick reads raise what it names (`FAILURES`), and the file
`reads-failed` has a line for each, with the function that wanted to read.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import agentsvc_nb
from agentsvc_nb.clock import SystemClock
from agentsvc_nb.service import sql
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import Row, StoreAway, StoreBusy, Tx
from agentsvc_nb.service.store import database_of
from agentsvc_nb.service.store.blobs import LocalBlobs, NewBlob

T = TypeVar("T")
SERVICE: Final = Path(agentsvc_nb.__file__).parent / "service"
FAILURES: Final = {"away": StoreAway, "busy": StoreBusy, "bug": RuntimeError}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Point:
    """Where the fault happens. `left` counts down how often the point is still passed, and is 0 at the fault."""

    moment: str
    what: str
    left: int = 1

    @classmethod
    def parse(cls, text: str) -> Point:
        moment, what, nth = text.split()
        assert what in (*names().values(), "write", "rename", "kept", "never"), f"no statement is called {what}"
        return cls(moment, what, int(nth))

    def reached(self, moment: str, what: str) -> bool:
        if (moment, what) != (self.moment, self.what):
            return False
        self.left -= 1
        return self.left == 0


NOWHERE = Point("never", "", 0)


def names() -> dict[str, str]:
    """The names of the SQL statements (`runs.claim`) by their text."""
    files = [path.relative_to(SERVICE).with_suffix("") for path in SERVICE.glob("*/*.sql")]
    return {text: f"{file.name}.{name}" for file in files for name, text in sql.load(file.as_posix()).items()}


class WatchedTx:
    """A `ports.Tx` that reports to `passed` the name of each statement run by `one` or `run`, and the row of `one`."""

    def __init__(self, tx: Tx, passed: Callable[[str, Row | None], None]) -> None:
        self._tx, self._passed, self._names = tx, passed, names()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def one(self, sql: str, /, **params: Any) -> Row | None:
        row = self._tx.one(sql, **params)
        self._passed(self._names.get(sql, ""), row)
        return row

    def run(self, sql: str, /, **params: Any) -> int:
        touched = self._tx.run(sql, **params)
        self._passed(self._names.get(sql, ""), None)
        return touched


class WrappedDatabase:
    """The database of a data folder's service, SQLite or PostgreSQL; subclasses do something at its writes."""

    def __init__(self, folder: DataFolder) -> None:
        self._inner = database_of(folder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def open(self) -> Any:
        self._inner.open()
        return self

    async def write(self, use: Callable[[Any], T], *, long: bool = False) -> T:
        return await self._inner.write(use, long=long)


class FaultyDatabase(WrappedDatabase):
    """A database that kills the process, or finds the disk full, at its point.

    With `group`, the first writes wait until there are so many, so that they are committed as one group.
    """

    def __init__(self, folder: DataFolder, point: Point, group: int = 0) -> None:
        super().__init__(folder)
        self._full = _disk_full(folder)
        self._reads_fail = folder.path / "reads-fail"
        self._point = point
        self._group = group
        self._requested = False
        self._together = asyncio.Event()

    def version(self) -> int | None:
        self._requested = True  # a request has come: its key is looked up
        return self._inner.version()

    async def write(self, use: Callable[[Any], T], *, long: bool = False) -> T:
        if self._requested and self._group:
            await self._gather()
        dies_after = False

        def passed(name: str, row: Row | None) -> None:
            nonlocal dies_after
            if self._point.reached(self._point.moment, name):
                dies_after = self._struck()

        result = await super().write(lambda tx: use(WatchedTx(tx, passed)), long=long)
        if dies_after:
            die()
        return result

    async def read_soon(self, use: Callable[[Tx], T], *, single: bool = False) -> T:
        with contextlib.suppress(FileNotFoundError):
            failure = FAILURES[self._reads_fail.read_text()]("as the test wants it")
            with self._reads_fail.with_name("reads-failed").open("a") as failed:
                failed.write(f"{use.__module__}.{use.__qualname__}\n")
            raise failure
        return await self._inner.read_soon(use, single=single)

    async def _gather(self) -> None:
        self._group -= 1
        if not self._group:
            self._together.set()
        await self._together.wait()

    def _struck(self) -> bool:
        if self._point.moment == "in":
            die()
        if self._point.moment == "full":
            raise self._full
        return self._point.moment == "after"


def _disk_full(folder: DataFolder) -> Exception:
    """What the folder's database raises when its disk is full."""
    if not folder.address:
        full = sqlite3.OperationalError("database or disk is full")
        full.sqlite_errorcode = sqlite3.SQLITE_FULL
        return full
    from psycopg.errors import DiskFull

    return DiskFull('could not extend file "base/5/16384": No space left on device')


class FaultyBlobs(LocalBlobs):
    """A blob store that kills the process at its point: after the n-th `write`, before the n-th `rename`, or once the
    n-th blob is `kept`."""

    def __init__(self, root: Path, point: Point) -> None:
        super().__init__(root)
        self.point = point

    def create(self) -> NewBlob:
        return FaultyBlob(self)

    def place(self, path: Path, sha256: str) -> None:
        if self.point.reached("blob", "rename"):
            die()
        super().place(path, sha256)
        if self.point.reached("blob", "kept"):
            die()


class FaultyBlob(NewBlob):
    """A blob that is being written."""

    def __init__(self, blobs: FaultyBlobs) -> None:
        super().__init__(blobs, blobs.incoming)
        self.point = blobs.point

    def write(self, data: bytes | memoryview) -> None:
        super().write(data)
        if self.point.reached("blob", "write"):
            die()
        if self.point.reached("full", "write"):
            raise OSError(errno.ENOSPC, "No space left on device")


class MovableClock(SystemClock):
    """The machine's clock plus the offset, in ms, in the folder's file `clock-offset`."""

    def __init__(self, folder: Path) -> None:
        self._offset = folder / "clock-offset"

    def time_ns(self) -> int:
        try:
            return super().time_ns() + int(self._offset.read_text()) * 1_000_000
        except FileNotFoundError:
            return super().time_ns()
