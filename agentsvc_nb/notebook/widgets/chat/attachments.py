"""The attachments of the next message: local files, which the page sends in slices, and files of the chat."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.files.attachments import AttachedFile, base_name, in_memory_file
from agentsvc_nb.notebook.widgets.front import SAID_CHARS, Front
from agentsvc_nb.notebook.widgets.uploads import REMEMBERED, UNREADABLE, SliceRefused, is_repeated
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, MB
from agentsvc_nb.wire.text import label, worded

ATTACHED_BYTES_MAX: Final = 20 * MB
"""The maximum total size in bytes of a message's attachments. The kernel keeps them in memory until the message is
sent.
"""
FILES_OFFERED: Final = 200
"""The maximum number of files of the chat that the user can choose from."""
LIMITS: Final = f"At most {ATTACHMENTS_MAX} files and {size(ATTACHED_BYTES_MAX)} can be attached; not attached: "


@dataclass
class ArrivingAttachment:
    """An attachment of which not all slices have arrived yet."""

    name: str
    size: int
    data: bytearray

    def read(self, start: int, end: int) -> bytes:
        return bytes(self.data[start:end])


class Attachments:
    """Collects the next message's attachments, shown as labels on the page. Any thread may call all methods."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._lock = threading.RLock()
        self._files: list[AttachedFile] = []
        self._paths: list[str] = []
        self._arriving: dict[str, ArrivingAttachment] = {}
        self._over: deque[str] = deque(maxlen=REMEMBERED)
        front.change({"limit": ATTACHED_BYTES_MAX})
        front.on("file", self._slice)
        front.on("toolarge", lambda content, _: self._refuse(str(content.get("name"))))
        front.on("unreadable", lambda content, _: self.show_problem(UNREADABLE.format(label(content.get("name"), 80))))
        front.on("choose", lambda content, _: self._choose(str(content.get("path"))))
        front.on("unattach", lambda content, _: self._remove(str(content.get("key"))))

    def offer_files(self, paths: Sequence[str]) -> None:
        """Set the files of the chat that the user can choose from."""
        self._front.change({"files": [[path, label(path, 80)] for path in paths[:FILES_OFFERED]] or None})

    def take(self) -> tuple[tuple[AttachedFile, ...], tuple[str, ...]]:
        """Return the uploads and the chosen paths, and remove them from the next message."""
        with self._lock:
            taken = tuple(self._files), tuple(self._paths)
            self._files = []
            self._paths = []
            self._show()
            self.show_problem("")
        return taken

    def give_back(self, files: Sequence[AttachedFile]) -> None:
        """Attach uploads again that `take` returned and that were not sent.

        Chosen paths are not attached again, because the text of the message contains them.
        """
        with self._lock:
            self._files = [*files, *self._files]
            self._show()

    def show_problem(self, words: str) -> None:
        """Show a problem below the attachments."""
        self._front.change({"note": worded(words, SAID_CHARS) or None})

    def _slice(self, content: Mapping[str, Any], buffers: Sequence[memoryview]) -> None:
        name, whole, at = (content.get(part) for part in ("name", "size", "at"))
        key, data = str(content.get("id")), b"".join(buffers)
        with self._lock:
            if (file := self._arriving.get(key)) is None:
                if at != 0 or key in self._over:
                    return  # a later slice of a file that was refused, removed or is complete
                held = sum(len(file.data or b"") for file in self._files)
                held += sum(file.size for file in self._arriving.values())
                count = len(self._files) + len(self._arriving)
                if not isinstance(whole, int) or count >= ATTACHMENTS_MAX or held + whole > ATTACHED_BYTES_MAX:
                    self._refuse(str(name))
                    return
                self._arriving[key] = file = ArrivingAttachment(base_name(str(name)), whole, bytearray())
                self._show()
            else:
                try:
                    if is_repeated(label(name, 80), at, data, len(file.data), file.size, file.read):
                        return
                except SliceRefused as error:
                    return self.show_problem(str(error))
            file.data += data
            if len(file.data) >= file.size:
                del self._arriving[key]
                self._over.append(key)
                self._files.append(in_memory_file(file.name, bytes(file.data)))
                self._show()

    def _refuse(self, name: str) -> None:
        self.show_problem(LIMITS + label(name))

    def _choose(self, path: str) -> None:
        with self._lock:
            self._paths += [path] if path not in self._paths else []
            self._show()
            self.show_problem("")

    def _remove(self, key: str) -> None:
        with self._lock:
            self._files = [file for file in self._files if _key(file) != key]
            self._paths = [path for path in self._paths if path != key]
            if self._arriving.pop(key, None):
                self._over.append(key)
            self._show()
            self.show_problem("")

    def _show(self) -> None:
        uploads = [[_key(file), label(file.path.name, 80)] for file in self._files]
        chosen = [[path, label(path, 80)] for path in self._paths]
        # If the page that sends a file is closed, the file never becomes complete. The user can remove it by its label.
        arriving = [[key, f"{label(file.name, 80)} …"] for key, file in self._arriving.items()]
        self._front.change({"chips": [*uploads, *chosen, *arriving] or None})


def _key(file: AttachedFile) -> str:
    return f"{file.path.name}\n{file.sha256}"
