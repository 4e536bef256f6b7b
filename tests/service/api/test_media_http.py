"""Ad media and their transcripts (docs/api/media.md)."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import wave
from pathlib import Path

import pytest

from agentsvc_nb.cli import main
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.resources import Transcript
from agentsvc_nb.wire.tools import JobAccepted
from tests.service.api.conftest import Wire, code
from tests.service.api.test_jobs_http import ended
from tests.support.contents import content

TRANSCRIPT = {
    "language": "en",
    "segments": [
        {"start_s": 0.5, "end_s": 1.0, "text": "Buy now"},
        {"start_s": 1.0, "end_s": 2.5, "text": "and save"},
    ],
}
VIDEO = b"\0\0\0\x14ftypisom\0\0\0\0isom" + bytes(5_000)


def sound(path: Path, seconds: int) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 8_000 * seconds))
    return path


def added(service: RunningService, *arguments: object) -> str:
    """The id of a media file that a command beside the service adds."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["media", "add", "--data", str(service.data), *map(str, arguments)]) == 0
    return out.getvalue().strip()


def transcript(folder: Path) -> tuple[str, Path]:
    """The arguments of a transcript, in a file of the folder."""
    file = folder / "words.json"
    file.write_text(json.dumps(TRANSCRIPT))
    return "--transcript", file


@pytest.mark.rule("Media have a kind, a duration and a transcript.")
def test_a_video_is_stored_with_its_duration_and_transcript(
    service: RunningService, client: AgentService, wire: Wire, tmp_path: Path
) -> None:
    (tmp_path / "ad.mp4").write_bytes(VIDEO)
    with_words = ("--duration", 7, *transcript(tmp_path))
    media_id = added(service, tmp_path / "ad.mp4", "--url", "https://example.com/ad", *with_words)
    assert content(service, hashlib.sha256(VIDEO).hexdigest()) == VIDEO
    found = client.media.get(media_id)
    assert (found.id, found.kind, found.source, found.url) == (media_id, "video", "upload", "https://example.com/ad")
    assert found.duration_s == 7.0
    words = client.media.transcribe(media_id)
    assert isinstance(words, Transcript)
    assert words == found.transcript
    assert (words.media_id, words.language, words.text) == (media_id, "en", "Buy now and save")
    assert [(one.start_s, one.end_s) for one in words.segments] == [(0.5, 1.0), (1.0, 2.5)]
    assert wire("POST", f"/media/{media_id}/transcript").status_code == 200
    assert code(wire("GET", "/media/media_none")) == "media_not_found"


@pytest.mark.rule("A transcript that cannot be made is a failed job with `not_configured`.")
def test_without_a_transcript_a_job_says_what_is_missing(
    service: RunningService, client: AgentService, wire: Wire, tmp_path: Path
) -> None:
    media_id = added(service, sound(tmp_path / "ad.wav", 1))
    answer = wire("POST", f"/media/{media_id}/transcript")
    job = answer.json()
    assert (answer.status_code, job["type"], job["family"]) == (202, "tool_job", "media_transcript")
    done = ended(wire, job)
    assert (done["status"], done["is_error"], done["error"]["code"]) == ("failed", True, "not_configured")
    assert "--transcript" in done["error"]["message"]
    assert isinstance(client.media.transcribe(media_id), JobAccepted)


def test_what_is_no_media_is_refused_in_a_sentence(
    service: RunningService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.mp4").write_text("not a video at all")
    (tmp_path / "ad.mp4").write_bytes(VIDEO)
    late = {"segments": [{"start_s": 2, "end_s": 1, "text": "late"}]}
    wrong = ("no JSON", '{"segments": []}', '{"segments": [{"text": "when?"}]}', json.dumps(late), " " * 2_000_001)
    files = [tmp_path / f"bad{number}.json" for number in range(len(wrong))]
    for file, text in zip(files, wrong, strict=True):
        file.write_text(text)
    invalid: list[list[object]] = [[tmp_path / "ad.mp4", "--transcript", file] for file in files]
    invalid += [[tmp_path / "notes.mp4"], [tmp_path / "missing.mp4"], [tmp_path / "ad.mp4", "--url", "nonsense"]]
    for arguments in invalid:
        assert main(["media", "add", "--data", str(service.data), *map(str, arguments)]) == 1
        said = capsys.readouterr()
        assert (said.out, len(said.err.splitlines())) == ("", 1)
