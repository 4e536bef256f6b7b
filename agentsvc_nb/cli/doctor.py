"""`agentsvc doctor`."""

from __future__ import annotations

import argparse

from agentsvc_nb.cli.arguments import Commands, Parser


def add(commands: Commands, folder: Parser) -> None:
    doctor = commands.add_parser("doctor", parents=[folder], help="look for what keeps a service from working")
    doctor.set_defaults(run=_doctor)


def _doctor(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.doctor import doctor

    return doctor(given.data)
