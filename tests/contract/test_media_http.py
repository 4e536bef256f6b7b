"""Ad media and their transcripts (docs/api/media.md)."""

from __future__ import annotations

import hashlib
import struct
import wave
from pathlib import Path

import pytest
from PIL import Image

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.resources import Transcript
from agentsvc_nb.wire.tools import JobAccepted
from tests.contents import content
from tests.contract.conftest import Wire, code
from tests.contract.test_jobs_http import ended
from tests.test_cli import agentsvc

SRT = "1\n00:00:00,500 --> 00:00:01,000\nBuy <i>now</i>\n\n2\n00:00:01,000 --> 00:00:02,500\nand save\n"
VTT = "WEBVTT\nLanguage: de\n\n00:01.000 --> 00:03.000 align:start\nKauf &amp; spar\n"


def box(name: bytes, contents: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(contents), name) + contents


def video(seconds: int) -> bytes:
    mvhd = bytes(12) + struct.pack(">II", 1000, seconds * 1000) + bytes(80)
    return box(b"ftyp", b"isom\0\0\0\0isom") + box(b"mdat", bytes(5_000)) + box(b"moov", box(b"mvhd", mvhd))


def sound(path: Path, seconds: int) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 8_000 * seconds))
    return path


def added(service: RunningService, *arguments: object) -> str:
    done = agentsvc("media", "add", "--data", service.data, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_video_with_captions_is_stored_with_its_transcript(
    service: RunningService, client: AgentService, wire: Wire, tmp_path: Path
) -> None:
    (tmp_path / "ad.mp4").write_bytes(video(7))
    (tmp_path / "words.srt").write_text(SRT)
    media_id = added(
        service, tmp_path / "ad.mp4", "--url", "https://example.com/ad", "--captions", tmp_path / "words.srt"
    )
    found = client.media.get(media_id)
    assert (found.id, found.kind, found.source, found.url) == (media_id, "video", "upload", "https://example.com/ad")
    assert found.duration_s == 7.0
    transcript = client.media.transcribe(media_id)
    assert isinstance(transcript, Transcript)
    assert transcript == found.transcript
    assert (transcript.media_id, transcript.language, transcript.text) == (media_id, None, "Buy now and save")
    assert [(one.start_s, one.end_s) for one in transcript.segments] == [(0.5, 1.0), (1.0, 2.5)]
    assert wire("POST", f"/media/{media_id}/transcript").status_code == 200
    assert wire("GET", f"/media/{media_id}").json()["object"] == "ad_media"


def test_captions_beside_the_file_are_found_and_give_the_duration(
    service: RunningService, client: AgentService, tmp_path: Path
) -> None:
    (tmp_path / "ad.webm").write_bytes(b"\x1a\x45\xdf\xa3\x42\x82\x84webm" + bytes(100))
    (tmp_path / "ad.vtt").write_text(VTT)
    found = client.media.get(added(service, tmp_path / "ad.webm"))
    assert found.transcript is not None
    assert (found.duration_s, found.transcript.language, found.transcript.text) == (3.0, "de", "Kauf & spar")


def test_sounds_and_pictures(service: RunningService, client: AgentService, tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "ad.png")
    spoken = client.media.get(added(service, sound(tmp_path / "misnamed.txt", 3)))
    shown = client.media.get(added(service, tmp_path / "ad.png"))
    assert (spoken.kind, spoken.duration_s, spoken.transcript) == ("audio", 3.0, None)
    assert (shown.kind, shown.duration_s, shown.url) == ("image", None, None)


def test_without_captions_a_job_says_what_is_missing(
    service: RunningService, client: AgentService, wire: Wire, tmp_path: Path
) -> None:
    media_id = added(service, sound(tmp_path / "ad.wav", 1))
    answer = wire("POST", f"/media/{media_id}/transcript")
    job = answer.json()
    assert (answer.status_code, job["type"], job["family"]) == (202, "tool_job", "media_transcript")
    done = ended(wire, job)
    assert (done["status"], done["is_error"], done["error"]["code"]) == ("failed", True, "not_configured")
    assert "--captions" in done["error"]["message"]
    assert isinstance(client.media.transcribe(media_id), JobAccepted)


def test_the_content_is_kept(service: RunningService, client: AgentService, tmp_path: Path) -> None:
    data = video(2)
    (tmp_path / "ad.mp4").write_bytes(data)
    added(service, tmp_path / "ad.mp4")
    assert content(service, hashlib.sha256(data).hexdigest()) == data


def test_what_is_no_media_is_refused_in_a_sentence(service: RunningService, tmp_path: Path) -> None:
    (tmp_path / "notes.mp4").write_text("not a video at all")
    (tmp_path / "ad.mp4").write_bytes(video(1))
    (tmp_path / "bad.srt").write_text("no captions")
    for arguments in (
        [tmp_path / "notes.mp4"],
        [tmp_path / "missing.mp4"],
        [tmp_path / "ad.mp4", "--captions", tmp_path / "bad.srt"],
        [tmp_path / "ad.mp4", "--url", "nonsense"],
    ):
        done = agentsvc("media", "add", "--data", service.data, *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "/transcript")])
def test_unknown_media_are_404(wire: Wire, method: str, path: str) -> None:
    answer = wire(method, f"/media/media_none{path}")
    assert (answer.status_code, code(answer)) == (404, "media_not_found")
