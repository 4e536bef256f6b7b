"""The host of a cell: a live front end, a page of voila, a static host (nbclient), or a terminal.

`here` returns the session of the notebook, for public functions that are called without a magic.
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
    from agentsvc_nb.notebook.state.journal import Place
    from agentsvc_nb.notebook.state.session import Session


Mode = Literal["live", "page", "static", "terminal"]
"""A kind of host.

- `live`: a front end that shows updates of outputs, and widgets.
- `page`: voila, which shows widgets, but drops updates of outputs.
- `static`: nbclient and the like, which keep the first state of an output.
- `terminal`: IPython without a kernel.
"""

_VOILA: Final = "VOILA_BASE_URL"
"""Set in every voila kernel. SERVER_SOFTWARE is missing in kernels that voila started before a visitor came."""


def mode(shell: Any, live: bool | None = None) -> Mode:
    """Return the kind of host that executes this shell's cells. In a kernel, `live` overrides the detection.

    JupyterLab and VS Code send the cell's id with each request. nbclient, papermill and nbconvert send none; they keep
    the first state of an updated output. So does voila, but its pages show widgets.
    """
    if not hasattr(shell, "kernel"):
        return "terminal"
    if live is None:
        if _VOILA in os.environ:
            return "page"
        # Colab shows updates of outputs although it sends no cell ids.
        live = bool(cell_id(shell)) or "google.colab" in sys.modules
    return "live" if live else "static"


def shows_widgets(shell: Any, live: bool | None = None) -> bool:
    """Return True if the host shows interactive widgets."""
    return mode(shell, live) in ("live", "page")


def in_marimo() -> bool:
    """Return True in marimo, which shows anywidgets but no other widgets."""
    marimo = sys.modules.get("marimo")
    return marimo is not None and bool(marimo.running_in_notebook())


def asker(shell: Any) -> Callable[[str], str] | None:
    """Return a prompt without echo, for keys; None if the host has no input."""
    kernel = getattr(shell, "kernel", None)
    can = getattr(kernel, "_allow_stdin", False) if kernel is not None else sys.stdin is not None and sys.stdin.isatty()
    return getpass.getpass if can else None


def confirmer(shell: Any) -> Callable[[str], bool] | None:
    """Return a prompt for a yes or no. Any answer other than yes means no. Return None if the host has no input."""
    return (lambda question: input(question).strip().lower() in ("y", "yes")) if asker(shell) else None


def cell_id(shell: Any) -> str:
    """Return the id of the running cell; empty if the host sends none."""
    return str(_request(shell).get("metadata", {}).get("cellId") or "")


def page(shell: Any) -> str:
    """Return the front end's connection that runs the cell, which changes when the page is reloaded; else ""."""
    return str(_request(shell).get("header", {}).get("session") or "")


def _request(shell: Any) -> Mapping[str, Any]:
    """Return the message that requested the running cell."""
    return (shell.get_parent() if hasattr(shell, "get_parent") else None) or {}


def place(shell: Any, body: str) -> Place:
    """Return the execution of the running cell; a cell without an id is identified by its content."""
    from agentsvc_nb.notebook.state.journal import Place  # imports SQLite, which `%load_ext` must not import

    cell = cell_id(shell) or hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
    return Place(cell, int(getattr(shell, "execution_count", 0) or 0), page(shell))


def notebook(shell: Any) -> str | None:
    """Return the path of the kernel's notebook, if the notebook's server or editor provides it."""
    if not hasattr(shell, "kernel"):
        return None
    # Jupyter Server sets the first; VS Code puts the second into the user's namespace.
    return os.environ.get("JPY_SESSION_NAME") or shell.user_ns.get("__vsc_ipynb_file__") or None


contexts: WeakKeyDictionary[Any, MagicsContext] = WeakKeyDictionary()
"""The context of each shell in which the magics are loaded."""


def here() -> tuple[Session, bool]:
    """Return the session, and whether the host shows widgets.

    If the magics are loaded, this is their session. Otherwise, there is one session per process and notebook.
    """
    from IPython.core.getipython import get_ipython

    if (shell := get_ipython()) is None:
        return _alone(None), False
    if context := contexts.get(shell):
        return context.session, context.widgets
    return _alone(notebook(shell)), shows_widgets(shell)


def kernel_offer_here() -> Any:
    """Return what an agent may do in this kernel between cells, as `%config Ask` says; None for nothing."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    context = None if shell is None else contexts.get(shell)
    return context.kernel_offer(between=True) if context else None


@functools.cache
def _alone(notebook: str | None) -> Session:
    from agentsvc_nb.notebook.state.session import Session

    return Session(notebook)
