"""`%agentsvc`: which service the notebook uses."""

from __future__ import annotations

from IPython.core.magic import line_magic, magics_class

from agentsvc_nb.notebook.arguments import arg, parse, takes
from agentsvc_nb.notebook.failures import AskError, shortly
from agentsvc_nb.notebook.magics.desk import Group


@magics_class
class Connection(Group):
    """The service in use."""

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
