"""What the groups of magics are made of: the declaration of arguments, the shared context, and the base class.

The context is the shell, its session, and the options of `%config Ask`.
"""

from __future__ import annotations

import argparse
import functools
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, no_var_expand
from IPython.core.magic_arguments import argument, argument_group, magic_arguments

from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped, interrupts_as_run_stopped
from agentsvc_nb.notebook.kernel.pages import Pages
from agentsvc_nb.wire.text import in_bold

if TYPE_CHECKING:
    from agentsvc_nb.notebook.display.results import DisplayedResult
    from agentsvc_nb.notebook.display.screens import Bar, Screen
    from agentsvc_nb.notebook.host import Mode
    from agentsvc_nb.notebook.jobs.follower import JobScreen
    from agentsvc_nb.notebook.kernel.access import KernelAccess
    from agentsvc_nb.notebook.kernel.database_port import OfferedDatabase
    from agentsvc_nb.notebook.kernel.desk import KernelMode, KernelOffer
    from agentsvc_nb.notebook.state.session import Session
    from agentsvc_nb.notebook.widgets.card import CardScreen, QuietScreen


K = TypeVar("K", bound="DisplayedResult")


class AskConfig(Protocol):
    """The options of `%config Ask` that every group uses."""

    live: Any
    model: Any
    kernel: Any
    kernel_rows: int
    kernel_hidden: Any
    connection: str


class MagicsContext:
    """The context of a shell's magics. The session is created when first needed, so that `%load_ext` is quick."""

    options: AskConfig

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._session: Session | None = None
        self._kernel: KernelAccess | None = None
        self.pages = Pages(shell)

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

    def screen(self, *, kernel: bool = False) -> Screen:
        """Return a screen for a run of the running cell; `kernel`: with buttons for what is to run in the kernel."""
        from agentsvc_nb.notebook.widgets import outputs

        return outputs.screen(self.shell, self.mode, kernel, self.pages)

    def kernel_offer(
        self, mode: KernelMode | None = None, connection: str | None = None, *, between: bool = False
    ) -> KernelOffer | None:
        """Return what an agent may do in this kernel: by `mode` and the variable `connection`, or else by `%config
        Ask.kernel` and `Ask.connection`; None for nothing.

        `between`: the question's own cell will have ended. Raises `AskError` where there is no such connection, or
        nobody who could have named it.
        """
        mode, connection = mode or self.options.kernel, connection or self.options.connection
        if mode == "off" and not connection:
            return None
        from agentsvc_nb.notebook.kernel.access import KernelAccess
        from agentsvc_nb.notebook.kernel.desk import KernelOffer
        from agentsvc_nb.notebook.kernel.masking import Rules

        if self._kernel is None:
            self._kernel = KernelAccess(self.shell)
            self._kernel.watch()
        rules = Rules(self.options.kernel_rows, tuple(self.options.kernel_hidden))
        live = self.mode == "live"
        heard, page = live and self._kernel.has_subshells, self.pages.here() if live else None
        database = self._database(connection, self._kernel) if connection else None
        return KernelOffer(self._kernel, mode, rules, between=between, buttons=heard, database=database, page=page)

    def _database(self, connection: str, access: KernelAccess) -> OfferedDatabase:
        from agentsvc_nb.notebook.kernel.databases import database_in

        if self.mode == "static" and not access.can_prompt:
            raise AskError(
                f"--connection {connection}: nobody is at this notebook, so no database is asked; nothing was sent.",
                "Run it where somebody is, or ask without --connection.",
            )
        return database_in(connection, self.shell.user_ns)

    def card(self) -> CardScreen | QuietScreen:
        """Return a screen for a background run of the running cell: a card, or in a terminal one that shows nothing."""
        from agentsvc_nb.notebook.ask.history import decide
        from agentsvc_nb.notebook.widgets import outputs

        return outputs.card(self.shell, self.mode, partial(decide, self.session))

    def bar(self) -> Bar:
        """Return an output for a job or tool call of the running cell."""
        from agentsvc_nb.notebook.display import screens
        from agentsvc_nb.notebook.widgets import outputs

        return screens.Bar(outputs.output(self.shell, self.mode, self.pages), live=self.mode == "live")

    def jobs_screen(self) -> JobScreen:
        """Return an output for background jobs of the running cell."""
        from agentsvc_nb.notebook.widgets import outputs

        return outputs.jobs_screen(self.shell, self.mode)

    def close(self) -> None:
        self.pages.close()
        if self._kernel is not None:
            self._kernel.unwatch()
            self._kernel = None
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


Magic = TypeVar("Magic", bound=Callable[..., Any])
Declare = Callable[[Any], Any]


def arg(*names: str, **spec: Any) -> Declare:
    """Declare an argument; takes the parameters of `argparse`'s `add_argument`."""
    declare: Declare = argument(*names, **spec)  # type: ignore[no-untyped-call]
    return declare


def group(title: str) -> Declare:
    """Begin a group of arguments in the magic's help: those declared after it belong to it."""
    declare: Declare = argument_group(title)  # type: ignore[no-untyped-call]
    return declare


_QUOTED_OR_COMMENT: Final = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|(?:^|(?<=\s))\#""")


def without_comment(line: str) -> str:
    """Return a magic's line without a comment: `#` begins one at the beginning of a word, outside quotation marks.

    >>> without_comment("put 'a #1.csv' report#2.csv  # the second report")
    "put 'a #1.csv' report#2.csv"
    """
    begins = (found.start() for found in _QUOTED_OR_COMMENT.finditer(line) if found[0] == "#")
    return line[: next(begins, None)].rstrip()


def takes(kind: Callable[..., Any], *declared: Declare) -> Callable[[Magic], Magic]:
    """Decorate a method as a magic of this kind (`line_magic`, `cell_magic`); its help lists the arguments in order."""

    def dress(method: Magic) -> Magic:
        @functools.wraps(method)
        def uncommented(group: MagicsGroup, line: str, *body: str) -> Any:
            is_question = kind is line_cell_magic and not body
            return method(group, line if is_question else without_comment(line), *body)

        magic: Any = kind(uncommented)
        for declare in reversed(declared):  # as decorators above the method would apply, the last one first
            magic = declare(magic)
        # IPython would expand `$name` and `{name}` in the line; ours are `{{name}}`, expanded by `parse`.
        dressed: Magic = no_var_expand(magic_arguments()(magic))  # type: ignore[no-untyped-call]
        if kind in (cell_magic, line_cell_magic):  # IPython's help shows every magic as a line magic
            dressed.__doc__ = (dressed.__doc__ or "").replace("::\n\n  %", "::\n\n  %%", 1)
        return dressed

    return dress


def parse(magic: Any, line: str, variables: Mapping[str, Any]) -> argparse.Namespace:
    """Parse the arguments of a magic's line. `{{name}}` is replaced after splitting: its value stays one argument.

    Raises `AskError` for invalid arguments, and for a name that cannot be replaced.
    """
    from agentsvc_nb.notebook.template import expand  # imports the client, which `%load_ext` must not

    return _parsed(magic, lambda: [expand(word, variables) for word in shlex.split(line)])


def leading(magic: Any, line: str, variables: Mapping[str, Any]) -> argparse.Namespace:
    """Parse options first; the rest of the line, with its quotes and dashes, is one last argument, verbatim.

    Raises `AskError` for invalid arguments.
    """
    # argparse would take quotes and dashes of the rest for its own, so only known options are handed to it.
    takes_value = {name: "action" not in declared.kwds for declared in magic.decorators for name in declared.args}
    options: list[str] = []
    line = line.strip()
    while line.startswith("-") and (word := line.partition(" ")[0].partition("=")[0]) in takes_value:
        count = 2 if takes_value[word] and "=" not in line.partition(" ")[0] else 1
        parts = line.split(None, count)
        options += parts[:count]
        line = parts[count] if len(parts) > count else ""
    return _parsed(magic, lambda: [*options, "--", line] if line else options)


def _parsed(magic: Any, split: Callable[[], list[str]]) -> argparse.Namespace:
    try:
        args: argparse.Namespace = magic.parser.parse_intermixed_args(split())
    except (UsageError, ValueError) as error:
        raise AskError(f"{error}; nothing was sent.", f"`?{magic.__name__}` shows the options.") from None
    name = getattr(args, "out", None)
    if name is not None and not name.isidentifier():
        raise AskError(f"-o {name}: that is no name for a variable; nothing was sent.", "Use letters and digits.")
    return args


M = TypeVar("M", bound=Callable[..., Any])

_OUT: Final = arg("-o", "--out", metavar="NAME", help="variable for what comes of it; of a table, the DataFrame")
_NO_RAISE: Final = arg("--no-raise-error", action="store_true", help="show a failure without failing the cell")


def command(
    kind: Callable[..., Any],
    *declared: Declare,
    read: Callable[[Any, str, Mapping[str, Any]], argparse.Namespace] = parse,
) -> Callable[[M], Any]:
    """Decorate a group's method as a magic that takes these arguments and `-o`; in a cell also `--no-raise-error`.

    The method is called with the parsed arguments (and the cell's body); `read(magic, line, variables)` parses them.
    """

    def dress(method: M) -> Any:
        @functools.wraps(method)
        def magic(group: MagicsGroup, line: str, *body: str) -> Any:
            args = read(dressed, line, group.shell.user_ns)
            return _run_command(group, args, lambda: method(group, args, *body))

        common = [_OUT, _NO_RAISE] if kind is cell_magic else [_OUT]
        dressed = takes(kind, *declared, *common)(interrupts_as_run_stopped(magic))
        return dressed

    return dress


def _run_command(group: MagicsGroup, args: argparse.Namespace, act: Callable[[], Any]) -> Any:
    """Call `act`, keep its value in the variable of `-o`, and return it.

    `AskError` and `RunFailed` are raised, or with `--no-raise-error` printed.
    """
    try:
        with group.keeping_partial_answer(args.out):
            return _kept(group, act(), args.out)
    except (AskError, RunFailed) as failed:
        if not getattr(args, "no_raise_error", False):
            raise
        print("\n".join(failed._render_traceback_()))
        return _kept(group, failed.answer, None)


def _kept(group: MagicsGroup, value: Any, name: str | None) -> Any:
    from agentsvc_nb.notebook.display.results import DisplayedResult, PrintedText, QuotedText, ResultTable

    if isinstance(value, DisplayedResult):
        return group.keep(value, name)
    if name:
        group.shell.user_ns[name] = value.df if isinstance(value, ResultTable) else value
    if isinstance(value, PrintedText):
        print(value if isinstance(value, QuotedText) else in_bold(value))
        return None
    return value
