"""Files to be sent: a path, `(name, bytes)`, `(name, open file)` or an open file; never read whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import TextIOBase
from pathlib import Path, PurePath
from typing import BinaryIO, cast

from agentsvc_nb.client.errors import refused
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX

FileInput = str | os.PathLike[str] | tuple[str, bytes] | tuple[str, BinaryIO] | BinaryIO


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a multipart body. A path is opened anew for each attempt."""

    name: str
    source: Path | bytes | BinaryIO

    @property
    def rewindable(self) -> bool:
        """Whether it can be sent a second time; a pipe cannot."""
        return isinstance(self.source, Path | bytes) or self.source.seekable()

    def open(self, opened: ExitStack) -> bytes | BinaryIO:
        if isinstance(self.source, Path):
            return opened.enter_context(self.source.open("rb"))
        return self.source if isinstance(self.source, bytes) else cast(BinaryIO, _Reader(self.source))


class _Reader:
    """A caller's file without its `fileno`: the size on disk is not what a pipe or a gzip file gives to read."""

    def __init__(self, file: BinaryIO) -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell


def parts(files: Sequence[FileInput], code: str, already: int = 0) -> tuple[Part, ...]:
    """`files` as parts of a body. More than 10, with `already` attached ones, are refused with `code`."""
    if len(files) + already > ATTACHMENTS_MAX:
        raise refused(code)
    return tuple(_part(file) for file in files)


def _part(file: FileInput) -> Part:
    if isinstance(file, str | os.PathLike):
        path = Path(file).expanduser()
        return Part(path.name, path)
    if isinstance(file, tuple):
        name, content = file
        return Part(
            PurePath(name).name or "file", bytes(content) if isinstance(content, bytearray) else _binary(content)
        )
    return Part(PurePath(str(getattr(file, "name", ""))).name or "file", cast(BinaryIO, _binary(file)))


def _binary(content: object) -> bytes | BinaryIO:
    if isinstance(content, bytes) or (hasattr(content, "read") and not isinstance(content, TextIOBase)):
        return cast("bytes | BinaryIO", content)
    raise TypeError(
        f"Cannot send a {type(content).__name__}: give a path, (name, bytes), (name, file) or a file opened with 'rb'."
    )
