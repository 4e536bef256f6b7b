"""Shared code of the magics: the base class, the declaration of arguments, and the context of a shell."""

from __future__ import annotations

import argparse
import functools
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, no_var_expand
from IPython.core.magic_arguments import argument, argument_group, magic_arguments

from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.kernel.pages import NotebookPages
from agentsvc_nb.wire.text import in_bold

if TYPE_CHECKING:
    from agentsvc_nb.notebook.display.screens import Bar, Output, Screen
    from agentsvc_nb.notebook.jobs.follower import JobScreen
    from agentsvc_nb.notebook.kernel.access import KernelAccess
    from agentsvc_nb.notebook.kernel.tool_executor import KernelMode, KernelOffer
    from agentsvc_nb.notebook.magics.ask import Ask
    from agentsvc_nb.notebook.state.session import Session
    from agentsvc_nb.notebook.widgets.card import CardScreen, QuietScreen


class MagicsContext:
    """The objects that all magics share: the shell, its session, and the settings of `%config Ask` (`options`).

    The session is created when it is first used, so that `%load_ext` is quick.
    """

    options: Ask

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._session: Session | None = None
        self._kernel: KernelAccess | None = None
        self.pages = NotebookPages(shell)

    @property
    def session(self) -> Session:
        if self._session is None:
            from agentsvc_nb.notebook.state.session import Session

            self._session = Session(host.notebook(self.shell))
            self._session.closing = lambda: bool(getattr(self.shell, "exit_now", False))
        return self._session

    @property
    def mode(self) -> host.Mode:
        """The kind of host that runs the current cell."""
        return host.mode(self.shell, self.options.live)

    @property
    def widgets(self) -> bool:
        """Whether the host of the current cell shows interactive widgets."""
        return host.shows_widgets(self.shell, self.options.live)

    def kernel_offer(
        self, mode: KernelMode | None = None, connection: str | None = None, *, between: bool = False
    ) -> KernelOffer | None:
        """Return what the agent may do in this kernel. Return None if it may do nothing.

        Args:
            mode, connection: the options of the question. By default, the settings of `%config Ask` apply.
            between: whether the question runs in the background, so that its calls are executed between cells.

        Raises `AskError` if no such connection exists, or if the notebook runs without a user who can approve
        queries.
        """
        chosen: Any = mode or self.options.kernel
        connection = connection or self.options.connection
        if chosen == "off" and not connection:
            return None
        from agentsvc_nb.notebook.kernel.access import KernelAccess
        from agentsvc_nb.notebook.kernel.tool_executor import KernelOffer
        from agentsvc_nb.notebook.kernel.variables import SharingRules

        if self._kernel is None:
            self._kernel = KernelAccess(self.shell)
            self._kernel.watch()
        if connection and self.mode == "static" and not host.key_prompt(self.shell):
            raise AskError(
                f"--connection {connection}: the notebook runs without a user who can approve queries;"
                " nothing was sent.",
                "Run the notebook interactively, or ask without --connection.",
            )
        database = None
        if connection:
            from agentsvc_nb.notebook.kernel.databases import find_database

            database = find_database(connection, self.shell.user_ns)
        live = self.mode == "live"
        return KernelOffer(
            self._kernel,
            chosen,
            SharingRules(self.options.kernel_rows, tuple(self.options.kernel_hidden)),
            between=between,
            buttons=live and self._kernel.has_subshells,
            database=database,
            page=self.pages.current() if live else None,
        )

    def screen(self) -> Screen:
        """Return a screen for a run of the current cell. It has buttons if clicks arrive while the cell runs."""
        from agentsvc_nb.notebook.ask.history import raise_limit
        from agentsvc_nb.notebook.widgets import outputs

        heard = partial(raise_limit, self.session) if self.pages.have_subshells else None
        return outputs.screen(self.shell, self.mode, self.pages, heard)

    def card(self) -> CardScreen | QuietScreen:
        """Return a screen for a background run. It is a card, or in a terminal, a screen that shows nothing."""
        from agentsvc_nb.notebook.ask.history import decide, raise_limit
        from agentsvc_nb.notebook.widgets import outputs

        session = self.session
        return outputs.card(self.shell, self.mode, partial(decide, session), partial(raise_limit, session))

    def bar(self) -> Bar:
        """Return the progress bar for a job or a tool call of the current cell."""
        from agentsvc_nb.notebook.display import screens
        from agentsvc_nb.notebook.widgets import outputs

        return screens.Bar(outputs.output(self.shell, self.mode, self.pages), live=self.mode == "live")

    def live_output(self) -> Output | None:
        """Return the output area of the current cell. Return None if the host can't update outputs of earlier cells."""
        from agentsvc_nb.notebook.widgets import outputs

        return outputs.output(self.shell, self.mode) if self.mode == "live" else None

    def jobs_screen(self) -> JobScreen:
        """Return a screen for background jobs that the current cell starts."""
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
    """The base class of the magics. A subclass holds magics that belong together."""

    shell: Any

    def __init__(self, context: MagicsContext) -> None:
        super().__init__(shell=context.shell)
        self.context = context
        self._listeners: list[Callable[[Any], None]] = []

    def add_listener(self, listener: Callable[[Any], None]) -> None:
        """Call `listener` with IPython's result of each cell, until the extension is unloaded."""
        self.shell.events.register("post_run_cell", listener)
        self._listeners.append(listener)

    def leave(self) -> None:
        """Remove the listeners and close the session. This is called when the extension is unloaded."""
        for listener in self._listeners:
            self.shell.events.unregister("post_run_cell", listener)
        self.context.close()

    @property
    def session(self) -> Session:
        return self.context.session

    @contextmanager
    def keeping_partial_answer(self, name: str | None) -> Iterator[None]:
        """If a run fails or stops in the `with` block, store its partial answer in the variable `name`, if given."""
        try:
            yield
        except (AskError, RunFailed, RunStopped) as failed:
            if name and failed.answer is not None:
                self.shell.user_ns[name] = failed.answer
            raise

    def keep(self, value: Any, name: str | None) -> Any:
        """Store a command's value in the variable `name`, if given. Return the value that the cell displays."""
        from agentsvc_nb.notebook.display.results import (
            DisplayedResult,
            PrintedText,
            QuotedText,
            ResultTable,
            WorkResult,
        )

        if name:
            self.shell.user_ns[name] = value.df if isinstance(value, ResultTable) else value
        if isinstance(value, WorkResult):
            self.session.known.add_files(file.path for file in value.files)
        if isinstance(value, DisplayedResult):  # this cell has displayed it, so hide it until the next cell
            shell, count = self.shell, self.shell.execution_count
            value.hide_while(lambda: bool(shell.execution_count == count))
        if isinstance(value, PrintedText):
            print(value if isinstance(value, QuotedText) else in_bold(value))
            return None
        return value


Declare = Callable[[Any], Any]


def arg(*names: str, **spec: Any) -> Declare:
    """Declare an argument of a magic. The parameters are those of argparse's `add_argument`."""
    declare: Declare = argument(*names, **spec)  # type: ignore[no-untyped-call]
    return declare


def group(title: str) -> Declare:
    """Begin a group in the magic's help, to which the next arguments belong."""
    declare: Declare = argument_group(title)  # type: ignore[no-untyped-call]
    return declare


_QUOTED_OR_COMMENT: Final = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|(?:^|(?<=\s))\#""")


def without_comment(line: str) -> str:
    """Return a magic's line without its comment. A comment starts with a `#` that begins a word outside quotes.

    >>> without_comment("put 'a #1.csv' report#2.csv  # the second report")
    "put 'a #1.csv' report#2.csv"
    """
    begins = (found.start() for found in _QUOTED_OR_COMMENT.finditer(line) if found[0] == "#")
    return line[: next(begins, None)].rstrip()


M = TypeVar("M", bound=Callable[..., Any])


def define_magic(kind: Callable[..., Any], *declared: Declare) -> Callable[[M], M]:
    """Return a decorator that makes a method a magic of this kind (`line_magic`, `cell_magic`) with these arguments.

    The magic removes a comment from its line, unless the line is a question. It converts an interrupt to `RunStopped`.
    """

    def decorate(method: M) -> M:
        @functools.wraps(method)
        def magic(group: MagicsGroup, line: str, *body: str) -> Any:
            is_question = kind is line_cell_magic and not body
            try:
                return method(group, line if is_question else without_comment(line), *body)
            except RunStopped:
                raise
            except KeyboardInterrupt:
                raise RunStopped("The cell was interrupted.") from None

        decorated: Any = kind(magic)
        for declare in reversed(declared):  # reversed, because Python applies the last decorator first
            decorated = declare(decorated)
        # IPython would replace `$name` and `{name}` in the line. Our syntax is `{{name}}`, which `parse` replaces.
        decorated = no_var_expand(magic_arguments()(decorated))  # type: ignore[no-untyped-call]
        if kind in (cell_magic, line_cell_magic):  # IPython's help shows one % for all magics
            decorated.__doc__ = (decorated.__doc__ or "").replace("::\n\n  %", "::\n\n  %%", 1)
        done: M = decorated
        return done

    return decorate


def parse(magic: Any, line: str, variables: Mapping[str, Any], *, rest: bool = False) -> argparse.Namespace:
    """Parse a magic's line. `{{name}}` is replaced after splitting, so that a value with spaces stays one argument.

    With `rest`, options must come first. The rest of the line, with its quotation marks and dashes, is then the last
    argument.

    Raises `AskError` if an argument is not valid, or a `{{name}}` can't be replaced.
    """
    from agentsvc_nb.notebook.template import expand  # a slow import, because it imports the client

    try:
        words = _options_and_rest(magic, line) if rest else [expand(word, variables) for word in shlex.split(line)]
        args: argparse.Namespace = magic.parser.parse_intermixed_args(words)
    except (UsageError, ValueError) as error:
        raise AskError(f"{error}; nothing was sent.", f"`?{magic.__name__}` shows the options.") from None
    name = getattr(args, "out", None)
    if name is not None and not name.isidentifier():
        raise AskError(
            f"-o {name}: this is not a valid variable name; nothing was sent.", "Use letters, digits and underscores."
        )
    return args


def parse_leading_options(magic: Any, line: str, variables: Mapping[str, Any]) -> argparse.Namespace:
    """Parse a line that begins with options. The rest of the line is the last argument (see `parse`)."""
    return parse(magic, line, variables, rest=True)


def _options_and_rest(magic: Any, line: str) -> list[str]:
    # argparse would interpret quotation marks and dashes in the rest of the line, so pass the rest as one argument.
    takes_value = {
        name: declared.kwds.get("action", "append") == "append"
        for declared in magic.decorators
        for name in declared.args
    }
    options: list[str] = []
    line = line.strip()
    while line.startswith("-") and (word := line.partition(" ")[0].partition("=")[0]) in takes_value:
        count = 2 if takes_value[word] and "=" not in line.partition(" ")[0] else 1
        parts = line.split(None, count)
        options += parts[:count]
        line = parts[count] if len(parts) > count else ""
    return [*options, "--", line] if line else options


_OUT: Final = arg("-o", "--out", metavar="NAME", help="variable for the result; for a table, the DataFrame")
_NO_RAISE: Final = arg("--no-raise-error", action="store_true", help="show a failure without failing the cell")


def command(
    kind: Callable[..., Any],
    *declared: Declare,
    read: Callable[[Any, str, Mapping[str, Any]], argparse.Namespace] = parse,
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a magic with these arguments and `-o`, and for a cell magic also `--no-raise-error`.

    The method is called with the parsed arguments, and for a cell magic, with the body of the cell. `read(magic, line,
    variables)` parses the arguments.
    """

    def decorate(method: Callable[..., Any]) -> Any:
        @functools.wraps(method)
        def magic(group: MagicsGroup, line: str, *body: str) -> Any:
            args = read(decorated, line, group.shell.user_ns)
            try:
                with group.keeping_partial_answer(args.out):
                    return group.keep(method(group, args, *body), args.out)
            except (AskError, RunFailed) as failed:
                if not getattr(args, "no_raise_error", False):
                    raise
                print("\n".join(failed._render_traceback_()))
                return group.keep(failed.answer, None)

        decorated = define_magic(kind, *declared, _OUT, *([_NO_RAISE] if kind is cell_magic else []))(magic)
        return decorated

    return decorate
