"""The service in use, its tools and jobs, and reports to its team.

`%agentsvc`, `%feedback`, `%tools`, `%%tool`, `%%job` and `%jobs`.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.magic import cell_magic, line_magic, magics_class

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.magics.base import MagicsGroup, arg, command, parse

if TYPE_CHECKING:
    import argparse


def with_command(magic: Any, line: str, variables: Mapping[str, Any]) -> argparse.Namespace:
    """Parse the arguments up to ` -- `; the words after it are `command`, with their dashes."""
    options, _, command = f" {line} ".partition(" -- ")
    args = parse(magic, options, variables)
    try:
        args.command = shlex.split(command)
    except ValueError as error:
        raise AskError(f"{error}; nothing was changed.", "Quotes of the command are to be closed.") from None
    return args


@magics_class
class ConnectionMagics(MagicsGroup):
    """The service in use."""

    @command(
        line_magic,
        arg(
            "action",
            nargs="?",
            choices=["status", "connect", "local", "chat", "project", "session", "sent", "mcp"],
            help="connect: use the service at URL; local: the embedded one; chat, project, session: ask there from now"
            " on; mcp: servers whose tools the embedded one may use",
        ),
        arg(
            "where",
            nargs="*",
            metavar="WHERE",
            help="connect: such as https://agents.example.com; chat: an id; project: an id or name; session: a label;"
            " nothing for project and session: back to none, and to the notebook's own chat; mcp: list, remove NAME,"
            " add NAME URL, or add NAME -- COMMAND",
        ),
        arg("--save-key", action="store_true", help="connect: ask for the key and keep it in the system's keyring"),
        arg("--create", action="store_true", help="project: make it if there is none of that name"),
        arg("--instructions", metavar="FILE", help="project: tell the agent this text in all its chats; `-` for none"),
        arg("--key", action="store_true", help="mcp add: ask for the server's key, and keep it in the keyring"),
        arg("--key-as", metavar="VARIABLE", help="mcp add: ask for it, and give it to the command in this variable"),
        arg("--trust", action="store_true", help="mcp add: what it says only reads is called without approval"),
        read=with_command,
    )
    def agentsvc(self, args: argparse.Namespace) -> Any:
        """Say which service, project and chat are used, or change that. The key comes from SERVICE_API_KEY, from the
        system's keyring, or is asked for; it is never shown.

        Example: `%agentsvc`, `%agentsvc connect https://agents.example.com`, `%agentsvc local`,
        `%agentsvc project "Summer sale" --create --instructions rules.md`, `%agentsvc session draft-2`,
        `%agentsvc mcp add tickets https://tickets.example/mcp --key`, `%agentsvc mcp add notes -- npx notes-server`
        """
        from agentsvc_nb.notebook import commands, host

        session = self.session
        if args.action == "mcp":
            return self._servers(args)
        if len(args.where) > 1 or args.command:
            raise AskError("That is more than one place.", "A name with blanks stands in quotes.")
        where: Any = args.where[0] if args.where else None
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
                return commands.project(session, where, create=args.create, instructions=args.instructions)
            case "session":
                return commands.workstream(session, where)
            case "sent" if not where:
                raise AskError("The run is missing.", "For example: %agentsvc sent last; %runs lists them")
            case "sent":
                return commands.sent(session, where)
        return commands.status(session)

    def _servers(self, args: argparse.Namespace) -> Any:
        from agentsvc_nb.notebook import commands, host

        match args.where:
            case [] | ["list"]:
                return commands.servers(self.session)
            case ["remove", name]:
                return commands.servers_remove(self.session, name)
            case ["add", name, *url] if len(url) + bool(args.command) == 1:
                wanted = args.key or args.key_as
                return commands.servers_add(
                    self.session,
                    name,
                    *url,
                    command=args.command,
                    trusted=args.trust,
                    key_as=args.key_as,
                    ask_key=(host.asker(self.shell) or (lambda _: "")) if wanted else None,
                )
        raise AskError("Say which server.", "For example: %agentsvc mcp add tickets https://tickets.example/mcp")


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


@magics_class
class ToolsMagics(MagicsGroup):
    """The service's tools."""

    @command(
        line_magic,
        arg("tool", nargs="*", metavar="TOOL", help="say what this one does and takes; `form TOOL`: a form to fill in"),
    )
    def tools(self, args: argparse.Namespace) -> Any:
        """The service's tools; or what one of them takes; or a form to fill in and run.

        Example: `%tools`, `%tools create_images`, `%tools form create_images`
        """
        from agentsvc_nb.notebook import commands

        match args.tool:
            case []:
                return commands.tools(self.session)
            case ["form", name]:
                return commands.ToolForm(name, session=self.session)
            case [name]:
                return commands.tools_describe(self.session, name)
        raise AskError("One tool at a time.", "For example: %tools form create_images; `%tools` lists them.")

    @command(
        cell_magic,
        arg("tool", help="name of the tool, such as web_search"),
        arg("--timeout", type=float, metavar="SECONDS", help="where it becomes a job: watch for so long"),
    )
    def tool(self, args: argparse.Namespace, cell: str) -> Any:
        """Call a tool with the cell as its input: JSON, or `key: value` lines in which dots nest.

        Example:
            %%tool web_search -o found
            query: autumn fashion {{year}}
        """
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.jobs import calling

        given = calling.read_input(cell, self.shell.user_ns)
        raising = not args.no_raise_error
        return commands.call(
            self.session, args.tool, given, self.context.bar(), timeout=args.timeout, raise_error=raising
        )


@magics_class
class JobsMagics(MagicsGroup):
    """Tools that take their time."""

    @command(
        cell_magic,
        arg("tool", help="name of the tool, such as create_images"),
        arg("--bg", action="store_true", help="go on with other cells meanwhile; `_` is a future"),
        arg("--timeout", type=float, metavar="SECONDS", help="watch for so long; the job then goes on by itself"),
    )
    def job(self, args: argparse.Namespace, cell: str) -> Any:
        """Run a tool as a job with the cell as its input: JSON, or `key: value` lines in which dots nest.

        Example:
            %%job create_images
            request.kind: static_ad
            request.brief: Autumn sale at {{shop}}
            request.outputs: {"mode": "count", "count": 2}
        """
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.jobs import calling

        given = calling.read_input(cell, self.shell.user_ns)
        raising = not args.no_raise_error
        if args.bg:
            bars = self.context.bars()
            return commands.start(self.session, args.tool, given, bars, timeout=args.timeout, raise_error=raising)
        return commands.work(
            self.session, args.tool, given, self.context.bar(), timeout=args.timeout, raise_error=raising
        )

    @command(
        line_magic,
        arg(
            "action",
            nargs="?",
            choices=["watch", "show", "cancel", "artifacts"],
            help="a bar for each until all have ended; show one and what it made; cancel; download what one made",
        ),
        arg("jobs", nargs="*", metavar="JOB", help="ids as the table has them, their beginnings, or `last`"),
        arg("-d", "--dir", metavar="DIR", default=".", help="artifacts: the folder to put them in"),
        arg("--bg", action="store_true", help="watch: go on with other cells meanwhile; each bar has a Cancel button"),
        arg("--timeout", type=float, metavar="SECONDS", help="watch for so long; the jobs then go on"),
    )
    def jobs(self, args: argparse.Namespace) -> Any:
        """This notebook's jobs; or watch several at once, show or stop one, take its files.

        Example: `%jobs`, `%jobs watch`, `%jobs cancel last`, `%jobs artifacts last -d pictures`
        """
        from agentsvc_nb.notebook import commands

        session, jobs = self.session, args.jobs
        if args.action in ("show", "cancel", "artifacts") and not jobs:
            raise AskError("The job is missing.", f"For example: %jobs {args.action} last; `%jobs` lists them.")
        match args.action:
            case "watch" if args.bg:
                return commands.jobs_tend(session, self.context.bars(), jobs, timeout=args.timeout)
            case "watch":
                return commands.jobs_watch(session, self.context.bar(), jobs, timeout=args.timeout)
            case "show":
                return commands.jobs_show(session, jobs[0], self.context.bar())
            case "cancel":
                return commands.jobs_cancel(session, *jobs)
            case "artifacts":
                return commands.jobs_artifacts(session, jobs[0], args.dir)
        return commands.jobs(session)
