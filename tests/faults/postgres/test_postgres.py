"""A service's data in PostgreSQL: one writer at a time among all processes, and what a server that is away
does (docs/decisions/0052-postgresql.md). What it holds is tested by the other modules, with `--database postgres`."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest

from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.ports import StoreAway, Tx
from agentsvc_nb.service.runner.shared import LIVE_SECONDS
from agentsvc_nb.service.runs.process_records import DEAD_MS
from agentsvc_nb.service.store import migrations
from agentsvc_nb.service.store.migrations import SchemaTooNew
from agentsvc_nb.service.store.postgres import IDLE_SECONDS, LOCK_SECONDS, PostgresDatabase
from tests.support import databases
from tests.support.databases import PostgresServer

INSERT = "INSERT INTO meta (name, value) VALUES (:name, :value)"
PASSWORD = "hunter22"


@pytest.fixture
def address() -> str:
    return databases.server().new_database()


@pytest.fixture
def database(address: str) -> Iterator[PostgresDatabase]:
    with contextlib.closing(PostgresDatabase(address).open()) as opened:
        yield opened


@pytest.fixture
def stopping() -> Iterator[PostgresServer]:
    """A server that the test may stop."""
    made = PostgresServer()
    yield made
    made.remove()


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

    counting = [threading.Thread(target=count, args=(50,)) for _ in range(4)]
    for each in counting:
        each.start()
    for each in counting:
        each.join()
    with contextlib.closing(PostgresDatabase(address)) as database:
        assert database.read(lambda tx: tx.all("SELECT value FROM meta WHERE name = 'number'")) == [{"value": "200"}]


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


def test_a_server_that_is_away_is_said_without_the_password(stopping: PostgresServer) -> None:
    address = stopping.new_database().replace("postgres@", f"postgres:{PASSWORD}@")
    with contextlib.closing(PostgresDatabase(address).open()) as database:
        database.patience = 0.0
        stopping.stop()
        for use in (database.write_now, database.read):
            with pytest.raises(StoreAway, match="The database does not answer") as caught:
                use(names)
            said = "".join(traceback.format_exception(caught.value))
            assert PASSWORD not in said + repr(database)


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
    failed: list[BaseException] = []

    def start() -> None:
        try:
            PostgresDatabase(address).open().close()
        except BaseException as error:
            failed.append(error)

    starting = [threading.Thread(target=start) for _ in range(4)]
    for each in starting:
        each.start()
    for each in starting:
        each.join()
    assert not failed
    with contextlib.closing(PostgresDatabase(address)) as database:
        looked = database.status()
    assert looked.schema == looked.newest == len(migrations.steps())


def newer(database: PostgresDatabase, changed: int, *steps: str) -> None:
    """Have a version of the future migrate the database to schema 99, whose step `changed` did more than add."""

    def use(tx: Tx) -> None:
        for step in steps:
            tx.run(step)
        tx.run("UPDATE meta SET value = '99' WHERE name = 'schema'")
        tx.run("UPDATE meta SET value = :changed WHERE name = 'schema_changed'", changed=str(changed))

    database.write_now(use)


def test_a_newer_schema_that_only_adds_is_served_also_by_who_is_at_work(
    database: PostgresDatabase, address: str
) -> None:
    def make(tx: Tx, project: str) -> str:
        return chat_records.create_project(tx, "account", project, "", 0).id

    for number in range(5):  # prepared by now
        database.write_now(partial(make, project=f"before {number}"))
    with contextlib.closing(PostgresDatabase(address).open()) as other:
        newer(other, database.status().newest, "ALTER TABLE project ADD COLUMN color TEXT NOT NULL DEFAULT 'red'")
    with contextlib.closing(PostgresDatabase(address).open()) as later:
        for each, projects in ((database, 6), (later, 7)):
            each.write_now(partial(make, project=f"after {projects}"))
            assert len(each.read(lambda tx: chat_records.projects(tx, "account"))) == projects
    assert database.status().schema == 99


def test_a_newer_schema_that_changes_is_refused_and_left_as_it_is(database: PostgresDatabase, address: str) -> None:
    newer(database, 98)
    with contextlib.closing(PostgresDatabase(address)) as other, pytest.raises(SchemaTooNew, match="schema 99"):
        other.open()
    assert database.status().schema == 99
