"""`%files` and `%search`: the files of the notebook's chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import line_magic, magics_class

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.magics.arguments import arg, command, leading
from agentsvc_nb.notebook.magics.context import MagicsGroup

if TYPE_CHECKING:
    import argparse


@magics_class
class FilesMagics(MagicsGroup):
    """The files of the notebook's chat."""

    @command(
        line_magic,
        arg(
            "action",
            nargs="?",
            choices=["browse", "put", "get", "preview", "gallery"],
            help="look through them; upload files; download some; look at the beginning of one; see the pictures",
        ),
        arg(
            "paths",
            nargs="*",
            metavar="PATH",
            help="put: your paths or globs; get, preview: paths of the table; gallery: a glob",
        ),
        arg("-d", "--dir", metavar="DIR", default=".", help="get: the folder to put it in"),
        arg("-f", "--force", action="store_true", help="get: replace a file that is there with other content"),
    )
    def files(self, args: argparse.Namespace) -> Any:
        """The files of this notebook's chat; or put files there, get some, look at them.

        Example: `%files`, `%files put data/*.csv`, `%files get reports/plan.md -d downloads`,
        `%files preview reports/plan.md`, `%files gallery`, `%files browse`
        """
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.display.results import PrintedText

        session, paths = self.session, args.paths
        match args.action:
            case "browse":
                return commands.files_browse(session, widgets=self.context.widgets)
            case "put":
                return PrintedText(commands.files_put(session, paths))
            case "get":
                return self._get(paths, args.dir, force=args.force)
            case "preview":
                return commands.files_preview(session, _one(paths, "preview"))
            case "gallery":
                return commands.files_gallery(session, *paths[:1], widgets=self.context.widgets)
        return commands.files(session)

    def _get(self, paths: list[str], folder: str, *, force: bool) -> str | list[str]:
        from agentsvc_nb.notebook import commands

        if not paths:
            raise AskError("Name one file to get.", "For example: %files get reports/plan.md -d downloads")
        got = [commands.files_get(self.session, path, folder, force=force) for path in paths]
        for file in got:
            if file.same:
                print(f"{file.path} is there already, with the same content.")
        return str(got[0].path) if len(got) == 1 else [str(file.path) for file in got]

    @command(
        line_magic,
        arg("words", nargs="?", metavar="WORDS", help='words, "phrases", `or`, -without; the last word as a prefix'),
        arg("-c", "--chat", metavar="ID", help="search in this chat"),
        read=leading,
    )
    def search(self, args: argparse.Namespace) -> Any:
        """Search the files of this notebook's chat by name and contents. Options come before the words.

        Example: `%search autumn "return on ad spend" -draft`, or `%search -o found budget or cost`
        """
        from agentsvc_nb.notebook import commands

        return commands.search(self.session, args.words or "", chat=args.chat)


def _one(paths: list[str], action: str) -> str:
    if len(paths) != 1:
        raise AskError(f"Name one file to {action}.", f"For example: %files {action} reports/plan.md")
    return str(paths[0])
