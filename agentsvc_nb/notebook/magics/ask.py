"""`%%ask`: its options, and how a question is built from them and the body of the cell.

`Ask.ask` declares the options, `Ask._request` reads them, and the attributes of `AskRequest` describe their effect.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

from IPython.core.magic import line_cell_magic, magics_class
from traitlets import Bool, Enum, Int, List, Unicode

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.magics import cell_changes
from agentsvc_nb.notebook.magics.base import (
    MagicsContext,
    MagicsGroup,
    arg,
    define_magic,
    group,
    parse,
    parse_leading_options,
)
from agentsvc_nb.wire.text import forbidden, label

if TYPE_CHECKING:
    import argparse

    from agentsvc_nb.notebook.ask.answer import AnswerShape, CellAnswer
    from agentsvc_nb.notebook.ask.background import Background
    from agentsvc_nb.notebook.ask.request import AskRequest
    from agentsvc_nb.notebook.kernel.pages import NotebookCell
    from agentsvc_nb.notebook.kernel.tool_executor import KernelOffer


EFFORTS: Final = ("low", "medium", "high")
"""The values of `wire.runs.Effort`. They are repeated here, because that module is slow to import."""
KERNEL: Final = ("off", "look", "ask")
"""The values of `kernel.tool_executor.KernelMode`. They are repeated here, because that module is slow to import."""
_OFFLINE: Final = "offline"
_WITHOUT_CODE: Final = (
    "No cell is proposed, because the offline agent cannot write code. Choose a language model with %agentsvc model."
)
_LISTED: Final = re.compile(r"list\[\s*(\w+)\s*\]")
_EXCLUSIVE: Final = (
    ("--code", ("--bg", "--schema")),
    ("--kernel", ("--each",)),
    ("--connection", ("--each",)),
    ("--each", ("--bg", "--code", "--chat", "--new-chat")),
    ("--fix", ("--edit", "--bg", "--each", "--code", "--schema")),
    ("--edit", ("--bg", "--each", "--code", "--schema")),
)
"""For each option, other options with which it can't be combined."""


def _check(args: argparse.Namespace) -> None:
    """Raise `AskError` if two options can't be combined."""
    given = {f"--{name.replace('_', '-')}" for name, value in vars(args).items() if value}
    for one, others in _EXCLUSIVE:
        if one in given and (clash := [other for other in others if other in given]):
            raise AskError(f"{one} and {clash[0]} cannot be combined; nothing was sent.", "Use only one of them.")


@magics_class
class Ask(MagicsGroup):
    """Provides `%ask` and `%%ask`. `%config Ask` shows and sets the options below."""

    live = Bool(None, allow_none=True, help="Show the answer while the model writes it; None: only in a browser.").tag(
        config=True
    )
    reuse = Bool(True, help="Show the stored answer when a cell runs for the first time in a kernel.").tag(config=True)
    background = Bool(False, help="Ask in the background, as with --bg.").tag(config=True)
    model = Unicode("", help="The model to ask, as with --model; empty: the service's default.").tag(config=True)
    effort = Enum(EFFORTS, None, allow_none=True, help="How much the model thinks, as with --effort.").tag(config=True)
    kernel = Enum(KERNEL, "off", help="What the agent may do in this kernel, as with --kernel.").tag(config=True)
    kernel_rows = Int(5, min=0, help="How many rows of a variable the agent sees; 0: no values.").tag(config=True)
    kernel_hidden = List(Unicode(), help="Columns and variables to hide from the agent; * and ? are wildcards.").tag(
        config=True
    )

    connection = Unicode("", help="The database connection that the agent may query, as with --connection.").tag(
        config=True
    )

    def __init__(self, context: MagicsContext) -> None:
        super().__init__(context)
        context.options = self
        self._cells = cell_changes.CellHistory()
        self.add_listener(self._cells)

    @define_magic(
        line_cell_magic,
        arg(
            "question",
            nargs="?",
            metavar="QUESTION",
            help="only for `%%ask` on one line: the question, after the options",
        ),
        group("attachments"),
        arg("-f", "--file", metavar="PATH", action="append", default=[], help="attach a file; repeat for more"),
        arg("--df", metavar="NAME", action="append", default=[], help="attach a DataFrame as CSV; repeat for more"),
        arg("--image", metavar="NAME", action="append", default=[], help="attach a figure, a picture or its file"),
        arg("--error", action="store_true", help="attach the last cell that failed and its traceback, without keys"),
        arg(
            "--kernel",
            nargs="?",
            const="ask",
            choices=KERNEL,
            help="look: let the agent see this kernel's variables; ask: also run code that you approve",
        ),
        arg(
            "--connection",
            metavar="NAME",
            help="let the agent query this DuckDB or SQLAlchemy connection with SELECT",
        ),
        group("answer"),
        arg("-o", "--out", metavar="NAME", help="variable for the answer (also `_`); `.df` is the computed table"),
        arg("--schema", metavar="NAME", help="the schema of `.data`: a pydantic model, list[Model] or a JSON Schema"),
        arg(
            "--code",
            action="store_true",
            help="let a language model propose the next cell, which never runs automatically",
        ),
        arg(
            "--fix",
            action="store_true",
            help="propose a correction of the last cell that failed; it never runs automatically",
        ),
        arg("--edit", metavar="CELL", help="propose a change of the cell with this number, such as 3"),
        group("model"),
        arg("--model", metavar="NAME", help="the model to ask; `%%agentsvc model` lists the models"),
        arg("--effort", choices=EFFORTS, help="how much the model thinks"),
        group("run"),
        arg("-c", "--chat", metavar="ID", help="ask in this chat"),
        arg("--new-chat", action="store_true", help="begin a new chat and stay in it"),
        arg("--on-busy", choices=["reject", "wait"], default="reject", help="wait: wait until the chat is free"),
        arg("--bg", action="store_true", help="run in the background; `_` is a future"),
        arg(
            "--each",
            metavar="NAME",
            help="ask for each row of a DataFrame or of a table file; {{column}} inserts a value",
        ),
        arg("--key", metavar="COLUMN", help="--each: the column that identifies the rows"),
        arg("--at-once", type=int, default=8, metavar="N", help="--each: how many rows to ask at once (default: 8)"),
        arg("--max-cents", type=float, metavar="CENTS", help="the cost limit of the run; --each: of all rows together"),
        arg("--fresh", action="store_true", help="start a new run even if this cell has a stored answer"),
        arg("--no-raise-error", action="store_true", help="do not fail the cell if the run fails"),
        arg("--timeout", type=float, metavar="SECONDS", help="stop waiting after this time; the run continues"),
    )
    def ask(self, line: str, cell: str | None = None) -> Any:
        """Ask the agent the question in the cell, and show its answer. {{name}} inserts the value of a variable. With
        `%ask`, the question is on the same line: `%ask What is the total cost?`

        Example:
            %%ask -o summary --file plan.pdf
            Summarise the plan for {{client}} in five points.
        """
        from agentsvc_nb.notebook import commands

        if cell is None:
            args = parse_leading_options(self.ask, line, self.shell.user_ns)
            cell = args.question or ""
        elif (args := parse(self.ask, line, self.shell.user_ns)).question:
            raise AskError(
                "The question of `%%ask` must begin below its first line; nothing was sent.",
                "Move the question to the next line.",
            )
        args.bg = args.bg or (self.background and not args.each)
        _check(args)
        if args.each:
            return self._each(args, cell)
        target = cell_changes.find_target(args, self._cells)
        request = self._request(args, cell, target)
        with self.keeping_partial_answer(args.out):
            if args.bg:
                return self.keep(self._in_background(request), args.out)
            screen = self.context.screen()
            answer = commands.ask(self.session, request, screen)
        if args.code and not answer.again:
            self._propose(answer)
        if target is not None and not answer.again:
            cell_changes.propose(self.context, target, answer.code)
        return self.keep(answer, args.out)

    def _request(self, args: argparse.Namespace, cell: str, target: NotebookCell | None = None) -> AskRequest:
        """Return the question with its options. Raises `AskError` for an invalid option, before anything is sent."""
        from agentsvc_nb.notebook import host, template
        from agentsvc_nb.notebook.ask.request import AskRequest
        from agentsvc_nb.notebook.files.attachments import attachments, dataframe_file, picture_file
        from agentsvc_nb.wire.runs import CODE_REQUEST

        variables = self.shell.user_ns
        effort: Any = args.effort or self.effort  # one of the values of `wire.runs.Effort`
        tables = [dataframe_file(name, variables) for name in args.df]
        files = [*attachments(args.file), *(file for file, _ in tables)]
        files += [picture_file(name, variables) for name in args.image]
        if args.error:
            files.append(self._cells.last_error_file(os.environ))
        message = cell.strip("\n")
        if not args.each:  # with `--each`, {{name}} is a column and is replaced later
            message = template.expand(cell, variables).strip("\n")
        if target is not None:
            files.append(cell_changes.build_attachment(args, target, self._cells, os.environ))
            message = cell_changes.build_message(args, message)
        if (args.code or target) and message.strip():
            message = f"{message}\n\n{CODE_REQUEST}"
        return AskRequest(
            message,
            typed=cell,
            execution=host.cell_execution(self.shell, cell),
            files=tuple(files),
            chat=args.chat,
            new_chat=args.new_chat,
            wait=args.on_busy == "wait",
            fresh=args.fresh,
            reuse=self.reuse,
            raise_error=not args.no_raise_error,
            timeout=args.timeout,
            shape=self._shape(args.schema),
            notes=tuple(f"Attached {line}" for _, line in tables),
            model=args.model or self.model or None,
            effort=effort,
            max_cents=None if args.each else args.max_cents,
            kernel=None if args.each else self._kernel_offer(args),
        )

    def _shape(self, name: str | None) -> AnswerShape | None:
        """Return the answer shape in the variable `name`, or None if `name` is None.

        If `name` has the form `list[NAME]`, return a list of the shape in the variable `NAME`.
        """
        from agentsvc_nb.notebook.ask.answer import AnswerShape

        if name is None:
            return None
        listed, variables = _LISTED.fullmatch(name), self.shell.user_ns
        of = listed[1] if listed else name
        if of not in variables:
            raise AskError(
                f"--schema {name}: the variable `{label(of, 80)}` does not exist; nothing was sent.",
                "Define a pydantic model or a JSON Schema with that name.",
            )
        return AnswerShape(name, list[variables[of]] if listed else variables[of])  # type: ignore[valid-type]

    def _kernel_offer(self, args: argparse.Namespace) -> KernelOffer | None:
        between = args.bg and self.context.mode != "static"
        offer = self.context.kernel_offer(args.kernel, args.connection, between=between)
        if offer is not None and between and self.context.mode == "terminal":
            raise AskError(
                "In a terminal, the agent can't use the kernel from the background; nothing was sent.",
                "Ask without --bg, or with `--kernel off`.",
            )
        return offer

    def _in_background(self, request: AskRequest) -> Background:
        from agentsvc_nb.notebook import commands

        if self.context.mode == "static":
            return commands.ask_in_background(self.session, request, self.context.screen(), here=True)
        request = commands.prepare(self.session, request)  # before the card is created, so that an error leaves no card
        card = self.context.card()
        background = commands.ask_in_background(self.session, request, card)
        card.on_cancel(background.cancel)
        return background

    def _each(self, args: argparse.Namespace, cell: str) -> Any:
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.previews.decoding import read_table
        from agentsvc_nb.notebook.widgets import outputs

        name, mode = args.each, self.context.mode
        request = self._request(args, cell)
        if name not in self.shell.user_ns and not os.path.isfile(name):
            raise AskError(f"--each {name}: there is no variable `{name}` and no file of that name; nothing was sent.")
        frame = self.shell.user_ns[name] if name in self.shell.user_ns else read_table(name)
        with self.keeping_partial_answer(args.out):
            rows = commands.ask_each(
                self.session,
                request,
                name,
                frame,
                commands.RowsBar(outputs.output(self.shell, mode), mode),
                key=args.key,
                max_concurrency=args.at_once,
                max_cents=args.max_cents,
            )
        if args.out:
            self.shell.user_ns[args.out] = rows.frame
        return self.keep(rows, None)

    def _propose(self, answer: CellAnswer) -> None:
        """Insert the answer's code as the next cell, without running it. Without code, print a line that says so."""
        if answer.code is not None and (invisible := forbidden(answer.code)):
            print(f"The code in the answer contains invisible characters ({invisible}); no cell is proposed.")
        elif answer.code is not None:
            self.shell.set_next_input(answer.code)
        elif answer.run.model == _OFFLINE:
            print(_WITHOUT_CODE)
        else:
            print("The answer contains no Python code block; no cell is proposed.")
