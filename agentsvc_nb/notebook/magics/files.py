"""`%files`: the files of the notebook's chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.magic import line_magic, magics_class

from agentsvc_nb.notebook.arguments import arg, parse, takes
from agentsvc_nb.notebook.failures import AskError, shortly
from agentsvc_nb.notebook.magics.desk import Group

if TYPE_CHECKING:
    import pandas as pd


@magics_class
class Files(Group):
    """The files of the notebook's chat."""

    @takes(
        line_magic,
        arg("action", nargs="?", choices=["put", "get"], help="upload files, or download one"),
        arg("paths", nargs="*", metavar="PATH", help="put: paths or globs; get: a path of the table"),
        arg("-d", "--dir", metavar="DIR", default=".", help="get: the folder to put it in"),
        arg("-f", "--force", action="store_true", help="get: replace a file that is there with other content"),
    )
    @shortly
    def files(self, line: str) -> pd.DataFrame | str | None:
        """The files of this notebook's chat as a DataFrame; or put files there, or get one.

        Example: `%files`, or `%files put data/*.csv`, or `%files get reports/plan.md -d downloads`
        """
        from agentsvc_nb.notebook import commands

        args = parse(self.files, line)
        if args.action == "put":
            print(commands.files_put(self.session, args.paths))
            return None
        if args.action == "get":
            if len(args.paths) != 1:
                raise AskError("Name one file to get.", "For example: %files get reports/plan.md -d downloads")
            got = commands.files_get(self.session, args.paths[0], args.dir, force=args.force)
            if got.same:
                print(f"{got.path} is there already, with the same content.")
            return str(got.path)
        return commands.files(self.session)
