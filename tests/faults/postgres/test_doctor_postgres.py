"""`agentsvc doctor` where the data is in PostgreSQL and S3: each broken state is a line with its fix."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

import psycopg
import pytest

from agentsvc_nb.cli import checks
from agentsvc_nb.cli.findings import Finding
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.store.postgres import PostgresDatabase
from tests.support import databases

SECRET: Final = "a" * 32
CONTENTS: Final = "s3://nobodys/contents"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    """Of a process on a database of its own that a service has worked with."""
    address = databases.server().new_database()
    monkeypatch.setenv("AGENTSVC_DATABASE", address)
    monkeypatch.setenv("AGENTSVC_BLOBS", CONTENTS)
    database = PostgresDatabase(address).open()
    database.write_now(lambda tx: accounts.check_shared_secret(tx, SECRET))
    database.close()
    return DataFolder(tmp_path, address, SECRET)


def change(folder: DataFolder, sql: str) -> None:
    with psycopg.connect(str(folder.address), autocommit=True) as connection:
        connection.execute(sql.encode())


def living(folder: DataFolder, works: bool, contents: str = CONTENTS) -> None:
    lives = "EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + 60000"
    columns = "(id, works, models, contents, sign_in, lives_until)"
    change(folder, f"INSERT INTO process {columns} VALUES ('one', {works:d}, 'scripted', '{contents}', '', {lives})")


def lines(check: str, folder: DataFolder) -> str:
    return "\n".join(finding.line(check) for finding in checks.CHECKS[check](folder))


def failed(check: str, folder: DataFolder) -> list[Finding]:
    return [finding for finding in checks.CHECKS[check](folder) if finding.level in ("fail", "warn")]


def test_all_in_order(folder: DataFolder) -> None:
    living(folder, works=True)
    assert re.fullmatch(
        r"ok    database: PostgreSQL .* answers; .*\nok    database: 1 of 1 processes .* \(model: scripted\)",
        lines("database", folder),
    )
    assert lines("schema", folder).startswith("ok ")
    assert len(lines("clock", folder).splitlines()) == 1


@pytest.mark.parametrize(
    ("secret", "said"), [(None, "AGENTSVC_SECRET is not set"), ("b" * 32, "AGENTSVC_SECRET does not match")]
)
def test_a_secret_that_is_missing_or_another(folder: DataFolder, secret: str | None, said: str) -> None:
    (found,) = failed("database", DataFolder(folder.path, folder.address, secret))
    assert found.level == "fail"
    assert found.what.startswith(said)
    assert SECRET not in found.line("database")


def test_nobody_works_and_contents_are_elsewhere(folder: DataFolder) -> None:
    living(folder, works=False, contents="s3://theirs")
    elsewhere, nobody = failed("database", folder)
    assert elsewhere.what.endswith(f"store the contents of files in s3://theirs, but this one would use {CONTENTS}")
    assert (nobody.level, nobody.what.partition(":")[0]) == (
        "warn",
        "no process executes runs, so accepted runs are waiting",
    )


def test_a_schema_of_another_version(folder: DataFolder) -> None:
    change(folder, "UPDATE meta SET value = '20' WHERE name = 'schema'")
    assert "pg_dump" in lines("schema", folder)
    change(folder, "UPDATE meta SET value = '99' WHERE name = 'schema'")
    assert lines("schema", folder).startswith("note"), "it can be worked with"
    change(folder, "UPDATE meta SET value = '99' WHERE name = 'schema_changed'")
    assert "fail" in lines("schema", folder)


def test_clocks_that_are_apart(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() - 75_000_000_000)
    (found,) = failed("clock", folder)
    assert (found.level, "75 s behind" in found.what) == ("warn", True), found.what
