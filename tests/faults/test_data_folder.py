"""What may go wrong with the data folder: a foreign one, one without its database, one that is replaced."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.service.store.blobs import LocalBlobs
from tests.service.process.test_serve import ENV, client_of, serve, serving
from tests.support.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.sqlite("loses, replaces and restores a folder's own database")


def agentsvc(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentsvc_nb", *map(str, arguments)]
    return subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def seen(folder: Path) -> dict[str, object]:
    """The names and modes below a folder, and its own mode."""
    found = {str(path.relative_to(folder)): path.stat().st_mode for path in folder.rglob("*")}
    return {**found, ".": stat.S_IMODE(folder.stat().st_mode)}


@pytest.mark.rule("The service refuses a foreign folder and does not change it.")
@pytest.mark.parametrize("command", ["serve", "ask"])
def test_a_foreign_folder_is_refused_and_left_as_it_is(command: str, tmp_path: Path) -> None:
    foreign = tmp_path / "photos"
    (foreign / "blobs").mkdir(parents=True)
    (foreign / "holiday.jpg").write_bytes(b"\xff\xd8")
    (foreign / "key").write_text("of the bicycle")
    foreign.chmod(0o755)
    before = seen(foreign)
    done = serve(foreign, "--port", 0) if command == "serve" else agentsvc("ask", "hello", "--data", foreign)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "holiday.jpg" in done.stderr
    assert "another" in done.stderr
    assert seen(foreign) == before


def test_a_folder_that_lost_its_database_is_no_fresh_one(tmp_path: Path) -> None:
    """Its key must open no empty database; with the database back, all is as it was."""
    data = tmp_path / "data"
    with serving(data, "--port", 0), client_of(data) as client:
        kept = client.runs.start("say kept", sync=True)
    for path in data.glob("service.sqlite3*"):
        path.rename(tmp_path / path.name)
    key = (data / "key").read_text()
    (data / "blobs" / "incoming").rmdir()
    (data / "blobs").rmdir()
    refused = serve(data, "--port", 0)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1, refused.stderr
    assert "agentsvc restore" in refused.stderr
    assert (data / "key").read_text() == key
    (data / "ready.json").unlink()  # of the killed server
    for path in tmp_path.glob("service.sqlite3*"):
        path.rename(data / path.name)
    with serving(data, "--port", 0), client_of(data) as client:
        assert client.runs.get(kept.run_id).output == "kept"
    assert (data / "key").read_text() == key


@pytest.mark.parametrize("how", ["database replaced", "lock removed"])
def test_a_service_whose_folder_is_taken_away_ends(how: str, tmp_path: Path) -> None:
    """In good order, with a sentence, and what lies there now stays as it is."""
    data, other = tmp_path / "data", tmp_path / "other"
    assert agentsvc("keys", "create", "--name", "a", "--data", other).returncode == 0
    with serving(data, "--port", 0, stderr=subprocess.PIPE) as process, client_of(data) as client:
        client.runs.start("say kept", sync=True)
        waiting = client.runs.start("wait 60")
        if how == "database replaced":
            (other / "service.sqlite3").replace(data / "service.sqlite3")
        else:
            (data / "lock").unlink()
        now = (data / "service.sqlite3").read_bytes()
        assert process.wait(PATIENCE_SECONDS) == 1
        assert process.stderr is not None
        said = process.stderr.read()
    assert "was removed or replaced" in said
    assert "Traceback" not in said
    if how == "database replaced":
        assert (data / "service.sqlite3").read_bytes() == now
        assert (data / "service.sqlite3-wal.old").stat().st_size, "it would be written into the other database"
        with serving(data, "--port", 0), contextlib.closing(sqlite3.connect(data / "service.sqlite3")) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert database.execute("SELECT count(*) FROM run").fetchone() == (0,)
    else:
        (data / "lock").touch()
        (data / "ready.json").unlink(missing_ok=True)
        with serving(data, "--port", 0), client_of(data) as again:
            assert again.runs.get(waiting.run_id).status in ("queued", "running")


@pytest.mark.rule("A file altered on disk is found and not served.")
def test_an_altered_content_is_found_and_not_served(tmp_path: Path) -> None:
    """By the service's own check; the same content uploaded again mends it."""
    data = tmp_path / "data"
    contents = {"large.bin": os.urandom(700_000), "whole.bin": os.urandom(300_000)}
    with serving(data, "--port", 0), client_of(data) as client:
        chat = str(client.runs.start("say kept", files=list(contents.items()), sync=True).chat)
    (data / "ready.json").unlink()
    path = LocalBlobs(data / "blobs").path(hashlib.sha256(contents["large.bin"]).hexdigest())
    changed = bytearray(contents["large.bin"])
    changed[-1] ^= 1
    path.write_bytes(changed)
    with serving(data, "--port", 0, stderr=subprocess.PIPE) as process, client_of(data) as client:
        entries = {file.file_name: file for file in client.files.list(chat)}
        until(lambda: not path.exists())
        with pytest.raises(StefanBrainError, match="altered"):
            client.files.download(entries["large.bin"], chat=chat)
        assert client.files.download(entries["whole.bin"], chat=chat) == contents["whole.bin"]
        client.files.upload(contents["large.bin"])
        assert client.files.download(entries["large.bin"], chat=chat) == contents["large.bin"]
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        assert process.stderr.read().count("was altered on the disk") == 1
