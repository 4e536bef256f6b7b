"""Turn files into parts of a multipart body, and choose safe names for downloaded files.

A file to upload is a path, an open binary file, bytes, a DataFrame, a figure, a picture, or a pair `(name, content)`.
"""

from __future__ import annotations

import io
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, Final, NamedTuple, Protocol, cast

from agentsvc_nb.client.errors import StefanBrainError, error_for_code
from agentsvc_nb.wire.files import KNOWN_BEGINNINGS
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX


class NamedBytes(NamedTuple):
    name: str
    data: bytes


class DataFrameLike(Protocol):
    """A pandas DataFrame or Series, which the client sends as CSV."""

    @property
    def to_csv(self) -> Any: ...


class Figure(Protocol):
    """A matplotlib figure, which the client sends as PNG."""

    @property
    def savefig(self) -> Any: ...


class ImageLike(Protocol):
    """A PIL picture, which the client sends as PNG."""

    @property
    def getpixel(self) -> Any: ...


Content = bytes | bytearray | memoryview | BinaryIO | DataFrameLike | Figure | ImageLike
FileInput = str | os.PathLike[str] | Content | tuple[str, os.PathLike[str] | Content]
_BYTES: Final = bytes | bytearray | memoryview


def encode(value: Any) -> NamedBytes | None:
    """Return a DataFrame or Series as CSV, a figure or PIL picture as PNG, and None for any other value."""
    # Check methods on the type, because an object with `__getattr__` may claim to have any method.
    kind, drawing = type(value), io.BytesIO()
    if hasattr(kind, "to_csv"):
        # Omit the default index, because it only numbers the rows.
        counts = type(value.index).__name__ == "RangeIndex" and value.index.name is None
        return NamedBytes("table.csv", value.to_csv(index=not counts).encode("utf-8"))
    if hasattr(kind, "savefig"):
        value.savefig(drawing, format="png", bbox_inches="tight")
        return NamedBytes("figure.png", drawing.getvalue())
    if hasattr(kind, "getpixel"):
        value.save(drawing, format="PNG")
        return NamedBytes("image.png", drawing.getvalue())
    return None


def choose_name(data: bytes) -> NamedBytes:
    """Return `data` together with a file name for its type, such as `image.png`, `text.txt` or `data.bin`.

    The first bytes decide the type.
    """
    for _, pattern, name in KNOWN_BEGINNINGS:
        if re.match(pattern, data, re.DOTALL):
            return NamedBytes(name, data)
    try:
        is_text = "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        is_text = False
    return NamedBytes("text.txt" if is_text else "data.bin", data)


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a multipart body. If `source` is a path, each attempt of the request opens it again.

    `made_up` is True if the client chose the name. The client may change such a name to make it unique.
    """

    name: str
    source: Path | bytes | BinaryIO
    made_up: bool = False

    @property
    def rewindable(self) -> bool:
        """Return True if the file can be sent twice. A pipe can be sent only once."""
        return isinstance(self.source, Path | bytes) or self.source.seekable()

    def open(self, opened: ExitStack) -> BinaryIO:
        """Return a file object with the content to send. If this method opens a file, `opened` closes it."""
        if isinstance(self.source, Path):
            return opened.enter_context(self.source.open("rb"))
        # The HTTP library sends a file in pieces, and checks the deadline between pieces. It sends bytes as a whole.
        return io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source


class _UploadReader:
    """A caller's open file. Offset 0 of this object is the position that the file had when the caller passed it.

    A retry seeks to offset 0, and so sends the same content again. The class has no `fileno`: the HTTP library would
    use it to read the file's size on disk as the content length, which is wrong for a pipe or a gzip file.
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


def to_parts(files: Sequence[FileInput], code: str, already: int = 0) -> tuple[Part, ...]:
    """Return `files` as parts of a multipart body. The names that the client chooses are unique.

    Raises `StefanBrainError` if `files` is not a list, and `StefanBrainError` with the code `code` if there are more
    than 10 files. The limit includes `already`, the number of files that are attached in another way. Raises
    `TypeError` for an object that cannot be sent as a file.
    """
    if not isinstance(files, Sequence) or isinstance(files, str | _BYTES):
        raise StefanBrainError(f"`files` must be a list of files, not {files!r:.80}.")
    if len(files) + already > ATTACHMENTS_MAX:
        raise error_for_code(code)
    # File names on disk may contain bytes that are not UTF-8. Python represents them as lone surrogates, which cannot
    # be sent.
    made = [replace(part, name=_SURROGATE.sub("_", part.name)) for part in map(_part, files)]
    names = iter(distinct_names(part.name for part in made if part.made_up))
    return tuple(replace(part, name=next(names)) if part.made_up else part for part in made)


def _part(file: FileInput) -> Part:
    name, content = "", file if not isinstance(file, str) else local_path(file)
    if isinstance(file, tuple):
        if len(file) != 2 or not isinstance(file[0], str):
            raise StefanBrainError(f"A file with a name must be `(name, content)`, not {file!r:.80}.")
        name, content = PurePath(file[0]).name or "file", file[1]
    if isinstance(content, os.PathLike):
        path = local_path(content)
        return Part(name or path.name, path)
    if isinstance(content, _BYTES):
        return Part(name or choose_name(bytes(content)).name, bytes(content), made_up=not name)
    if made := encode(content):
        return Part(name or made.name, made.data, made_up=not name)
    if callable(getattr(content, "read", None)) and not isinstance(content, io.TextIOBase):
        own = getattr(content, "name", "")
        name = name or (PurePath(own).name if isinstance(own, str) else "")
        reader = cast(BinaryIO, _UploadReader(cast(BinaryIO, content)))
        return Part(name or "file", reader, made_up=not name)
    raise TypeError(
        f"Cannot send a {type(content).__name__}: give a path, bytes, a DataFrame, a figure, a picture, (name, bytes), "
        "(name, file) or a file opened with 'rb'."
    )


# -- names of downloaded files ------------------------------------------------------------------------------------

_UNSAFE: Final = re.compile(
    r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*]'
    "|[\ud800-\udfff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"  # surrogates; invisible characters
)
# Windows opens a device for these names, even with a file extension.
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[\d¹²³])\s*(\..*)?", re.IGNORECASE)
_NAME_BYTES: Final = 200


def local_path(given: str | os.PathLike[str]) -> Path:
    """Return `given` as a path, with `~` expanded. Raises `StefanBrainError` if it is not a valid local path."""
    try:
        path = Path(given).expanduser()
        if b"\0" not in os.fsencode(path):
            return path
    except TypeError:
        raise StefanBrainError(f"A local file or folder must be a path, not {given!r:.80}.") from None
    except (RuntimeError, UnicodeEncodeError):  # the user of `~user` is unknown, or the path contains a lone surrogate
        pass
    raise StefanBrainError(f"{os.fspath(given)!a:.80} is not a valid path on this machine.")


def download_target(to: str | os.PathLike[str], path: str) -> Path:
    """Return the local path to which a download of `path` writes.

    If `to` is a folder, this is a file in it with the name of `path`, else it is `to`. If `to` ends with a slash, it is
    a folder, which this function creates if needed.
    """
    target = local_path(to)
    if os.fspath(to).endswith(("/", os.sep)):
        target.mkdir(parents=True, exist_ok=True)
    return target / safe_name(path) if target.is_dir() else target


def safe_name(path: str) -> str:
    """Return a safe local file name for a `path` from the service, which is untrusted. It never begins with a dot.

    >>> safe_name("../../.bashrc"), safe_name("out/con.txt"), safe_name("..")
    ('_bashrc', '_con.txt', '_')
    """
    safe = _UNSAFE.sub("_", PurePosixPath(path).name).strip(" ").rstrip(". ")
    safe = safe.encode()[-_NAME_BYTES:].decode(errors="ignore").lstrip(" ")
    if safe.startswith("."):
        safe = f"_{safe.lstrip('.')}"
    return f"_{safe}" if not safe or _DEVICE.fullmatch(safe) else safe


def distinct_names(paths: Iterable[str]) -> list[str]:
    """Return a safe local file name for each path. The names are unique, even on file systems that ignore case.

    >>> distinct_names(["a/plan.md", "b/Plan.md", "b/x.md"])
    ['plan.md', 'Plan-2.md', 'x.md']
    """

    def folded(name: str) -> str:
        return unicodedata.normalize("NFC", name).casefold()

    names: dict[str, str] = {}
    for wanted in map(safe_name, paths):
        name, count = wanted, 1
        while folded(name) in names:
            count += 1
            stem, dot, suffix = wanted.rpartition(".")
            name = f"{stem}-{count}.{suffix}" if dot and stem else f"{wanted}-{count}"
        names[folded(name)] = name
    return list(names.values())
