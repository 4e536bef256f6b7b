"""Sound and video: a recording's duration from its header, and captions read as a transcript. Bounded."""

from __future__ import annotations

import html
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from agentsvc_nb.documents.decoding import text_of
from agentsvc_nb.wire.limits import CAPTIONS_BYTES, CAPTIONS_SEGMENTS
from agentsvc_nb.wire.resources import Segment

_PARTS_MAX: Final = 1_000
"""Chunks or boxes that are read on one level: the header of a sane file has fewer."""
_LONGEST_S: Final = 1_000_000.0


def seconds(path: Path) -> float | None:
    """The duration in seconds; None when the header does not say it cheaply."""
    with path.open("rb") as file:
        head = file.read(12)
        file.seek(0)
        if head[:4] == b"RIFF" and head[8:] == b"WAVE":
            found = _wav(file)
        elif head[4:8] == b"ftyp" or head[4:8] in (b"moov", b"mdat", b"wide", b"free", b"skip"):
            found = _mp4(file)
        else:
            found = None
    return round(found, 3) if found is not None and 0 < found < _LONGEST_S else None


def _wav(file: BinaryIO) -> float | None:
    """The duration in seconds: bytes of sound divided by bytes per second."""
    rate = 0
    file.seek(12)
    for _ in range(_PARTS_MAX):
        head = file.read(8)
        if len(head) < 8:
            return None
        name, size = struct.unpack("<4sI", head)
        at = file.tell()
        if name == b"fmt ":
            rate = int.from_bytes(file.read(12)[8:12], "little")
        elif name == b"data":
            left = file.seek(0, 2) - at  # a recorder that was cut off never corrected the size
            return min(size, left) / rate if rate else None
        file.seek(at + size + size % 2)
    return None


def _mp4(file: BinaryIO) -> float | None:
    end = file.seek(0, 2)
    for name, start, stop in _boxes(file, 0, end):
        if name == b"moov":
            for inner, at, _ in _boxes(file, start, stop):
                if inner == b"mvhd":
                    return _mvhd(file, at)
    return None


def _boxes(file: BinaryIO, start: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
    """For each MP4 box between `start` and `stop`: its name, and the beginning and end of its contents."""
    for _ in range(_PARTS_MAX):
        file.seek(start)
        head = file.read(16)
        if len(head) < 8 or start >= stop:
            return
        size, name = struct.unpack(">I4s", head[:8])
        begins = start + 8
        if size == 1 and len(head) == 16:
            size, begins = int.from_bytes(head[8:], "big"), start + 16
        ends = stop if size == 0 else start + size
        if not begins <= ends <= stop:
            return
        yield name, begins, ends
        start = ends


def _mvhd(file: BinaryIO, at: int) -> float | None:
    file.seek(at)
    box = file.read(32)
    if len(box) < 32:
        return None
    if box[0] == 1:
        scale, length = struct.unpack(">IQ", box[20:32])
    else:
        scale, length = struct.unpack(">II", box[12:20])
    return length / scale if scale else None


_TIME: Final = r"(?:(\d{1,3}):)?([0-5]?\d):([0-5]?\d)[.,](\d{1,3})"
_CUE: Final = re.compile(rf"{_TIME}[ \t]*-->[ \t]*{_TIME}(?![\d:])", re.ASCII)
_LANGUAGE: Final = re.compile(r"Language:[ \t]*([A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,3})[ \t]*", re.ASCII)
_MARKUP: Final = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_CUE_CHARS: Final = 200
"""Characters of a line that are looked at: a line with times is short."""


@dataclass(frozen=True, slots=True)
class Captions:
    """The captions of a file; `language` is None when the file does not name it."""

    language: str | None
    segments: list[Segment]

    @property
    def text(self) -> str:
        return " ".join(segment.text for segment in self.segments)


def read(data: bytes) -> Captions:
    """The captions of a file. Raises `ValueError` with the reason in one sentence.

    >>> read(b"1\\n00:00:01,000 --> 00:00:02,500\\nHello\\n").segments[0].text
    'Hello'
    """
    if len(data) > CAPTIONS_BYTES:
        raise ValueError(f"captions may have {CAPTIONS_BYTES:,} bytes")
    lines = text_of(data).splitlines()
    segments = [segment for segment in _segments(lines) if segment is not None]
    if not segments:
        raise ValueError("it holds no captions in SubRip (.srt) or WebVTT (.vtt)")
    if len(segments) > CAPTIONS_SEGMENTS:
        raise ValueError(f"captions may have {CAPTIONS_SEGMENTS:,} segments")
    return Captions(_language(lines), segments)


def _language(lines: list[str]) -> str | None:
    """The language that a WebVTT header names; the header ends at the first empty line."""
    if not lines or not lines[0].startswith("WEBVTT"):
        return None
    for line in lines[1:20]:
        if not line.strip():
            break
        if found := _LANGUAGE.fullmatch(line[:_CUE_CHARS]):
            return found[1]
    return None


def _segments(lines: list[str]) -> Iterator[Segment | None]:
    """The segments: each is a line with times, then text up to an empty line. Other lines (numbers, notes, styles) are
    skipped; a segment without text is None."""
    at: tuple[float, float] | None = None
    said: list[str] = []
    for line in [*lines, ""]:
        if found := _CUE.match(line[:_CUE_CHARS].strip()):
            at, said = (_seconds(found.groups()[:4]), _seconds(found.groups()[4:])), []
        elif line.strip():
            said.append(line)
        elif at is not None:
            yield _segment(at, said)
            at = None


def _segment(at: tuple[float, float], said: list[str]) -> Segment | None:
    text = " ".join(html.unescape(_MARKUP.sub("", " ".join(said))).replace("\0", "").split())
    return Segment(start_s=at[0], end_s=at[1], text=text) if text and at[0] <= at[1] else None


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000
