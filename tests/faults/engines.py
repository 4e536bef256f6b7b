"""The embedded service's engines with faults in them: they die, fail or speak late at a named point.

A point is a moment, what it is a moment of, and which time: `in runs.claim 2` is within the transaction of the second
`claim` statement of `records/runs.sql`, `after` the same when it is committed and nobody knows yet, `full` the same
when the disk has no room for it. `blob write 3`, `blob rename 1` and `blob kept 1` are moments of a content on its way
to the disk.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.records import files, idempotency, jobs, media, runs, tool_calls
from agentsvc_nb.service.runner.storage import SystemClock
from agentsvc_nb.service.store.blobs import LocalBlobs, NewBlob
from agentsvc_nb.service.store.sqlite import SqliteDatabase

T = TypeVar("T")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Point:
    """Where the fault is; counts down to it."""

    moment: str
    what: str
    left: int = 1

    @classmethod
    def parse(cls, text: str) -> Point:
        moment, what, nth = text.split()
        return cls(moment, what, int(nth))

    def reached(self, moment: str, what: str) -> bool:
        if (moment, what) != (self.moment, self.what):
            return False
        self.left -= 1
        return self.left == 0


NOWHERE = Point("never", "", 0)


def names() -> dict[str, str]:
    """The named statements by their text, as they are when the service starts."""
    modules = (files, jobs, media, idempotency, runs, tool_calls)
    named = {module.__name__.rpartition(".")[2]: module._sql for module in modules} | {"landing_pages": media._pages}
    return {sql: f"{file}.{name}" for file, statements in named.items() for name, sql in statements.items()}


class WatchedTx:
    """`ports.Tx` that says which named statements it executed."""

    def __init__(self, tx: Tx, passed: Callable[[str, Row | None], None]) -> None:
        self._tx, self._passed, self._names = tx, passed, names()

    def all(self, sql: str, /, **params: Any) -> list[Row]:
        return self._tx.all(sql, **params)

    def one(self, sql: str, /, **params: Any) -> Row | None:
        row = self._tx.one(sql, **params)
        self._passed(self._names.get(sql, ""), row)
        return row

    def run(self, sql: str, /, **params: Any) -> int:
        touched = self._tx.run(sql, **params)
        self._passed(self._names.get(sql, ""), None)
        return touched

    def check_time(self) -> None:
        self._tx.check_time()


class FaultyDatabase(SqliteDatabase):
    """Dies, or finds the disk full, at its point. With `group`, the writes of the first requests wait until so many
    have come, which are then one group."""

    def __init__(self, path: Path, point: Point, group: int = 0) -> None:
        super().__init__(path)
        self._point = point
        self._group = group
        self._requested = False
        self._together = asyncio.Event()

    def version(self) -> int:
        self._requested = True  # its key is looked for
        return super().version()

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
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

    async def _gather(self) -> None:
        self._group -= 1
        if not self._group:
            self._together.set()
        await self._together.wait()

    def _struck(self) -> bool:
        if self._point.moment == "in":
            die()
        if self._point.moment == "full":
            raise sqlite3.OperationalError("database or disk is full")
        return self._point.moment == "after"


class FaultyBlobs(LocalBlobs):
    """Dies at its point: at the n-th `write`, before the n-th `rename`, or when one is `kept`."""

    def __init__(self, root: Path, point: Point) -> None:
        super().__init__(root)
        self.point = point

    def create(self) -> NewBlob:
        return FaultyBlob(self, self._incoming)


class FaultyBlob(NewBlob):
    """One content on its way."""

    _blobs: FaultyBlobs

    def write(self, data: bytes | memoryview) -> None:
        super().write(data)
        self._file.flush()  # so that there is something half-written to be found
        if self._blobs.point.reached("blob", "write"):
            die()
        if self._blobs.point.reached("full", "write"):
            raise OSError(errno.ENOSPC, "No space left on device")

    def keep(self) -> None:
        if self._blobs.point.reached("blob", "rename"):
            die()
        super().keep()
        if self._blobs.point.reached("blob", "kept"):
            die()


class MovableClock(SystemClock):
    """The machine's clock and what the file `clock-offset` in the data folder adds to it, in ms."""

    def __init__(self, data: Path) -> None:
        self._offset = data / "clock-offset"

    def now(self) -> int:
        try:
            return super().now() + int(self._offset.read_text())
        except FileNotFoundError:
            return super().now()
