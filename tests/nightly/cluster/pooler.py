"""PgBouncer between a cluster's processes and its database: each transaction may get another connection."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.databases import PostgresServer
from tests.support.waiting import until

PORT: Final = 6432
"""Of the socket in the server's folder, where no other listens."""


class Pooler:
    """In transaction mode, on a socket in the folder of `postgres`."""

    def __init__(self, postgres: PostgresServer) -> None:
        self._folder: Path = postgres.folder
        self._process: subprocess.Popen[bytes] | None = None
        program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        if not Path(program).exists():
            pytest.fail("PgBouncer is not installed: apt-get install pgbouncer")
        settings = {
            "listen_addr": "",
            "listen_port": PORT,
            "unix_socket_dir": self._folder,
            "auth_type": "any",
            "pool_mode": "transaction",
            "max_client_conn": 500,
            "default_pool_size": 20,
            # A database that was restarted is asked again after a second (default: 15).
            "server_login_retry": 1,
        }
        lines = ["[databases]", f"* = host={self._folder} port=5432 user=postgres", "[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in settings.items()]
        path = self._folder / "pgbouncer.ini"
        path.write_text("\n".join(lines) + "\n")
        path.chmod(0o644)
        self._command = [program, "--quiet", str(path)]

    def address(self, direct: str) -> str:
        """The address of a database by way of the pooler."""
        return f"{direct}&port={PORT}"

    def start(self) -> None:
        user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        with (self._folder / "pgbouncer.log").open("ab") as log:
            self._process = subprocess.Popen(self._command, user=user, cwd="/", stdout=log, stderr=log)
        until(lambda: (self._folder / f".s.PGSQL.{PORT}").is_socket())

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            (self._folder / f".s.PGSQL.{PORT}").unlink(missing_ok=True)
