"""`%runs` and `%approve`: the notebook's runs, the actions on them, and the tool calls that wait for approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from IPython.core.magic import line_magic, magics_class

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.magics.arguments import arg, command
from agentsvc_nb.notebook.magics.context import MagicsGroup

if TYPE_CHECKING:
    import argparse


_NUMBERS: Final = {"show": (1, 1), "attach": (1, 1), "cancel": (1, 99), "diff": (2, 2), "export": (1, 99)}
"""The least and greatest number of words that each action takes."""
_EXAMPLES: Final = {"diff": "RUN RUN", "export": "answers.md"}


@magics_class
class RunsMagics(MagicsGroup):
    """The runs that were started from this notebook."""

    @command(
        line_magic,
        arg(
            "action",
            nargs="?",
            choices=["show", "attach", "cancel", "wait", "diff", "export"],
            help="show one as it stands; attach: follow it again; cancel; wait until it has ended (all active ones"
            " when none is named); diff: compare two; export: write to FILE (.jsonl, .csv or .md)",
        ),
        arg("words", nargs="*", metavar="RUN", help="ids, or their beginnings, or `last`; for export, a file first"),
        arg("--all", action="store_true", help="the runs of all notebooks of this machine"),
        arg("--timeout", type=float, metavar="SECONDS", help="wait or attach for so long; the run then goes on"),
    )
    def runs(self, args: argparse.Namespace) -> Any:
        """This notebook's runs with their cost; or show, follow, stop, wait for, compare or export them.

        Example: `%runs`, `%runs show 0b9c1d2e`, `%runs attach last`, `%runs diff 0b9c1d2e last`,
        `%runs export answers.md`
        """
        from agentsvc_nb.notebook import commands

        session, words = self.session, args.words
        _check(args.action, words)
        match args.action:
            case "show":
                answer = commands.show(session, words[0])
                self.context.screen().finish(answer.shown)
                return answer
            case "attach":
                return commands.attach(session, words[0], self.context.screen(), timeout=args.timeout)
            case "cancel":
                return commands.cancel(session, *words)
            case "wait":
                return commands.wait(session, words, timeout=args.timeout)
            case "diff":
                return commands.diff(session, *words)
            case "export":
                return commands.export(session, words[0], words[1:])
        return commands.runs(session, everywhere=args.all)


def _check(action: str | None, words: list[str]) -> None:
    least, most = _NUMBERS.get(action or "", (0, 99))
    if not least <= len(words) <= most:
        what = "file" if action == "export" else "run"
        problem = f"The {what} is missing." if len(words) < least else f"{len(words)} runs are too many."
        hint = f"For example: %runs {action} {_EXAMPLES.get(action or '', 'RUN')}; `%runs` lists them."
        raise AskError(problem, hint)


@magics_class
class ApproveMagics(MagicsGroup):
    """Calls of tools that wait for approval."""

    @command(
        line_magic,
        arg("call", nargs="?", metavar="CALL", help="the call, or its run where just one of its calls waits"),
        arg("--refuse", action="store_true", help="no: the tool is not called, and the agent is told"),
        arg("--reason", metavar="TEXT", default="", help="--refuse: what the agent is told"),
        arg("--all", action="store_true", help="list those of all notebooks of this machine"),
    )
    def approve(self, args: argparse.Namespace) -> Any:
        """What waits for your approval, with exactly what would be done; or yes or no to one call.

        Example: `%approve`, `%approve call_0b9c1d2e`, `%approve --refuse call_0b9c1d2e --reason "Not before Monday"`
        """
        from agentsvc_nb.notebook import commands

        if args.call:
            return commands.approve(self.session, args.call, refuse=args.refuse, reason=args.reason)
        if args.refuse or args.reason:
            raise AskError("The call is missing; nothing was sent.", "For example: %approve --refuse call_0b9c1d2e")
        return commands.approvals(self.session, everywhere=args.all)
