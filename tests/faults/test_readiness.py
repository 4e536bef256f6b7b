"""`/readyz` tells a proxy the truth: a service that can't write, or whose database is damaged, is not ready."""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.support.waiting import until

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
