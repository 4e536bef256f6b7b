"""Receive local files from the page in slices, and store them on disk."""

from __future__ import annotations

import errno
import shutil
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.attachments import base_name
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.wire.limits import FILE_MAX_BYTES
from agentsvc_nb.wire.text import label

UPLOADS_MAX: Final = 10
"""The maximum number of files that are being received, including those from a page that was closed."""
REMEMBERED: Final = 100
"""How many finished uploads are remembered. A repeated slice of a remembered upload is ignored and does not start a new
upload.
"""
UNREADABLE: Final = "{} can't be read. Drop the files of a folder, not the folder."
_BAD_NAME: Final = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EISDIR})


@dataclass
class ArrivingFile:
    """A file of which the first `at` bytes have arrived. It is in a separate temporary folder."""

    folder: Path
    name: str
    size: int
    at: int = 0

    @property
    def path(self) -> Path:
        return self.folder / self.name

    def read(self, start: int, end: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)


class SliceRefused(AskError):
    """The page sent a slice of a file that neither comes next nor repeats bytes that have already arrived."""


def is_repeated(
    name: str, start: object, content: bytes, at: int, size: int, read: Callable[[int, int], bytes]
) -> bool:
    """Return True if the slice has already arrived, and False if it is the next one.

    Args:
        start: the position of the slice in the file, in bytes.
        at: how many bytes of the file have arrived.
        size: the size of the complete file in bytes.
        read: returns the bytes of the file between two positions.

    Raises:
        SliceRefused: the slice has another position, or differs from the bytes that have arrived.
    """
    if start == at < size:
        return False
    if isinstance(start, int) and 0 <= start <= at - len(content) and read(start, start + len(content)) == content:
        return True
    kept = "the file is already complete" if at == size else f"byte {at} is expected next"
    raise SliceRefused(f"A slice of {name} at byte {label(start, 20)} was refused: {kept}.")


class Uploads:
    """Receives the files that a page uploads. Its methods may be called from any thread.

    Args:
        front: shows the progress of each upload as the part `upload/ID`.
        come: called with the id and the path of a file that is complete. The callee must call `discard` when it no
            longer needs the file.
        refuse: called with a sentence for the user if a file is refused.
    """

    def __init__(self, front: Front, come: Callable[[str, Path], object], refuse: Callable[[str], object]) -> None:
        self._front = front
        self._come = come
        self._refuse = refuse
        self._lock = threading.RLock()
        self._arriving: dict[str, ArrivingFile] = {}
        self._over: deque[str] = deque(maxlen=REMEMBERED)
        front.change({"limit": FILE_MAX_BYTES})
        front.on("file", self._slice)
        front.on("cancel", lambda content, _: self.discard(str(content.get("id"))))
        front.on("toolarge", lambda content, _: refuse(_too_large(_name(content))))
        front.on("unreadable", lambda content, _: refuse(UNREADABLE.format(_name(content))))

    def discard(self, key: str) -> None:
        """Delete a received file, or stop receiving it, and remove its progress from the page."""
        with self._lock:
            self._over.append(key)
            if file := self._arriving.pop(key, None):
                shutil.rmtree(file.folder, ignore_errors=True)
        self._front.change({f"upload/{key}": None})

    def _slice(self, content: Mapping[str, Any], buffers: Sequence[memoryview]) -> None:
        key, at, data = str(content.get("id")), content.get("at"), b"".join(buffers)
        name = _name(content)
        with self._lock:
            try:
                if file := self._arriving.get(key):
                    if is_repeated(name, at, data, file.at, file.size, file.read):
                        return
                elif at == 0 and key not in self._over:
                    file = self._begin(key, content)
                else:
                    return  # a later slice of a file that was cancelled, refused or done
                if file.at + len(data) > file.size:
                    raise AskError(
                        f"{name} was not sent, because it is larger than the browser announced. Select the file again."
                    )
                with file.path.open("ab") as into:
                    file.at += into.write(data)
            except SliceRefused as error:  # keep the bytes that have arrived
                self._refuse(str(error))
                return
            except (AskError, OSError, ValueError) as error:
                self._refuse(_reason(name, error))
                return self.discard(key)  # the page sends no further slices of this file
            self._front.change({f"upload/{key}": {"name": name, "at": file.at, "size": file.size}})
        if file.at >= file.size:
            self._come(key, file.path)

    def _begin(self, key: str, content: Mapping[str, Any]) -> ArrivingFile:
        whole, name = content.get("size"), _name(content)
        self._front.change({f"upload/{key}": {"name": name, "at": 0, "size": whole}})
        if not isinstance(whole, int) or whole > FILE_MAX_BYTES:
            raise AskError(_too_large(name))
        if len(self._arriving) >= UPLOADS_MAX:
            raise AskError(
                f"At most {UPLOADS_MAX} uploads can run at once. {name} was not sent: try again later, or"
                " cancel another upload."
            )
        folder = Path(mkdtemp(prefix="agentsvc-upload-"))
        self._arriving[key] = file = ArrivingFile(folder, base_name(str(content.get("name"))), whole)
        weakref.finalize(file, shutil.rmtree, folder, ignore_errors=True)
        return file


def _name(content: Mapping[str, Any]) -> str:
    return label(content.get("name"), 80)


def _too_large(name: str) -> str:
    way_out = "Query it in the notebook and attach only the data that the question needs, or split it."
    return f"{name} is larger than {size(FILE_MAX_BYTES)} and was not sent. {way_out}"


def _reason(name: str, error: Exception) -> str:
    if isinstance(error, AskError):
        return str(error)
    if isinstance(error, OSError) and error.errno not in _BAD_NAME:
        return f"{name} can't be stored on the kernel's machine: {error.strerror}."
    why = error.strerror if isinstance(error, OSError) else "it is not a valid file name"
    return f"{name} can't be sent under this name: {why}. Rename it."
