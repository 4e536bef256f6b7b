"""`%%ask`, and the options that all magics heed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.magic import cell_magic, magics_class
from traitlets import Bool

from agentsvc_nb.notebook.arguments import arg, parse, takes
from agentsvc_nb.notebook.failures import shortly
from agentsvc_nb.notebook.magics.desk import Desk, Group

if TYPE_CHECKING:
    import argparse

    from agentsvc_nb.notebook.answer import Answer
    from agentsvc_nb.notebook.question import Question


@magics_class
class Ask(Group):
    """Ask an agent from a cell. `%config Ask` shows and sets the options below."""

    live = Bool(None, allow_none=True, help="Show the answer while it is written; None: where a browser shows it.").tag(
        config=True
    )
    reuse = Bool(True, help="Show a known run again the first time that its cell runs in a kernel.").tag(config=True)

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        desk.options = self

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
    def ask(self, line: str, cell: str) -> Answer:
        """Ask the agent what the cell says, and watch it work. {{name}} inserts a variable's text.

        Example:
            %%ask -o summary --file plan.pdf
            Summarise the plan for {{client}} in five points.
        """
        from agentsvc_nb.notebook import commands

        args = parse(self.ask, line)
        question = self._question(args, cell)
        with self.left_in(args.out):
            answer = commands.ask(self.session, question, self.desk.screen(), reuse=self.reuse)
        return self.keep(answer, args.out)

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
