"""Starts, kills and queries a service that runs under `launcher`, which can make it die at a given point."""

from __future__ import annotations

import contextlib
import json
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.wire.routes import V1
from agentsvc_nb.wire.runs import TERMINAL
from tests.faults.launcher import STAMPS
from tests.support import databases
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]


class CrashingServer:
    """A launcher process on one data folder, and one database; after it died, `start` reuses folder, port and key."""

    def __init__(self, data: Path, *arguments: str) -> None:
        self.data, self._ready, self._log = data, data / "ready.json", data / "serve.log"
        given = databases.settings()
        if given:
            given["secret"] = secrets.token_hex(32)
            self.folder = DataFolder(data, str(given["database"]), str(given["secret"]))
        else:
            self.folder = DataFolder(data)
        self._arguments = [
            *arguments,
            *(part for name, value in given.items() for part in ("--set", f"{name}={value}")),
        ]
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.http = httpx.Client(timeout=30)

    def start(self, *arguments: str) -> None:
        """Start with these arguments of the launcher, and wait until it answers."""
        self.launch(*arguments)
        until(self._has_started)
        base_url = json.loads(self._ready.read_text())["base_url"]
        self._port = int(base_url.rpartition(":")[2])
        key = (self.data / "key").read_text().strip()
        self.http.close()
        self.http = httpx.Client(base_url=base_url + V1, headers={"Authorization": f"Bearer {key}"}, timeout=30)

    def launch(self, *arguments: str) -> None:
        """Start without waiting, for a service that may die before it answers."""
        command = [sys.executable, "-m", "tests.faults.launcher", "--data", str(self.data), "--port", str(self._port)]
        self._ready.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *self._arguments, *arguments], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def has_died(self) -> bool:
        """True if the process ended by SIGKILL, as it does at its point."""
        assert self._process is not None
        return self._process.poll() == -signal.SIGKILL

    def see_it_die(self) -> None:
        """Wait until the process has died at its point."""
        until(self.has_died)

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        answer = self.http.get(path, params=params or None)
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def post(self, path: str, document: dict[str, Any] | None = None, key: str | None = None) -> httpx.Response:
        return self.http.post(path, json=document or {}, headers={"Idempotency-Key": key} if key else None)

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """All events of a run, by pages."""
        found: list[dict[str, Any]] = []
        more = True
        while more:
            page = self.get(f"/runs/{run_id}/events", after=found[-1]["id"] if found else 0, limit=1000)
            found += page["data"]
            more = page["has_more"]
        return found

    def ended(self, run_id: str) -> dict[str, Any]:
        """The record of a run, once it has ended."""
        return until(lambda: self.get(f"/runs/{run_id}"), lambda run: run["status"] in TERMINAL)

    def cut_off(self, script: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Start a run in which the service dies, restart it, and return the completed run and its events."""
        run_id = self.post("/runs", {"message": script}).json()["run_id"]
        self.see_it_die()
        self.start()
        run = self.ended(run_id)
        assert run["status"] == "completed", run
        return run, self.events(run_id)

    def stamps(self) -> list[str]:
        """What the tools of the launcher have done, a line each."""
        log = self.data / STAMPS
        return log.read_text().splitlines() if log.exists() else []

    def log(self) -> str:
        return self._log.read_text()

    def _has_started(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()[-2000:]
        return self._ready.exists()


@contextlib.contextmanager
def crashing_server(*arguments: str) -> Iterator[CrashingServer]:
    """A `CrashingServer` in a temporary folder, not yet started; `arguments` of the launcher apply to each start."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-crashing-") as folder:
        service = CrashingServer(Path(folder), *arguments)
        try:
            yield service
        finally:
            service.kill()
            service.http.close()
