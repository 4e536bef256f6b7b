"""`agentsvc serve`, `worker`, `status`, `sign-in`, `stop`, `restart`, `migrate`, `backup` and `restore`: run and manage
the service of a data folder.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentsvc_nb import clock
from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.connection import json_option, print_either, print_json

if TYPE_CHECKING:
    from agentsvc_nb.service.app import Role
    from agentsvc_nb.service.backup import Backup
    from agentsvc_nb.service.folder import DataFolder, ReadyFile


STOP_NOTICE_SECONDS: Final = 1.0
"""If stopping takes longer than this number of seconds, the command prints that it is waiting."""

_PUBLIC_HOST_WARNING: Final = (
    "others can reach the service at {host}, and keys and files travel unencrypted: put a proxy with "
    "TLS in front of it (docs/team.md)"
)


def add_parsers(commands: Subparsers, data: Parser) -> None:
    serve = commands.add_parser("serve", parents=[data], help="run the service in this terminal until Ctrl-C")
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen on; default: 127.0.0.1; 0.0.0.0 accepts other machines, without TLS",
    )
    serve.add_argument(
        "--port", type=arguments.serve_port, default=8787, help="the port; default: 8787; 0 for a free port"
    )
    _add_model(serve)
    serve.add_argument(
        "--ready-file",
        type=arguments.new_file,
        metavar="FILE",
        help="a file to write when the service is ready for requests",
    )
    serve.add_argument("--work", action="store_true", help="with AGENTSVC_DATABASE: also execute runs and jobs")
    serve.add_argument(
        "--idle-stop",
        type=arguments.seconds,
        metavar="SECONDS",
        help="stop after this time without requests, runs and jobs",
    )
    serve.add_argument("--end-with-parent", action="store_true", help=argparse.SUPPRESS)  # for `agentsvc_nb.testing`
    serve.set_defaults(run=_serve)
    worker = commands.add_parser("worker", parents=[data], help="execute runs and jobs from a shared database")
    worker.add_argument(
        "--host", default="127.0.0.1", help="the address of /healthz, /readyz and /metrics; default: 127.0.0.1"
    )
    worker.add_argument("--port", type=arguments.port, default=0, help="the port; default: a free port")
    _add_model(worker)
    worker.set_defaults(run=_worker)
    status = commands.add_parser("status", parents=[data, json_option()], help="show the service of a data folder")
    status.set_defaults(run=_status)
    sign_in = commands.add_parser(
        "sign-in", parents=[data], help="print the link to the service's pages (keep it secret)"
    )
    sign_in.set_defaults(run=_sign_in)
    stop = commands.add_parser("stop", parents=[data], help="stop the service; runs continue at its next start")
    stop.set_defaults(run=_stop)
    restart = commands.add_parser(
        "restart",
        parents=[data, json_option()],
        help="stop the service, and start it with the settings of this terminal",
    )
    _add_model(restart)
    restart.set_defaults(run=_restart)
    migrate = commands.add_parser(
        "migrate", parents=[data], help="migrate the schema of the database, as `serve` does when it starts"
    )
    migrate.set_defaults(run=_migrate)


def _add_model(command: Parser) -> None:
    command.add_argument(
        "--model",
        type=arguments.model,
        metavar="NAME",
        help="the model: offline, scripted, gguf:FILE or PROVIDER:MODEL; default: AGENTSVC_MODEL",
    )


def _serve(args: argparse.Namespace) -> int:
    from agentsvc_nb.language_models.keys import config_with_keys
    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.service.logs import log_to_stderr
    from agentsvc_nb.service.serve import ListenAddress, end_with_parent, serve
    from agentsvc_nb.settings import warnings_for

    if args.end_with_parent:
        end_with_parent()
    config = config_with_keys(args.data, args.model)
    log_to_stderr(DataFolder(config.settings.data), config.settings.log_format)
    for warning in warnings_for(os.environ):
        print(f"agentsvc: {warning}", file=sys.stderr)
    if args.host not in ("127.0.0.1", "::1", "localhost"):
        print(f"agentsvc: {_PUBLIC_HOST_WARNING.format(host=args.host)}", file=sys.stderr)
    role: Role = "service" if args.work or not config.settings.database else "replica"
    serve(config, ListenAddress(args.host, args.port, args.ready_file, args.idle_stop), role=role)
    return 0


def _worker(args: argparse.Namespace) -> int:
    """Run a worker. Raises `SettingsError` if the settings do not name a shared database."""
    from agentsvc_nb.service.config import load_config
    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.service.logs import log_to_stderr
    from agentsvc_nb.service.serve import ListenAddress, serve
    from agentsvc_nb.settings import SettingsError, warnings_for

    config = load_config(args.data, args.model)
    if not config.settings.database:
        raise SettingsError("`agentsvc worker` needs AGENTSVC_DATABASE. Without it, `agentsvc serve` executes runs.")
    log_to_stderr(DataFolder(config.settings.data), config.settings.log_format)
    for warning in warnings_for(os.environ):
        print(f"agentsvc: {warning}", file=sys.stderr)
    serve(config, ListenAddress(args.host, args.port), role="worker")
    return 0


def _migrate(args: argparse.Namespace) -> int:
    """Migrate the database schema. Raises `SchemaTooNew`, `NoService`, `StoreUnavailable` and `StoreUnusable`."""
    with arguments.database(args.data):
        print("The schema of the database is up to date.")
    return 0


def _status(args: argparse.Namespace) -> int:
    """Print the address, process and settings of the running service. Return exit code 1 if no service responds."""
    folder = arguments.data_folder(args.data)
    return _print_facts(folder) if args.json else _print_status(folder)


def _sign_in(args: argparse.Namespace) -> int:
    """Print the secret link that signs a browser in. Return exit code 1 if no service responds."""
    from agentsvc_nb import embedded

    folder = arguments.data_folder(args.data)
    ready = embedded.status(folder.path)
    if ready is None:
        print(f"No service is answering in {folder.path}. Start one with `agentsvc serve`.", file=sys.stderr)
        return 1
    print(ready.sign_in_url)
    return 0


def _stop(args: argparse.Namespace) -> int:
    """Stop the service. Raises `EmbeddedError` if the service does not stop."""
    folder = arguments.data_folder(args.data).path
    print("Stopped." if _stop_service(folder) else f"No service was running in {folder}.")
    return 0


def _restart(args: argparse.Namespace) -> int:
    """Restart the service with the folder's and this terminal's settings, which are checked first. Print its status."""
    from agentsvc_nb import embedded
    from agentsvc_nb.language_models.keys import config_with_keys
    from agentsvc_nb.settings import SettingsError

    arguments.existing_folder(args.data)
    config = config_with_keys(args.data, args.model)
    if config.settings.database:
        advice = "stop it with `agentsvc stop`, and start it with `agentsvc serve`"
        raise SettingsError(f"A service with AGENTSVC_DATABASE can't start in the background: {advice}.")
    if fault := config.fault():
        raise SettingsError(fault)
    _stop_service(config.settings.data)
    embedded.find_or_start(config.settings.data, model=args.model)
    return _status(args)


def _stop_service(data: Path) -> bool:
    """Stop the folder's service. Return False if no service was running."""
    import threading

    from agentsvc_nb import embedded

    line = "Waiting for the service to stop. This takes up to 10 s."
    notice = threading.Timer(STOP_NOTICE_SECONDS, lambda: print(line, file=sys.stderr, flush=True))
    notice.start()
    try:
        return embedded.stop(data)
    finally:
        notice.cancel()


def _print_status(folder: DataFolder) -> int:
    from agentsvc_nb import embedded

    ready = embedded.status(folder.path)
    if ready is not None:
        print("\n".join([*_service_lines(folder, ready), *_settings_lines(folder, ready)]))
        return 0
    if embedded.is_held(folder):
        log = _log_location(folder)
        print(f"The service in {folder.path} does not answer. It is starting, stopping or hanging. Its log: {log}")
    else:
        print("\n".join([f"No service is running in {folder.path}.", *_settings_lines(folder)]))
    return 1


def _print_facts(folder: DataFolder) -> int:
    """Print the status as JSON. `base_url` is null if no service responds."""
    from agentsvc_nb import embedded

    ready = embedded.status(folder.path)
    names = ("base_url", "version", "model", "pid")
    facts = {name: getattr(ready, name, None) for name in names}
    print_json({**facts, "data": str(folder.path), "held": embedded.is_held(folder)})
    return 0 if ready is not None else 1


def _service_lines(folder: DataFolder, ready: ReadyFile) -> list[str]:
    return [
        f"agentsvc {ready.version} at {ready.base_url}",
        f"  model:  {ready.model or 'unknown'}",
        f"  data:   {folder.path}",
        f"  log:    {_log_location(folder)}",
        f"  since:  {_started_at(folder)} (process {ready.pid})",
    ]


def _settings_lines(folder: DataFolder, ready: ReadyFile | None = None) -> list[str]:
    """Return lines that describe the settings and keys that the folder stores for its next service.

    With `ready`, a further line says how this terminal's settings differ from those of the running service.
    """
    from agentsvc_nb.language_models.keys import PLACES, ModelKeys
    from agentsvc_nb.service.config import load_config
    from agentsvc_nb.settings import SettingsError
    from agentsvc_nb.wire.text import plain

    try:
        config = load_config(folder.path)
    except SettingsError as error:
        return [f"  stored: unknown: {error}"]
    notice = config.notice(ready) if ready else None
    keys = [f"  key:    {name} is stored {PLACES[place]}" for name, place in ModelKeys(folder).places().items()]
    return [*(f"  stored: {plain(line)}" for line in config.describe()), *keys, *filter(None, [notice])]


def _log_location(folder: DataFolder) -> str:
    return str(folder.log) if folder.log.exists() else "the terminal in which it was started"


def _started_at(folder: DataFolder) -> str:
    from datetime import datetime

    try:
        ready_at = folder.ready.stat().st_mtime  # the service writes this file once, when it is ready
    except OSError:
        return "just now"
    return datetime.fromtimestamp(ready_at).strftime("%Y-%m-%d %H:%M:%S")


# -- backup and restore ---------------------------------------------------------------------------------------------

PROGRESS_SECONDS: Final = 1.0
"""The number of seconds between two lines of progress. A backup that takes less time prints no progress."""


def add_backup_parsers(commands: Subparsers, data: Parser) -> None:
    shown = [data, json_option()]
    backup = commands.add_parser("backup", parents=shown, help="write all data to one file; the service may be running")
    backup.add_argument(
        "file",
        nargs="?",
        type=arguments.new_file,
        metavar="FILE",
        help="the file to write; default: a name with the time, in this folder",
    )
    backup.set_defaults(run=_backup)
    restore = commands.add_parser(
        "restore", parents=shown, help="restore a backup into a folder or into AGENTSVC_DATABASE"
    )
    restore.add_argument("file", type=Path, metavar="FILE", help="a file that `backup` has written")
    restore.add_argument(
        "--secret",
        action="store_true",
        help="only print the secret of the backup's keys, which is the value for AGENTSVC_SECRET",
    )
    restore.set_defaults(run=_restore)


def _backup(args: argparse.Namespace) -> int:
    """Write a backup. The default name of the file contains the time. Raises the errors of `service.backup.back_up`."""
    from dataclasses import asdict

    from agentsvc_nb.service.backup import back_up
    from agentsvc_nb.service.config import load_config

    folder = arguments.existing_folder(args.data)
    target = args.file or Path(f"{clock.now():agentsvc-backup-%Y%m%d-%H%M%SZ.tar}")
    settings = load_config(folder.path).settings
    made = back_up(settings, target, ProgressPrinter("rows", _number), ProgressPrinter("contents", _number))
    print_either({"file": str(target), **asdict(made)}, f"Wrote {target}: {_backup_summary(made)}.", args.json)
    _warn_of_missing(made)
    return 0


def _restore(args: argparse.Namespace) -> int:
    """Restore a backup into the data folder, or PostgreSQL and S3. Raises the errors of `service.backup.restore`."""
    import shlex
    from dataclasses import asdict

    from agentsvc_nb.service.backup import read_secret, restore
    from agentsvc_nb.service.config import load_config

    if args.secret:
        print(read_secret(args.file))
        return 0
    folder = arguments.data_folder(args.data)
    settings = load_config(folder.path).settings
    made = restore(args.file, settings, ProgressPrinter("checked"), ProgressPrinter("restored"))
    place = "the database of AGENTSVC_DATABASE" if folder.address else folder.path
    text = f"Restored {_backup_summary(made)}, of {made.created_at}, into {place}."
    print_either({"data": str(folder.path), **asdict(made)}, text, args.json)
    _warn_of_missing(made)
    for line in _server_lines(folder, made):
        _print_extra(args, line)
    work, same = ("--work ", ", with the same variables") if folder.address else ("", "")
    _print_extra(args, f"To start it{same}: agentsvc serve {work}--data {shlex.quote(str(folder.path))}")
    return 0


def _print_extra(args: argparse.Namespace, line: str) -> None:
    """Print an additional line. It goes to stderr if stdout gets JSON."""
    print(line, file=sys.stderr if args.json else sys.stdout)


class ProgressPrinter:
    """Prints the progress of a backup or restore on stderr, once a second."""

    def __init__(self, verb: str, amount: Callable[[int], str] | None = None) -> None:
        self._verb = verb
        self._amount = amount or megabytes
        self._next = clock.monotonic() + PROGRESS_SECONDS

    def __call__(self, done: int, total: int) -> None:
        """Report that `done` of `total` units are copied. Units are bytes, unless `amount` formats another unit."""
        if clock.monotonic() >= self._next and total:
            self._next = clock.monotonic() + PROGRESS_SECONDS
            print(f"{self._verb}: {done * 100 // total} % of {self._amount(total)}", file=sys.stderr, flush=True)


def _backup_summary(made: Backup) -> str:
    return f"{made.rows:,} rows and {made.contents:,} contents of files ({megabytes(made.content_bytes)})"


def _server_lines(folder: DataFolder, made: Backup) -> Iterator[str]:
    """Yield a line for each MCP server of a restored backup. It says that runs from notebooks use the server."""
    from agentsvc_nb.service.mcp.servers import OwnServers
    from agentsvc_nb.wire.text import plain

    servers = {one.name: one for one in OwnServers(folder).read()}
    for server in (servers[name] for name in made.servers if name in servers):
        lacking = server.lacking and f" ({server.lacking})"
        yield plain(f"Runs from notebooks use the MCP server {server.name}, {server.place}{lacking}.")


def _warn_of_missing(made: Backup) -> None:
    if made.missing:
        lost = f"{made.missing:,} contents of files were missing or altered, so the backup does not contain them"
        print(f"agentsvc: {lost}.", file=sys.stderr)


def megabytes(count: int) -> str:
    return f"{count / 1_000_000:,.1f} MB"


def _number(count: int) -> str:
    return f"{count:,}"
