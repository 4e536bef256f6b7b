"""A disk without room: refusals are envelopes, nothing acknowledged is lost, and work goes on when there is room.

The disk is "full" by RLIMIT_FSIZE: no file of the process may grow beyond so many bytes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.wire.runs import TERMINAL
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.scenario import CONTENT, Morning
from tests.service.process.test_serve import ENV, client_of, command, serving
from tests.support.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.sqlite("fills the disk under the folder's own database")
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


def test_an_upload_that_finds_no_room_leaves_nothing() -> None:
    with crashing_server() as service:
        service.start("--point", "full write 2")
        assert refused(service.http.post("/files", files={"files": ("bytes.bin", CONTENT)}))
        assert incoming(service) == []
        assert service.http.post("/files", files={"files": ("bytes.bin", CONTENT)}).status_code == 200


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--port", "0"],
        ["keys", "create", "--name", "b"],
        ["backup", "{}/another.tar"],
        ["restore", "{}/backup.tar", "--data", "{}/restored"],
    ],
    ids=lambda arguments: arguments[0] + "-" + arguments[1].strip("-{}/"),
)
def test_a_command_says_so_in_a_sentence(arguments: list[str], kept: Path) -> None:
    given = [argument.format(kept) for argument in arguments]
    given += [] if "--data" in given else ["--data", str(kept / "data")]
    done = subprocess.run(
        [sys.executable, "-m", "agentsvc_nb", *given],
        env=ENV,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2, done.stderr


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder and a backup of it."""
    folder = tmp_path_factory.mktemp("kept")
    for given in (["keys", "create", "--name", "a"], ["backup", f"{folder}/backup.tar"]):
        made = [sys.executable, "-m", "agentsvc_nb", *given, "--data", f"{folder}/data"]
        subprocess.run(made, env=ENV, capture_output=True, check=True)
    return folder


def test_the_log_says_so_in_a_line_and_the_answer_in_a_sentence(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, "--port", 0, stderr=subprocess.PIPE) as process, client_of(data) as client:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (NO_ROOM, resource.RLIM_INFINITY))
        for refused in (
            lambda: client.runs.start("say lost"),
            lambda: client.files.upload(CONTENT),
            lambda: client.jobs.submit("echo_job", {}),
        ):
            with pytest.raises(StefanBrainError, match="stored: at the service, the disk is full") as caught:
                refused()
            assert str(data) not in str(caught.value)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        said = process.stderr.read()
    assert "Traceback" not in said
    assert "the disk is full" in said


@pytest.mark.parametrize("full", ["standard output", "a first start"])
def test_a_start_that_finds_no_room_says_so_and_leaves_nothing_running(full: str, tmp_path: Path) -> None:
    """The folder starts when there is room."""
    data = tmp_path / "data"
    with open("/dev/full" if full == "standard output" else os.devnull, "w") as out:
        done = subprocess.run(
            command(data, "--port", 0),
            env=ENV,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)) if "first" in full else None,
        )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "disk" in done.stderr
    assert not (data / "ready.json").exists()
    with serving(data, "--port", 0), client_of(data) as client:
        assert client.runs.start("say on", sync=True).output == "on"
