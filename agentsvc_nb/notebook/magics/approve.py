"""`%approve`: yes or no to what an agent wants to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import line_magic, magics_class

from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.magics.arguments import arg
from agentsvc_nb.notebook.magics.declaring import command
from agentsvc_nb.notebook.magics.desk import Group

if TYPE_CHECKING:
    import argparse


@magics_class
class Approve(Group):
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
