"""Commands on a folder whose contents lie in S3."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.cli import main
from agentsvc_nb.embedded import EmbeddedError, find_or_start
from agentsvc_nb.testing import RunningService, running_service
from tests.support.contents import lose
from tests.support.s3_server import S3Server


def client(service: RunningService) -> AgentService:
    return AgentService(service.api_key, service.base_url)


@pytest.mark.sqlite("restores into a folder's own database")
def test_commands_beside_a_service_whose_contents_lie_in_s3(
    s3: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A backup has the contents, and those that are missing from the bucket come back with it."""
    backup, data = tmp_path / "backup.tar", tmp_path / "restored"
    address = s3.address()

    def run(*words: object, folder: Path) -> str:
        assert main([*map(str, words), "--data", str(folder)]) in (0, 1)
        return capsys.readouterr().out

    with running_service(blobs=address) as service:
        chat = client(service).runs.start("write kept.txt kept", sync=True).chat
        run("backup", backup, folder=service.data)
        assert f"all 1 contents of files are in {address}" in run("doctor", folder=service.data)
        lose(service, b"kept")
        assert f"missing from {address}" in run("doctor", folder=service.data)
        (tmp_path / "ad.mp4").write_bytes(b"\0\0\0\x14ftypisom\0\0\0\0isom" + bytes(5_000))
        assert run("media", "add", tmp_path / "ad.mp4", folder=service.data).startswith("media_")
        cached = [path for path in (service.data / "cache").rglob("*") if path.is_file()]
        assert cached == [], "the service counts only what it put there itself"
        service.stop()
        with pytest.raises(EmbeddedError, match="s3://"):
            find_or_start(service.data)
    run("restore", backup, folder=data)
    again = RunningService(data, "scripted", {})
    again.start()
    try:
        assert client(again).files.download("kept.txt", chat=chat) == b"kept"
    finally:
        again.stop()
