"""What nobody can ask for any more is removed, and nothing else (docs/backup.md)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.service.accounts import idempotency
from agentsvc_nb.service.accounts.idempotency import IdempotencyScope
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.files.file_records import Content, FileOrigin
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import DatabaseEngine, Tx
from agentsvc_nb.service.runner.maintenance import BATCH, DAY_MS, HOUR_MS, Retention
from agentsvc_nb.service.runner.storage import BackgroundReader, ServiceClock, Storage
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.times import utc_day
from agentsvc_nb.wire.limits import FILE_VERSIONS_MAX
from tests.support import databases
from tests.unit.service.contexts import SetClock, use_case


@dataclass
class Store:
    """A service's storage without the service."""

    database: DatabaseEngine
    blobs: LocalBlobs
    folder: DataFolder
    clock: SetClock

    def sweep(self) -> None:
        context = use_case(self.database, self.clock)
        storage = Storage(context, self.blobs, BackgroundReader(context, self.blobs), TableProcess(self.folder.tables))
        asyncio.run(Retention(storage, self.folder.hold_blobs).sweep())

    def put(self, text: str) -> Content:
        blob = self.blobs.put(text.encode())
        return Content(f"{text}.txt", "text/plain", blob.size_bytes, blob.sha256)

    def has(self, content: Content) -> bool:
        return self.blobs.path(content.sha256).exists()

    def uploads(self) -> list[str]:
        return [row["id"] for row in self.database.read(lambda tx: tx.all("SELECT id FROM upload ORDER BY id"))]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    folder = DataFolder(tmp_path)
    database = databases.opened(folder.database)
    yield Store(database, LocalBlobs(tmp_path / "blobs"), folder, SetClock(ServiceClock().now()))
    database.close()


def test_expired_uploads_go_with_their_contents(store: Store) -> None:
    """An hour after they expired, for a start may be reading one; in a chat the same content stays."""
    attached, staged, later = store.put("attached"), store.put("staged"), store.put("later")
    now = store.clock.ms

    def stage(tx: Tx) -> None:
        file_records.put(tx, "chat_a", "uploads/attached.txt", attached, FileOrigin("upload"), now)
        file_records.stage(tx, "upload_attached", "acct", attached, now, now + DAY_MS)
        file_records.stage(tx, "upload_later", "acct", later, now, now + 3 * DAY_MS)
        file_records.stage(tx, "upload_staged", "acct", staged, now, now + DAY_MS)

    store.database.write_now(stage)
    store.clock.ms += DAY_MS + HOUR_MS
    store.sweep()
    assert store.uploads() == ["upload_attached", "upload_later", "upload_staged"]
    store.clock.ms += 1000
    store.sweep()
    assert store.uploads() == ["upload_later"]
    assert [store.has(content) for content in (attached, later, staged)] == [True, True, False]


def test_the_content_of_a_version_stays_as_long_as_the_version(store: Store) -> None:
    contents = [store.put(f"content {number}") for number in range(FILE_VERSIONS_MAX + 2)]
    output = FileOrigin("output")
    for content in contents:
        store.database.write_now(lambda tx, c=content: file_records.put(tx, "chat_a", "a.txt", c, output, 1))  # type: ignore[misc]
    store.clock.ms += 2 * DAY_MS
    store.sweep()
    assert [store.has(content) for content in contents] == [False, *[True] * (FILE_VERSIONS_MAX + 1)]


def test_a_new_content_without_a_row_stays(store: Store) -> None:
    """It is on its way to having one; the same content stored again is new again."""
    content = store.put("on its way")
    store.clock.ms += DAY_MS - HOUR_MS
    store.sweep()
    assert store.has(content)
    store.clock.ms += 2 * HOUR_MS
    os.utime(store.blobs.path(content.sha256), ns=(0, (store.clock.ms - HOUR_MS) * 1_000_000))
    store.sweep()
    assert store.has(content)
    assert not store.blobs.remove(content.sha256, store.clock.ms - DAY_MS), "stored since then"
    store.clock.ms += DAY_MS
    store.sweep()
    assert not store.has(content)


def test_nothing_is_removed_while_a_backup_reads(store: Store) -> None:
    content = store.put("unused")
    store.clock.ms += 2 * DAY_MS
    with store.folder.hold_blobs() as held:
        assert held
        store.sweep()
        assert store.has(content)
    store.sweep()
    assert not store.has(content)


def test_keys_of_starts_before_yesterday_go(store: Store) -> None:
    """More of them than one batch; those of today and yesterday still name their work."""
    today = store.clock.ms

    def remember(tx: Tx) -> None:
        for number in range(BATCH + 10):
            idempotency.remember(
                tx, IdempotencyScope("acct", "run", "", utc_day(today - 2 * DAY_MS), f"old{number}"), "run"
            )
        for back in (0, 1):
            idempotency.remember(
                tx, IdempotencyScope("acct", "run", "", utc_day(today - back * DAY_MS), f"back{back}"), "run"
            )

    store.database.write_now(remember)
    store.sweep()
    left = store.database.read(lambda tx: tx.all("SELECT key FROM idempotency ORDER BY key"))
    assert [row["key"] for row in left] == ["back0", "back1"]


@pytest.mark.sqlite("reads SQLite's list of tables; both databases have the same")
def test_every_table_that_names_contents_is_asked(store: Store) -> None:
    """A new table with a `sha256` must be named in the one list, or its contents would be removed."""

    def with_contents(tx: Tx) -> list[str]:
        tables = [row["name"] for row in tx.all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        columns = "SELECT 1 FROM pragma_table_info(:table) WHERE name LIKE '%sha256%'"
        return [table for table in tables if tx.one(columns, table=table)]

    assert store.database.read(with_contents) == sorted(file_records.WITH_CONTENTS)
