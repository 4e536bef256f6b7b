"""Detect the host that runs a cell: a live front end, a voila page, a static host such as nbclient, or a terminal.

`here` returns the session of the current notebook, for public functions such as `Files()` that users call without a
magic.
"""

from __future__ import annotations

import functools
import getpass
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from agentsvc_nb.notebook.magics.base import MagicsContext
    from agentsvc_nb.notebook.state.journal import CellExecution
    from agentsvc_nb.notebook.state.session import Session


Mode = Literal["live", "page", "static", "terminal"]
"""The kind of host that runs a cell.

- `live`: a front end that updates outputs and shows widgets, such as JupyterLab.
- `page`: voila, which shows widgets, but drops updates of outputs.
- `static`: a program such as nbclient, which keeps the first state of an output.
- `terminal`: IPython without a kernel.
"""

_VOILA: Final = "VOILA_BASE_URL"
"""The environment variable by which voila is recognised. SERVER_SOFTWARE is not set in kernels that voila starts before
a visitor comes.
"""


def mode(shell: Any, live: bool | None = None) -> Mode:
    """Return the kind of host that runs this shell's cells. In a kernel, pass `live` to skip the detection.

    JupyterLab and VS Code send the cell's id with each request to run it. nbclient, papermill and nbconvert send no id,
    and keep the first state of an output. voila keeps it too, but shows widgets.
    """
    if not hasattr(shell, "kernel"):
        return "terminal"
    if live is None:
        if _VOILA in os.environ:
            return "page"
        # Colab sends no cell ids, but it updates outputs.
        live = bool(cell_id(shell)) or "google.colab" in sys.modules
    return "live" if live else "static"


def shows_widgets(shell: Any, live: bool | None = None) -> bool:
    return mode(shell, live) in ("live", "page")


def in_marimo() -> bool:
    """Return True in marimo, which shows anywidgets but no other widgets."""
    marimo = sys.modules.get("marimo")
    return marimo is not None and bool(marimo.running_in_notebook())


def key_prompt(shell: Any) -> Callable[[str], str] | None:
    """Return a function that asks the user for a key without showing it, or None if the host has no input."""
    kernel = getattr(shell, "kernel", None)
    can = getattr(kernel, "_allow_stdin", False) if kernel is not None else sys.stdin is not None and sys.stdin.isatty()
    return getpass.getpass if can else None


def yes_no_prompt(shell: Any) -> Callable[[str], bool] | None:
    """Return a function that asks a yes-or-no question, or None if the host has no input. Only y and yes mean yes."""
    return (lambda question: input(question).strip().lower() in ("y", "yes")) if key_prompt(shell) else None


def cell_id(shell: Any) -> str:
    """Return the id of the running cell. Return an empty text if the host sends none."""
    return str(_request(shell).get("metadata", {}).get("cellId") or "")


def page(shell: Any) -> str:
    """Return the id of the connection that requested the running cell. It changes when the page is reloaded."""
    return str(_request(shell).get("header", {}).get("session") or "")


def _request(shell: Any) -> Mapping[str, Any]:
    """Return the message that requested the running cell."""
    return (shell.get_parent() if hasattr(shell, "get_parent") else None) or {}


def cell_execution(shell: Any, body: str) -> CellExecution:
    """Return the identity of the running cell's execution. A cell without an id is identified by a hash of its text."""
    from agentsvc_nb.notebook.state.journal import CellExecution  # a slow import (SQLite)

    cell = cell_id(shell) or hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
    return CellExecution(cell, int(getattr(shell, "execution_count", 0) or 0), page(shell))


def notebook(shell: Any) -> str | None:
    """Return the path of the kernel's notebook. Return None if neither the server nor the editor says it."""
    if not hasattr(shell, "kernel"):
        return None
    # Jupyter Server sets the environment variable, VS Code the variable in the user's namespace.
    return os.environ.get("JPY_SESSION_NAME") or shell.user_ns.get("__vsc_ipynb_file__") or None


contexts: WeakKeyDictionary[Any, MagicsContext] = WeakKeyDictionary()
"""The `MagicsContext` of each shell in which the magics are loaded."""


def here() -> tuple[Session, bool]:
    """Return the session of the current notebook, and whether the host shows widgets.

    If the magics are loaded, this is the session of the magics. Otherwise, it is created once per process and notebook.
    """
    from IPython.core.getipython import get_ipython

    if (shell := get_ipython()) is None:
        return _session_without_magics(None), False
    if context := contexts.get(shell):
        return context.session, context.widgets
    return _session_without_magics(notebook(shell)), shows_widgets(shell)


def kernel_offer_here() -> Any:
    """Return what the agent may do in this kernel between cells (`%config Ask`), or None if it may do nothing.

    Raises `AskError` like `MagicsContext.kernel_offer`.
    """
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    context = None if shell is None else contexts.get(shell)
    return context.kernel_offer(between=True) if context else None


@functools.cache
def _session_without_magics(notebook: str | None) -> Session:
    from agentsvc_nb.notebook.state.session import Session

    return Session(notebook)
