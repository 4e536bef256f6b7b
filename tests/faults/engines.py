"""Database, blob store and clock of a service that kill the process at a named point.

A point is a moment, an operation and a count:

    in runs.claim 2       within the transaction of the second `claim` statement of `runs/runs.sql`
    after runs.claim 2    once that transaction is committed, before the caller is told
    blob write 3          after the third write to a blob
    blob rename 1         before the first blob gets its name
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import agentsvc_nb
from agentsvc_nb.clock import SystemClock
from agentsvc_nb.service import sql
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.store import create_database
from agentsvc_nb.service.store.blobs import LocalBlobs, NewLocalBlob

T = TypeVar("T")
SERVICE: Final = Path(agentsvc_nb.__file__).parent / "service"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Point:
    """Where the process dies. `left` is the number of times that the point is still passed."""

    moment: str
    what: str
    left: int = 1

    @classmethod
    def parse(cls, text: str) -> Point:
        moment, what, nth = text.split()
        assert what in (*statement_names().values(), "write", "rename", "never"), f"unknown statement {what}"
        return cls(moment, what, int(nth))

    def reached(self, moment: str, what: str) -> bool:
        if (moment, what) != (self.moment, self.what):
            return False
        self.left -= 1
        return self.left == 0


def statement_names() -> dict[str, str]:
    """Return the names of the SQL statements (`runs.claim`) by their text."""
    files = [path.relative_to(SERVICE).with_suffix("") for path in SERVICE.glob("*/*.sql")]
    return {text: f"{file.name}.{name}" for file in files for name, text in sql.load(file.as_posix()).items()}


class WatchedTx:
    """A `ports.Tx` that calls `passed` with the name of each statement run by `one` or `run`."""

    def __init__(self, tx: Tx, passed: Callable[[str], None]) -> None:
        self._tx, self._passed, self._names = tx, passed, statement_names()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def one(self, sql: str, /, **params: Any) -> Row | None:
        row = self._tx.one(sql, **params)
        self._passed(self._names.get(sql, ""))
        return row

    def run(self, sql: str, /, **params: Any) -> int:
        touched = self._tx.run(sql, **params)
        self._passed(self._names.get(sql, ""))
        return touched


class FaultyDatabase:
    """The database of a data folder's service, SQLite or PostgreSQL; it kills the process at its point."""

    def __init__(self, folder: DataFolder, point: Point) -> None:
        self._inner, self._point = create_database(folder), point

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def open(self) -> Any:
        self._inner.open()
        return self

    async def write(self, use: Callable[[Any], T], *, long: bool = False) -> T:
        dies_after = False

        def passed(name: str) -> None:
            nonlocal dies_after
            if self._point.reached("in", name):
                die()
            dies_after = dies_after or self._point.reached("after", name)

        result = await self._inner.write(lambda tx: use(WatchedTx(tx, passed)), long=long)
        if dies_after:
            die()
        return result


class FaultyBlobs(LocalBlobs):
    """A blob store that kills the process at its point."""

    def __init__(self, root: Path, point: Point) -> None:
        super().__init__(root)
        self.point = point

    def create(self) -> NewLocalBlob:
        return FaultyBlob(self)

    def place(self, path: Path, sha256: str) -> None:
        if self.point.reached("blob", "rename"):
            die()
        super().place(path, sha256)


class FaultyBlob(NewLocalBlob):
    """A blob that is being written."""

    def __init__(self, blobs: FaultyBlobs) -> None:
        super().__init__(blobs, blobs.incoming)
        self.point = blobs.point

    def write(self, data: bytes | memoryview) -> None:
        super().write(data)
        if self.point.reached("blob", "write"):
            die()


class MovableClock(SystemClock):
    """The machine's clock plus the offset, in ms, in the folder's file `clock-offset`."""

    def __init__(self, folder: Path) -> None:
        self._offset = folder / "clock-offset"

    def time_ns(self) -> int:
        try:
            return super().time_ns() + int(self._offset.read_text()) * 1_000_000
        except FileNotFoundError:
            return super().time_ns()
