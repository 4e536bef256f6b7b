"""Backup beside a running service, and restore: what was acknowledged before is there after (docs/operations.md)."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from agentsvc_nb.cli.service import ProgressPrinter
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import AuthenticationError
from agentsvc_nb.service.backup import BackupError, back_up, restore
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.files.file_records import Author, Content
from agentsvc_nb.service.folder import DataFolder, FolderHeld
from agentsvc_nb.service.mcp.servers import OwnServers
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.store.migrations import SchemaTooNew
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.runs import Run
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.sqlite("`agentsvc backup` and `restore` are of a folder's own database")


def agentsvc(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentsvc_nb", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def quiet(done: int, total: int) -> None:
    assert 0 < done <= total


@contextmanager
def writing(service: RunningService) -> Iterator[list[Run]]:
    """Runs that write files, one after the other; those acknowledged so far."""
    acknowledged: list[Run] = []
    enough = threading.Event()

    def write() -> None:
        with AgentService(service.api_key, service.base_url) as client:
            while not enough.is_set():
                staged = [("a.txt", b"mine")]
                script = f"write uploads/a.txt text {len(acknowledged)}\nsay done"
                acknowledged.append(client.runs.start(script, files=staged, sync=True))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield acknowledged
    finally:
        enough.set()
        writer.join()


def test_what_was_acknowledged_before_a_backup_is_there_after_a_restore(tmp_path: Path) -> None:
    """With runs being written all the time: records, events and files, each with its right hash; no key, no lock."""
    file, data = tmp_path / "backup.tar", tmp_path / "restored"
    with running_service() as running:
        earlier = running.create_key()
        with writing(running) as acknowledged:
            until(lambda: len(acknowledged) >= 10)
            before = list(acknowledged)
            made = agentsvc("backup", file, "--data", running.data)
            after = len(acknowledged)
            until(lambda: len(acknowledged) > after)
        later = running.create_key()
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(f"Wrote {file}: the database and ")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    done = agentsvc("restore", file, "--data", data)
    assert done.returncode == 0, done.stderr
    assert f"agentsvc serve --data {data}" in done.stdout
    assert sorted(path.name for path in data.iterdir()) == ["blobs", "lock", "service.sqlite3"]
    again = RunningService(data, "scripted", {})
    again.start()
    try:
        with AgentService(earlier, again.base_url) as client:
            for number, run in enumerate(before):
                assert client.runs.get(run.run_id).status == "completed"
                versions = client.files.versions("uploads/a.txt", chat=run.chat or "")
                assert [client.files.download(each) for each in versions] == [f"text {number}".encode(), b"mine"]
        with AgentService(later, again.base_url) as client, pytest.raises(AuthenticationError):
            client.runs.get(before[0].run_id)
    finally:
        again.stop()


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    """The data of a service with two files, in one chat."""
    made = DataFolder(tmp_path / "data")
    made.make()
    blobs = LocalBlobs(made.path / "blobs")
    database = SqliteDatabase(made.database).open()
    for text in ("one", "two"):
        blob = blobs.put(text.encode())
        content = Content(f"{text}.txt", "text/plain", blob.size_bytes, blob.sha256)
        database.write_now(lambda tx, c=content: file_records.put(tx, "chat_a", c.file_name, c, Author("upload"), 1))  # type: ignore[misc]
    database.close()
    made.key.write_text("svc_sk_secret")
    return made


@pytest.fixture
def backup(folder: DataFolder, tmp_path: Path) -> Path:
    back_up(folder, tmp_path / "backup.tar", quiet)
    return tmp_path / "backup.tar"


def rewritten(backup: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> Path:
    """The backup again, each member changed or left out."""
    target = backup.with_name("changed.tar")
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
    manifest = back_up(folder, second, quiet)
    named = [f"blobs/{hashlib.sha256(text).hexdigest()}" for text in (b"one", b"two")]
    for file in (backup, second):
        with tarfile.open(file) as tar:
            assert tar.getnames() == ["manifest.json", "service.sqlite3", *sorted(named)]
    assert b"svc_sk_secret" not in second.read_bytes()
    assert (manifest.blobs, manifest.blob_bytes, manifest.missing) == (2, 6, 0)


SERVERS = {
    "tickets": {"url": "https://tickets.example/mcp", "key": "svr_secret", "key_in": "file", "trusted": True},
    "notes": {"command": ["npx", "notes"], "key_as": "TOKEN", "key_in": "keyring"},
    "open": {"url": "https://open.example/mcp"},
}


def test_servers_of_tools_come_back_without_their_keys(folder: DataFolder, tmp_path: Path) -> None:
    """And are named as they do, with what is lacking; those that the folder has are left as they are."""
    folder.mcp.write_text(json.dumps(SERVERS))
    file, target = tmp_path / "b.tar", DataFolder(tmp_path / "new")
    back_up(folder, file, quiet)
    assert b"svr_secret" not in file.read_bytes()
    target.path.mkdir()
    target.mcp.write_text(json.dumps({"open": {"url": "https://here.example/mcp"}}))
    done = agentsvc("restore", file, "--data", target.path)
    assert done.returncode == 0, done.stderr
    assert "tickets, https://tickets.example/mcp (its key is in no backup: add it again with its key)" in done.stdout
    assert "notes, the command npx (its key is not in the keyring, or that is locked)" in done.stdout
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
    assert restore(tmp_path / "b.tar", DataFolder(tmp_path / "new"), quiet).missing == 1


def test_a_backup_never_replaces_a_file(folder: DataFolder, backup: Path) -> None:
    before = backup.read_bytes()
    refused = agentsvc("backup", backup, "--data", folder.path)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
    assert "exists already" in refused.stderr
    assert backup.read_bytes() == before


def test_a_failed_backup_leaves_nothing(folder: DataFolder, tmp_path: Path) -> None:
    """A damaged database is told before anything is written."""
    with folder.database.open("r+b") as database:
        database.seek(4096)
        database.write(os.urandom(8192))
    with pytest.raises(BackupError, match="database"):
        back_up(folder, tmp_path / "b.tar", quiet)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_restore_never_replaces_a_service(folder: DataFolder, backup: Path, tmp_path: Path) -> None:
    """Neither a database nor a folder that a server holds."""
    before = folder.database.read_bytes()
    with pytest.raises(BackupError, match="already"):
        restore(backup, folder, quiet)
    assert folder.database.read_bytes() == before
    other = DataFolder(tmp_path / "held")
    other.make()
    with other.hold(), pytest.raises(FolderHeld):
        restore(backup, other, quiet)
    assert not other.database.exists()


def flipped(name: str, data: bytes, kind: str) -> tuple[str, bytes]:
    """One byte of members of this kind is another."""
    return name, (bytes([data[0] ^ 1]) + data[1:] if name.startswith(kind) else data)


DAMAGE: dict[str, Callable[[str, bytes], tuple[str, bytes] | None]] = {
    "content": lambda name, data: flipped(name, data, "blobs/"),
    "database": lambda name, data: flipped(name, data, "service.sqlite3"),
    "sound but other database": lambda name, data: (
        name,  # another application id, which SQLite has no use for
        data[:68] + b"edit" + data[72:] if name == "service.sqlite3" else data,
    ),
    "database of another": lambda name, data: (name, b"x" * 4096 if name == "service.sqlite3" else data),
    "no database": lambda name, data: None if name == "service.sqlite3" else (name, data),
    "no contents": lambda name, data: None if name.startswith("blobs/") else (name, data),
    "no manifest": lambda name, data: None if name == "manifest.json" else (name, data),
    "manifest": lambda name, data: flipped(name, data, "manifest.json"),
    "manifest nested too deeply": lambda name, data: (name, b"[" * 900_000 if name == "manifest.json" else data),
    "manifest with endless numbers": lambda name, data: (
        name,
        re.sub(rb'"blob_bytes": \d+', b'"blob_bytes": 1e400', data) if name == "manifest.json" else data,
    ),
    "manifest with large numbers": lambda name, data: (
        name,
        re.sub(rb'"blob_bytes": \d+', b'"blob_bytes": 1' + b"0" * 5_000, data) if name == "manifest.json" else data,
    ),
    "manifest with other types": lambda name, data: (
        name,
        re.sub(rb'"blob_bytes": \d+', b'"blob_bytes": "x"', data) if name == "manifest.json" else data,
    ),
    "servers nested too deeply": lambda name, data: (name, b"[" * 900_000 if name == "mcp.json" else data),
    "later format": lambda name, data: (name, data.replace(b'"format": 1', b'"format": 2')),
    "path outside": lambda name, data: (name.replace("blobs/", "blobs/../../"), data),
    "servers": lambda name, data: (name, b"[1]" if name == "mcp.json" else data),
    "no servers": lambda name, data: None if name == "mcp.json" else (name, data),
    "servers that the manifest does not name": lambda name, data: (
        name,
        data.replace(b"tickets", b"strange") if name == "mcp.json" else data,
    ),
    "absolute path": lambda name, data: (name.replace("blobs/", "/tmp/"), data),
    "stranger": lambda name, data: ("key" if name.startswith("blobs/") else name, data),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_backup_is_refused(folder: DataFolder, backup: Path, tmp_path: Path, damage: str) -> None:
    """One sentence, no service, no file outside and nothing half-restored inside."""
    folder.mcp.write_text(json.dumps(SERVERS))
    backup.unlink()
    back_up(folder, backup, quiet)
    beside = sorted(tmp_path.iterdir())
    changed, target = rewritten(backup, DAMAGE[damage]), DataFolder(tmp_path / "new")
    with pytest.raises(BackupError):
        restore(changed, target, quiet)
    assert not target.database.exists()
    assert not any(path.is_file() for path in target.path.rglob("*") if path.name != "lock")
    assert sorted(tmp_path.iterdir()) == sorted({*beside, changed, *([target.path] if target.path.exists() else [])})


@pytest.mark.parametrize("part", [0.0, 0.5, 0.9])
def test_half_a_backup_is_refused(backup: Path, tmp_path: Path, part: float) -> None:
    half = tmp_path / "half.tar"
    half.write_bytes(backup.read_bytes()[: int(len(backup.read_bytes()) * part)])
    refused = agentsvc("restore", half, "--data", tmp_path / "new")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
    assert not DataFolder(tmp_path / "new").database.exists()


def test_a_backup_with_a_link_is_refused(backup: Path, tmp_path: Path) -> None:
    """A member that is no plain file is not followed."""
    with tarfile.open(backup, "a") as tar:
        link = tarfile.TarInfo("blobs/" + "a" * 64)
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(BackupError, match="holds"):
        restore(backup, DataFolder(tmp_path / "new"), quiet)


def test_a_backup_of_a_newer_version_is_refused(folder: DataFolder, backup: Path, tmp_path: Path) -> None:
    """At the backup, when the folder is newer; at the restore, when the backup is."""
    newer = tmp_path / "newer.sqlite3"
    with tarfile.open(backup) as tar:
        content = tar.extractfile("service.sqlite3")
        assert content is not None
        newer.write_bytes(content.read())
    for path in (newer, folder.database):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 9999")
    digest = hashlib.sha256(newer.read_bytes()).hexdigest()

    def change(name: str, data: bytes) -> tuple[str, bytes]:
        if name == "manifest.json":
            return name, json.dumps(json.loads(data) | {"database_sha256": digest}).encode()
        return name, newer.read_bytes() if name == "service.sqlite3" else data

    with pytest.raises(SchemaTooNew, match="upgrade"):
        restore(rewritten(backup, change), DataFolder(tmp_path / "new"), quiet)
    with pytest.raises(SchemaTooNew, match="upgrade"):
        back_up(folder, tmp_path / "b.tar", quiet)


def test_progress_is_told_after_a_second(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at once, and not at each step."""
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    progress = ProgressPrinter("restored")
    for now in (100.5, 101.1, 101.5, 102.2):
        progress(int((now - 100) * 1_000_000), 4_000_000)
    assert capsys.readouterr().err.splitlines() == ["restored: 27 % of 4.0 MB", "restored: 55 % of 4.0 MB"]
