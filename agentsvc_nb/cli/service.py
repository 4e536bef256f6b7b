"""`agentsvc serve`, `status`, `sign-in`, `stop` and `restart`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Commands, Parser

_OPEN: Final = (
    "others can reach it at {host}, and keys and files travel unencrypted: put a proxy with TLS before it, "
    "see docs/team.md"
)


def add(commands: Commands, folder: Parser) -> None:
    serve = commands.add_parser("serve", parents=[folder], help="run the service here until Ctrl-C")
    serve.add_argument("--host", default="127.0.0.1", help="default 127.0.0.1; 0.0.0.0 is open to others, without TLS")
    serve.add_argument("--port", type=arguments.serve_port, default=8787, help="default 8787; 0 is any free one")
    _add_model(serve)
    serve.add_argument(
        "--ready-file", type=arguments.new_file, metavar="FILE", help="written once requests are answered"
    )
    serve.add_argument("--idle-stop", type=arguments.seconds, metavar="SECONDS", help="end after so long without work")
    serve.set_defaults(run=_serve)
    commands.add_parser("status", parents=[folder], help="show the service of a data folder").set_defaults(run=_status)
    sign_in = commands.add_parser("sign-in", parents=[folder], help="print the link to its pages, which is a secret")
    sign_in.set_defaults(run=_sign_in)
    stop = commands.add_parser("stop", parents=[folder], help="end it; runs go on when it starts again")
    stop.set_defaults(run=_stop)
    restart = commands.add_parser("restart", parents=[folder], help="end it, and start it with the settings of here")
    _add_model(restart)
    restart.set_defaults(run=_restart)


def _add_model(command: Parser) -> None:
    command.add_argument(
        "--model",
        type=arguments.model,
        metavar="NAME",
        help="offline, scripted, gguf:FILE or PROVIDER:MODEL (AGENTSVC_MODEL)",
    )


def _serve(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.logs import log_to_stderr
    from agentsvc_nb.service.plan import plan_of
    from agentsvc_nb.service.serve import Address, serve
    from agentsvc_nb.settings import warnings_for

    plan = plan_of(given.data, given.model)
    log_to_stderr()
    for warning in warnings_for(os.environ):
        print(f"agentsvc: {warning}", file=sys.stderr)
    if given.host not in ("127.0.0.1", "::1", "localhost"):
        print(f"agentsvc: {_OPEN.format(host=given.host)}", file=sys.stderr)
    serve(plan, Address(given.host, given.port, given.ready_file, given.idle_stop))
    return 0


def _status(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.service import status

    return status(given.data)


def _sign_in(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.service import sign_in

    return sign_in(given.data)


def _stop(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.service import stop

    return stop(given.data)


def _restart(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.service import restart

    arguments.existing_folder(given.data)
    return restart(given.data, given.model)
