"""`agentsvc lab`: copy the example notebooks, start the service, and start JupyterLab (docs/api/embedded.md)."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentsvc_nb import clock
from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.extras import pip_install

if TYPE_CHECKING:
    import subprocess
    from types import FrameType

NOTEBOOK_FOLDER: Final = "agentsvc-notebooks"
FIRST_NOTEBOOK: Final = "quickstart.ipynb"
TERMINATE_SECONDS: Final = 15.0


class LabError(Exception):
    """Raised if JupyterLab can't be started, or has failed. The message says what to do."""


def add_parsers(commands: Subparsers, data: Parser) -> None:
    lab = commands.add_parser("lab", parents=[data], help="open the notebooks in JupyterLab")
    lab.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    lab.add_argument("--port", type=arguments.port, default=0, help="the port of JupyterLab; default: a free port")
    lab.add_argument("jupyter", nargs="*", metavar="-- ARGUMENT", help="arguments to pass to JupyterLab")
    lab.set_defaults(run=_lab)


def _lab(args: argparse.Namespace) -> int:
    """Copy the notebooks, find or start the service, and run JupyterLab until Ctrl-C. The service continues to run."""
    import importlib.util
    import secrets
    from urllib.parse import quote

    from agentsvc_nb.settings import Settings

    data = Settings.from_env(os.environ, data=args.data).data
    if importlib.util.find_spec("jupyterlab") is None:
        raise LabError(f"JupyterLab is not installed: {pip_install('lab')}")
    port = _usable_port(args.port)
    token, jupyter = _take_token(args.jupyter)
    if token is None:
        token = secrets.token_urlsafe(24)
    folder = Path(NOTEBOOK_FOLDER).absolute()
    copy_notebooks(bundled_notebooks(), folder)
    page = f"/lab/tree/{FIRST_NOTEBOOK}" if (folder / FIRST_NOTEBOOK).exists() else "/lab"
    query = f"?token={quote(token)}" if token else ""
    command = _command(folder, port, page, browser=not args.no_browser and _has_display(os.environ))
    served = JupyterAddress(port, f"http://127.0.0.1:{port}{page}{query}")
    return _run_with_service(data, [*command, *jupyter], token, served)


_TOKEN: Final = re.compile(r"--(?:IdentityProvider|ServerApp|NotebookApp)\.token=(.*)", re.DOTALL)


def _take_token(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return two items: the token in the arguments for JupyterLab, or None; and the arguments without the token.

    An empty token turns tokens off. It stays in the arguments, because JupyterLab accepts it only there.
    """
    given = [found[1].strip("'\"") for each in arguments if (found := _TOKEN.fullmatch(each))]
    if not given:
        return None, [*arguments]
    kept = [each for each in arguments if not given[-1] or not _TOKEN.fullmatch(each)]
    return given[-1], kept


class JupyterAddress(NamedTuple):
    """The port of JupyterLab, and the address to open, which contains the token."""

    port: int
    address: str


def _run_with_service(data: Path, command: Sequence[str], token: str, served: JupyterAddress) -> int:
    import shlex

    from agentsvc_nb import embedded
    from agentsvc_nb.settings import variable

    service = embedded.find_or_start(data)
    print(f"Service:    {service.base_url}", *filter(None, [service.notice]), sep="\n", flush=True)
    # Pass the token in the environment, because all users of the machine can see the arguments of a process.
    env = {**os.environ, "JUPYTER_TOKEN": token, variable("data"): str(data), **_default_settings(os.environ)}
    code = _run(command, env, served)
    print(f"The service is still running. Stop it with: agentsvc stop --data {shlex.quote(str(data))}", flush=True)
    if code != 0:
        raise LabError(f"JupyterLab failed (exit {code}). Its message is above.")
    return 0


def _default_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment variable that makes JupyterLab read our default settings.

    With these defaults, JupyterLab does not show a dialog that asks whether to fetch news. The user's own settings have
    priority over them.
    """
    given = environ.get("JUPYTER_CONFIG_PATH")
    return {
        "JUPYTER_CONFIG_PATH": os.pathsep.join([str(Path(__file__).with_name("jupyter")), *([given] if given else [])])
    }


def bundled_notebooks() -> Path:
    """Return the folder of the example notebooks, in the package or next to it. Raises `LabError` if there is none."""
    import agentsvc_nb

    package = Path(agentsvc_nb.__file__).parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if folder.is_dir():
            return folder
    raise LabError("This installation does not contain the notebooks. Reinstall agentsvc-nb.")


def copy_notebooks(source: Path, target: Path) -> list[Path]:
    """Copy the files that are missing in `target`, and return the paths of the copies. Never overwrite a file."""
    import shutil

    created = []
    for file in sorted(source.rglob("*")):
        relative = file.relative_to(source)
        if file.is_dir() or any(part.startswith((".", "__")) for part in relative.parts):
            continue
        destination = target / relative
        destination.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("rb") as original, destination.open("xb") as copy:
                shutil.copyfileobj(original, copy)
        except FileExistsError:
            continue
        created.append(destination)
    return created


def _command(folder: Path, port: int, page: str, *, browser: bool) -> list[str]:
    command = [
        sys.executable,
        "-P",
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url={page}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
    ]
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return command


def _run(command: Sequence[str], env: Mapping[str, str], served: JupyterAddress) -> int:
    """Run JupyterLab in a separate session (so Ctrl-C reaches only us), print its address, and return its exit code."""
    import signal
    import subprocess

    for name in ("SIGTERM", "SIGHUP"):  # JupyterLab must end if the terminal is closed
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        while process.poll() is None and not _answers(served.port):
            clock.sleep(0.1)
        if process.returncode is None:
            print(f"JupyterLab: {served.address}", flush=True)
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        _terminate(process)


def _answers(port: int) -> bool:
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _terminate(process: subprocess.Popen[bytes]) -> None:
    import subprocess

    process.terminate()  # not killed immediately, so that JupyterLab can shut down its kernels
    try:
        process.wait(TERMINATE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _usable_port(wanted: int) -> int:
    """Return the port `wanted`, or a free port if `wanted` is 0. Raises `LabError` if the port can't be used."""
    import socket

    with socket.socket() as probe:
        if os.name == "posix":  # as for JupyterLab, a port that was just closed counts as free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as error:
            ways = "choose another port with --port, or omit --port for a free port"
            raise LabError(f"JupyterLab can't use port {wanted} ({error.strerror}): {ways}.") from None
        port: int = probe.getsockname()[1]
    return port


def _has_display(env: Mapping[str, str]) -> bool:
    return sys.platform in ("win32", "darwin") or bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))
