"""A disk without room: refusals are envelopes, nothing acknowledged is lost, and work goes on when there is room.

The disk is "full" by RLIMIT_FSIZE: no file of the process may grow beyond so many bytes.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator

import httpx
import pytest

from agentsvc_nb.wire.runs import TERMINAL
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.scenario import CONTENT, Morning
from tests.waiting import until

NO_ROOM = 4096
"""Less than any database or log has already."""


@pytest.fixture
def service() -> Iterator[CrashingServer]:
    with crashing_server() as made:
        made.start()
        yield made


def room(service: CrashingServer, size: int) -> None:
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def refused(answer: httpx.Response) -> bool:
    return answer.status_code >= 500 and "code" in answer.json()["error"]


def incoming(service: CrashingServer) -> list[str]:
    return [path.name for path in (service.data / "blobs" / "incoming").iterdir()]


def test_what_finds_no_room_is_refused_and_goes_when_there_is_room(service: CrashingServer) -> None:
    morning = Morning(service)
    morning.work()
    room(service, NO_ROOM)
    assert refused(service.post("/runs", {"message": "say lost"}, "lost"))
    for content in (CONTENT, CONTENT[:6000]):  # the smaller one is in a buffer until it is kept
        assert refused(service.http.post("/files", files={"files": ("bytes.bin", content)}))
        assert incoming(service) == [], "a refused upload takes up the room that is missing"
    assert refused(service.post("/jobs", {"tool": "echo_job", "input": {}}))
    assert service.get(f"/runs/{morning.runs['first']}")["output"] == "morning\none\ntwo\nthree", "reads go on"
    room(service, resource.RLIM_INFINITY)
    morning.see_to_the_rest()
    assert service.post("/runs", {"message": "say now", "sync": True}, "lost").json()["output"] == "now"


def test_a_run_at_work_ends_when_there_is_room_again(service: CrashingServer) -> None:
    run = service.post("/runs", {"message": "say a\nwait 0.2\nsay b"}).json()
    until(lambda: service.get(f"/runs/{run['run_id']}")["status"] == "running")
    room(service, NO_ROOM)
    until(lambda: "disk" in service.log() or "I/O" in service.log())
    assert service.get(f"/runs/{run['run_id']}")["status"] == "running", "no end that is not stored"
    room(service, resource.RLIM_INFINITY)
    ended = until(lambda: service.get(f"/runs/{run['run_id']}"), lambda seen: seen["status"] in TERMINAL)
    assert service.events(run["run_id"])[-1]["payload"]["run"] == ended
    assert service.post("/runs", {"message": "say free", "chat": run["chat"]}).status_code == 202


@pytest.mark.parametrize(
    ("point", "path", "document"),
    [
        ("full runs.claim 1", "/runs", {"message": "say it"}),
        ("full jobs.claim 1", "/jobs", {"tool": "echo_job", "input": {}}),
    ],
)
def test_work_that_finds_no_room_to_begin_begins_later(point: str, path: str, document: dict[str, object]) -> None:
    """Acknowledged, and then the disk is full: it must not lie there until the next start."""
    with crashing_server() as service:
        service.start("--point", point)
        work = service.post(path, document).json()
        where = f"/jobs/{work['job_id']}?chat={work['chat']}" if path == "/jobs" else f"/runs/{work['run_id']}"
        until(lambda: service.get(where)["status"], lambda status: status in ("completed", "succeeded"))


def test_an_upload_that_finds_no_room_leaves_nothing() -> None:
    with crashing_server() as service:
        service.start("--point", "full write 2")
        assert refused(service.http.post("/files", files={"files": ("bytes.bin", CONTENT)}))
        assert incoming(service) == []
        assert service.http.post("/files", files={"files": ("bytes.bin", CONTENT)}).status_code == 200
