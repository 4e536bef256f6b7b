"""Where output is shown: a browser that takes updates, a page of voila, what keeps outputs (nbclient), a terminal."""

from __future__ import annotations

import getpass
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from agentsvc_nb.notebook.render import Bundle
from agentsvc_nb.notebook.stream import LiveScreen, SavedOutput, Screen, StaticScreen, TerminalScreen
from agentsvc_nb.notebook.trail import Place

if TYPE_CHECKING:
    from agentsvc_nb.notebook.bars import Bars
    from agentsvc_nb.notebook.widgets.approve import Decide
    from agentsvc_nb.notebook.widgets.card import CardScreen, QuietScreen

Mode = Literal["live", "page", "static", "terminal"]

VIEW: Final = "application/vnd.jupyter.widget-view+json"
_VOILA: Final = "VOILA_BASE_URL"
"""Set in every kernel of voila, also in one that it has started ahead of its visitor, where SERVER_SOFTWARE is not."""


class CellOutput:
    """The output area of the running cell. Only for the main thread: elsewhere it would be another cell's."""

    def __init__(self, shell: Any) -> None:
        self._pub = shell.display_pub

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        transient = {"display_id": display_id} if display_id else {}
        self._pub.publish(data=bundle, metadata=dict(metadata or {}), transient=transient)

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        self.show(bundle, display_id=display_id)

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        """May be called from any thread."""
        self._pub.publish(data=bundle, metadata=dict(metadata or {}), transient={"display_id": display_id}, update=True)

    def clear(self) -> None:
        self._pub.clear_output(wait=True)


class PageOutput(CellOutput):
    """The same in voila, where updates of outputs are lost once the cell has ended: what will change is a widget."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._places: dict[str, Any] = {}

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        if display_id and VIEW not in bundle:
            from agentsvc_nb.notebook.widgets import design

            self._places[display_id] = place = design.place(bundle["text/html"])
            bundle = design.frame([place], card=False)._repr_mimebundle_()
        super().show(bundle, metadata=metadata)

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        """Nothing: nobody saves a page."""

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        if place := self._places.get(display_id):
            place.value = bundle["text/html"]


class TerminalOutput:
    """Plain text on stdout."""

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        print(bundle["text/plain"])

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        self.show(bundle)

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        pass

    def clear(self) -> None:
        pass


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


def screen(shell: Any, how: Mode) -> Screen:
    if how == "terminal":
        return TerminalScreen(sys.stdout)
    return LiveScreen(output(shell, how)) if how == "live" else StaticScreen(output(shell, how))


def card(shell: Any, how: Mode, decide: Decide) -> CardScreen | QuietScreen:
    """Where a run in the background is watched, and `decide`s about its calls that wait for approval."""
    from agentsvc_nb.notebook.widgets.card import CardScreen, QuietScreen

    return QuietScreen() if how == "terminal" else CardScreen(output(shell, how), decide)


def bars(shell: Any, how: Mode) -> Bars:
    """Where jobs in the background are watched."""
    if how not in ("live", "page"):
        from agentsvc_nb.notebook.bars import StaticBars

        return StaticBars(output(shell, how))
    from agentsvc_nb.notebook.widgets.bars import BarsScreen

    return BarsScreen(output(shell, how))


def output(shell: Any, how: Mode) -> SavedOutput:
    if how == "terminal":
        return TerminalOutput()
    return PageOutput(shell) if how == "page" else CellOutput(shell)


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
