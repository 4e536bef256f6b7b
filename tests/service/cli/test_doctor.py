"""`agentsvc doctor`: what is broken is a line that says so with its fix, and what is not is left alone."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb.cli import checks, doctor
from agentsvc_nb.cli.checks import CHECKS
from agentsvc_nb.cli.findings import Finding
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.service.folder import DataFolder, ReadyFile
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.testing import RunningService
from tests.service.cli.test_cli import agentsvc

pytestmark = pytest.mark.sqlite("looks at a folder's own database; tests/faults/test_postgres.py has the other")
FAR_FUTURE_MS = 4_000_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    """A folder that a service has run in, and none does."""
    made = DataFolder(tmp_path / "data")
    made.make()
    SqliteDatabase(made.database).open().close()
    return made


def change(folder: DataFolder, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(folder.database)) as connection:
        connection.execute(sql)
        connection.commit()


def the(findings: Iterator[Finding]) -> Finding:
    """The only finding."""
    (found,) = findings
    return found


def is_failure(found: Finding, said: str) -> bool:
    return found.level == "fail" and said in found.what and bool(found.fix)


def test_with_a_running_service_everything_is_in_order(own_service: RunningService) -> None:
    """Exit 0, a line a check, the service that runs among them; and it is the same service after."""
    with AgentService(own_service.api_key, own_service.base_url) as client:
        client.runs.start("write a.txt text", sync=True)
    before = ReadyFile.read(own_service.data / "ready.json")
    done = agentsvc("doctor", "--data", own_service.data, AGENTSVC_MODEL="scripted")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert all(re.fullmatch(r"(ok|note) +[a-z]+: .+", line) for line in lines), done.stdout
    checks = {line.split()[1] for line in lines}
    assert checks == {f"{name}:" for name in {*CHECKS, "settings", "programs", "model"} - {"port"}}, (
        "the port is the service's"
    )
    assert before is not None
    assert f"process {before.pid} " in done.stdout
    assert own_service.base_url in done.stdout
    assert ReadyFile.read(own_service.data / "ready.json") == before


def test_every_failure_is_a_line_and_the_exit_code(folder: DataFolder) -> None:
    """Two things are wrong: both are told, and what comes after them, too."""
    change(folder, "PRAGMA user_version = 9999")
    done = agentsvc("doctor", "--data", folder.path, AGENTSVC_MODEL="typo")
    failed = [line for line in done.stdout.splitlines() if line.startswith("fail")]
    assert (done.returncode, done.stderr) == (1, "")
    assert [line.split()[1] for line in failed] == ["schema:", "settings:"]
    assert all(". Fix: " in line for line in failed)
    assert "9999" in failed[0]
    assert "'typo'" in failed[1]


def test_the_names_that_a_service_answers_to(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSVC_HOSTS", "proxied.example")
    monkeypatch.setenv("AGENTSVC_PUBLIC_URL", "https://public.example")
    [names] = [found for found in doctor.check_settings(folder) if "AGENTSVC_HOSTS adds" in found.what]
    assert "127.0.0.1, [::1], public.example, proxied.example;" in names.what


def test_a_server_that_does_not_answer(folder: DataFolder) -> None:
    with folder.hold():
        assert is_failure(the(checks.check_server(folder)), "does not answer")
    assert the(checks.check_server(folder)).level == "note"


def test_a_port_that_another_program_has(folder: DataFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        folder.port.write_text(str(number))
        told = {finding.what: finding for finding in checks.check_port(folder)}
        assert told[f"another program uses the port {number}"].level == "warn"
    assert f"{number} is free" in {finding.what for finding in checks.check_port(folder)}


def test_a_damaged_database(folder: DataFolder) -> None:
    with folder.database.open("r+b") as database:
        database.seek(4096)
        database.write(os.urandom(8192))
    assert is_failure(the(checks.check_database(folder)), "damaged")
    folder.database.write_bytes(b"no database at all" * 1000)
    assert is_failure(the(checks.check_database(folder)), "damaged")
    assert is_failure(the(checks.check_schema(folder)), "not a readable database")


def test_contents_that_are_missing(folder: DataFolder) -> None:
    """Counted, of how many; and those of which a byte was altered."""
    blobs = LocalBlobs(folder.path / "blobs")
    kept = blobs.put(b"kept").sha256
    for path, sha256 in (("a", kept), ("b", hashlib.sha256(b"lost").hexdigest())):
        values = f"('chat_a', '{path}', '{path}', 'upload', 'text/plain', 4, '{sha256}', 1)"
        columns = "(chat, path, file_name, kind, media_type, size_bytes, sha256, updated_at)"
        change(folder, f"INSERT INTO file {columns} VALUES {values}")
    assert is_failure(the(checks.check_contents(folder)), "1 of 2 contents")
    blobs.path(kept).write_bytes(b"kepT")
    missing, altered = checks.check_contents(folder)
    assert is_failure(missing, "1 of 2 contents")
    assert is_failure(altered, "altered")


def test_a_clock_that_is_behind_the_records(folder: DataFolder) -> None:
    assert the(checks.check_clock(folder)).level == "ok"
    change(folder, f"INSERT INTO project (id, account, name, created_at) VALUES ('p', 'a', 'x', {FAR_FUTURE_MS})")
    change(folder, f"INSERT INTO chat (id, account, created_at) VALUES ('c', 'a', {FAR_FUTURE_MS})")
    assert is_failure(the(checks.check_clock(folder)), "2096")


def test_a_model_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is in the line, as JSON for programs. A machine without a service stays as it is."""
    monkeypatch.setattr(doctor, "QUESTION", "fail no_model The model is gone.")
    done = agentsvc("doctor", "--json", "--data", tmp_path / "new", AGENTSVC_MODEL="scripted")
    found = {each["check"]: each for each in json.loads(done.stdout)}
    assert (done.returncode, found["model"]["level"]) == (1, "fail")
    assert "The model is gone." in found["model"]["what"]
    assert found["model"]["fix"]
    assert list(tmp_path.iterdir()) == []
