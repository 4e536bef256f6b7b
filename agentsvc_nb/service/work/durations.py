"""How long a video or a sound is, as far as its header says so: WAV and MP4. Bounded: files come from outside."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

_PARTS_MAX: Final = 1_000
"""So many chunks or boxes are looked at on one level; more are no header of a sane file."""
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
    """Bytes of sound by bytes a second."""
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
    """Name, beginning and end of the contents of each box between `start` and `stop`."""
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
