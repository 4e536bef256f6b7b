"""`%feedback`: reports to the team that runs the service."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from IPython.core.magic import line_magic, magics_class

from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.magics.arguments import arg
from agentsvc_nb.notebook.magics.declaring import command
from agentsvc_nb.notebook.magics.desk import Group

if TYPE_CHECKING:
    import argparse


@magics_class
class Feedback(Group):
    """Reports to the team that runs the service."""

    @command(
        line_magic,
        arg("action", nargs="?", choices=["send", "show"], help="send a report; show one with its reply"),
        arg("words", nargs="*", metavar="WORDS", help="send: what happened, in quotes; show: the report's id"),
        arg("-e", "--error", action="store_true", help="send: it is about the last error of this notebook"),
        arg(
            "--category", choices=["bug", "idea", "question", "praise", "other"], help="send: what kind of report it is"
        ),
        arg("--impact", choices=["blocking", "major", "minor"], help="send: how much it stands in the way"),
        arg("--status", choices=["open", "answered", "closed"], help="list only these"),
    )
    def feedback(self, args: argparse.Namespace) -> Any:
        """Your reports to the service's team and its replies; or send one, also about the last error.

        Example: `%feedback`, `%feedback send "The search misses accents" --impact minor`,
        `%feedback send --error "This start should work"`
        """
        from agentsvc_nb.notebook import commands

        if args.action == "show":
            if len(args.words) != 1:
                raise AskError("Name one report.", "For example: %feedback show fb_1; `%feedback` lists them.")
            return commands.feedback_show(self.session, args.words[0])
        if args.action is None:
            return commands.feedback(self.session, status=args.status)
        about = commands.last_error(self.session, getattr(sys, "last_value", None)) if args.error else None
        category: Any = args.category or ("bug" if args.error else None)
        return commands.feedback_send(
            self.session, " ".join(args.words), category=category, impact=args.impact, about=about
        )
