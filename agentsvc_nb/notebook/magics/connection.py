"""`%agentsvc`: which service the notebook uses, and where in it."""

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
class Connection(Group):
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
