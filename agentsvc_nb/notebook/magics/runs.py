"""`%runs`: the notebook's runs, and what can be done with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.magic import line_magic, magics_class

from agentsvc_nb.notebook.arguments import arg, parse, takes
from agentsvc_nb.notebook.failures import AskError, shortly
from agentsvc_nb.notebook.magics.desk import Group

if TYPE_CHECKING:
    import pandas as pd

    from agentsvc_nb.notebook.answer import Answer


@magics_class
class Runs(Group):
    """The runs that were started from this notebook."""

    @takes(
        line_magic,
        arg("action", nargs="?", choices=["attach", "cancel"], help="follow a run again, or stop it"),
        arg("run_id", nargs="?", help="the run, as the table names it"),
    )
    @shortly
    def runs(self, line: str) -> pd.DataFrame | Answer | None:
        """This notebook's runs as a DataFrame; or follow one again, or stop it.

        Example: `%runs`, or `%runs attach 0b9c...`, or `%runs cancel 0b9c...`
        """
        from agentsvc_nb.notebook import commands

        args = parse(self.runs, line)
        if not args.action:
            return commands.runs(self.session)
        if not args.run_id:
            raise AskError("The run is missing.", f"For example: %runs {args.action} RUN_ID; `%runs` lists them.")
        if args.action == "cancel":
            print(commands.cancel(self.session, args.run_id))
            return None
        return self.keep(commands.attach(self.session, args.run_id, self.desk.screen()), None)
