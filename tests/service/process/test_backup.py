"""Backup beside a running service, and restore: what was acknowledged before is there after (docs/backup.md)."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import stat
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import AuthenticationError
from agentsvc_nb.service import backup as backups
from agentsvc_nb.service.backup import Backup, BackupError
from agentsvc_nb.service.backup.archive import list_tables
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.files.file_records import Content, FileOrigin
from agentsvc_nb.service.folder import DataFolder, FolderHeld
from agentsvc_nb.service.mcp.servers import OwnServers
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.store.migrations import read_steps
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.settings import Settings
from agentsvc_nb.testing import RunningService, running_service
from tests.service.cli.test_cli import agentsvc
from tests.support.waiting import until

pytestmark = pytest.mark.sqlite("tests/nightly/faults/test_moving.py backs up and restores PostgreSQL")


def quiet(done: int, total: int) -> None:
    assert 0 < done <= total


def back_up(folder: DataFolder, file: Path) -> Backup:
    return backups.back_up(Settings(folder.path), file, quiet, quiet)


def restore(file: Path, folder: DataFolder) -> Backup:
    return backups.restore(file, Settings(folder.path), quiet, quiet)


@pytest.mark.rule("A restored backup has everything acknowledged before it.")
def test_what_was_acknowledged_before_a_backup_is_there_after_a_restore(tmp_path: Path) -> None:
    """Beside a run that goes on: records, events and files, each with its right hash; no key, no lock. The start of the
    restored service removes an old content without a row."""
    file, data = tmp_path / "backup.tar", tmp_path / "restored"
    with running_service() as running, AgentService(running.api_key, running.base_url) as client:
        earlier = running.create_key()
        script = "write uploads/a.txt text {}\nsay done"
        before = [client.runs.start(script.format(n), files=[("a.txt", b"mine")], sync=True) for n in (0, 1)]
        open_run = client.runs.start("wait 1\nsay done").run_id
        made = agentsvc("backup", file, "--data", running.data)
        later = running.create_key()
    assert made.returncode == 0, made.stderr
    assert re.match(rf"Wrote {file}: [\d,]+ rows and [\d,]+ contents", made.stdout)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    done = agentsvc("restore", file, "--data", data)
    assert done.returncode == 0, done.stderr
    assert f"agentsvc serve --data {data}" in done.stdout
    assert sorted(path.name for path in data.iterdir()) == ["blobs", "lock", "service.sqlite3"]
    blobs = LocalBlobs(data / "blobs")
    unused = blobs.path(blobs.put(b"unused").sha256)
    for path in (unused, blobs.path(hashlib.sha256(b"mine").hexdigest())):
        os.utime(path, (0, 0))
    again = RunningService(data, "scripted", {})
    again.start()
    try:
        with AgentService(earlier, again.base_url) as client:
            until(lambda: not unused.exists())
            for number, run in enumerate(before):
                assert client.runs.get(run.run_id).status == "completed"
                versions = client.files.versions("uploads/a.txt", chat=run.chat or "")
                assert [client.files.download(each) for each in versions] == [f"text {number}".encode(), b"mine"]
            assert client.runs.wait(open_run, poll=0.05).output == "done"
        with AgentService(later, again.base_url) as client, pytest.raises(AuthenticationError):
            client.runs.get(before[0].run_id)
    finally:
        again.stop()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a service with two files, in one chat."""
    made = DataFolder(tmp_path_factory.mktemp("prepared") / "data")
    made.make()
    blobs = LocalBlobs(made.path / "blobs")
    database = SqliteDatabase(made.database).open()
    for text in ("one", "two"):
        blob = blobs.put(text.encode())
        content = Content(f"{text}.txt", "text/plain", blob.size_bytes, blob.sha256)
        origin = FileOrigin("upload")
        database.write_now(lambda tx, c=content, o=origin: file_records.put(tx, "chat_a", c.file_name, c, o, 1))  # type: ignore[misc]
    database.close()
    made.key.write_text("svc_sk_secret")
    return made.path


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> DataFolder:
    return DataFolder(shutil.copytree(prepared, tmp_path / "data"))


@pytest.fixture
def backup(folder: DataFolder, tmp_path: Path) -> Path:
    back_up(folder, tmp_path / "backup.tar")
    return tmp_path / "backup.tar"


Change = Callable[[str, bytes], tuple[str, bytes] | None]


def rewritten(backup: Path, change: Change, name: str = "changed.tar") -> Path:
    """The backup again, each member changed or left out."""
    target = backup.with_name(name)
    with tarfile.open(backup) as old, tarfile.open(target, "w") as new:
        for member in old:
            content = old.extractfile(member)
            assert content is not None
            changed = change(member.name, content.read())
            if changed is not None:
                member.name, member.size = changed[0], len(changed[1])
                new.addfile(member, io.BytesIO(changed[1]))
    return target


def test_a_backup_holds_what_rows_name_and_nothing_else(folder: DataFolder, backup: Path) -> None:
    """Neither the key nor a content that no row names."""
    LocalBlobs(folder.path / "blobs").put(b"no row")
    second = backup.with_name("second.tar")
    made = back_up(folder, second)
    named = [f"contents/{hashlib.sha256(text).hexdigest()}" for text in (b"one", b"two")]
    for file in (backup, second):
        with tarfile.open(file) as tar:
            assert tar.getnames() == ["manifest.json", "rows/file/1.jsonl", *sorted(named), "end.json"]
    assert b"svc_sk_secret" not in second.read_bytes()
    assert (made.rows, made.contents, made.content_bytes, made.missing) == (2, 2, 6, 0)


SERVERS = {
    "tickets": {"url": "https://tickets.example/mcp", "key": "svr_secret", "key_in": "file", "trusted": True},
    "notes": {"command": ["npx", "notes"], "key_as": "TOKEN", "key_in": "keyring"},
    "open": {"url": "https://open.example/mcp"},
}


def test_servers_of_tools_come_back_without_their_keys(folder: DataFolder, tmp_path: Path) -> None:
    """And are named as they do, with what is lacking; those that the folder has are left as they are."""
    folder.mcp.write_text(json.dumps(SERVERS))
    file, target = tmp_path / "b.tar", DataFolder(tmp_path / "new")
    back_up(folder, file)
    assert b"svr_secret" not in file.read_bytes()
    target.path.mkdir()
    target.mcp.write_text(json.dumps({"open": {"url": "https://here.example/mcp"}}))
    done = agentsvc("restore", file, "--data", target.path)
    assert done.returncode == 0, done.stderr
    assert "tickets, https://tickets.example/mcp (backups contain no keys: add the server again" in done.stdout
    assert "notes, the command npx (its key is not in the keyring, or the keyring is locked)" in done.stdout
    there = {one.name: one for one in OwnServers(target).read()}
    assert (there["tickets"].trusted, there["tickets"].key) == (True, "")
    assert (there["notes"].command, there["notes"].key_as) == (("npx", "notes"), "TOKEN")
    assert (there["open"].url, there["open"].lacking) == ("https://here.example/mcp", "")
    assert stat.S_IMODE(target.mcp.stat().st_mode) == 0o600


@pytest.mark.parametrize("altered", [False, True])
def test_a_missing_or_altered_content_is_told(folder: DataFolder, tmp_path: Path, altered: bool) -> None:
    """What is there is saved all the same, and the backup can be restored."""
    path = LocalBlobs(folder.path / "blobs").path(hashlib.sha256(b"one").hexdigest())
    path.write_bytes(b"onE") if altered else path.unlink()
    made = agentsvc("backup", tmp_path / "b.tar", "--data", folder.path)
    assert made.returncode == 0
    assert "1 contents of files were missing" in made.stderr
    assert restore(tmp_path / "b.tar", DataFolder(tmp_path / "new")).missing == 1


def test_a_backup_never_replaces_a_file(folder: DataFolder, backup: Path) -> None:
    before = backup.read_bytes()
    refused = agentsvc("backup", backup, "--data", folder.path)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
    assert "already exists" in refused.stderr
    assert backup.read_bytes() == before


def test_a_failed_backup_leaves_nothing(folder: DataFolder, tmp_path: Path) -> None:
    """A damaged database is told before anything is written."""
    with folder.database.open("r+b") as database:
        database.seek(4096)
        database.write(os.urandom(8192))
    with pytest.raises(BackupError, match="database"):
        back_up(folder, tmp_path / "b.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_restore_never_replaces_a_service(folder: DataFolder, backup: Path, tmp_path: Path) -> None:
    """Neither a database nor a folder that a server holds."""
    before = folder.database.read_bytes()
    with pytest.raises(BackupError, match="already"):
        restore(backup, folder)
    assert folder.database.read_bytes() == before
    other = DataFolder(tmp_path / "held")
    other.make()
    with other.hold(), pytest.raises(FolderHeld):
        restore(backup, other)
    assert not other.database.exists()


def flipped(kind: str) -> Change:
    """One byte of members of this kind is another."""
    return lambda name, data: (name, bytes([data[0] ^ 1]) + data[1:] if name.startswith(kind) else data)


def without(kind: str) -> Change:
    return lambda name, data: None if name.startswith(kind) else (name, data)


def replaced(kind: str, old: bytes, new: bytes) -> Change:
    """Members of this kind have another text; an empty `old` is all of it."""

    def change(name: str, data: bytes) -> tuple[str, bytes]:
        if not name.startswith(kind):
            return name, data
        assert old in data
        return name, data.replace(old, new) if old else new

    return change


def renamed(old: str, new: str) -> Change:
    return lambda name, data: (name.replace(old, new), data)


DAMAGE: dict[str, Change] = {
    "content": flipped("contents/"),
    "rows": replaced("rows/", b"one.txt", b"six.txt"),
    "no end": without("end.json"),
    "manifest": flipped("manifest.json"),
    "later format": replaced("manifest.json", b'"format": 2', b'"format": 3'),
    "path outside": renamed("contents/", "contents/../../"),
    "other servers": replaced("mcp.json", b"tickets", b"strange"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_backup_is_refused(folder: DataFolder, backup: Path, tmp_path: Path, damage: str) -> None:
    """One sentence, no service, no file outside and nothing half-restored inside."""
    folder.mcp.write_text(json.dumps(SERVERS))
    backup.unlink()
    back_up(folder, backup)
    beside = sorted(tmp_path.iterdir())
    changed, target = rewritten(backup, DAMAGE[damage]), DataFolder(tmp_path / "new")
    with pytest.raises(BackupError):
        restore(changed, target)
    assert not target.database.exists()
    assert not any(path.is_file() for path in target.path.rglob("*") if path.name != "lock")
    assert sorted(tmp_path.iterdir()) == sorted({*beside, changed, *([target.path] if target.path.exists() else [])})


def forged(backup: Path, change: Change) -> Path:
    """The backup with each member changed, and an end that fits that."""
    changed = rewritten(backup, change)
    digest, rows = hashlib.sha256(), 0
    with tarfile.open(changed) as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            if not member.name.startswith(("contents/", "end.json")):
                digest.update(text := content.read())
                rows += text.count(b"\n") if member.name.startswith("rows/") else 0

    def end(name: str, data: bytes) -> tuple[str, bytes]:
        if name != "end.json":
            return name, data
        return name, json.dumps({**json.loads(data), "rows": rows, "sha256": digest.hexdigest()}).encode()

    return rewritten(changed, end, "forged.tar")


HASH: Final = hashlib.sha256(b"one").hexdigest().encode()
FORGED: dict[str, tuple[Change, str]] = {
    "unknown table": (replaced("manifest.json", b'"file":', b'"sqlite_master":'), "no table 'sqlite_master'"),
    "unknown column": (replaced("manifest.json", b'"sha256"', b'"sha256, 1"'), "no table"),
    "hash that is a path": (replaced("rows/", HASH, b"../../../etc/passwd"), "a row of the table file"),
    "text for a number": (replaced("rows/", b",3,", b',"3",'), "a row of the table file"),
    "newer schema": (replaced("manifest.json", b'"schema_version": ', b'"schema_version": 9'), "upgrade agentsvc-nb"),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_backup_is_refused(backup: Path, tmp_path: Path, forgery: str) -> None:
    change, said = FORGED[forgery]
    target = DataFolder(tmp_path / "new")
    with pytest.raises(BackupError, match=re.escape(said)):
        restore(forged(backup, change), target)
    assert not any(path.is_file() for path in target.path.rglob("*") if path.name != "lock")


def test_a_backup_with_what_is_no_file_is_refused(backup: Path, tmp_path: Path) -> None:
    with tarfile.open(backup, "a") as tar:
        member = tarfile.TarInfo("contents/" + "a" * 64)
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(member)
    with pytest.raises(BackupError, match="not a regular file"):
        restore(backup, DataFolder(tmp_path / "new"))


def test_a_backup_of_an_earlier_schema_is_brought_up_to_date(backup: Path, tmp_path: Path) -> None:
    """Its rows come into the tables of then, and the steps since are applied to them."""
    columns = {table: [column.name for column in found] for table, found in list_tables(29).items()}
    now = [column.name for column in list_tables(len(read_steps()))["file"]]

    def change(name: str, data: bytes) -> tuple[str, bytes]:
        if name == "manifest.json":
            return name, json.dumps({**json.loads(data), "schema_version": 29, "tables": columns}).encode()
        if not name.startswith("rows/"):
            return name, data
        rows = [dict(zip(now, json.loads(line), strict=True)) | {"unread": 0} for line in data.splitlines()]
        return name, b"".join(json.dumps([row[column] for column in columns["file"]]).encode() + b"\n" for row in rows)

    target = DataFolder(tmp_path / "new")
    assert restore(forged(backup, change), target).schema_version == 29
    with closing(sqlite3.connect(target.database)) as connection:
        assert connection.execute("SELECT file_name, unreadable FROM file ORDER BY 1").fetchall() == [
            ("one.txt", ""),
            ("two.txt", ""),
        ]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(read_steps()),)
