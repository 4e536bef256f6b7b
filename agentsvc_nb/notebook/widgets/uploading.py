"""What a browser hands over, put into the chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import ipywidgets

from agentsvc_nb.notebook.display.amounts import size
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.files.storing import files_put
from agentsvc_nb.notebook.memory.session import Session
from agentsvc_nb.safe.text import label

UPLOAD_BYTES: Final = 10_000_000
"""Of all files of one choice, which come in one message: a server drops a much larger one, and nobody hears of it."""
TOO_LARGE: Final = f"More than {size(UPLOAD_BYTES)} can't come through the page; `%files put PATH` takes any size."


def upload_button(tooltip: str) -> ipywidgets.FileUpload:
    """A button for files of the user's machine. It says what it takes: who chooses more sees nothing happen."""
    name = f"Upload, up to {size(UPLOAD_BYTES)}"
    return ipywidgets.FileUpload(multiple=True, description=name, tooltip=tooltip, layout={"width": "auto"})


def uploaded(session: Session, files: Sequence[Mapping[str, Any]]) -> str:
    """Put files of a `FileUpload` into the chat as `%files put` does; what was done. Raises `AskError`."""
    if sum(file["size"] for file in files) > UPLOAD_BYTES:
        raise AskError(f"Nothing was sent. {TOO_LARGE}")
    with TemporaryDirectory() as folder:
        return str(files_put(session, [_written(Path(folder), file) for file in files]))


def _written(folder: Path, file: Mapping[str, Any]) -> Path:
    path = folder / Path(str(file["name"]).replace("\\", "/")).name
    try:
        path.write_bytes(file["content"])
    except (OSError, ValueError) as error:  # too long, empty, a folder's
        why = (isinstance(error, OSError) and error.strerror) or "it is no name of a file"
        raise AskError(f"{label(file['name'], 80)} can't be sent under this name: {why}.", "Rename it.") from None
    return path
