"""The rows of a folder's database in PostgreSQL: all in one transaction, compared by number and SHA-256."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.documents.indexing import indexed_text
from agentsvc_nb.service.store.postgres_tx import PostgresTx
from agentsvc_nb.service.store.tsearch import TsvectorIndex

STAY: Final = frozenset({"meta", "process", "session"})
"""What does not go over: secrets and versions, what runs, signed-in browsers, and the codes that they sent."""
INDEX: Final = "file_words"
"""The full-text index, which is made anew of the texts."""

_OURS: Final = """
    SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'file_words%'
    ORDER BY name
"""
_COLUMNS: Final = """
    SELECT column_name AS name, is_identity FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = :name ORDER BY column_name
"""
_TEXTS: Final = """
    SELECT t.id, t.chat, t.path, t.text, f.file_name, f.name FROM file_text AS t JOIN file AS f
    ON f.chat = t.chat AND f.path = t.path ORDER BY t.id
"""
_INDEXES: Final = """
    SELECT indexname AS name, indexdef AS made FROM pg_indexes
    WHERE schemaname = current_schema() AND tablename = 'file_words' AND indexdef LIKE '%USING gin%'
"""
_CLAIM: Final = "SELECT value FROM meta WHERE name = 'exported'"
_SET_CLAIM: Final = """
    INSERT INTO meta (name, value) VALUES ('exported', :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""


class TargetInUse(Exception):
    """The database has rows of others, or of a service that has worked with it."""


class RowsDiffer(Exception):
    """What was read back is not what was written; the message names the table."""


@dataclass
class Sum:
    """The number of rows, and the sum of their SHA-256: the same in whatever order they come."""

    rows: int = 0
    total: int = 0

    def add(self, values: Sequence[Any]) -> None:
        self.rows += 1
        hashed = hashlib.sha256(json.dumps(list(values)).encode()).digest()
        self.total = (self.total + int.from_bytes(hashed)) % 2**256


@dataclass(frozen=True)
class Table:
    name: str
    columns: list[str]
    numbered: list[str]
    """Columns that the server numbers."""

    @property
    def query(self) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {self.name}"


def names(source: sqlite3.Connection) -> list[str]:
    """The tables whose rows go over."""
    return [name for (name,) in source.execute(_OURS) if name not in STAY]


def is_claimed(tx: PostgresTx, source: sqlite3.Connection, folder: str) -> bool:
    """Whether the database is the target of the folder with this id already, and holds only what came from there; False
    if it is empty. Raises `TargetInUse`."""
    row = tx.one(_CLAIM)
    owner, _, digest = row["value"].partition(" ") if row else ("", "", "")
    if owner not in ("", folder) or _digest(_sums(tx, _tables(tx, source))) != (digest or _digest({})):
        raise TargetInUse
    return row is not None


def claim(tx: PostgresTx, folder: str, sums: dict[str, Sum] | None = None) -> None:
    """Note that the database is the target of the folder, and what it holds of it."""
    tx.run(_SET_CLAIM, value=f"{folder} {_digest(sums or {})}")


def copy(
    tx: PostgresTx, source: sqlite3.Connection, index: TsvectorIndex, progress: Callable[[int, int], None]
) -> dict[str, Sum]:
    """Make the tables hold the rows of `source`; the sum of each. Raises `RowsDiffer`."""
    tables = _tables(tx, source)
    count = _Counter(progress, sum(_count(source, table.name) for table in tables) + _count(source, "file_text"))
    found, sums = _sums(tx, tables), {}
    for table in tables:
        expected = _sum(count.all(source.execute(table.query)))
        if found[table.name] != expected:
            _replace(tx, source, table)
            if _sum(tx.stream(table.query)) != expected:
                raise RowsDiffer(f"The rows of the table {table.name} are other ones than were written.")
        sums[table.name] = expected
    if any(found[name] != sums[name] for name in ("file", "file_text")):
        _index(tx, count.all(source.execute(_TEXTS)), index)
    index.set_current(tx)
    tx.run("ANALYZE")
    return sums


def _tables(tx: PostgresTx, source: sqlite3.Connection) -> list[Table]:
    tables = []
    for name in names(source):
        columns = tx.all(_COLUMNS, name=name)
        numbered = [column["name"] for column in columns if column["is_identity"] == "YES"]
        tables.append(Table(name, [column["name"] for column in columns], numbered))
    return tables


def _sums(tx: PostgresTx, tables: list[Table]) -> dict[str, Sum]:
    return {table.name: _sum(tx.stream(table.query)) for table in tables}


def _sum(rows: Iterable[Sequence[Any]]) -> Sum:
    found = Sum()
    for values in rows:
        found.add(values)
    return found


def _digest(sums: dict[str, Sum]) -> str:
    """One hash of all tables; those without rows make no difference."""
    said = [f"{name} {found.rows} {found.total}" for name, found in sorted(sums.items()) if found.rows]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def _count(source: sqlite3.Connection, table: str) -> int:
    (found,) = source.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
    return int(found)


def _replace(tx: PostgresTx, source: sqlite3.Connection, table: Table) -> None:
    tx.run(f"DELETE FROM {table.name}")
    tx.copy_in(table.name, table.columns, source.execute(table.query))
    for column in table.numbered:
        last = f"(SELECT COALESCE(MAX({column}), 0) + 1 FROM {table.name})"
        tx.run(f"SELECT setval(pg_get_serial_sequence('{table.name}', '{column}'), {last}, false)")


def _index(tx: PostgresTx, texts: Iterable[Sequence[Any]], index: TsvectorIndex) -> None:
    """Index all texts. PostgreSQL's own indexes are made at the end, which is several times as fast."""
    made = tx.all(_INDEXES)
    for each in made:
        tx.run(f"DROP INDEX {each['name']}")
    tx.run(f"DELETE FROM {INDEX}")
    for id_, chat, path, text, file_name, name in texts:
        index.index(tx, id_, chat, path, [file_name, *([name] if name else [])], indexed_text(text))
    for each in made:
        tx.run(each["made"])


class _Counter:
    """Tells the progress of all rows that pass."""

    def __init__(self, progress: Callable[[int, int], None], total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def all(self, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        for values in rows:
            yield values
            self._done += 1
            self._progress(self._done, self._total)
