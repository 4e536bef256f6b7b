"""Several processes on one PostgreSQL and one bucket, all on loopback: replicas, workers, and a proxy before the
replicas."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal

import psycopg
from psycopg.rows import dict_row

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.settings import variable
from tests.support.databases import PostgresServer
from tests.support.s3_server import S3Server, running_s3
from tests.support.waiting import until

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 15.0
DURABLE: Final = "-c listen_addresses= -c max_connections=300 -c shared_buffers=64MB"
"""PostgreSQL as it is operated: a commit is on the disk."""


class Process:
    """A replica or a worker, with a data folder of its own."""

    module = "agentsvc_nb"
    """What Python runs."""

    def __init__(self, command: Literal["serve", "worker"], folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        self.env = env
        self._arguments = [command, "--data", str(folder)]
        self._child: subprocess.Popen[bytes] | None = None
        self._port = 0
        self.base_url = ""

    def start(self) -> None:
        """Start it at the address that it had, and wait until it answers."""
        self.folder.mkdir(exist_ok=True)
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", self.module, *self._arguments, "--port", str(self._port)]
            self._child = subprocess.Popen(command, env=self.env, stdout=log, stderr=subprocess.STDOUT)
        until(lambda: ready.exists() or self._has_ended(), patience=START_SECONDS)
        self.base_url = json.loads(ready.read_text())["base_url"]
        self._port = int(self.base_url.rpartition(":")[2])

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    def send(self, sign: signal.Signals) -> None:
        assert self._child is not None
        self._child.send_signal(sign)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self._reap()

    def stop(self) -> int:
        """End it by SIGTERM; its exit code."""
        self.send(signal.SIGTERM)
        return self._reap()

    def end(self) -> None:
        """End it, if it runs, whatever state it is in."""
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                self.send(signal.SIGCONT)
            self._child.terminate()
            try:
                self._reap()
            except subprocess.TimeoutExpired:
                self.kill()

    def _reap(self) -> int:
        assert self._child is not None
        code = self._child.wait(STOP_SECONDS)
        self._child = None
        return code

    def _has_ended(self) -> bool:
        assert self._child is not None
        if self._child.poll() is not None:
            raise AssertionError(f"{self._arguments} did not start:\n{self.log.read_text()}")
        return False


class Cluster:
    """`replicas` and `workers`, in these `counts`, on `postgres` and `s3`."""

    def __init__(
        self, folder: Path, postgres: PostgresServer, s3: S3Server, counts: tuple[int, int], more: Mapping[str, object]
    ) -> None:
        self.postgres = postgres
        self.s3 = s3
        replicas, workers = counts
        own_settings = {"database": postgres.new_database(), "blobs": s3.address(), "secret": secrets.token_hex(32)}
        settings = {**own_settings, **more}
        own = {name: text for name, text in os.environ.items() if not name.startswith(("AGENTSVC_", "SERVICE_API_KEY"))}
        env = {**own, **s3.env, **{variable(name): str(value) for name, value in settings.items()}}
        self.env = env
        self.replicas = [Process("serve", folder / f"replica-{number}", env) for number in range(replicas)]
        self.workers = [Process("worker", folder / f"worker-{number}", env) for number in range(workers)]

    @property
    def api_key(self) -> str:
        return (self.replicas[0].folder / "key").read_text().strip()

    def start(self) -> None:
        for process in (*self.replicas, *self.workers):
            process.start()

    def client(self, replica: int) -> AgentService:
        return AgentService(self.api_key, self.replicas[replica].base_url)

    def holder(self, run_id: str) -> Process:
        """The worker that executes the run."""
        asked = f"SELECT worker_id FROM run WHERE run_id = '{run_id}' AND worker_id IS NOT NULL"
        instance = until(lambda: self.rows(asked))[0]["worker_id"]
        return next(each for each in self.workers if f'"{instance}"' in (each.folder / "ready.json").read_text())

    def agentsvc(self, *arguments: str) -> str:
        """What the command line prints with the first replica's settings."""
        command = [sys.executable, "-m", "agentsvc_nb", *arguments, "--data", str(self.replicas[0].folder)]
        env = {**os.environ, **self.env}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """What the database has."""
        with psycopg.connect(self.env["AGENTSVC_DATABASE"], row_factory=dict_row) as connection:
            return connection.execute(sql.encode()).fetchall()

    def end(self) -> None:
        for process in (*self.replicas, *self.workers):
            process.end()


@contextlib.contextmanager
def running_cluster(workers: int = 3, **settings: object) -> Iterator[Cluster]:
    """A cluster with these settings, which ends with the block, with all that it holds."""
    with made_cluster(workers, **settings) as cluster:
        cluster.start()
        yield cluster


@contextlib.contextmanager
def made_cluster(workers: int = 3, **settings: object) -> Iterator[Cluster]:
    """As `running_cluster`, with its database and its contents there, and none of its processes started."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-cluster-") as folder, running_s3() as s3:
        postgres = PostgresServer(DURABLE)
        try:
            given = {"model": "scripted", **settings}
            cluster = Cluster(Path(folder), postgres, s3, (3, workers), given)
            try:
                yield cluster
            finally:
                cluster.end()
        finally:
            postgres.remove()


class Balancer:
    """A proxy on loopback that gives each connection to the next replica that takes it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._turn = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        # A thread that waits to accept is not woken by a close.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        with caller, contextlib.suppress(OSError):
            replica = self._connected()
            with replica:
                back = threading.Thread(target=_pass_on, args=(replica, caller), daemon=True)
                back.start()
                _pass_on(caller, replica)
                back.join()

    def _connected(self) -> socket.socket:
        """A connection to the next replica that takes one."""
        until_s = time.monotonic() + START_SECONDS
        while True:
            self._turn += 1
            replica = self._cluster.replicas[self._turn % len(self._cluster.replicas)]
            try:
                return socket.create_connection(("127.0.0.1", int(replica.base_url.rpartition(":")[2])), timeout=None)
            except OSError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(0.02)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def at_once(start: Callable[[int], str], times: int) -> tuple[list[str], set[str]]:
    """What so many calls at once return, and the codes of those that are refused."""
    codes: set[str] = set()

    def attempt(number: int) -> str | None:
        try:
            return start(number)
        except StefanBrainError as refused:
            codes.add(refused.code or "")
            return None

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(attempt, range(times)))
    return [each for each in found if each is not None], codes
