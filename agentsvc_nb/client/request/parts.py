"""Files to be sent: a path, an open file, bytes, a DataFrame, a figure or a picture, each also as `(name, it)`.

A path is never read whole, nor is an open file.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Protocol, cast

from agentsvc_nb.client import places
from agentsvc_nb.client.errors import refused
from agentsvc_nb.client.request import contents
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX


class Table(Protocol):
    """A pandas DataFrame or Series: sent as CSV."""

    @property
    def to_csv(self) -> Any: ...


class Figure(Protocol):
    """A matplotlib figure: sent as PNG."""

    @property
    def savefig(self) -> Any: ...


class Picture(Protocol):
    """A PIL picture: sent as PNG."""

    @property
    def getpixel(self) -> Any: ...


Content = bytes | bytearray | memoryview | BinaryIO | Table | Figure | Picture
FileInput = str | os.PathLike[str] | Content | tuple[str, Content]


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a multipart body. A path is opened anew for each attempt. `made_up`: the client named it."""

    name: str
    source: Path | bytes | BinaryIO
    made_up: bool = False

    @property
    def rewindable(self) -> bool:
        """Whether it can be sent a second time; a pipe cannot."""
        return isinstance(self.source, Path | bytes) or self.source.seekable()

    def open(self, opened: ExitStack) -> bytes | BinaryIO:
        if isinstance(self.source, Path):
            return opened.enter_context(self.source.open("rb"))
        return self.source


class _Reader:
    """A caller's file from where it stands: that is its place 0, for the first sending and the next.

    It has no `fileno`: the size on disk is not what a pipe or a gzip file gives to read.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.read, self.seekable, self._file = file.read, file.seekable, file
        self._start = file.tell() if file.seekable() else 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        shift = self._start if whence == io.SEEK_SET else 0
        return self._file.seek(offset + shift, whence) - self._start

    def tell(self) -> int:
        return self._file.tell() - self._start


def parts(files: Sequence[FileInput], code: str, already: int = 0) -> tuple[Part, ...]:
    """`files` as parts of a body. More than 10, with `already` attached ones, are refused with `code`.

    Two of which the client made up the name get two names. Raises `TypeError` for what is no file.
    """
    if len(files) + already > ATTACHMENTS_MAX:
        raise refused(code)
    made = [_part(file) for file in files]
    names = iter(places.distinct(part.name for part in made if part.made_up))
    return tuple(replace(part, name=next(names)) if part.made_up else part for part in made)


def _part(file: FileInput) -> Part:
    if isinstance(file, str | os.PathLike):
        path = Path(file).expanduser()
        return Part(path.name, path)
    if isinstance(file, tuple):
        name, content = file
        return replace(_unnamed(content), name=PurePath(name).name or "file", made_up=False)
    return _unnamed(file)


def _unnamed(content: object) -> Part:
    if isinstance(content, bytes | bytearray | memoryview):
        return Part(*contents.named(bytes(content)), made_up=True)
    if drawn := contents.drawn(content):
        return Part(*drawn, made_up=True)
    if hasattr(content, "read") and not isinstance(content, io.TextIOBase):
        name = getattr(content, "name", "")
        known = PurePath(name).name if isinstance(name, str) else ""
        return Part(known or "file", cast(BinaryIO, _Reader(cast(BinaryIO, content))), made_up=not known)
    raise TypeError(
        f"Cannot send a {type(content).__name__}: give a path, bytes, a DataFrame, a figure, a picture, (name, bytes), "
        "(name, file) or a file opened with 'rb'."
    )
