"""The command line `agentsvc` (contract §8). Each command imports what it needs: `--version` needs nothing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agentsvc_nb import __version__

EXIT_ERROR: Final = 1
EXIT_USAGE: Final = 2
EXIT_HELD: Final = 75
EXIT_INTERRUPTED: Final = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. An expected failure is one sentence on stderr, without a traceback."""
    given = _parser().parse_args(argv)
    try:
        code: int = given.run(given)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # `agentsvc ask ... | head`: nobody reads on, so nothing may be flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    except Exception as error:
        expected = _exit_code(error)
        if expected is None:
            raise
        print(f"agentsvc: {error}", file=sys.stderr)
        return expected
    return code


def _exit_code(error: Exception) -> int | None:
    from agentsvc_nb.service.folder import FolderHeld
    from agentsvc_nb.service.settings import SettingsError

    if isinstance(error, SettingsError):
        return EXIT_USAGE
    if isinstance(error, FolderHeld):  # told first and quickly: an embedded starter is waiting for it
        return EXIT_HELD
    return EXIT_ERROR if isinstance(error, _expected()) else None


def _expected() -> tuple[type[Exception], ...]:
    from agentsvc_nb.client.errors import StefanBrainError
    from agentsvc_nb.embedded import EmbeddedError
    from agentsvc_nb.service.engines.migrations import SchemaTooNew
    from agentsvc_nb.service.fail import Fail
    from agentsvc_nb.service.serve import ServeError

    return EmbeddedError, Fail, OSError, SchemaTooNew, ServeError, StefanBrainError


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentsvc", description="Ask an agent, watch it work, keep what it made.")
    parser.add_argument("--version", action="version", version=f"agentsvc {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument("--data", type=Path, metavar="DIR", help="data folder (AGENTSVC_DATA, or this user's)")
    _add_service(commands, folder)
    _add_keys(commands, folder)
    _add_notebook(commands, folder)
    _add_runs(commands, folder)
    return parser


Commands = argparse._SubParsersAction  # the only name that argparse has for what add_subparsers() returns


def _add_service(commands: Commands[argparse.ArgumentParser], folder: argparse.ArgumentParser) -> None:
    serve = commands.add_parser("serve", parents=[folder], help="run the service here until Ctrl-C")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=_serve_port, default=8787, help="default 8787; 0 is any free one")
    serve.add_argument("--model", type=_model, metavar="NAME", help="offline or scripted (AGENTSVC_MODEL)")
    serve.add_argument("--ready-file", type=_new_file, metavar="FILE", help="written once requests are answered")
    serve.add_argument("--idle-stop", type=_seconds, metavar="SECONDS", help="end after so long without work")
    serve.set_defaults(run=_serve)
    for name, run, what in (
        ("status", _status, "show the service of a data folder"),
        ("stop", _stop, "end it; runs go on when it starts again"),
        ("restart", _restart, "end it, and start it with the present settings"),
    ):
        command = commands.add_parser(name, parents=[folder], help=what)
        command.set_defaults(run=run)
    command.add_argument("--model", type=_model, metavar="NAME", help="offline or scripted (AGENTSVC_MODEL)")


def _add_keys(commands: Commands[argparse.ArgumentParser], folder: argparse.ArgumentParser) -> None:
    keys = commands.add_parser("keys", help="keys to the service").add_subparsers(required=True, metavar="COMMAND")
    create = keys.add_parser("create", parents=[folder], help="make a key, beside a running service or without one")
    create.add_argument("--name", required=True)
    create.add_argument("--scope", action="append", default=[], help="runs, tools, jobs or mcp; none: full access")
    create.add_argument("--budget-cents", type=_count, metavar="N", help="what it may spend in a month")
    create.add_argument("--member", action="store_true", help="a member token, billed to the plan")
    create.add_argument("--json", action="store_true", help='print {"key": ...}')
    create.set_defaults(run=_create_key)


def _add_notebook(commands: Commands[argparse.ArgumentParser], folder: argparse.ArgumentParser) -> None:
    lab = commands.add_parser("lab", parents=[folder], help="open the notebooks in JupyterLab")
    lab.add_argument("--no-browser", action="store_true")
    lab.add_argument("--port", type=_port, default=0, help="of JupyterLab; default 0: any free one")
    lab.add_argument("jupyter", nargs="*", metavar="-- ARGUMENT", help="passed on to JupyterLab")
    lab.set_defaults(run=_lab)


def _add_runs(commands: Commands[argparse.ArgumentParser], folder: argparse.ArgumentParser) -> None:
    ask = commands.add_parser("ask", parents=[folder], help="ask the agent; the answer is streamed to stdout")
    ask.add_argument("text", metavar="TEXT")
    ask.add_argument("--chat", help="a chat to go on with (chat_...)")
    ask.add_argument("--file", type=Path, action="append", default=[], metavar="FILE", help="a file to attach")
    ask.set_defaults(run=_ask)
    runs = commands.add_parser("runs", help="runs that were started before").add_subparsers(
        required=True, metavar="COMMAND"
    )
    attach = runs.add_parser("attach", parents=[folder], help="watch a run from its start; Ctrl-C lets it go on")
    attach.add_argument("run_id", metavar="ID")
    attach.set_defaults(run=_attach)


def _serve(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.logs import log_to_stderr
    from agentsvc_nb.service.serve import Address, serve
    from agentsvc_nb.service.settings import Settings, warnings_for

    settings = Settings.from_env(os.environ, data=given.data, model=given.model)
    log_to_stderr()
    for warning in warnings_for(os.environ):
        print(f"agentsvc: {warning}", file=sys.stderr)
    serve(settings, Address(given.host, given.port, given.ready_file, given.idle_stop))
    return 0


def _status(given: argparse.Namespace) -> int:
    from agentsvc_nb.cli_service import status

    return status(given.data)


def _stop(given: argparse.Namespace) -> int:
    from agentsvc_nb.cli_service import stop

    return stop(given.data)


def _restart(given: argparse.Namespace) -> int:
    from agentsvc_nb.cli_service import restart

    return restart(given.data, given.model)


def _create_key(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.service.keyring import create_key
    from agentsvc_nb.service.settings import SettingsError, data_folder

    if given.member and (given.scope or given.budget_cents is not None):
        raise SettingsError("A member token has neither scopes nor a budget: leave out --scope and --budget-cents.")
    folder = DataFolder(data_folder(os.environ, given.data))
    secret = create_key(
        folder, name=given.name, scopes=tuple(given.scope), budget_cents=given.budget_cents, member=given.member
    )
    if given.json:
        print(json.dumps({"key": secret}))
        return 0
    print(secret)
    print("This key is shown only now; programs take it from SERVICE_API_KEY.", file=sys.stderr)
    return 0


def _lab(given: argparse.Namespace) -> int:
    from agentsvc_nb.cli_lab import lab

    return lab(given.data, port=given.port, browser=not given.no_browser, extra=given.jupyter)


def _ask(given: argparse.Namespace) -> int:
    from agentsvc_nb.cli_ask import ask

    return ask(given.text, data=given.data, chat=given.chat, files=given.file)


def _attach(given: argparse.Namespace) -> int:
    from agentsvc_nb.cli_ask import attach

    return attach(given.run_id, data=given.data)


def _model(text: str) -> str:
    from agentsvc_nb.service.settings import MODEL_ADVICE, MODELS

    if text not in MODELS:
        raise argparse.ArgumentTypeError(f"{text!r} is no model: give {MODEL_ADVICE}")
    return text


def _serve_port(text: str) -> int:
    if text == "last":  # for the embedded starter, and so not in the help
        from agentsvc_nb.service.serve import LAST_PORT

        return LAST_PORT
    return _port(text)


def _port(text: str) -> int:
    if not (text.isdigit() and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds over 0")
    return value


def _new_file(text: str) -> Path:
    path = Path(text).absolute()
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder of {text!r} does not exist")
    return path
