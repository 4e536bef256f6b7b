"""A service's data in PostgreSQL: one writer at a time among all processes, and what a server that is away
does (docs/decisions/13). What it holds is tested by the other modules, with `--database postgres`."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runner.shared import LIVE_SECONDS
from agentsvc_nb.service.runs.process_records import DEAD_MS
from agentsvc_nb.service.store import migrations
from agentsvc_nb.service.store.migrations import SchemaTooNew
from agentsvc_nb.service.store.postgres import IDLE_SECONDS, LOCK_SECONDS, PostgresDatabase
from tests.support import databases

INSERT = "INSERT INTO meta (name, value) VALUES (:name, :value)"


@pytest.fixture
def address() -> str:
    return databases.server().new_database()


@pytest.fixture
def database(address: str) -> Iterator[PostgresDatabase]:
    with contextlib.closing(PostgresDatabase(address).open()) as opened:
        yield opened


def names(tx: Tx) -> list[str]:
    return [row["name"] for row in tx.all("SELECT name FROM meta WHERE name NOT LIKE 'schema%' ORDER BY name")]


def insert(tx: Tx, name: str) -> int:
    return tx.run(INSERT, name=name, value="")


def count_up(tx: Tx) -> None:
    """Read a number, and write the next one: what a wallet, a budget and a limit do."""
    row = tx.one("SELECT value FROM meta WHERE name = 'number'")
    tx.run("DELETE FROM meta WHERE name = 'number'")
    tx.run(INSERT, name="number", value=str(int(row["value"]) + 1 if row else 1))


def test_a_failed_job_leaves_nothing_and_spares_the_others_of_its_group(database: PostgresDatabase) -> None:
    def fails(tx: Tx) -> None:
        insert(tx, "lost")
        raise ZeroDivisionError

    async def together() -> tuple[object, ...]:
        def put(name: str) -> asyncio.Future[int]:
            return asyncio.ensure_future(database.write(partial(insert, name=name)))

        failing = asyncio.ensure_future(database.write(fails))
        return await asyncio.gather(put("a"), failing, put("b"), put("a"), return_exceptions=True)

    first, second, third, fourth = asyncio.run(together())
    assert (first, third) == (1, 1)
    assert isinstance(second, ZeroDivisionError)
    assert isinstance(fourth, psycopg.errors.UniqueViolation)
    assert database.read(names) == ["a", "b"]


def test_processes_that_read_and_write_at_once_lose_nothing(address: str) -> None:
    def count(times: int) -> None:
        with contextlib.closing(PostgresDatabase(address).open()) as opened:
            for _ in range(times):
                opened.write_now(count_up)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, [30] * 4))
    with contextlib.closing(PostgresDatabase(address)) as database:
        assert database.read(lambda tx: tx.all("SELECT value FROM meta WHERE name = 'number'")) == [{"value": "120"}]


def test_a_writer_that_is_frozen_in_the_midst_of_a_write_keeps_nobody_from_writing(address: str) -> None:
    """For ten seconds all others were refused, and all workers counted as dead."""
    begun, thaw = threading.Event(), threading.Event()

    def freeze(tx: Tx) -> int:
        begun.set()
        thaw.wait()
        return insert(tx, "frozen")

    closing = contextlib.closing
    with closing(PostgresDatabase(address).open()) as one, closing(PostgresDatabase(address)) as two:
        with ThreadPoolExecutor(1) as pool:
            frozen = pool.submit(one.write_now, freeze)
            begun.wait()
            try:
                two.write_now(lambda tx: insert(tx, "free"))
            finally:
                thaw.set()
            frozen.result()
        assert two.read(names) == ["free", "frozen"]
    assert LOCK_SECONDS > IDLE_SECONDS < DEAD_MS / 1000 - LIVE_SECONDS


def test_the_schema_has_the_tables_and_columns_of_sqlite(database: PostgresDatabase) -> None:
    connection = sqlite3.connect(":memory:")
    migrations.migrate(connection)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    expected = {
        (table, column[1])
        for (table,) in tables
        if not table.startswith("file_words")  # each has a full-text index of its own
        for column in connection.execute(f"PRAGMA table_info({table})")
    }
    connection.close()
    found = database.read(
        lambda tx: tx.all(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND table_name NOT LIKE 'procrastinate%'"
        )
    )
    ours = {(row["table_name"], row["column_name"]) for row in found if row["table_name"] != "file_words"}
    assert {column for column in ours if column[1] != "rowid"} == expected


def test_processes_that_start_at_once_make_one_schema(address: str) -> None:
    def start(_: int) -> None:
        PostgresDatabase(address).open().close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, range(4)))
    with contextlib.closing(PostgresDatabase(address)) as database:
        looked = database.status()
    assert looked.schema == looked.newest == len(migrations.read_steps())


def test_a_newer_schema_that_changes_is_refused_and_left_as_it_is(database: PostgresDatabase, address: str) -> None:
    def migrate(tx: Tx) -> None:
        tx.run("UPDATE meta SET value = '99' WHERE name = 'schema'")
        tx.run("UPDATE meta SET value = '98' WHERE name = 'schema_changed'")

    database.write_now(migrate)
    with contextlib.closing(PostgresDatabase(address)) as other, pytest.raises(SchemaTooNew, match="schema 99"):
        other.open()
    assert database.status().schema == 99
