"""Magics for the service in use: `%agentsvc`, `%feedback`, `%tools`, `%%tool`, `%%job` and `%jobs`."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from IPython.core.magic import cell_magic, line_magic, magics_class

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.magics.base import MagicsContext, MagicsGroup, arg, command, parse
from agentsvc_nb.wire.text import in_bold

if TYPE_CHECKING:
    import argparse


def with_command(magic: Any, line: str, variables: Mapping[str, Any]) -> argparse.Namespace:
    """Parse the arguments before ` -- `. The words after it are the command that starts an MCP server.

    They are returned as the list `command`, without replacing `{{name}}` in them. Raises `AskError` if an argument is
    not valid, or a quotation mark is not closed.
    """
    options, _, command = f" {line} ".partition(" -- ")
    args = parse(magic, options, variables)
    try:
        args.command = shlex.split(command)
    except ValueError as error:
        raise AskError(f"{error}; nothing was changed.", "Close the quotation marks in the command.") from None
    return args


def _suggest_magic(result: Any) -> None:
    """After a cell with `!agentsvc` that the shell can't find, suggest `%agentsvc`. IPython calls this after cells."""
    if not _COMMAND.search(str(result.info.raw_cell or "")) or shutil.which("agentsvc"):
        return
    does = "The shell does not find `agentsvc`, because the kernel's environment is not on its path. In a notebook, use"
    print(in_bold(f"{does} `%agentsvc`, or run the command with `!{shlex.quote(sys.executable)} -m agentsvc_nb`"))


_COMMAND: Final = re.compile(r"^\s*!\s*agentsvc\b", re.MULTILINE)
_EXAMPLES: Final = {
    "connect": ("address", "https://agents.example.com"),
    "sent": ("run", "last"),
}
"""For each action that requires an argument, what the argument is, and an example."""


@magics_class
class ConnectionMagics(MagicsGroup):
    """Provides `%agentsvc` and `%feedback`."""

    def __init__(self, context: MagicsContext) -> None:
        super().__init__(context)
        self.add_listener(_suggest_magic)

    @command(
        line_magic,
        arg(
            "action",
            nargs="?",
            choices=["open", "connect", "chat", "project", "model", "rules", "sent", "mcp"],
            help="what to do (see above); without an action, show what is in use",
        ),
        arg("where", nargs="*", metavar="WHERE", help="the arguments of the action"),
        arg("--save-key", action="store_true", help="connect: ask for the key and store it in the system's keyring"),
        arg("--create", action="store_true", help="project: create the project if it does not exist"),
        arg(
            "--key",
            action="store_true",
            help="mcp add, model: ask for the key and store it, even if one is already stored",
        ),
        arg(
            "--key-as",
            metavar="VARIABLE",
            help="mcp add: ask for the key, and pass it to the command in this environment variable",
        ),
        arg(
            "--trust",
            action="store_true",
            help="mcp add: call the tools that the server declares read-only without approval",
        ),
        read=with_command,
    )
    def agentsvc(self, args: argparse.Namespace) -> Any:
        """Show or change the service, model, project and chat in use.

        - `open`: show a link to the web page of the chat.
        - `connect URL`: use the service at this address.
        - `connect local`: use the embedded service of this machine.
        - `chat [ID]`: ask in this chat; without an id, show the id of the current chat.
        - `project [NAME]`: ask in the project with this name or id; without a name, ask in no project.
        - `model [NAME]`: use this model; without a name, list the models.
        - `rules`: list the rules of the project.
        - `rules remove NUMBER`: remove a rule.
        - `sent RUN`: show what a run sent to language models.
        - `mcp`: list the MCP servers of the embedded service.
        - `mcp add NAME URL`: add the MCP server at this address.
        - `mcp add NAME -- COMMAND`: add an MCP server that this command starts.
        - `mcp remove NAME`: remove an MCP server.

        Keys come from an environment variable such as SERVICE_API_KEY, from the system's keyring, or from a prompt.
        They are never shown.

        Example:
            %agentsvc
            %agentsvc connect https://agents.example.com
            %agentsvc project "Summer sale" --create
            %agentsvc model anthropic:claude-sonnet-4-6
            %agentsvc mcp add tickets https://tickets.example/mcp --key
            %agentsvc mcp add notes -- npx notes-server
        """
        from agentsvc_nb.notebook import commands, host
        from agentsvc_nb.notebook.state.session import EMBEDDED

        session = self.session
        if args.action == "mcp":
            return self._servers(args)
        if args.action == "rules":
            match args.where:
                case []:
                    return commands.rules(session)
                case ["remove", number]:
                    return commands.rules_remove(session, number)
            raise AskError(
                "The arguments of `rules` are not valid; nothing was changed.",
                "For example: `%agentsvc rules remove 2`",
            )
        if len(args.where) > 1 or args.command:
            raise AskError(
                "Too many arguments: expected at most one; nothing was changed.",
                "Put a name with spaces in quotation marks.",
            )
        where: Any = args.where[0] if args.where else None
        if where is None and args.action in _EXAMPLES:
            what, example = _EXAMPLES[args.action]
            raise AskError(
                f"The {what} is missing; nothing was sent.", f"For example: `%agentsvc {args.action} {example}`"
            )
        match args.action:
            case "connect":
                return commands.connect(session, where, host.key_prompt(self.shell), keep_key=args.save_key)
            case "open":
                return commands.page(session, widgets=self.context.widgets)
            case "chat":
                return commands.chat(session, where)
            case "project":
                return commands.project(session, where, create=args.create)
            case "model" if where is None:
                return commands.models(session)
            case "model" if session.base_url != EMBEDDED or session.address_error():
                said = commands.choose_model(session, where)
                self.context.options.model = where
                return said
            case "model":
                ask_key, ask_yes = host.key_prompt(self.shell), host.yes_no_prompt(self.shell)
                said = commands.switch_model(session, where, self.context.bar(), ask_key, ask_yes, new_key=args.key)
                self.context.options.model = ""  # the new service may lack the previous service's model
                return said
            case "sent":
                return commands.show_sent(session, where)
        return commands.status(session, self.context.options.model)

    def _servers(self, args: argparse.Namespace) -> Any:
        from agentsvc_nb.notebook import commands, host

        match args.where:
            case [] | ["list"]:
                return commands.servers(self.session)
            case ["remove", name]:
                return commands.servers_remove(self.session, name)
            case ["add", name, *url] if len(url) + bool(args.command) == 1:
                ask_key = (host.key_prompt(self.shell) or (lambda _: "")) if args.key or args.key_as else None
                return commands.servers_add(
                    self.session,
                    name,
                    *url,
                    command=args.command,
                    trusted=args.trust,
                    key_as=args.key_as,
                    ask_key=ask_key,
                )
        raise AskError(
            "The name of the MCP server is missing; nothing was changed.",
            "For example: `%agentsvc mcp add tickets https://tickets.example/mcp`",
        )

    @command(
        line_magic,
        arg("action", nargs="?", choices=["send"], help="send a report; without it, list your reports"),
        arg("words", nargs="*", metavar="WORDS", help="send: what happened, in quotes"),
        arg("-e", "--error", action="store_true", help="send: report the last error of this notebook"),
    )
    def feedback(self, args: argparse.Namespace) -> Any:
        """List your reports to the service's team and the team's replies. With `send`, send a report.

        Example:
            %feedback
            %feedback send "The search misses accents"
            %feedback send --error "This start should work"
        """
        from agentsvc_nb.notebook import commands

        if not args.action:
            return commands.feedback(self.session)
        error = getattr(sys, "last_value", None)
        return commands.feedback_send(self.session, " ".join(args.words), error=error, about_error=args.error)


@magics_class
class ToolsMagics(MagicsGroup):
    """Provides `%tools` and `%%tool`."""

    @command(
        line_magic,
        arg(
            "tool",
            nargs="*",
            metavar="TOOL",
            help="describe this tool and its input; with `form TOOL`, show a form for the input",
        ),
    )
    def tools(self, args: argparse.Namespace) -> Any:
        """List the service's tools. With a tool, describe its input, or show a form with which you run the tool.

        Example:
            %tools
            %tools create_images
            %tools form create_images
        """
        from agentsvc_nb.notebook import commands

        match args.tool:
            case []:
                return commands.tools(self.session)
            case ["form", name]:
                return commands.ToolForm(name, session=self.session)
            case [name]:
                return commands.tools_describe(self.session, name)
        raise AskError(
            "Expected the name of exactly one tool.",
            "For example: `%tools form create_images`. List the tools with `%tools`.",
        )

    @command(
        cell_magic,
        arg("tool", help="name of the tool, such as web_search"),
        arg(
            "--timeout",
            type=float,
            metavar="SECONDS",
            help="for a tool that runs as a job: stop waiting after this time",
        ),
    )
    def tool(self, args: argparse.Namespace, cell: str) -> Any:
        """Call a tool. Its input is the body of the cell: JSON, or `key: value` lines with dots in nested keys.

        Example:
            %%tool web_search -o found
            query: autumn fashion {{year}}
        """
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.jobs import cell_input

        given = cell_input.read_input(cell, self.shell.user_ns)
        cell_input.note_file_names(self.session, args.tool, given)
        raising = not args.no_raise_error
        return commands.call(
            self.session, args.tool, given, self.context.bar(), timeout=args.timeout, raise_error=raising
        )


@magics_class
class JobsMagics(MagicsGroup):
    """Provides `%%job` and `%jobs`."""

    @command(
        cell_magic,
        arg("tool", help="name of the tool, such as create_images"),
        arg("--bg", action="store_true", help="run in the background; `_` is a future"),
        arg("--timeout", type=float, metavar="SECONDS", help="stop waiting after this time; the job continues"),
    )
    def job(self, args: argparse.Namespace, cell: str) -> Any:
        """Run a tool as a job. Its input is the body of the cell: JSON, or `key: value` lines with dots in nested keys.

        Example:
            %%job create_images
            request.kind: static_ad
            request.brief: Headline: Autumn sale at {{shop}}
            request.outputs: {"mode": "count", "count": 2}
        """
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.jobs import cell_input

        given = cell_input.read_input(cell, self.shell.user_ns)
        cell_input.note_file_names(self.session, args.tool, given)
        raising = not args.no_raise_error
        if args.bg:
            screen = self.context.jobs_screen()
            return commands.start(self.session, args.tool, given, screen, timeout=args.timeout, raise_error=raising)
        return commands.work(
            self.session, args.tool, given, self.context.bar(), timeout=args.timeout, raise_error=raising
        )

    @command(
        line_magic,
        arg(
            "action",
            nargs="?",
            choices=["watch", "show", "cancel"],
            help="what to do (see above); without an action, list the jobs",
        ),
        arg("jobs", nargs="*", metavar="JOB", help="the id of a job, the beginning of an id, or `last`"),
        arg("--bg", action="store_true", help="watch: run in the background; each job has a Cancel button"),
        arg("--timeout", type=float, metavar="SECONDS", help="watch: stop waiting after this time; the jobs continue"),
    )
    def jobs(self, args: argparse.Namespace) -> Any:
        """List this notebook's jobs, or do something with them.

        - `watch [JOB ...]`: show the progress of these jobs until all have ended; by default, all active jobs.
        - `show JOB`: follow an active job, or show the result of a job that has ended.
        - `cancel JOB ...`: stop jobs.

        Example:
            %jobs
            %jobs watch
            %jobs cancel last
        """
        from agentsvc_nb.notebook import commands

        session, jobs = self.session, args.jobs
        if args.action in ("show", "cancel") and not jobs:
            raise AskError(
                "The job is missing; nothing was sent.",
                f"For example: `%jobs {args.action} last`. List the jobs with `%jobs`.",
            )
        match args.action:
            case "watch" if args.bg:
                return commands.watch_in_background(session, self.context.jobs_screen(), jobs, timeout=args.timeout)
            case "watch":
                return commands.jobs_watch(session, self.context.bar(), jobs, timeout=args.timeout)
            case "show":
                return commands.jobs_show(session, jobs[0], self.context.bar())
            case "cancel":
                return commands.jobs_cancel(session, *jobs)
        return commands.jobs(session)
