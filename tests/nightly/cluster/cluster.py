"""Three replicas, some workers and the programs around them, all on loopback: PostgreSQL, an S3 server, HAProxy, and
PgBouncer."""

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from agentsvc_nb import AgentService
from agentsvc_nb.settings import variable
from tests.support.databases import PostgresServer
from tests.support.s3_server import running_s3
from tests.support.waiting import PATIENCE_SECONDS, until

DURABLE: Final = "-c listen_addresses= -c max_connections=300 -c shared_buffers=64MB"
"""PostgreSQL as it is operated: a commit is on the disk."""
_SBIN: Final = Path("/usr/sbin")
"""Of pgbouncer and haproxy: apt-get install pgbouncer haproxy."""
POOLER_PORT: Final = 6432
"""Of the socket in the database server's folder."""
HAPROXY: Final = """
defaults
 mode tcp
 timeout connect 5s
 timeout client 10m
 timeout server 10m
 retries 100
 option redispatch 1
listen replicas
 bind 127.0.0.1:{port}
"""


class Process:
    """A replica (`serve`) or a `worker`, with a data folder of its own."""

    def __init__(self, command: str, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        self.env = env
        self.log = folder.with_suffix(".log")
        self.base_url = ""
        self._command = [sys.executable, "-m", "agentsvc_nb", command, "--data", str(folder)]
        self._port = 0
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it at the address that it had, and wait until it answers."""
        self.folder.mkdir(exist_ok=True)
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            command = [*self._command, "--port", str(self._port)]
            child = self._child = subprocess.Popen(command, env=self.env, stdout=log, stderr=log)
        until(lambda: ready.exists() or child.poll() is not None)
        assert ready.exists(), self.log.read_text()
        self.base_url = json.loads(ready.read_text())["base_url"]
        self._port = int(self.base_url.rpartition(":")[2])

    def send(self, sign: signal.Signals) -> None:
        assert self._child is not None
        self._child.send_signal(sign)

    def end(self, sign: signal.Signals = signal.SIGKILL) -> int:
        """Send it the signal, if it runs, and return its exit code."""
        if self._child is None:
            return 0
        self.send(sign)
        code = self._child.wait(PATIENCE_SECONDS)
        self._child = None
        return code


class Pooler:
    """PgBouncer, which gives each transaction another connection."""

    def __init__(self, postgres: PostgresServer) -> None:
        self._socket = postgres.folder / f".s.PGSQL.{POOLER_PORT}"
        self._config = postgres.folder / "pgbouncer.ini"
        # A database that was restarted is asked again after a second (default: 15).
        self._config.write_text(
            f"[databases]\n* = host={postgres.folder} port=5432 user=postgres\n[pgbouncer]\nlisten_addr =\n"
            f"listen_port = {POOLER_PORT}\nunix_socket_dir = {postgres.folder}\nauth_type = any\n"
            "pool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 20\nserver_login_retry = 1\n"
        )
        self._config.chmod(0o644)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        command = [str(_SBIN / "pgbouncer"), "--quiet", str(self._config)]
        self._process = subprocess.Popen(command, user=user, cwd="/", stderr=subprocess.DEVNULL)
        until(self._socket.is_socket)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._socket.unlink(missing_ok=True)


class Cluster:
    """`replicas` and `workers` on `postgres`; `env` are their settings."""

    def __init__(self, folder: Path, postgres: PostgresServer, workers: int, env: dict[str, str]) -> None:
        self.folder = folder
        self.postgres = postgres
        self.env = env
        self.replicas = [Process("serve", folder / f"replica-{number}", env) for number in range(3)]
        self.workers = [Process("worker", folder / f"worker-{number}", env) for number in range(workers)]
        self.processes = [*self.replicas, *self.workers]
        self.pooler = Pooler(postgres)

    @property
    def api_key(self) -> str:
        return (self.replicas[0].folder / "key").read_text().strip()

    def client(self, replica: int) -> AgentService:
        return AgentService(self.api_key, self.replicas[replica].base_url)

    def agentsvc(self, *arguments: str) -> str:
        """What the command line prints with the first replica's settings."""
        command = [sys.executable, "-m", "agentsvc_nb", *arguments, "--data", str(self.replicas[0].folder)]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=True).stdout

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """What the database has."""
        with psycopg.connect(self.env["AGENTSVC_DATABASE"], row_factory=dict_row) as connection:
            return connection.execute(sql.encode()).fetchall()

    def holder(self, run_id: str) -> Process:
        """The worker that executes the run."""
        asked = f"SELECT worker_id FROM run WHERE run_id = '{run_id}' AND worker_id IS NOT NULL"
        instance = until(lambda: self.rows(asked))[0]["worker_id"]
        return next(each for each in self.workers if f'"{instance}"' in (each.folder / "ready.json").read_text())

    def pool(self, *processes: Process) -> None:
        """Have these processes, which are not started yet, reach the database by way of the pooler."""
        self.pooler.start()
        for process in processes:
            address = f"{self.env['AGENTSVC_DATABASE']}&port={POOLER_PORT}"
            process.env = {**self.env, "AGENTSVC_DATABASE": address}

    def start(self) -> None:
        for process in self.processes:
            process.start()

    @contextlib.contextmanager
    def balanced(self) -> Iterator[str]:
        """The address of a proxy that gives each connection to the next replica that takes it."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        config = self.folder / "haproxy.cfg"
        servers = [f" server s{n} {each.base_url.removeprefix('http://')}\n" for n, each in enumerate(self.replicas)]
        config.write_text(HAPROXY.format(port=port) + "".join(servers))
        with subprocess.Popen([str(_SBIN / "haproxy"), "-q", "-db", "-f", str(config)]) as process:
            try:
                until(lambda: _accepts(port))
                yield f"http://127.0.0.1:{port}"
            finally:
                process.kill()


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@contextlib.contextmanager
def made_cluster(workers: int, **settings: object) -> Iterator[Cluster]:
    """A cluster with these settings, whose processes are not started yet, and end with the block."""
    with (
        tempfile.TemporaryDirectory(prefix="agentsvc-cluster-") as folder,
        running_s3() as s3,
        contextlib.ExitStack() as stack,
    ):
        postgres = PostgresServer(DURABLE)
        stack.callback(postgres.remove)
        own = {"database": postgres.new_database(), "blobs": s3.address(), "secret": secrets.token_hex(32)}
        given = {**own, "model": "scripted", **settings}
        env = {**os.environ, **s3.env, **{variable(name): str(value) for name, value in given.items()}}
        cluster = Cluster(Path(folder), postgres, workers, env)
        stack.callback(cluster.pooler.stop)
        for process in cluster.processes:
            stack.callback(process.end)
        yield cluster


@contextlib.contextmanager
def running_cluster(workers: int = 3, **settings: object) -> Iterator[Cluster]:
    with made_cluster(workers, **settings) as cluster:
        cluster.start()
        yield cluster
