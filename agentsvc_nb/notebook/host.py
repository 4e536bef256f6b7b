"""What a cell runs in: a browser that takes updates, a page of voila, what keeps outputs (nbclient), a terminal."""

from __future__ import annotations

import getpass
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from agentsvc_nb.notebook.state.execution_history import Place

Mode = Literal["live", "page", "static", "terminal"]

_VOILA: Final = "VOILA_BASE_URL"
"""Set in every kernel of voila, also in one that it has started ahead of its visitor, where SERVER_SOFTWARE is not."""


def mode(shell: Any, live: bool | None = None) -> Mode:
    """How a cell of this shell is watched; `live` decides where it is given and there is a kernel.

    JupyterLab and VS Code send the cell's id with each request; nbclient, papermill and nbconvert send none, and would
    keep the first state of an output that is updated. So does voila, but widgets are alive in its pages.
    """
    if not hasattr(shell, "kernel"):
        return "terminal"
    if live is None:
        if _VOILA in os.environ:
            return "page"
        live = bool(cell_id(shell)) or "google.colab" in sys.modules
    return "live" if live else "static"


def shows_widgets(shell: Any, live: bool | None = None) -> bool:
    """Whether widgets are seen and answer."""
    return mode(shell, live) in ("live", "page")


def asker(shell: Any) -> Callable[[str], str] | None:
    """A prompt that does not show what is typed; None where nobody can type."""
    kernel = getattr(shell, "kernel", None)
    can = getattr(kernel, "_allow_stdin", False) if kernel is not None else sys.stdin is not None and sys.stdin.isatty()
    return getpass.getpass if can else None


def cell_id(shell: Any) -> str:
    parent = shell.get_parent() if hasattr(shell, "get_parent") else None
    metadata = (parent or {}).get("metadata") or {}
    return str(metadata.get("cellId") or "") if isinstance(metadata, Mapping) else ""


def place(shell: Any, body: str) -> Place:
    """The running cell: its id, or where there is none, what stands in it."""
    cell = cell_id(shell) or hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
    return Place(cell, int(getattr(shell, "execution_count", 0) or 0))


def notebook(shell: Any) -> str | None:
    """The path of the notebook that this kernel belongs to, where its server or editor tells it."""
    if not hasattr(shell, "kernel"):
        return None
    return os.environ.get("JPY_SESSION_NAME") or shell.user_ns.get("__vsc_ipynb_file__") or None
