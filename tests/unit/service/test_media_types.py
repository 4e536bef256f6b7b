"""What files are by their first bytes, and what they may be called (docs/api/files.md "Names and types")."""

from __future__ import annotations

import pytest

from agentsvc_nb.documents.media_types import OFFICE, guess, is_audio_or_video, safe_name, safe_path

OGG = b"OggS\x00\x02" + bytes(20)
ZIP = b"PK\x03\x04" + bytes(26)
MEDIA = {
    "audio/mpeg": [b"ID3\x04\x00\x00\x00\x00\x01\x00", b"\xff\xfb\x90\x64\x00", b"\xff\xe3\x18\xc4"],
    "audio/ogg": [OGG + b"\x01\x1e\x01vorbis"],
    "video/mp4": [b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2", b"\x00\x00\x00\x18ftypwxyz\x00\x00\x02\x00"],
    "video/webm": [b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\x82\x84webm"],
    "video/mp2t": [(b"\x47\x40\x11\x10" + bytes(184)) * 3],
}
NOT_MEDIA = {
    "image/heic": b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic",
    "image/png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "application/pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3",
    OFFICE + "wordprocessingml.document": ZIP + b"[Content_Types].xml.." + ZIP + b"word/document.xml",
    "text/plain": "\ufeffSummer sale".encode("utf-16-le"),
    "application/octet-stream": ("ÿâ Größe " * 9).encode("latin-1"),
}


@pytest.mark.parametrize("media_type", MEDIA)
def test_audio_and_video_are_known_by_content(media_type: str) -> None:
    for head in MEDIA[media_type]:
        assert guess("notes.txt", head) == media_type
        assert is_audio_or_video(head + bytes(64))


@pytest.mark.parametrize("media_type", NOT_MEDIA)
def test_others_are_not_audio_or_video(media_type: str) -> None:
    assert guess("file", NOT_MEDIA[media_type]) == media_type
    assert not is_audio_or_video(NOT_MEDIA[media_type])


@pytest.mark.parametrize(
    ("name", "head", "media_type"),
    [
        ("a.md", b"# Notes", "text/markdown"),
        ("cut.unknown", "é".encode()[:1], "text/plain"),
        ("song.mp3", b"only words", "audio/mpeg"),
    ],
)
def test_then_the_name_counts(name: str, head: bytes, media_type: str) -> None:
    assert guess(name, head) == media_type


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("", "file"),
        ("..", "file"),
        ("a\x00b\nc\x7f.txt", "abc.txt"),
        ("夏" * 100 + ".pdf", "夏" * 65 + ".pdf"),
    ],
)
def test_safe_names(sent: str, kept: str) -> None:
    assert safe_name(sent) == kept
    assert len(kept.encode()) <= 200


@pytest.mark.parametrize("path", ["a", ".cache/x", "夏/の.md", "a b/c", "..a/b..", "x" * 500])
def test_paths_within_the_workspace(path: str) -> None:
    assert safe_path(path) == path


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "..", "a/../b", "a\\b", "a\x00", "a/\u202eb", "x" * 501])
def test_paths_that_are_none(path: str) -> None:
    assert safe_path(path) is None
