"""A restore that is killed leaves no half service, and can be begun again."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentsvc_nb.service.backup import back_up
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.files.file_records import Content, FileOrigin
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.settings import Settings
from tests.service.process.test_serve import serve
from tests.support.waiting import PATIENCE_SECONDS, until

FILES = 1_500
"""To restore them takes a while."""
pytestmark = pytest.mark.sqlite("restores a folder's own database")


def test_a_killed_restore_leaves_no_service_and_can_be_begun_again(tmp_path: Path) -> None:
    """A service does not start there meanwhile, and says what to do."""
    folder, target, backup = DataFolder(tmp_path / "data"), DataFolder(tmp_path / "new"), tmp_path / "b.tar"
    folder.make()
    blobs = LocalBlobs(folder.path / "blobs")
    hashes = [blobs.put(os.urandom(2_000)).sha256 for _ in range(FILES)]

    def put(tx: Tx) -> None:
        for sha256 in hashes:
            content = Content(f"{sha256}.bin", "application/octet-stream", 2_000, sha256)
            file_records.put(tx, "chat_a", content.file_name, content, FileOrigin("upload"), 1)

    with contextlib.closing(SqliteDatabase(folder.database).open()) as database:
        database.write_now(put)
    back_up(Settings(folder.path), backup, lambda *_: None, lambda *_: None)
    command = [sys.executable, "-m", "agentsvc_nb", "restore", str(backup), "--data", str(target.path)]
    killed = subprocess.Popen(command)
    until(target.has_blobs)
    killed.kill()
    assert killed.wait(PATIENCE_SECONDS) < 0, "it was done before the kill"
    assert not target.database.exists()
    refused = serve(target.path, "--port", 0)
    assert (refused.returncode, "agentsvc restore" in refused.stderr) == (1, True), refused.stderr
    subprocess.run(command, check=True, timeout=PATIENCE_SECONDS)
    assert len(list(target.blobs.glob("??/??/*"))) == FILES
    assert not list(target.path.glob(".restore-*"))
