"""A sequence of requests by one client, and checks after the service was killed anywhere in it and restarted.

Everything that was acknowledged must exist, end properly and be complete; each key must have started one run; the chat
must be free.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

import httpx

from agentsvc_nb.wire.runs import TERMINAL
from agentsvc_nb.wire.tools import JOB_TERMINAL
from tests.faults.crashing_server import CrashingServer
from tests.faults.history import check_run, check_turns, hold
from tests.support import databases
from tests.support.waiting import until

CONTENT: Final = bytes(range(256)) * 1024
ECHO: Final = {"steps": 2, "files": {"echo.txt": "from the job"}}
CALL: Final = {"steps": 1}
FIRST: Final = "say morning\nsay one\nstep 1\nwrite out.txt made by the run\nsay two\nstep 1\nsay three"
SECOND: Final = f"say morning\nstep 1\ncall echo_job {json.dumps(CALL)}\nstep 1\nsay called"
THIRD: Final = "say morning\nwait 3600"


class Morning:
    """`work` sends the requests until the service dies; `see_to_the_rest` finishes and checks them after a restart."""

    def __init__(self, service: CrashingServer) -> None:
        self.service = service
        self.runs: dict[str, str] = {}
        """Ids of acknowledged runs, by idempotency key."""
        self.sent: list[str] = []
        """All idempotency keys that were sent, with or without an answer."""
        self.job: dict[str, Any] | None = None
        self.upload: str | None = None
        self.cancelled = False

    def work(self) -> None:
        """Send all requests, in order. Raises `httpx.TransportError` when the service dies."""
        self.start("first", FIRST)
        self.await_end("first")
        self.upload = self._stage()
        self.submit()
        self.await_job()
        self.start("second", SECOND, file_ids=[self.upload])
        self.await_end("second")
        self.start("third", THIRD)
        until(lambda: self.record("third")["status"] == "running")
        self.cancel()
        self.await_end("third")

    def see_to_the_rest(self) -> None:
        """After the restart: repeat unanswered starts with their keys, wait for all ends, and check every rule."""
        unanswered = [key for key in self.sent if key not in self.runs]
        for key in unanswered:
            again = [self._post_start(key, "say something else").json()["run_id"] for _ in range(2)]
            hold("a key is one run", len(set(again)) == 1, again)
            self.runs[key] = again[0]
        if "third" in self.runs and not self.cancelled:
            self.cancel()
        for key in self.runs:
            self.await_end(key)
            check_run(self.record(key), self.service.events(self.runs[key]))
        check_turns(self.service.data)
        self._check_outputs(unanswered)
        self._check_nothing_doubled()
        self._check_job()
        self._check_files()
        free = self.service.post("/runs", {"message": "say free", "session": "morning", "sync": True})
        hold("the chat is free", free.status_code == 200, free.text)

    def start(self, key: str, message: str, **fields: Any) -> None:
        self.sent.append(key)
        answer = self._post_start(key, message, **fields)
        assert answer.status_code == 202, answer.text
        self.runs[key] = answer.json()["run_id"]

    def submit(self) -> None:
        answer = self.service.post("/jobs", {"tool": "echo_job", "input": ECHO, "session": "morning"})
        assert answer.status_code == 202, answer.text
        self.job = answer.json()

    def cancel(self) -> None:
        answer = self.service.post(f"/runs/{self.runs['third']}/cancel")
        assert answer.status_code == 200, answer.text
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

    def _post_start(self, key: str, message: str, **fields: Any) -> httpx.Response:
        return self.service.post("/runs", {"message": message, "session": "morning", **fields}, key)

    def _stage(self) -> str:
        answer = self.service.http.post("/files", files={"files": ("bytes.bin", CONTENT)})
        assert answer.status_code == 200, answer.text
        upload: str = answer.json()["files"][0]["id"]
        return upload

    def _check_outputs(self, unanswered: list[str]) -> None:
        said = {"first": "morning\none\ntwo\nthree", "second": "morning\ncalled"}
        for key, output in said.items():
            if key in self.runs:
                record = self.record(key)
                wanted = [output, "something else"] if key in unanswered else [output]
                hold("what was acknowledged is done", record["output"] in wanted, record)
        if self.cancelled:
            hold("a cancelled run is cancelled", self.record("third")["status"] == "cancelled", self.record("third"))

    def _check_nothing_doubled(self) -> None:
        count = databases.count(self.service.folder, "run")
        hold("there are as many runs as keys", count == len(self.runs), count)

    def _check_job(self) -> None:
        if self.job is not None:
            result = self.await_job()
            hold("an acknowledged job succeeds", result["status"] == "succeeded", result)
            hold("with its files", [file["path"] for file in result["files"]] == ["echo.txt"], result)

    def effects(self) -> int:
        """How many times jobs had their effect."""
        log = self.service.data / "effects.log"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def _check_files(self) -> None:
        """Check that each file of the chat is complete, and that an acknowledged upload can be attached and read."""
        fields: dict[str, Any] = {"message": "say files", "session": "morning", "sync": True}
        if self.upload is not None:
            fields["file_ids"] = [self.upload]
        run = self.service.post("/runs", fields).json()
        listed = self.service.get("/files", chat_id=run["chat"])["files"]
        for file in listed:
            content = self.service.http.get(file["download_url"].partition("/v1")[2]).content
            hold("a file is whole", hashlib.sha256(content).hexdigest() == file["id"], file)
        if self.upload is not None:
            wanted = hashlib.sha256(CONTENT).hexdigest()
            hold("an upload is kept", wanted in {file["id"] for file in listed}, listed)
        for blob in (self.service.data / "blobs").glob("??/??/*"):
            hold("no blob is half", hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name, blob.name)
        left = list((self.service.data / "blobs" / "incoming").iterdir())
        hold("nothing half-written is left", not left, left)
