"""Detection of the host of a cell: a live front end, a page of voila, a static host (nbclient), or a terminal."""

from __future__ import annotations

import getpass
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from agentsvc_nb.notebook.state.execution_history import Place

Mode = Literal["live", "page", "static", "terminal"]
"""A kind of host.

- `live`: a front end that shows updates of outputs, and widgets.
- `page`: voila, which shows widgets, but drops updates of outputs.
- `static`: nbclient and the like, which keep the first state of an output.
- `terminal`: IPython without a kernel.
"""

_VOILA: Final = "VOILA_BASE_URL"
"""Set in every kernel of voila; SERVER_SOFTWARE is missing in kernels that voila started before a visitor came."""


def mode(shell: Any, live: bool | None = None) -> Mode:
    """Return the kind of host that executes this shell's cells; in a kernel, `live` overrides the detection.

    JupyterLab and VS Code send the cell's id with each request. nbclient, papermill and nbconvert send none; they keep
    the first state of an output that is updated. So does voila, but its pages show widgets.
    """
    if not hasattr(shell, "kernel"):
        return "terminal"
    if live is None:
        if _VOILA in os.environ:
            return "page"
        live = bool(cell_id(shell)) or "google.colab" in sys.modules
    return "live" if live else "static"


def shows_widgets(shell: Any, live: bool | None = None) -> bool:
    """Whether the host shows widgets that react."""
    return mode(shell, live) in ("live", "page")


def asker(shell: Any) -> Callable[[str], str] | None:
    """Return a prompt without echo, for keys; None if the host has no input."""
    kernel = getattr(shell, "kernel", None)
    can = getattr(kernel, "_allow_stdin", False) if kernel is not None else sys.stdin is not None and sys.stdin.isatty()
    return getpass.getpass if can else None


def cell_id(shell: Any) -> str:
    """Return the id of the running cell; empty if the host sends none."""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else None
    metadata = (parent or {}).get("metadata") or {}
    return str(metadata.get("cellId") or "") if isinstance(metadata, Mapping) else ""


def place(shell: Any, body: str) -> Place:
    """Return the execution of the running cell; a cell without an id is identified by its content."""
    cell = cell_id(shell) or hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
    return Place(cell, int(getattr(shell, "execution_count", 0) or 0))


def notebook(shell: Any) -> str | None:
    """Return the path of the kernel's notebook, if its server or editor provides it."""
    if not hasattr(shell, "kernel"):
        return None
    return os.environ.get("JPY_SESSION_NAME") or shell.user_ns.get("__vsc_ipynb_file__") or None
