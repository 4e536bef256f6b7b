"""Files: those to send, as parts of a multipart body, and the safe names of those that arrive.

A file to send is a path, an open binary file, bytes, a DataFrame, a figure or a picture; all but a path also as
`(name, content)`.
"""

from __future__ import annotations

import io
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, Final, NamedTuple, Protocol, cast

from agentsvc_nb.client.errors import StefanBrainError, refused
from agentsvc_nb.wire.files import KNOWN_BEGINNINGS
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX


class NamedBytes(NamedTuple):
    name: str
    data: bytes


def encoded(value: object) -> NamedBytes | None:
    """A pandas DataFrame or Series as CSV, a matplotlib figure or a PIL picture as PNG; None for anything else."""
    for module, names, name, write in _KINDS:
        loaded = sys.modules.get(module)
        kinds = tuple(kind for kind in (getattr(loaded, each, None) for each in names) if isinstance(kind, type))
        if kinds and isinstance(value, kinds):
            return NamedBytes(name, write(value))
    return None


def named(data: bytes) -> NamedBytes:
    """`data` under a file name made up from its first bytes, such as `image.png`; else `text.txt` or `data.bin`."""
    for _, pattern, name in KNOWN_BEGINNINGS:
        if re.match(pattern, data, re.DOTALL):
            return NamedBytes(name, data)
    return NamedBytes("text.txt" if _is_text(data) else "data.bin", data)


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _csv(table: Any) -> bytes:
    # The default index only numbers the rows, so it is left out.
    counts = type(table.index).__name__ == "RangeIndex" and table.index.name is None
    text: str = table.to_csv(index=not counts)
    return text.encode("utf-8")


def _figure(figure: Any) -> bytes:
    drawing = io.BytesIO()
    figure.savefig(drawing, format="png", bbox_inches="tight")
    return drawing.getvalue()


def _picture(picture: Any) -> bytes:
    drawing = io.BytesIO()
    picture.save(drawing, format="PNG")
    return drawing.getvalue()


# Rows of (module, class names, file name, writer). The module is looked up in `sys.modules`, never imported.
_KINDS: Final[tuple[tuple[str, tuple[str, ...], str, Callable[[Any], bytes]], ...]] = (
    ("pandas", ("DataFrame", "Series"), "table.csv", _csv),
    ("matplotlib.figure", ("Figure",), "figure.png", _figure),
    ("PIL.Image", ("Image",), "image.png", _picture),
)


class DataFrameLike(Protocol):
    """A pandas DataFrame or Series: sent as CSV."""

    @property
    def to_csv(self) -> Any: ...


class Figure(Protocol):
    """A matplotlib figure: sent as PNG."""

    @property
    def savefig(self) -> Any: ...


class ImageLike(Protocol):
    """A PIL picture: sent as PNG."""

    @property
    def getpixel(self) -> Any: ...


Content = bytes | bytearray | memoryview | BinaryIO | DataFrameLike | Figure | ImageLike
FileInput = str | os.PathLike[str] | Content | tuple[str, os.PathLike[str] | Content]


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a multipart body. A path is opened anew for each attempt.

    `made_up` is True if the client chose the name, so it may be changed to be unique.
    """

    name: str
    source: Path | bytes | BinaryIO
    made_up: bool = False

    @property
    def rewindable(self) -> bool:
        """True if the file can be sent a second time; a pipe cannot."""
        return isinstance(self.source, Path | bytes) or self.source.seekable()

    def open(self, opened: ExitStack) -> BinaryIO:
        """The content to send; a file that is opened here is closed by `opened`.

        Bytes are sent as a file is, too: the HTTP library would send them as one piece, which it copies several times,
        and that takes longer than a deadline may be passed by.
        """
        if isinstance(self.source, Path):
            return opened.enter_context(self.source.open("rb"))
        return io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source


class _UploadReader:
    """A caller's open file, in which offset 0 is the position at which the caller handed it over.

    So a retry sends the same bytes again. There is no `fileno`: the HTTP library would take the content length from
    the size on disk, which is wrong for a pipe or a gzip file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.read = file.read
        self.seekable = file.seekable
        self._file = file
        self._start = file.tell() if file.seekable() else 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        shift = self._start if whence == io.SEEK_SET else 0
        return self._file.seek(offset + shift, whence) - self._start

    def tell(self) -> int:
        return self._file.tell() - self._start


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def parts(files: Sequence[FileInput], code: str, already: int = 0) -> tuple[Part, ...]:
    """`files` as parts of a multipart body; names that the client makes up are unique.

    Raises `StefanBrainError` for what is no list, and with `code` if there are more than 10, including `already`
    attached files; `TypeError` for an object that cannot be sent as a file.
    """
    if not isinstance(files, Sequence) or isinstance(files, str | bytes | bytearray | memoryview):
        raise StefanBrainError(f"`files` must be a list of files, not {files!r:.80}.")
    if len(files) + already > ATTACHMENTS_MAX:
        raise refused(code)
    # Names from a disk may hold bytes that are no text, as lone surrogates: they cannot be sent.
    made = [replace(part, name=_SURROGATE.sub("_", part.name)) for part in map(_part, files)]
    names = iter(distinct_names(part.name for part in made if part.made_up))
    return tuple(replace(part, name=next(names)) if part.made_up else part for part in made)


def _part(file: FileInput) -> Part:
    if isinstance(file, str | os.PathLike):
        path = local_path(file)
        return Part(path.name, path)
    if isinstance(file, tuple):
        if len(file) != 2 or not isinstance(file[0], str):
            raise StefanBrainError(f"A file with a name must be `(name, content)`, not {file!r:.80}.")
        name, content = file
        known = PurePath(name).name or "file"
        if isinstance(content, _BYTES):
            return Part(known, bytes(content))
        if isinstance(content, os.PathLike):
            return Part(known, local_path(content))
        return replace(_unnamed(content), name=known, made_up=False)
    return _unnamed(file)


_BYTES: Final = bytes | bytearray | memoryview


def _unnamed(content: object) -> Part:
    if isinstance(content, _BYTES):
        return Part(*named(bytes(content)), made_up=True)
    if drawn := encoded(content):
        return Part(*drawn, made_up=True)
    if callable(getattr(content, "read", None)) and not isinstance(content, io.TextIOBase):
        name = getattr(content, "name", "")
        known = PurePath(name).name if isinstance(name, str) else ""
        return Part(known or "file", cast(BinaryIO, _UploadReader(cast(BinaryIO, content))), made_up=not known)
    raise TypeError(
        f"Cannot send a {type(content).__name__}: give a path, bytes, a DataFrame, a figure, a picture, (name, bytes), "
        "(name, file) or a file opened with 'rb'."
    )


# -- names of files that arrive -------------------------------------------------------------------------------------

_UNSAFE: Final = re.compile(
    r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*]'
    "|[\ud800-\udfff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"  # surrogates; invisible characters
)
# Windows opens a device for these names, whatever their suffix.
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[\d¹²³])\s*(\..*)?", re.IGNORECASE)
_NAME_BYTES: Final = 200


def local_path(given: str | os.PathLike[str]) -> Path:
    """A path on this machine. Raises `StefanBrainError` for what is none, and for a text that cannot be one."""
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise StefanBrainError(f"A place on this machine must be a path, not {given!r:.80}.")
    try:
        path = Path(given).expanduser()
        usable = b"\0" not in os.fsencode(path)
    except (RuntimeError, UnicodeEncodeError):  # an unknown `~user`; half of a character
        usable = False
    if not usable:
        raise StefanBrainError(f"{os.fspath(given)!a:.80} can be no path on this machine.")
    return path


def download_target(to: str | os.PathLike[str], path: str) -> Path:
    """The file to write: `to` itself, or, if `to` is a folder, a file in it with the name of `path`.

    A `to` that ends with a slash is a folder, and is created if it does not exist.
    """
    place = local_path(to)
    if os.fspath(to).endswith(("/", os.sep)):
        place = download_folder(to)
    return place / safe_name(path) if place.is_dir() else place


def download_folder(to: str | os.PathLike[str]) -> Path:
    """The folder `to`, created if it does not exist."""
    place = local_path(to)
    place.mkdir(parents=True, exist_ok=True)
    return place


def safe_name(path: str) -> str:
    """A safe file name for `path`, which comes from the service and is not trusted. It is never hidden (`.bashrc`).

    >>> safe_name("../../.bashrc"), safe_name("out/con.txt"), safe_name("..")
    ('_bashrc', '_con.txt', '_')
    """
    safe = _UNSAFE.sub("_", PurePosixPath(path).name).strip(" ").rstrip(". ")
    safe = safe.encode()[-_NAME_BYTES:].decode(errors="ignore").lstrip(" ")
    if safe.startswith("."):
        safe = f"_{safe.lstrip('.')}"
    return f"_{safe}" if not safe or _DEVICE.fullmatch(safe) else safe


def distinct_names(paths: Iterable[str]) -> list[str]:
    """A safe file name for each path, unique also on file systems that ignore case.

    >>> distinct_names(["a/plan.md", "b/Plan.md", "b/x.md"])
    ['plan.md', 'Plan-2.md', 'x.md']
    """
    taken: set[str] = set()
    names = []
    for wanted in map(safe_name, paths):
        given, count = wanted, 1
        while _folded(given) in taken:
            count += 1
            stem, dot, suffix = wanted.rpartition(".")
            given = f"{stem}-{count}.{suffix}" if dot and stem else f"{wanted}-{count}"
        taken.add(_folded(given))
        names.append(given)
    return names


def _folded(given: str) -> str:
    return unicodedata.normalize("NFC", given).casefold()
