"""The upload button of the file browser, and what it puts into the chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import ipywidgets

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.workspace import files_put
from agentsvc_nb.notebook.state.session import Session
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
