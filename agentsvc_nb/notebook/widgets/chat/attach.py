"""Attachments of the next message: files that are uploaded, and files of the chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import ipywidgets

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.attachments import AttachedFile, in_memory_file
from agentsvc_nb.notebook.files.workspace import files_put
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, MB
from agentsvc_nb.wire.text import label

UPLOAD_BYTES: Final = 10_000_000
"""The limit of one upload in bytes. Its files arrive in one message, and a server silently drops a much larger one."""
TOO_LARGE: Final = f"More than {size(UPLOAD_BYTES)} can't come through the page; `%files put PATH` takes any size."


def upload_button(tooltip: str) -> ipywidgets.FileUpload:
    """A button to upload files. Its name has the limit, because choosing a larger file has no visible effect."""
    name = f"Upload, up to {size(UPLOAD_BYTES)}"
    return ipywidgets.FileUpload(multiple=True, description=name, tooltip=tooltip, layout={"width": "auto"})


def uploaded(session: Session, files: Sequence[Mapping[str, Any]]) -> str:
    """Put files of a `FileUpload` into the chat, as `%files put` does, and return a sentence that says so.

    Raises `AskError` when they are too large, a name cannot be used, or the service fails.
    """
    if sum(file["size"] for file in files) > UPLOAD_BYTES:
        raise AskError(f"Nothing was sent. {TOO_LARGE}")
    with TemporaryDirectory() as folder:
        return str(files_put(session, [_written(Path(folder), file) for file in files]))


def _written(folder: Path, file: Mapping[str, Any]) -> Path:
    path = folder / Path(str(file["name"]).replace("\\", "/")).name
    try:
        path.write_bytes(file["content"])
    except (OSError, ValueError) as error:  # the name is too long, empty, or that of a folder
        why = (isinstance(error, OSError) and error.strerror) or "it is no name of a file"
        raise AskError(f"{label(file['name'], 80)} can't be sent under this name: {why}.", "Rename it.") from None
    return path


HELD_BYTES: Final = 20 * MB
"""The limit in bytes of all attachments of a message, which are held in the kernel until it is sent."""
OFFERED: Final = 200
"""How many files of the chat can be chosen from."""
_CHOOSE: Final = "a file of this chat"


class Attaching:
    """The attachments of the next message: an upload, files of the chat, and a chip to remove each. Not thread-safe."""

    def __init__(self) -> None:
        self.upload = upload_button("Attach files of your machine; %files put takes larger ones")
        self.upload.observe(self._uploaded, "value")
        self.choose = ipywidgets.Dropdown(
            options=[(_CHOOSE, "")], description="Attach", style={"description_width": "auto"}
        )
        self.choose.layout.width = "auto"
        self.choose.layout.display = "none"
        self.choose.observe(self._chosen, "value")
        self.note = design.text("", "wrong", role="status")
        self.chips = design.row([])
        self._files: list[AttachedFile] = []
        self._paths: list[str] = []

    def offer(self, paths: Sequence[str]) -> None:
        """Set the files of the chat that can be chosen."""
        wanted = [(_CHOOSE, ""), *((label(path, 80), path) for path in paths[:OFFERED])]
        if list(self.choose.options) != wanted:
            self.choose.options = wanted
            self.choose.layout.display = None if paths else "none"

    def take(self) -> tuple[tuple[AttachedFile, ...], tuple[str, ...]]:
        """Return the chosen uploads and paths, and clear them."""
        taken = tuple(self._files), tuple(self._paths)
        self._files = []
        self._paths = []
        self._show()
        return taken

    def give_back(self, files: Sequence[AttachedFile], paths: Sequence[str]) -> None:
        """Restore attachments that were taken but not sent."""
        self._files = [*files, *self._files]
        self._paths = [*paths, *self._paths]
        self._show()

    def _uploaded(self, change: Any) -> None:
        if not change["new"]:
            return
        left = HELD_BYTES - sum(len(file.data or b"") for file in self._files)
        refused = []
        for file in change["new"]:
            if len(self._files) >= ATTACHMENTS_MAX or file["size"] > left:
                refused.append(file["name"])
                continue
            left -= file["size"]
            self._files.append(in_memory_file(file["name"], bytes(file["content"])))
        self.upload.value = ()  # otherwise the widget would hold the bytes a second time
        limits = f"{ATTACHMENTS_MAX} files and {size(HELD_BYTES)} go along at most; not attached: "
        self._show(limits + label(", ".join(refused)) if refused else "")

    def _chosen(self, change: Any) -> None:
        if path := change["new"]:
            self._paths += [path] if path not in self._paths else []
            self.choose.value = ""
            self._show()

    def say(self, words: str) -> None:
        """Show a problem in the line below the chips."""
        design.put(self.note, words, "wrong", role="status")

    def _show(self, note: str = "") -> None:
        self.say(note)
        gone = self.chips.children
        uploads = [self._chip(file.path.name, self._files, file) for file in self._files]
        self.chips.children = (*uploads, *(self._chip(path, self._paths, path) for path in self._paths))
        for chip in gone:
            design.discard(chip)

    def _chip(self, name: str, among: list[Any], what: object) -> ipywidgets.Button:
        def remove(_: object) -> None:
            if what in among:
                among.remove(what)
            self._show()

        chip = design.button(f"✕ {name}", f"Remove {name}")
        chip.on_click(remove)
        return chip
