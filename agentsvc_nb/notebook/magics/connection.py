"""`%agentsvc` and `%feedback`: which service the notebook uses, and reports to the team that runs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from IPython.core.magic import line_magic, magics_class

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.magics.arguments import arg, command
from agentsvc_nb.notebook.magics.context import MagicsGroup

if TYPE_CHECKING:
    import argparse


@magics_class
class ConnectionMagics(MagicsGroup):
    """The service in use."""

    @command(
        line_magic,
        arg(
            "action",
            nargs="?",
            choices=["status", "connect", "local", "chat", "project", "session"],
            help="connect: use the service at URL; local: the embedded one; chat, project, session: ask there from now"
            " on",
        ),
        arg(
            "where",
            nargs="?",
            metavar="WHERE",
            help="connect: such as https://agents.example.com; chat: an id; project: an id or name; session: a label;"
            " nothing for project and session: back to none, and to the notebook's own chat",
        ),
        arg("--save-key", action="store_true", help="connect: ask for the key and keep it in the system's keyring"),
        arg("--create", action="store_true", help="project: make it if there is none of that name"),
    )
    def agentsvc(self, args: argparse.Namespace) -> Any:
        """Say which service, project and chat are used, or change that. The key comes from SERVICE_API_KEY, from the
        system's keyring, or is asked for; it is never shown.

        Example: `%agentsvc`, `%agentsvc connect https://agents.example.com`, `%agentsvc local`,
        `%agentsvc project "Summer sale" --create`, `%agentsvc session draft-2`
        """
        from agentsvc_nb.notebook import commands, host

        session, where = self.session, args.where
        match args.action:
            case "connect" if not where:
                raise AskError(
                    "The address is missing.", "For example: %agentsvc connect https://agents.example.com, or local"
                )
            case "connect":
                return commands.connect(session, where, host.asker(self.shell), keep_key=args.save_key)
            case "local":
                return commands.connect(session, "local")
            case "chat":
                return commands.chat(session, where)
            case "project":
                return commands.project(session, where, create=args.create)
            case "session":
                return commands.workstream(session, where)
        return commands.status(session)


@magics_class
class FeedbackMagics(MagicsGroup):
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
