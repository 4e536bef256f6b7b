"""Writes: all of a transaction or nothing, one job's failure its own, and others may write beside it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.store import group_commit
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.tools.support.stopping import ReadTooLong

pytestmark = pytest.mark.sqlite("is about SQLite; tests/faults/postgres/test_postgres.py is its counterpart")
INSERT = "INSERT INTO meta (name, value) VALUES (:name, :value)"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "db.sqlite3").open()
    yield opened
    opened.close()


def names(tx: Tx) -> list[str]:
    return [row["name"] for row in tx.all("SELECT name FROM meta ORDER BY name")]


def insert(tx: Tx, name: str) -> int:
    return tx.run(INSERT, name=name, value="")


def test_a_failed_job_leaves_nothing_and_spares_the_others_of_its_group(database: SqliteDatabase) -> None:
    def fails(tx: Tx) -> None:
        tx.run(INSERT, name="lost", value="")
        raise ZeroDivisionError

    async def together() -> tuple[object, ...]:
        def put(name: str) -> asyncio.Future[int]:
            return asyncio.ensure_future(database.write(partial(insert, name=name)))

        failing = asyncio.ensure_future(database.write(fails))
        return await asyncio.gather(put("a"), failing, put("b"), return_exceptions=True)

    first, second, third = asyncio.run(together())
    assert (first, third) == (1, 1)
    assert isinstance(second, ZeroDivisionError)
    assert database.read(names) == ["a", "b"]


def test_a_write_waits_for_one_long_one_of_many_and_those_come_in_their_order(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start waited until all documents that others had uploaded were indexed."""
    monkeypatch.setattr(group_commit, "LONG_SECONDS", 0)
    free, order = threading.Event(), list[str]()

    def long(tx: Tx, name: str) -> None:
        assert free.wait(30)
        insert(tx, name)
        order.append(name)

    async def together() -> None:
        many = [asyncio.create_task(database.write(partial(long, name=name), long=True)) for name in "abc"]
        await asyncio.sleep(0)
        last = asyncio.create_task(database.write(partial(long, name="d"), long=True))
        short = asyncio.create_task(database.write(names))
        asyncio.get_running_loop().call_soon(free.set)
        assert await short == ["a"]
        await asyncio.gather(*many, last)

    asyncio.run(together())
    assert order == ["a", "b", "c", "d"]


def test_a_read_that_takes_too_long_ends(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) AS c FROM n"
    db = SqliteDatabase(tmp_path / "db").open()
    try:
        with pytest.raises(ReadTooLong):
            db.read(lambda tx: tx.one(endless), 0.01)
        assert db.read(lambda tx: tx.one("SELECT 1 AS one")) == {"one": 1}
    finally:
        db.close()
