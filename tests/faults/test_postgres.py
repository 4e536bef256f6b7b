"""The service and the command line with their data in PostgreSQL: its server is stopped while runs go on, others come
for the same database, and no line has its password."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.testing import RunningService, running_service
from tests.support import databases
from tests.support.databases import PostgresServer
from tests.support.waiting import PATIENCE_SECONDS, until

PASSWORD = "hunter22"


def agentsvc(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentsvc_nb", *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


@pytest.fixture
def address() -> str:
    """A database's, with a password, which the test's server does not ask for."""
    return databases.server().new_database().replace("postgres@", f"postgres:{PASSWORD}@")


@pytest.fixture
def own(address: str) -> Iterator[RunningService]:
    with running_service(database=address) as service:
        yield service


def secret_of(service: RunningService) -> str:
    assert service.folder.secret is not None
    return service.folder.secret


def test_a_process_that_does_not_fit_the_others_ends_with_a_sentence(
    own: RunningService, address: str, tmp_path: Path
) -> None:
    """Without the shared secret or with another one, or with contents elsewhere."""
    env = {"AGENTSVC_DATABASE": address, "AGENTSVC_MODEL": "scripted"}
    serve = ("serve", "--port", 0, "--data", tmp_path)
    without, other = agentsvc(*serve, **env), agentsvc(*serve, **env, AGENTSVC_SECRET="x" * 32)
    assert (without.returncode, other.returncode) == (1, 1)
    assert "AGENTSVC_SECRET is not set" in without.stderr
    assert "AGENTSVC_SECRET does not match" in other.stderr
    elsewhere = agentsvc(*serve, **env, AGENTSVC_SECRET=secret_of(own))
    assert (elsewhere.returncode, "AGENTSVC_BLOBS" in elsewhere.stderr) == (1, True)


def test_while_the_server_of_the_database_is_away_requests_are_refused() -> None:
    server = PostgresServer()
    try:
        with (
            running_service(database=server.new_database()) as service,
            AgentService(service.api_key, service.base_url, max_retries=0) as client,
        ):
            server.stop()
            with pytest.raises(StefanBrainError) as refused:
                client.runs.start("say hello")
            assert (refused.value.status, refused.value.code) == (503, "workspace_busy")
            assert "database" in str(refused.value)
            server.start()
            assert until(lambda: _answered(client)) == "hello"
    finally:
        server.remove()


def _answered(client: AgentService) -> str | None:
    try:
        return client.runs.start("say hello", sync=True).output
    except StefanBrainError:
        return None


def test_the_command_line_works_beside_the_service_and_no_line_has_the_password(
    own: RunningService, address: str, tmp_path: Path
) -> None:
    env = {"AGENTSVC_DATABASE": address, "AGENTSVC_MODEL": "scripted", "AGENTSVC_SECRET": secret_of(own)}
    key = agentsvc("keys", "create", "--data", own.data, "--name", "ci", **env)
    with AgentService(key.stdout.split()[-1], own.base_url) as client:
        assert client.runs.start("say hello", sync=True).output == "hello"
    doctor = agentsvc("doctor", "--data", own.data, **env)
    assert doctor.returncode == 0, doctor.stdout
    assert "1 of 1 processes" in doctor.stdout
    backup = agentsvc("backup", tmp_path / "b.tar", "--data", own.data, **env)
    assert backup.returncode == 0, backup.stderr
    assert PASSWORD.encode() not in (tmp_path / "b.tar").read_bytes()
    said = "".join(done.stdout + done.stderr for done in (key, doctor, backup))
    kept = "".join(file.read_text("utf-8", "replace") for file in own.data.iterdir() if file.is_file())
    assert PASSWORD not in said + kept


@pytest.mark.parametrize(
    "address", [f"postgresql://ada:{PASSWORD}@/x?host=/nowhere", f"postgresql://ada:{PASSWORD}%zz@db.example/x"]
)
def test_an_address_that_leads_nowhere_is_one_sentence(address: str, tmp_path: Path) -> None:
    done = agentsvc("serve", "--port", 0, "--data", tmp_path, AGENTSVC_DATABASE=address, AGENTSVC_MODEL="scripted")
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1
    assert PASSWORD not in done.stderr


def test_a_service_goes_on_with_a_schema_that_a_newer_one_adds_to_and_ends_once_one_changes_it(
    own: RunningService, address: str
) -> None:
    def migrated(changed: int) -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"ALTER TABLE run ADD COLUMN new_{changed} BIGINT NOT NULL DEFAULT 7".encode())
            connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
            connection.execute("UPDATE meta SET value = %s WHERE name = 'schema_changed'", [str(changed)])

    with AgentService(own.api_key, own.base_url) as client:
        for changed in (0, 15):
            assert client.runs.start("say hello", sync=True).output == "hello"
            migrated(changed)
        assert client.runs.start("say hello", sync=True).output == "hello"
        migrated(99)
    until(lambda: "The database has schema 99, but this version supports" in (own.data / "serve.log").read_text())
    own.kill()
