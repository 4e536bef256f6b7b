"""Commands on a folder whose contents lie in S3, and the embedded service, which keeps its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsvc_nb.embedded import EmbeddedError, find_or_start, stop
from agentsvc_nb.testing import RunningService, running_service
from tests.service.api.conftest import Opened
from tests.service.api.test_media_http import VIDEO
from tests.service.cli.test_cli import agentsvc
from tests.support.contents import lose
from tests.support.s3_server import S3Server


@pytest.mark.sqlite("restores into a folder's own database")
def test_a_backup_has_the_contents_and_the_doctor_lists_the_bucket(
    s3: S3Server, opened: Opened, tmp_path: Path
) -> None:
    """Also beside the service; contents that are missing from the bucket come back with the backup."""
    backup, data = tmp_path / "backup.tar", tmp_path / "restored"
    address = s3.address()
    with running_service(blobs=address) as service:
        chat = opened(service).finish("write kept.txt kept")["chat"]
        made = agentsvc("backup", backup, "--data", service.data)
        assert "and 1 contents of files" in made.stdout, made.stderr
        checked = agentsvc("doctor", "--data", service.data).stdout
        assert f"all 1 contents of files are in {address}" in checked
        lose(service, b"kept")
        assert (
            f"1 of 1 contents of files are missing from {address}" in agentsvc("doctor", "--data", service.data).stdout
        )
        assert "1 contents of files were missing" in agentsvc("backup", tmp_path / "b", "--data", service.data).stderr
    restored = agentsvc("restore", backup, "--data", data)
    assert restored.returncode == 0, restored.stderr
    again = RunningService(data, "scripted", {})
    again.start()
    try:
        params = {"chat_id": chat, "path": "kept.txt"}
        assert opened(again)("GET", "/files/download", params=params).content == b"kept"
    finally:
        again.stop()


def test_a_command_beside_the_service_leaves_nothing_in_its_cache(s3: S3Server, tmp_path: Path) -> None:
    """The service counts only what it put there itself."""
    (tmp_path / "ad.mp4").write_bytes(VIDEO)
    with running_service(blobs=s3.address()) as service:
        added = agentsvc("media", "add", "--data", service.data, tmp_path / "ad.mp4")
        assert added.returncode == 0, added.stderr
        assert not [path for path in (service.data / "cache").rglob("*") if path.is_file()]


def test_the_embedded_service_keeps_its_contents_and_says_so(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSVC_BLOBS", s3.address())
    found = find_or_start(tmp_path)
    try:
        assert found.notice is not None
        assert "AGENTSVC_BLOBS is for `agentsvc serve`" in found.notice
        assert (tmp_path / "blobs" / "incoming").is_dir()
    finally:
        stop(tmp_path)


@pytest.mark.sqlite("the refusal names the database first")
def test_no_embedded_service_is_started_where_contents_lie_in_s3(s3: S3Server) -> None:
    with running_service(blobs=s3.address()) as service:
        service.stop()
        with pytest.raises(EmbeddedError, match="has its contents in s3://"):
            find_or_start(service.data)
