"""`/readyz` tells a proxy the truth: a service that can't write, or whose database is damaged, is not ready."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.service.app import Engines, create_app
from agentsvc_nb.service.store import blobs_of
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.settings import Settings
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.support.waiting import until
from tests.unit.service.contexts import SetClock

NO_ROOM = 4096
READY = (200, {"ready": True, "reason": None})
pytestmark = pytest.mark.sqlite("fills the disk under the folder's own database, and damages it")


@pytest.fixture
def service() -> Iterator[CrashingServer]:
    with crashing_server() as made:
        made.start()
        yield made


def readiness(service: CrashingServer) -> tuple[int, object]:
    """The answer, asked a day later: none is repeated for so long."""
    service.next_day()
    answer = httpx.get(service.http.base_url.join("/readyz"), timeout=30)
    return answer.status_code, answer.json()


def test_a_full_disk_is_not_ready_until_there_is_room(service: CrashingServer) -> None:
    assert readiness(service) == READY
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (NO_ROOM, resource.RLIM_INFINITY))
    status, said = readiness(service)
    assert status == 503
    assert "It can't write: the disk is full" in str(said)
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert readiness(service) == READY


def test_all_who_ask_within_a_few_seconds_get_one_trial(tmp_path: Path) -> None:
    """Anybody may ask, and a trial writes to the disk."""
    clock, settings = SetClock(1_000_000), Settings(tmp_path)
    engines = Engines(SqliteDatabase(tmp_path / "service.sqlite3"), blobs_of(settings), clock)
    app = create_app(settings, instance="test", engines=engines)

    def written() -> str:
        with closing(sqlite3.connect(tmp_path / "service.sqlite3")) as database:
            [(value,)] = database.execute("SELECT value FROM meta WHERE name = 'touched'")
        return str(value)

    async def ask_often() -> None:
        transport = httpx.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport) as http:
            for moved, last in ((0, 1_000_000), (4_999, 1_000_000), (1, 1_005_000), (-60_000, 945_000)):
                clock.ms += moved
                answers = await asyncio.gather(*(http.get("http://127.0.0.1/readyz") for _ in range(20)))
                assert {answer.status_code for answer in answers} == {200}
                assert written() == str(last)

    asyncio.run(ask_often())


def test_a_damaged_database_is_not_ready(service: CrashingServer) -> None:
    """The page is one that a start does not read."""
    service.kill()
    path = service.data / "service.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(page,)] = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'feedback'")
        [(size,)] = database.execute("PRAGMA page_size")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
    service.start()
    until(lambda: readiness(service)[0], lambda status: status == 503)
    assert readiness(service) == (503, {"ready": False, "reason": "Its database is damaged."})
