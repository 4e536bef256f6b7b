"""`%tools`, `%%tool`, `%%job` and `%jobs`: the service's tools, called from a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import cell_magic, line_magic, magics_class

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.magics.arguments import arg, command
from agentsvc_nb.notebook.magics.context import MagicsGroup

if TYPE_CHECKING:
    import argparse


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
        from agentsvc_nb.notebook.tools import calling

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
        from agentsvc_nb.notebook.tools import calling

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
