"""A disk without room: refusals are envelopes, nothing acknowledged is lost, and work goes on when there is room.

The disk is "full" by RLIMIT_FSIZE: no file of the process may grow beyond so many bytes. `/readyz` tells it to a proxy.
"""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.client.errors import StefanBrainError
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.service.process.test_serve import ENV, client_of, serving
from tests.support.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.sqlite("fills the disk under the folder's own database")
CONTENT = bytes(range(256)) * 1024
NO_ROOM = 4096
"""Less than any database or log has already."""


@pytest.fixture
def service() -> Iterator[CrashingServer]:
    with crashing_server() as made:
        made.start()
        yield made


def room(service: CrashingServer, size: int = resource.RLIM_INFINITY) -> None:
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def readiness(service: CrashingServer, day: int) -> tuple[int, str]:
    """The answer on that day: the service repeats one for a while."""
    (service.data / "clock-offset").write_text(str(day * 24 * 3600 * 1000))
    answer = httpx.get(service.http.base_url.join("/readyz"), timeout=30)
    return answer.status_code, str(answer.json()["reason"])


@pytest.mark.rule("On a full disk, writes are refused and reads work.")
def test_what_finds_no_room_is_refused_and_goes_when_there_is_room(service: CrashingServer) -> None:
    kept = service.post("/runs", {"message": "say kept", "sync": True}).json()
    assert readiness(service, 0)[0] == 200
    room(service, NO_ROOM)
    refused = [
        service.post("/runs", {"message": "say lost"}, "lost"),
        service.post("/jobs", {"tool": "echo_job", "input": {}}),
        # The second is in a buffer until it is kept.
        *(service.http.post("/files", files={"files": ("a.bin", content)}) for content in (CONTENT, CONTENT[:6000])),
    ]
    for answer in refused:
        assert answer.status_code >= 500
        assert "disk is full" in answer.json()["error"]["message"]
        assert str(service.data) not in answer.text
    assert not list((service.data / "blobs" / "incoming").iterdir()), "it takes up the room that is missing"
    status, reason = readiness(service, 1)
    assert (status, "the disk is full" in reason) == (503, True), reason
    assert service.get(f"/runs/{kept['run_id']}") == kept, "reads go on"
    room(service)
    assert readiness(service, 2)[0] == 200
    assert service.post("/runs", {"message": "say now", "sync": True}, "lost").json()["output"] == "now"
    assert service.http.post("/files", files={"files": ("a.bin", CONTENT)}).status_code == 200


def test_a_run_at_work_ends_when_there_is_room_again(service: CrashingServer) -> None:
    run = service.post("/runs", {"message": "say a\nwait 0.2\nsay b"}).json()
    until(lambda: service.get(f"/runs/{run['run_id']}")["status"] == "running")
    room(service, NO_ROOM)
    until(lambda: "disk" in service.log() or "I/O" in service.log())
    assert service.get(f"/runs/{run['run_id']}")["status"] == "running", "no end that is not stored"
    room(service)
    ended = service.ended(run["run_id"])
    assert service.events(run["run_id"])[-1]["payload"]["run"] == ended
    assert service.post("/runs", {"message": "say free", "chat": run["chat"]}).status_code == 202


def test_the_log_says_so_in_a_line(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", 0, stderr=subprocess.PIPE) as process, client_of(tmp_path) as client:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (NO_ROOM, resource.RLIM_INFINITY))
        with pytest.raises(StefanBrainError, match="the disk is full"):
            client.runs.start("say lost")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        process.terminate()
        assert process.stderr is not None
        said = process.stderr.read()
    assert "the disk is full" in said
    assert "Traceback" not in said


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
    until(lambda: readiness(service, 1) == (503, "The database is damaged."))


def full(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that can't write more than 40 KB to any file."""
    return subprocess.run(
        [sys.executable, "-m", "agentsvc_nb", *arguments],
        env=ENV,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)),
    )


@pytest.mark.parametrize("arguments", [["keys", "create", "--name", "a"], ["serve", "--port", "0"]])
def test_a_command_says_so_in_a_sentence(arguments: list[str], tmp_path: Path) -> None:
    """The folder can be used when there is room."""
    done = full(*arguments, "--data", str(tmp_path))
    assert done.returncode == 1, done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "disk" in done.stderr
    assert not (tmp_path / "ready.json").exists()
    with serving(tmp_path, "--port", 0), client_of(tmp_path) as client:
        assert client.runs.start("say on", sync=True).output == "on"
