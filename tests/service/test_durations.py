"""Durations from headers, sound ones and broken ones."""

from __future__ import annotations

import struct
import wave
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.documents import recordings
from tests.contract.test_media_http import box, video


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("durations") / "file"


def seconds(file: Path, data: bytes) -> float | None:
    file.write_bytes(data)
    return recordings.seconds(file)


def test_a_wav_with_other_chunks_before_its_sound(file: Path) -> None:
    with wave.open(str(file), "wb") as sound:
        sound.setparams((2, 2, 44_100, 0, "NONE", ""))
        sound.writeframes(bytes(4 * 44_100 * 2))
    data = file.read_bytes()
    assert recordings.seconds(file) == 2.0
    assert seconds(file, data[:12] + b"LIST" + struct.pack("<I", 3) + b"abc\0" + data[12:]) == 2.0
    assert seconds(file, data[: 44 + 4 * 44_100]) == 1.0, "cut off: what is there counts"


def test_mp4_boxes(file: Path) -> None:
    assert seconds(file, video(90)) == 90.0
    long = b"\x01" + bytes(19) + struct.pack(">IQ", 48_000, 48_000 * 5) + bytes(80)
    moov = box(b"moov", box(b"mvhd", long))
    wide = struct.pack(">I4sQ", 1, b"mdat", 16 + 10) + bytes(10)
    assert seconds(file, box(b"ftyp", b"isom") + wide + moov) == 5.0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"RIFF\0\0\0\0WAVE",
        b"RIFF\0\0\0\0WAVEdata\xff\xff\xff\xffxxxx",
        box(b"ftyp", b"isom"),
        box(b"ftyp", b"isom") + box(b"moov", b""),
        box(b"ftyp", b"isom") + box(b"moov", box(b"mvhd", bytes(10))),
        box(b"ftyp", b"isom") + box(b"moov", box(b"mvhd", bytes(100))),
        box(b"ftyp", b"isom") + struct.pack(">I4s", 2**31, b"moov"),
        box(b"ftyp", b"isom") + struct.pack(">I4s", 4, b"moov") * 10,
        box(b"ftyp", b"isom") + box(b"free", b"") * 5_000 + video(3),
        b"\x89PNG\r\n\x1a\n" + bytes(100),
    ],
)
def test_what_says_nothing_is_none(file: Path, data: bytes) -> None:
    assert seconds(file, data) is None


@given(st.binary(max_size=200), st.integers(0, 150))
def test_no_broken_header_raises(file: Path, noise: bytes, at: int) -> None:
    whole = video(5)
    for data in (whole[:at] + noise, whole[: len(whole) - 120 + at // 2] + noise, b"RIFF\0\0\0\0WAVE" + noise):
        found = seconds(file, data)
        assert found is None or found > 0
