"""What all groups of magics share: the shell, the notebook's session, the options of `%config Ask`, the bell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from IPython.core.magic import Magics

from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.notebook.ask.each import RowsBar
    from agentsvc_nb.notebook.ask.variants import Board
    from agentsvc_nb.notebook.display.results import DisplayedResult
    from agentsvc_nb.notebook.display.screens import Bar, Screen
    from agentsvc_nb.notebook.host import Mode
    from agentsvc_nb.notebook.jobs.background import Bars
    from agentsvc_nb.notebook.state.session import Session
    from agentsvc_nb.notebook.widgets.cards import CardScreen, QuietScreen


_SECONDS: Final = 5.0
_MAC: Final = "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run"


class Bell:
    """One a shell; call it with IPython's results."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def ring(self, line: str) -> None:
        """Something has ended: a line without any word of the agent. From any thread."""
        self._lines.append(label(line))
        desktop("agentsvc", label(line))

    def __call__(self, result: Any) -> None:
        lines, self._lines = self._lines, []
        for line in lines:
            print(line)


def desktop(title: str, text: str) -> bool:
    """A notification on the desktop of the kernel's machine; whether there was a way to show one."""
    if sys.platform == "darwin":
        command = ["osascript", "-e", _MAC, title, text]
    else:
        command = ["notify-send", "--app-name", title, title, text]
    if shutil.which(command[0]) is None:
        return False
    try:
        return subprocess.run(command, timeout=_SECONDS, capture_output=True, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


K = TypeVar("K", bound="DisplayedResult")


class AskConfig(Protocol):
    """What `%config Ask` sets and every group heeds."""

    live: Any


class MagicsContext:
    """One a shell. The session is made when it is first needed, so that `%load_ext` is quick."""

    options: AskConfig

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """What the cells of this notebook share."""
        if self._session is None:
            from agentsvc_nb.notebook.host import notebook
            from agentsvc_nb.notebook.state.session import Session

            self._session = Session(notebook(self.shell))
            self._session.closing = lambda: bool(getattr(self.shell, "exit_now", False))
        return self._session

    @property
    def mode(self) -> Mode:
        """How the running cell is watched."""
        from agentsvc_nb.notebook import host

        return host.mode(self.shell, self.options.live)

    @property
    def widgets(self) -> bool:
        """Whether the running cell's widgets are seen and answer."""
        from agentsvc_nb.notebook import host

        return host.shows_widgets(self.shell, self.options.live)

    def screen(self) -> Screen:
        """Where the running cell's run is shown."""
        from agentsvc_nb.notebook.widgets import outputs

        return outputs.screen(self.shell, self.mode)

    def card(self) -> CardScreen | QuietScreen:
        """Where a run in the background of the running cell is shown, in a browser or a terminal."""
        from agentsvc_nb.notebook.runs.approving import decide
        from agentsvc_nb.notebook.widgets import outputs

        return outputs.card(self.shell, self.mode, partial(decide, self.session))

    def board(self) -> Board:
        """Where the variants of the running cell are shown."""
        from agentsvc_nb.notebook.ask.variants import Board
        from agentsvc_nb.notebook.widgets import outputs

        return Board(outputs.output(self.shell, self.mode), self.mode == "live")

    def rows_bar(self) -> RowsBar:
        """Where the progress over the rows of a DataFrame is shown."""
        from agentsvc_nb.notebook.ask import each
        from agentsvc_nb.notebook.widgets import outputs

        return each.RowsBar(outputs.output(self.shell, self.mode), self.mode)

    def bar(self) -> Bar:
        """Where the running cell's job or call is shown."""
        from agentsvc_nb.notebook.display import screens
        from agentsvc_nb.notebook.widgets import outputs

        return screens.Bar(outputs.output(self.shell, self.mode), live=self.mode == "live")

    def bars(self) -> Bars:
        """Where jobs in the background of the running cell are shown."""
        from agentsvc_nb.notebook.widgets import outputs

        return outputs.bars(self.shell, self.mode)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session.journal.close()


class MagicsGroup(Magics):
    """Some magics that belong together."""

    shell: Any

    def __init__(self, context: MagicsContext) -> None:
        super().__init__(shell=context.shell)
        self.context = context
        self._listeners: list[Callable[[Any], None]] = []

    def add_listener(self, listener: Callable[[Any], None]) -> None:
        """Call it with the result of every cell, until the extension is unloaded."""
        self.shell.events.register("post_run_cell", listener)
        self._listeners.append(listener)

    def leave(self) -> None:
        """The extension is unloaded."""
        for listener in self._listeners:
            self.shell.events.unregister("post_run_cell", listener)
        self.context.close()

    @property
    def session(self) -> Session:
        """What the cells of this notebook share."""
        return self.context.session

    @contextmanager
    def keeping_partial_answer(self, name: str | None) -> Iterator[None]:
        """What a failed or stopped run left is kept in the variable all the same."""
        try:
            yield
        except (AskError, RunFailed, RunStopped) as failed:
            if name and failed.answer is not None:
                self.shell.user_ns[name] = failed.answer
            raise

    def keep(self, kept: K, name: str | None) -> K:
        """Set the variable; the cell has shown the output already and must not show it twice."""
        from agentsvc_nb.notebook.display.results import WorkResult

        if name:
            self.shell.user_ns[name] = kept
        if isinstance(kept, WorkResult):
            self.session.known.wrote(file.path for file in kept.files)
        shell, count = self.shell, self.shell.execution_count
        kept.hide_while(lambda: bool(shell.execution_count == count))
        return kept
