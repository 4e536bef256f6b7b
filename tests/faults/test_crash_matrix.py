"""kill -9 at named points of a client's morning: nothing acknowledged is lost, nothing doubled, no chat stuck.

The points are those of `tests/faults/engines.py`. A crash repeats at most the step in flight, so the effects of a job
that was under way may be there once more, and of no other.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx
import pytest

from agentsvc_nb.wire.runs import TERMINAL
from agentsvc_nb.wire.tools import JOB_TERMINAL
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.history import check_run
from tests.faults.launcher import TURNS
from tests.support import databases
from tests.support.sampling import sampled
from tests.support.waiting import until

CONTENT: Final = bytes(range(256)) * 1024
ECHO: Final = {"steps": 2, "files": {"echo.txt": "from the job"}}
FIRST: Final = "say morning\nsay one\nstep 1\nwrite out.txt made by the run\nsay two\nstep 1\nsay three"
SECOND: Final = f"say morning\nstep 1\ncall echo_job {json.dumps({'steps': 1})}\nstep 1\nsay called"
OUTPUTS: Final = {"first": "morning\none\ntwo\nthree", "second": "morning\ncalled"}
CHAT: Final = {"session": "morning"}
POINTS = [
    "in idempotency.remember 1",  # the key and its run are written, not committed
    "after idempotency.remember 1",  # committed; nobody was told, nobody has begun
    "after idempotency.remember 2",  # the same, with a staged file attached
    "after runs.claim 1",
    "in events.insert_event 5",  # the k-th event
    "after files.put 1",  # the run's file is there, its event is not
    "in runs.checkpoint 2",  # between what a step did and its checkpoint
    "in runs.finish 1",  # before the terminal event
    "after runs.finish 1",
    "blob write 2",  # during the upload
    "blob rename 2",
    "after files.stage 1",
    "after jobs.insert 1",  # committed; nobody was told, nobody has begun
    "in jobs.finish 1",  # the effect is out, the end is not written
    "in jobs.finish 2",  # the tool of a run: between the tool and its result
    "after jobs.finish 2",
    "after runs.cancelling 1",
    "in runs.finish 3",  # the agent has stopped, the run is not ended
]
AT_MOST = {"in jobs.finish 1": 3, "in jobs.finish 2": 3, "after jobs.finish 2": 3}
"""Effects, where a job was in flight: one more than the two that the morning asks for."""


class Morning:
    """`work` sends requests until the service dies; `finish` sends the rest and checks all after a restart."""

    def __init__(self, service: CrashingServer) -> None:
        self.service = service
        self.runs: dict[str, str] = {}
        """Ids of acknowledged runs, by idempotency key."""
        self.sent: list[str] = []
        self.job: dict[str, Any] | None = None
        self.upload: str | None = None
        self.cancelled = False

    def work(self) -> None:
        """Raises `httpx.TransportError` when the service dies."""
        self.start("first", FIRST)
        self.await_end("first")
        staged = self.service.http.post("/files", files={"files": ("bytes.bin", CONTENT)})
        self.upload = staged.json()["files"][0]["id"]
        self.job = self.service.post("/jobs", {"tool": "echo_job", "input": ECHO, **CHAT}).json()
        self.await_job()
        self.start("second", SECOND, file_ids=[self.upload])
        self.await_end("second")
        self.start("third", "say morning\nwait 3600")
        until(lambda: self.record("third")["status"] == "running")
        self.cancel()
        self.await_end("third")

    def finish(self) -> None:
        unanswered = [key for key in self.sent if key not in self.runs]
        for key in unanswered:
            again = [self.post_start(key, "say something else").json()["run_id"] for _ in range(2)]
            assert again[0] == again[1], "a key is one run"
            self.runs[key] = again[0]
        if "third" in self.runs and not self.cancelled:
            self.cancel()
        for key, run_id in self.runs.items():
            self.await_end(key)
            check_run(self.record(key), self.service.events(run_id))
            if key in OUTPUTS:
                wanted = [OUTPUTS[key], *(["something else"] if key in unanswered else [])]
                assert self.record(key)["output"] in wanted
        if self.cancelled:
            assert self.record("third")["status"] == "cancelled"
        assert databases.count(self.service.folder, "run") == len(self.runs)
        if self.job is not None:
            result = self.await_job()
            assert result["status"] == "succeeded"
            assert [file["path"] for file in result["files"]] == ["echo.txt"]
        self.check_files()

    def check_files(self) -> None:
        """Each file of the chat is whole; the chat is free; an acknowledged upload can be attached and read."""
        more = {"file_ids": [self.upload]} if self.upload else {}
        run = self.service.post("/runs", {"message": "say files", "sync": True, **CHAT, **more}).json()
        listed = self.service.get("/files", chat_id=run["chat"])["files"]
        for file in listed:
            content = self.service.http.get(file["download_url"].partition("/v1")[2]).content
            assert hashlib.sha256(content).hexdigest() == file["id"]
        assert not self.upload or hashlib.sha256(CONTENT).hexdigest() in {file["id"] for file in listed}
        for blob in (self.service.data / "blobs").glob("??/??/*"):
            assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name
        assert not list((self.service.data / "blobs" / "incoming").iterdir())

    def start(self, key: str, message: str, **fields: Any) -> None:
        self.sent.append(key)
        self.runs[key] = self.post_start(key, message, **fields).json()["run_id"]

    def post_start(self, key: str, message: str, **fields: Any) -> httpx.Response:
        return self.service.post("/runs", {"message": message, **CHAT, **fields}, key)

    def cancel(self) -> None:
        assert self.service.post(f"/runs/{self.runs['third']}/cancel").status_code == 200
        self.cancelled = True

    def record(self, key: str) -> dict[str, Any]:
        return self.service.get(f"/runs/{self.runs[key]}")

    def await_end(self, key: str) -> None:
        until(lambda: self.record(key)["status"] in TERMINAL)

    def await_job(self) -> dict[str, Any]:
        assert self.job is not None
        path, chat = f"/jobs/{self.job['job_id']}", self.job["chat"]
        until(lambda: self.service.get(path, chat=chat)["status"] in JOB_TERMINAL)
        return self.service.get(path + "/result", chat=chat)


def die_at(service: CrashingServer, point: str) -> Morning:
    service.start("--point", point)
    morning = Morning(service)
    with pytest.raises(httpx.TransportError):
        morning.work()
    service.see_it_die()
    return morning


@pytest.mark.rule("A crash at any point loses no acknowledged work and blocks no chat.")
@pytest.mark.parametrize(
    "point",
    sampled(
        POINTS,
        "after idempotency.remember 1",
        "in events.insert_event 5",
        "in runs.checkpoint 2",
        "blob rename 2",
        "in jobs.finish 1",
        "after runs.cancelling 1",
    ),
)
def test_the_service_may_die_anywhere(point: str) -> None:
    with crashing_server() as service:
        morning = die_at(service, point)
        service.start()
        morning.finish()
        effects = service.data / "effects.log"
        done = effects.read_text().splitlines() if effects.exists() else []
        assert len(done) <= AT_MOST.get(point, 2)


@pytest.mark.parametrize("point", sampled(["in runs.resume 1", "after runs.restarted 1"], "after runs.restarted 1"))
def test_it_may_die_again_while_it_recovers(point: str) -> None:
    with crashing_server() as service:
        morning = die_at(service, "after runs.checkpoint 1")
        service.launch("--point", point)
        service.see_it_die()
        service.start()
        morning.finish()


def test_a_group_commit_is_whole_or_nothing() -> None:
    with crashing_server() as service:
        service.start("--point", "in runs.insert 12")
        keys = [f"key-{number}" for number in range(20)]

        def start(key: str) -> str | None:
            try:
                return str(service.post("/runs", {"message": "say hello"}, key).json()["run_id"])
            except httpx.TransportError:
                return None

        with ThreadPoolExecutor(len(keys)) as pool:
            acknowledged = dict(zip(keys, pool.map(start, keys), strict=True))
        service.see_it_die()
        service.start()
        again = {key: start(key) for key in keys}
        assert len(set(again.values())) == 20
        for key, run_id in acknowledged.items():
            assert run_id in (None, again[key])
        until(lambda: {service.get(f"/runs/{run_id}")["status"] for run_id in again.values()} == {"completed"})


def test_a_turn_begins_once_the_one_before_has_really_stopped() -> None:
    with crashing_server() as service:
        service.start()
        first = service.post("/runs", {"message": "say first\nwait 3600", **CHAT}).json()["run_id"]
        until((service.data / TURNS).exists)
        service.post(f"/runs/{first}/cancel")
        second = until(
            lambda: service.post("/runs", {"message": "say second", **CHAT}), lambda answer: answer.status_code == 202
        )
        service.ended(second.json()["run_id"])
        turns = (service.data / TURNS).read_text().splitlines()
        assert turns == ["begin say first", "end say first", "begin say second", "end say second"]
