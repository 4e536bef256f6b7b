"""Shells in this process, in which a failing cell fails the test: a terminal's, and one that looks like a kernel's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from tests.notebook.screens import Cell

NO_HISTORY = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})


class Shell(InteractiveShell):
    """A terminal's shell."""

    def cell(self, source: str) -> Any:
        """Run a cell and return its value; what it raises is raised here."""
        result = self.run_cell(source, store_history=True)
        result.raise_error()
        return result.result


class KernelShell(Shell):
    """A shell with a kernel behind it, whose request carries a cell's id if one is given."""

    kernel = "a kernel"
    cell_id: str | None = None
    shown: Cell
    cells: tuple[Cell, ...] = ()

    def get_parent(self) -> dict[str, Any]:
        return {"metadata": {"cellId": self.cell_id} if self.cell_id else {}}

    def cell(self, source: str, cell_id: str | None = None) -> Any:
        self.cell_id, self.shown = cell_id, Cell()
        self.cells = (*self.cells, self.shown)
        self.display_pub = Publisher(self.shown, self.cells)
        return super().cell(source)


class Publisher(DisplayPublisher):
    """Publishes into a cell's outputs."""

    def __init__(self, cell: Cell, cells: Sequence[Cell]) -> None:
        super().__init__()
        self._cell = cell
        self._cells = cells

    def publish(  # type: ignore[override]
        self,
        data: dict[str, Any],
        metadata: Mapping[str, Any] | None = None,
        *,
        transient: Mapping[str, Any] | None = None,
        update: bool = False,
        **_: Any,
    ) -> None:
        display_id = (transient or {}).get("display_id")
        if update:
            for cell in self._cells:
                if cell.has(str(display_id)):
                    cell.update(data, str(display_id), metadata=metadata)
        else:
            self._cell.show(data, display_id=display_id, metadata=metadata)

    def clear_output(self, wait: bool = False) -> None:
        assert wait, "an output that is cleared at once flickers"
        self._cell.clear()


def bundle_of(value: Any) -> dict[str, Any]:
    """What a notebook shows of a value."""
    return dict(value._repr_mimebundle_())


def session_of(shell: Any) -> Any:
    """The session behind the magics."""
    (ask,) = [part for part in shell.configurables if type(part).__name__ == "Ask"]
    return ask.session


def loaded(kind: type[Shell], notebook: str | None = None) -> Any:
    """A shell with the extension loaded; `notebook` is the path that VS Code would tell."""
    shell = kind.instance(config=NO_HISTORY)  # `display` goes to the instance
    if notebook:
        shell.user_ns["__vsc_ipynb_file__"] = notebook
    shell.cell("%load_ext agentsvc_nb")
    return shell
