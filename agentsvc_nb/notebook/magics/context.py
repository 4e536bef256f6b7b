"""The context shared by all groups of magics (shell, session, options of `%config Ask`), their base class, the bell."""

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
    from agentsvc_nb.notebook.ask.variants import VariantsOutput
    from agentsvc_nb.notebook.display.results import DisplayedResult
    from agentsvc_nb.notebook.display.screens import Bar, Screen
    from agentsvc_nb.notebook.host import Mode
    from agentsvc_nb.notebook.jobs.background import Bars
    from agentsvc_nb.notebook.state.session import Session
    from agentsvc_nb.notebook.widgets.cards import CardScreen, QuietScreen


_SECONDS: Final = 5.0
_MAC: Final = "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run"


class Notifier:
    """Announces the end of work (`--notify`): on the desktop at once, and below the cell that ends next.

    To be registered as IPython's `post_run_cell` callback.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def ring(self, line: str) -> None:
        """Announce a line, which must not have text of the agent. May be called from any thread."""
        self._lines.append(label(line))
        desktop("agentsvc", label(line))

    def __call__(self, result: Any) -> None:
        lines, self._lines = self._lines, []
        for line in lines:
            print(line)


def desktop(title: str, text: str) -> bool:
    """Show a notification on the desktop of the kernel's machine; return whether that worked."""
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
    """The options of `%config Ask` that every group uses."""

    live: Any


class MagicsContext:
    """The context of a shell's magics. The session is created when first needed, so that `%load_ext` is quick."""

    options: AskConfig

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """The session of this notebook."""
        if self._session is None:
            from agentsvc_nb.notebook.host import notebook
            from agentsvc_nb.notebook.state.session import Session

            self._session = Session(notebook(self.shell))
            self._session.closing = lambda: bool(getattr(self.shell, "exit_now", False))
        return self._session

    @property
    def mode(self) -> Mode:
        """The kind of host of the running cell."""
        from agentsvc_nb.notebook import host

        return host.mode(self.shell, self.options.live)

    @property
    def widgets(self) -> bool:
        """Whether the host of the running cell shows widgets that react."""
        from agentsvc_nb.notebook import host

        return host.shows_widgets(self.shell, self.options.live)

    def screen(self) -> Screen:
        """Return a screen for a run of the running cell."""
        from agentsvc_nb.notebook.widgets import outputs

        return outputs.screen(self.shell, self.mode)

    def card(self) -> CardScreen | QuietScreen:
        """Return a screen for a background run of the running cell: a card, or in a terminal one that shows nothing."""
        from agentsvc_nb.notebook.runs.approving import decide
        from agentsvc_nb.notebook.widgets import outputs

        return outputs.card(self.shell, self.mode, partial(decide, self.session))

    def board(self) -> VariantsOutput:
        """Return an output for the variants of the running cell."""
        from agentsvc_nb.notebook.ask.variants import VariantsOutput
        from agentsvc_nb.notebook.widgets import outputs

        return VariantsOutput(outputs.output(self.shell, self.mode), self.mode == "live")

    def rows_bar(self) -> RowsBar:
        """Return an output for the progress of a batch (`--each`)."""
        from agentsvc_nb.notebook.ask import each
        from agentsvc_nb.notebook.widgets import outputs

        return each.RowsBar(outputs.output(self.shell, self.mode), self.mode)

    def bar(self) -> Bar:
        """Return an output for a job or tool call of the running cell."""
        from agentsvc_nb.notebook.display import screens
        from agentsvc_nb.notebook.widgets import outputs

        return screens.Bar(outputs.output(self.shell, self.mode), live=self.mode == "live")

    def bars(self) -> Bars:
        """Return progress bars for background jobs of the running cell."""
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
        """Call `listener` with IPython's result of every cell, until the extension is unloaded."""
        self.shell.events.register("post_run_cell", listener)
        self._listeners.append(listener)

    def leave(self) -> None:
        """Remove the listeners and close the session, because the extension is unloaded."""
        for listener in self._listeners:
            self.shell.events.unregister("post_run_cell", listener)
        self.context.close()

    @property
    def session(self) -> Session:
        """The session of this notebook."""
        return self.context.session

    @contextmanager
    def keeping_partial_answer(self, name: str | None) -> Iterator[None]:
        """Keep the partial answer of a run that fails or stops in the `with` block in the variable `name`, if given."""
        try:
            yield
        except (AskError, RunFailed, RunStopped) as failed:
            if name and failed.answer is not None:
                self.shell.user_ns[name] = failed.answer
            raise

    def keep(self, kept: K, name: str | None) -> K:
        """Keep a result in the variable `name`, if given, and return it as the cell's value.

        The cell has already displayed the result, so it is hidden until the next cell.
        """
        from agentsvc_nb.notebook.display.results import WorkResult

        if name:
            self.shell.user_ns[name] = kept
        if isinstance(kept, WorkResult):
            self.session.known.wrote(file.path for file in kept.files)
        shell, count = self.shell, self.shell.execution_count
        kept.hide_while(lambda: bool(shell.execution_count == count))
        return kept
