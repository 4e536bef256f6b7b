"""A restore that is killed leaves no half service, and can be begun again."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentsvc_nb.service.backup import back_up
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.files.file_records import Author, Content
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.settings import Settings
from tests.support.waiting import PATIENCE_SECONDS, until

FILES = 1_500
pytestmark = pytest.mark.sqlite("restores a folder's own database")


def big_service(folder: DataFolder) -> None:
    """Many files: to restore them takes a while."""
    folder.make()
    blobs = LocalBlobs(folder.path / "blobs")
    contents = []
    for number in range(FILES):
        data = os.urandom(2_000)
        sha256 = hashlib.sha256(data).hexdigest()
        blobs.path(sha256).parent.mkdir(parents=True, exist_ok=True)
        blobs.path(sha256).write_bytes(data)
        contents.append(Content(f"{number}.bin", "application/octet-stream", len(data), sha256))

    def put(tx: Tx) -> None:
        for content in contents:
            file_records.put(tx, "chat_a", content.file_name, content, Author("upload"), 1)

    database = SqliteDatabase(folder.database).open()
    database.write_now(put)
    database.close()


def test_a_killed_restore_leaves_no_service_and_can_be_begun_again(tmp_path: Path) -> None:
    """A service does not start there meanwhile, and says what to do."""
    big_service(DataFolder(tmp_path / "data"))
    back_up(Settings(tmp_path / "data"), tmp_path / "b.tar", unseen, unseen)
    target = DataFolder(tmp_path / "new")
    command = [sys.executable, "-m", "agentsvc_nb", "restore", str(tmp_path / "b.tar"), "--data", str(target.path)]
    killed = subprocess.Popen(command)
    until(target.has_blobs)
    killed.kill()
    assert killed.wait(PATIENCE_SECONDS) < 0, "it was done before the kill"
    assert not target.database.exists()
    serve = [*command[:3], "serve", "--port", "0", "--data", str(target.path)]
    refused = subprocess.run(serve, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (refused.returncode, "agentsvc restore" in refused.stderr) == (1, True), refused.stderr
    subprocess.run(command, check=True, timeout=PATIENCE_SECONDS)
    kept = [path for path in target.blobs.rglob("*") if path.is_file() and path.parent.name != "incoming"]
    assert len(kept) == FILES
    assert not list(target.path.glob(".restore-*"))


def unseen(done: int, total: int) -> None:
    """A progress that nobody looks at."""
