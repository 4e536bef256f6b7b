"""`agentsvc lab`."""

from __future__ import annotations

import argparse

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Commands, Parser


def add(commands: Commands, folder: Parser) -> None:
    lab = commands.add_parser("lab", parents=[folder], help="open the notebooks in JupyterLab")
    lab.add_argument("--no-browser", action="store_true")
    lab.add_argument("--port", type=arguments.port, default=0, help="of JupyterLab; default 0: any free one")
    lab.add_argument("jupyter", nargs="*", metavar="-- ARGUMENT", help="passed on to JupyterLab")
    lab.set_defaults(run=_lab)


def _lab(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.lab import lab

    return lab(given.data, port=given.port, browser=not given.no_browser, extra=given.jupyter)
