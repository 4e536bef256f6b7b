"""What files are by their first bytes, and what they may be called (docs/api/files.md "Names and types")."""

from __future__ import annotations

import random

import pytest

from agentsvc_nb.documents.media_types import guess, is_audio_or_video, safe_name, safe_path

TAIL = bytes(range(64))
MEDIA = {
    "id3": (b"ID3\x04\x00\x00\x00\x00\x01\x00", "audio/mpeg"),
    "mp3 frame": (b"\xff\xfb\x90\x64\x00", "audio/mpeg"),
    "mp3 frame, crc": (b"\xff\xfa\x90\x00", "audio/mpeg"),
    "mp3 mpeg 2": (b"\xff\xf3\x48\xc4", "audio/mpeg"),
    "mp3 mpeg 2.5": (b"\xff\xe3\x18\xc4", "audio/mpeg"),
    "mp2": (b"\xff\xfd\xa4\x00", "audio/mpeg"),
    "wav": (b"RIFF\x24\x08\x00\x00WAVEfmt \x10\x00\x00\x00", "audio/wav"),
    "rf64": (b"RF64\xff\xff\xff\xffWAVEds64", "audio/wav"),
    "ogg vorbis": (b"OggS\x00\x02" + bytes(20) + b"\x01\x1e\x01vorbis", "audio/ogg"),
    "ogg theora": (b"OggS\x00\x02" + bytes(20) + b"\x01\x2a\x80theora", "video/ogg"),
    "flac": (b"fLaC\x00\x00\x00\x22", "audio/flac"),
    "m4a": (b"\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00", "audio/mp4"),
    "mp4": (b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2", "video/mp4"),
    "mp4, unknown brand": (b"\x00\x00\x00\x18ftypwxyz\x00\x00\x02\x00", "video/mp4"),
    "mov": (b"\x00\x00\x00\x14ftypqt  \x00\x00\x02\x00qt  ", "video/quicktime"),
    "old mov": (b"\x00\x00\x00\x08wide\x00\x0d\xbf\x61mdat", "video/quicktime"),
    "3gp": (b"\x00\x00\x00\x18ftyp3gp4\x00\x00\x03\x00", "video/3gpp"),
    "webm": (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\x82\x84webm", "video/webm"),
    "mkv": (b"\x1a\x45\xdf\xa3\xa3\x42\x86\x81\x01\x42\x82\x88matroska", "video/x-matroska"),
    "avi": (b"RIFF\x00\x10\x00\x00AVI LIST", "video/x-msvideo"),
    "mpeg-ps": (b"\x00\x00\x01\xba\x44", "video/mpeg"),
    "mpeg-es": (b"\x00\x00\x01\xb3\x14", "video/mpeg"),
    "mpeg-ts": ((b"\x47\x40\x11\x10" + bytes(184)) * 3, "video/mp2t"),
    "m2ts": ((b"\x00\x00\x00\x00\x47\x40" + bytes(186)) * 3, "video/mp2t"),
    "flv": (b"FLV\x01\x05\x00\x00\x00\x09", "video/x-flv"),
    "asf": (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9", "video/x-ms-asf"),
    "aiff": (b"FORM\x00\x00\x10\x00AIFFCOMM", "audio/aiff"),
    "midi": (b"MThd\x00\x00\x00\x06\x00\x01", "audio/midi"),
    "amr": (b"#!AMR\n\x3c\x91\x17\x16", "audio/amr"),
    "amr-wb": (b"#!AMR-WB\n\x24\x10\x14", "audio/amr"),
    "aac": (b"\xff\xf1\x50\x80\x02\x1f\xfc", "audio/aac"),
    "caf": (b"caff\x00\x01\x00\x00desc", "audio/x-caf"),
    "au": (b".snd\x00\x00\x00\x18", "audio/basic"),
}
NOT_MEDIA = {
    "heic": (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "image/heic"),
    "heif": (b"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic", "image/heic"),
    "avif": (b"\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1", "image/avif"),
    "avif as mif1": (b"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif", "image/avif"),
    "png": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png"),
    "jpeg": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
    "gif": (b"GIF89a\x01\x00\x01\x00", "image/gif"),
    "webp": (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
    "tiff": (b"II*\x00\x08\x00\x00\x00", "image/tiff"),
    "bmp": (b"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00", "image/bmp"),
    "ico": (b"\x00\x00\x01\x00\x01\x00\x10\x10", "image/x-icon"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "application/pdf"),
    "zip": (b"PK\x03\x04\x14\x00" + bytes(24) + b"a.txt", "application/zip"),
    "docx": (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml..PK\x03\x04" + bytes(26) + b"word/document.xml",
             "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "odt": (b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument.textPK\x03\x04",
            "application/vnd.oasis.opendocument.text"),
    "utf-16 le": ("\ufeffSummer sale".encode("utf-16-le"), "text/plain"),
    "utf-16 be": ("\ufeffSummer sale".encode("utf-16-be"), "text/plain"),
    "utf-32": ("\ufeffSale".encode("utf-32-le"), "text/plain"),
    "bytes": (b"\x00\x01\x02\x03", "application/octet-stream"),
    "latin-1": (("ÿâ Größe " * 9).encode("latin-1"), "application/octet-stream"),
}  # fmt: skip
TEXTS = [
    "ID3 tags are read first", "RIFF, WAVE and other chunks", "RIFF....WAVEfmt is the header", "RIFF1234AVI LIST",
    "OggS is a container", "fLaC begins the file", "FLV video", "The ftyp box of MP4", "use ftypisom", "moov",
    "caffeine", "FORM1234AIFF", "MThd",
    "#!AMR\nis how such files begin", ".snd files", "MAC addresses", "MP+ MPCK wvpk ADIF",
    "G" * 600, "G" + "x" * 187 + "G" + "x" * 187 + "G", "BMW sales", "GIF files", "II* and MM*", "",
    "夏のセール", "\ufeffname,price\n", "Größe", "\x1b[31mred\x1b[0m",
]  # fmt: skip


@pytest.mark.parametrize("case", MEDIA)
def test_audio_and_video_are_known_by_content(case: str) -> None:
    head, media_type = MEDIA[case]
    assert guess("notes.txt", head) == media_type
    assert is_audio_or_video(head)
    assert is_audio_or_video(head + TAIL)


@pytest.mark.parametrize("case", NOT_MEDIA)
def test_others_are_not_audio_or_video(case: str) -> None:
    head, media_type = NOT_MEDIA[case]
    assert guess("file", head) == media_type
    assert not is_audio_or_video(head)


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_never_audio_or_video(text: str) -> None:
    """Whatever word it begins with, and wherever the head is cut."""
    head = text.encode()
    assert not any(is_audio_or_video(head[:end]) for end in range(len(head) + 1))


def test_utf_16_text_is_never_audio_or_video() -> None:
    chance = random.Random(3)
    for _ in range(2_000):
        text = "\ufeff" + "".join(chr(chance.randrange(0x20, 0xD000)) for _ in range(40))
        assert not is_audio_or_video(text.encode("utf-16-le"))
        assert not is_audio_or_video(text.encode("utf-16-be"))


@pytest.mark.parametrize(
    ("name", "head", "media_type"),
    [
        ("a.md", b"# Notes", "text/markdown"),
        ("A.CSV", b"a,b", "text/csv"),
        ("data.json", b"{}", "application/json"),
        ("page.html", b"<p>", "text/html"),
        ("logo.svg", b"<svg>", "image/svg+xml"),
        ("main.ts", b"let x", "text/x-typescript"),
        ("README", b"read me", "text/plain"),
        ("csv", b"a", "text/plain"),
        ("cut.unknown", "é".encode()[:1], "text/plain"),
        ("song.mp3", b"only words", "audio/mpeg"),
        ("book.xlsx", b"PK\x03\x04" + bytes(60), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("fake.pdf", b"PK\x03\x04" + bytes(60), "application/zip"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/msword"),
        ("old.txt", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
        ("photo.txt", b"\x89PNG\r\n\x1a\n", "image/png"),
    ],
)
def test_then_the_name_counts(name: str, head: bytes, media_type: str) -> None:
    assert guess(name, head) == media_type


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("brief.pdf", "brief.pdf"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("C:\\Users\\me\\ad.png", "ad.png"),
        ("", "file"),
        ("..", "file"),
        (".", "file"),
        ("a/", "file"),
        (" \t ", "file"),
        ("\u202e\u2066", "file"),
        ("a\x00b\nc\x7f.txt", "abc.txt"),
        ("inv\u202egnp.exe", "invgnp.exe"),
        ("\ud800x", "x"),
        (".env", ".env"),
        ("..hidden", "..hidden"),
        ("cafe\u0301.txt", "café.txt"),
        ("夏のセール.md", "夏のセール.md"),
        ("👩‍🚀.png", "👩‍🚀.png"),
        ("a" * 300 + ".pdf", "a" * 196 + ".pdf"),
        ("夏" * 100 + ".pdf", "夏" * 65 + ".pdf"),
        ("." + "x" * 300, "." + "x" * 199),
    ],
)
def test_safe_names(sent: str, kept: str) -> None:
    assert safe_name(sent) == kept
    assert len(kept.encode()) <= 200


@pytest.mark.parametrize("path", ["a", "out/report.md", ".cache/x", "夏/の.md", "a b/c", "..a/b..", "x" * 500])
def test_paths_within_the_workspace(path: str) -> None:
    assert safe_path(path) == path


@pytest.mark.parametrize(
    "path",
    ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/.", "a\\b", "a\x00", "a\nb", "a/ /b", "a/\u202eb",
     "x" * 501, "\ud800", "a\u2028b"],
)  # fmt: skip
def test_paths_that_are_none(path: str) -> None:
    assert safe_path(path) is None


def test_no_name_and_no_head_is_refused() -> None:
    chance = random.Random(5)
    for _ in range(3_000):
        name = "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randrange(60)))
        head = chance.randbytes(chance.randrange(40))
        kept = safe_name(name)
        assert 1 <= len(kept.encode()) <= 200
        assert safe_name(kept) == kept
        assert safe_path(kept) == kept
        assert "/" in guess(name, head)
