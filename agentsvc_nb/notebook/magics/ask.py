"""`%%ask`: its options, and what is done with the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.magic import cell_magic, magics_class
from traitlets import Bool

from agentsvc_nb.notebook.ask.last_error import LastError
from agentsvc_nb.notebook.errors import shortly
from agentsvc_nb.notebook.magics.arguments import arg, parse, takes
from agentsvc_nb.notebook.magics.context import Bell, Group, MagicsContext

if TYPE_CHECKING:
    import argparse

    from agentsvc_nb.notebook.ask.question import Question
    from agentsvc_nb.notebook.display.results import Shown
    from agentsvc_nb.notebook.runs.background import Background


@magics_class
class Ask(Group):
    """Ask an agent from a cell. `%config Ask` shows and sets the options below."""

    live = Bool(None, allow_none=True, help="Show the answer while it is written; None: where a browser shows it.").tag(
        config=True
    )
    reuse = Bool(True, help="Show a known run again the first time that its cell runs in a kernel.").tag(config=True)
    background = Bool(False, help="Ask in the background, as with --bg.").tag(config=True)

    def __init__(self, desk: MagicsContext) -> None:
        super().__init__(desk)
        desk.options = self
        self._last_error, self._bell = LastError(), Bell()
        self.listens(self._last_error)
        self.listens(self._bell)

    @takes(
        cell_magic,
        arg("-o", "--out", metavar="NAME", help="variable for the answer (`_` has it too)"),
        arg("-f", "--file", metavar="PATH", action="append", default=[], help="attach a file; repeat for more"),
        arg("--df", metavar="NAME", action="append", default=[], help="attach a DataFrame as CSV; repeat for more"),
        arg("--image", metavar="NAME", action="append", default=[], help="attach a figure, a picture or its file"),
        arg("--error", action="store_true", help="attach the last cell that failed and its traceback, without keys"),
        arg("--schema", metavar="NAME", help="what `.data` is to be: a pydantic model, list[Model] or a JSON Schema"),
        arg("--code", action="store_true", help="propose the next cell; it is never run by itself"),
        arg("-c", "--chat", metavar="ID", help="ask in this chat"),
        arg("--new-chat", action="store_true", help="begin a new chat and stay in it"),
        arg("--session", metavar="LABEL", help="ask in the chat of this label"),
        arg("--project", metavar="ID", help="ask in a chat of this project"),
        arg("--on-busy", choices=["reject", "wait"], default="reject", help="wait: until the chat is free"),
        arg("--bg", "--background", action="store_true", help="go on with other cells meanwhile; `_` is a future"),
        arg("--notify", action="store_true", help="tell when it is done: on the desktop, and below the next cell"),
        arg("--n", type=int, metavar="N", help="ask for 2 to 8 variants side by side; `_.pick(2)` goes on from one"),
        arg("--each", metavar="NAME", help="ask it of each row of a DataFrame; {{column}} is the row's value"),
        arg("--key", metavar="COLUMN", help="--each: the column that tells the rows apart"),
        arg("--at-once", type=int, default=8, metavar="N", help="--each: how many rows at once (8)"),
        arg("--max-cents", type=float, metavar="CENTS", help="--each: what all rows together may cost"),
        arg("--keep", metavar="FILE", help="--each: keep the answers in this file, for other days"),
        arg("--fresh", action="store_true", help="ask anew even if this cell's run is known"),
        arg("--no-raise-error", action="store_true", help="a failed run does not fail the cell"),
        arg("--timeout", type=float, metavar="SECONDS", help="watch for so long; the run then goes on by itself"),
    )
    @shortly
    def ask(self, line: str, cell: str) -> Shown:
        """Ask the agent what the cell says, and watch it work. {{name}} inserts a variable's text.

        Example:
            %%ask -o summary --file plan.pdf
            Summarise the plan for {{client}} in five points.
        """
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.magics.ask_arguments import check, question_of

        args = parse(self.ask, line, self.shell.user_ns)
        background = args.bg or (self.background and not args.n and not args.each)
        check(args, background)
        if args.each:
            return self._each(args, cell)
        question = question_of(args, cell, self.shell, self._last_error)
        with self.left_in(args.out):
            if background:
                return self.keep(self._in_background(args, question), args.out)
            if args.n:
                board = self.desk.board()
                variants = commands.ask_variants(self.session, question, args.n, board, reuse=self.reuse)
                return self.keep(variants, args.out)
            answer = commands.ask(self.session, question, self.desk.screen(), reuse=self.reuse)
        if args.code and not answer.again:
            self._propose(answer.code)
        if args.notify:
            self._bell.ring(f"Run {answer.run_id} is {answer.status}.")
        return self.keep(answer, args.out)

    def _each(self, args: argparse.Namespace, cell: str) -> Shown:
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.magics.ask_arguments import posed, shape_of

        shape = shape_of(args.schema, self.shell.user_ns)
        asked = posed(args, cell, self.shell.user_ns, shape)
        with self.left_in(args.out):
            rows = commands.ask_each(self.session, asked, self.desk.rows_bar())
        if args.out:
            self.shell.user_ns[args.out] = rows.frame
        if args.notify:
            self._bell.ring(f"The rows of {args.each} are answered.")
        return self.keep(rows, None)

    def _in_background(self, args: argparse.Namespace, question: Question) -> Background:
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.display.render import error_bundle

        def ring(done: Background) -> None:
            if args.notify:
                self._bell.ring(f"{done.name.capitalize()} is {done.status}.")

        if self.desk.mode == "static":
            screen = self.desk.screen()
            return commands.ask_in_background(self.session, question, screen, reuse=self.reuse, here=True, then=ring)
        card = self.desk.card()
        try:
            background = commands.ask_in_background(self.session, question, card, reuse=self.reuse, then=ring)
        except BaseException as error:  # of an interrupt, too, a card would stay that nobody draws
            card.finish(error_bundle(str(error) or "The cell was interrupted.", getattr(error, "hint", "")))
            raise
        card.cancels(background.cancel)
        return background

    def _propose(self, code: str | None) -> None:
        """Put the code into the next cell, for the reader to run or not."""
        if code is None:
            print("The answer holds no Python code block; no cell is proposed.")
        else:
            self.shell.set_next_input(code)
