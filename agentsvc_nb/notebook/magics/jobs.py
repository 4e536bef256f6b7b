"""`%%job`: a tool run as a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.magic import cell_magic, magics_class

from agentsvc_nb.notebook.arguments import arg, parse, takes
from agentsvc_nb.notebook.failures import shortly
from agentsvc_nb.notebook.magics.desk import Group

if TYPE_CHECKING:
    from agentsvc_nb.notebook.answer import JobResult


@magics_class
class Jobs(Group):
    """Tools that take their time."""

    @takes(
        cell_magic,
        arg("tool", help="name of the tool, such as create_images"),
        arg("-o", "--out", metavar="NAME", help="variable for the result (`_` has it too)"),
        arg("--no-raise-error", action="store_true", help="a failed job does not fail the cell"),
        arg("--timeout", type=float, metavar="SECONDS", help="watch for so long; the job then goes on by itself"),
    )
    @shortly
    def job(self, line: str, cell: str) -> JobResult:
        """Run a tool as a job with the cell as its input: JSON, or `key: value` lines in which dots nest.

        Example:
            %%job create_images
            request.kind: static_ad
            request.brief: Autumn sale at {{shop}}
            request.outputs: {"mode": "count", "count": 2}
        """
        from agentsvc_nb.notebook import commands, host, working

        args = parse(self.job, line)
        given = working.read_input(cell, self.shell.user_ns)
        how = self.desk.mode
        bar = working.Bar(host.output(self.shell, how), live=how == "live")
        with self.left_in(args.out):
            result = commands.work(
                self.session, args.tool, given, bar, timeout=args.timeout, raise_error=not args.no_raise_error
            )
        return self.keep(result, args.out)
