"""A kernel of a notebook as far as asking goes: a session, and cells that are run one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.display.screens import StaticScreen
from agentsvc_nb.notebook.files.attachments import attachments
from agentsvc_nb.notebook.state.journal import Journal, Place
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.testing import RunningService
from tests.notebook.screens import Cell


class Kernel:
    """One life of a notebook's kernel; `restart` gives the next, with the same journal file."""

    def __init__(self, service: RunningService, folder: Path, notebook: str | None = "/home/ada/plan.ipynb") -> None:
        self.service, self.folder, self.notebook = service, folder, notebook
        environ = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
        self.session = Session(notebook, environ=environ, journal=Journal(folder / "journal.sqlite"))
        self.shown = Cell()
        self._count = 0

    def ask(self, message: str, cell: str = "", *, files: tuple[str | Path, ...] = (), **options: Any) -> CellAnswer:
        """Run a cell; its id is its message unless another is given."""
        self._count += 1
        self.shown = Cell()
        question = AskRequest(
            message, typed=message, place=Place(cell or message, self._count), files=attachments(files), **options
        )
        return commands.ask(self.session, question, StaticScreen(self.shown))

    def restart(self) -> Kernel:
        self.close()
        return Kernel(self.service, self.folder, self.notebook)

    def close(self) -> None:
        self.session.close()
        self.session.journal.close()

    @property
    def started(self) -> int:
        """How many runs this journal has seen started."""
        return len(self.session.journal.runs(self.notebook or self.session.label))
