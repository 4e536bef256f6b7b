"""`%tools` and `%%tool`: the service's tools, called from a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import cell_magic, line_magic, magics_class

from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.magics.arguments import arg
from agentsvc_nb.notebook.magics.declaring import command
from agentsvc_nb.notebook.magics.desk import Group

if TYPE_CHECKING:
    import argparse


@magics_class
class Tools(Group):
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
        from agentsvc_nb.notebook.tools import inputs

        given = inputs.read_input(cell, self.shell.user_ns)
        raising = not args.no_raise_error
        return commands.call(self.session, args.tool, given, self.desk.bar(), timeout=args.timeout, raise_error=raising)
