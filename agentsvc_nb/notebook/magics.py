"""The magics: declare arguments, call a command, return its value.

What the commands need (the client, Markdown, pandas) is imported when a magic runs, so that `%load_ext` is quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from traitlets import Bool

from agentsvc_nb.notebook.arguments import arg, parse, takes
from agentsvc_nb.notebook.failures import AskError, RunFailed, RunStopped, shortly

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from agentsvc_nb.notebook.answer import Kept
    from agentsvc_nb.notebook.question import Question
    from agentsvc_nb.notebook.session import Session


@magics_class
class Ask(Magics):
    """Ask an agent from a cell. `%config Ask` shows and sets the options below."""

    shell: Any
    live = Bool(None, allow_none=True, help="Show the answer while it is written; None: where a browser shows it.").tag(
        config=True
    )
    reuse = Bool(True, help="Show a known run again the first time that its cell runs in a kernel.").tag(config=True)

    def __init__(self, shell: Any) -> None:
        super().__init__(shell=shell)
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """What the cells of this notebook share."""
        if self._session is None:
            from agentsvc_nb.notebook.host import notebook
            from agentsvc_nb.notebook.session import Session

            self._session = Session(notebook(self.shell))
        return self._session

    @takes(
        line_magic,
        arg("action", nargs="?", choices=["connect"], help="connect: use the service at URL, or your own"),
        arg(
            "url",
            nargs="?",
            help="such as https://agents.example.com (key: SERVICE_API_KEY); local: the embedded service",
        ),
    )
    @shortly
    def agentsvc(self, line: str) -> None:
        """Say which service is used, or connect to another.

        Example: `%agentsvc`, or `%agentsvc connect https://agents.example.com`, or `%agentsvc connect local`
        """
        from agentsvc_nb.notebook import commands

        args = parse(self.agentsvc, line)
        if args.action and not args.url:
            raise AskError(
                "The address is missing.", "For example: %agentsvc connect https://agents.example.com, or local"
            )
        print(commands.connect(self.session, args.url) if args.action else commands.status(self.session))

    @takes(
        cell_magic,
        arg("-o", "--out", metavar="NAME", help="variable for the answer (`_` has it too)"),
        arg("-f", "--file", metavar="PATH", action="append", default=[], help="attach a file; repeat for more"),
        arg("-c", "--chat", metavar="ID", help="ask in this chat"),
        arg("--new-chat", action="store_true", help="begin a new chat and stay in it"),
        arg("--fresh", action="store_true", help="ask anew even if this cell's run is known"),
        arg("--no-raise-error", action="store_true", help="a failed run does not fail the cell"),
        arg("--timeout", type=float, metavar="SECONDS", help="watch for so long; the run then goes on by itself"),
    )
    @shortly
    def ask(self, line: str, cell: str) -> Kept:
        """Ask the agent what the cell says, and watch it work. {{name}} inserts a variable's text.

        Example:
            %%ask -o summary --file plan.pdf
            Summarise the plan for {{client}} in five points.
        """
        from agentsvc_nb.notebook import commands, host

        args = parse(self.ask, line)
        question = self._question(args, cell)
        how = host.mode(self.shell, self.live)
        with self._left_in(args.out):
            answer = commands.ask(self.session, question, host.screen(self.shell, how), reuse=self.reuse)
        return self._keep(answer, args.out)

    @takes(
        cell_magic,
        arg("tool", help="name of the tool, such as create_images"),
        arg("-o", "--out", metavar="NAME", help="variable for the result (`_` has it too)"),
        arg("--no-raise-error", action="store_true", help="a failed job does not fail the cell"),
        arg("--timeout", type=float, metavar="SECONDS", help="watch for so long; the job then goes on by itself"),
    )
    @shortly
    def job(self, line: str, cell: str) -> Kept:
        """Run a tool as a job with the cell as its input: JSON, or `key: value` lines in which dots nest.

        Example:
            %%job create_images
            request.kind: static_ad
            request.brief: Autumn sale at {{shop}}
            request.outputs: {"mode": "count", "count": 2}
        """
        from agentsvc_nb.notebook import commands, host, working

        args = parse(self.job, line)
        given = working.read_input(cell, self.shell.user_ns)
        how = host.mode(self.shell, self.live)
        bar = working.Bar(host.output(self.shell, how), live=how == "live")
        with self._left_in(args.out):
            result = commands.work(
                self.session, args.tool, given, bar, timeout=args.timeout, raise_error=not args.no_raise_error
            )
        return self._keep(result, args.out)

    @takes(
        line_magic,
        arg("action", nargs="?", choices=["attach", "cancel"], help="follow a run again, or stop it"),
        arg("run_id", nargs="?", help="the run, as the table names it"),
    )
    @shortly
    def runs(self, line: str) -> pd.DataFrame | Kept | None:
        """This notebook's runs as a DataFrame; or follow one again, or stop it.

        Example: `%runs`, or `%runs attach 0b9c...`, or `%runs cancel 0b9c...`
        """
        from agentsvc_nb.notebook import commands, host

        args = parse(self.runs, line)
        if not args.action:
            return commands.runs(self.session)
        if not args.run_id:
            raise AskError("The run is missing.", f"For example: %runs {args.action} RUN_ID; `%runs` lists them.")
        if args.action == "cancel":
            print(commands.cancel(self.session, args.run_id))
            return None
        screen = host.screen(self.shell, host.mode(self.shell, self.live))
        return self._keep(commands.attach(self.session, args.run_id, screen), None)

    @takes(
        line_magic,
        arg("action", nargs="?", choices=["put", "get"], help="upload files, or download one"),
        arg("paths", nargs="*", metavar="PATH", help="put: paths or globs; get: a path of the table"),
        arg("-d", "--dir", metavar="DIR", default=".", help="get: the folder to put it in"),
        arg("-f", "--force", action="store_true", help="get: replace a file that is there with other content"),
    )
    @shortly
    def files(self, line: str) -> pd.DataFrame | str | None:
        """The files of this notebook's chat as a DataFrame; or put files there, or get one.

        Example: `%files`, or `%files put data/*.csv`, or `%files get reports/plan.md -d downloads`
        """
        from agentsvc_nb.notebook import commands

        args = parse(self.files, line)
        if args.action == "put":
            print(commands.files_put(self.session, args.paths))
            return None
        if args.action == "get":
            if len(args.paths) != 1:
                raise AskError("Name one file to get.", "For example: %files get reports/plan.md -d downloads")
            got = commands.files_get(self.session, args.paths[0], args.dir, force=args.force)
            if got.same:
                print(f"{got.path} is there already, with the same content.")
            return str(got.path)
        return commands.files(self.session)

    def _question(self, args: argparse.Namespace, cell: str) -> Question:
        from agentsvc_nb.notebook import host, question, template

        return question.Question(
            template.expand(cell, self.shell.user_ns).strip("\n"),
            typed=cell,
            place=host.place(self.shell, cell),
            files=question.attachments(args.file),
            chat=args.chat,
            new_chat=args.new_chat,
            fresh=args.fresh,
            raise_error=not args.no_raise_error,
            timeout=args.timeout,
        )

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session.journal.close()

    @contextmanager
    def _left_in(self, name: str | None) -> Iterator[None]:
        """What a failed or stopped run left is kept in the variable all the same."""
        try:
            yield
        except (AskError, RunFailed, RunStopped) as failed:
            if name and failed.answer is not None:
                self.shell.user_ns[name] = failed.answer
            raise

    def _keep(self, kept: Kept, name: str | None) -> Kept:
        """Set the variable; the cell has shown the output already and must not show it twice."""
        if name:
            self.shell.user_ns[name] = kept
        shell, count = self.shell, self.shell.execution_count
        kept.hide_while(lambda: bool(shell.execution_count == count))
        return kept


def load_ipython_extension(shell: Any) -> None:
    """Register the magics; a second call changes nothing."""
    if _loaded(shell) is None:
        shell.register_magics(Ask(shell))


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics and close the connection. IPython has no call for the first."""
    if (ours := _loaded(shell)) is None:
        return
    for kind in ("line", "cell"):
        registered = shell.magics_manager.magics[kind]
        for name in [name for name, magic in registered.items() if getattr(magic, "__self__", None) is ours]:
            del registered[name]
    shell.configurables.remove(ours)
    ours.close()


def _loaded(shell: Any) -> Ask | None:
    return next((part for part in shell.configurables if isinstance(part, Ask)), None)
