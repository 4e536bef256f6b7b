"""`agentsvc lab`: the notebooks, the service and JupyterLab, with one command (docs/api/embedded.md)."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

import agentsvc_nb
from agentsvc_nb import embedded
from agentsvc_nb.settings import Settings, variable

FOLDER: Final = "agentsvc-notebooks"
FIRST: Final = "quickstart.ipynb"
END_SECONDS: Final = 15.0


class LabError(embedded.EmbeddedError):
    """JupyterLab can't be started or failed; the message says what to do."""


def lab(data: Path | None, *, port: int = 0, browser: bool = True, extra: Sequence[str] = ()) -> int:
    """Copy the notebooks here, find or start the service, and run JupyterLab until Ctrl-C; the service goes on.

    `port` is JupyterLab's, 0 for any free one; `extra` are further arguments for it.
    Raises `LabError`, `SettingsError`, and what `embedded.find_or_start` raises.
    """
    settings = Settings.from_env(os.environ, data=data)
    if importlib.util.find_spec("jupyterlab") is None:
        raise LabError("JupyterLab is not installed: pip install 'agentsvc-nb[lab]'")
    port, token = _usable_port(port), secrets.token_urlsafe(24)
    folder = Path(FOLDER).absolute()
    copy_notebooks(notebooks(), folder)
    page = f"/lab/tree/{FIRST}" if (folder / FIRST).exists() else "/lab"
    print(f"JupyterLab: http://127.0.0.1:{port}{page}?token={token}", flush=True)

    service = embedded.find_or_start(settings.data)
    print(f"Service:    {service.base_url}", *filter(None, [service.notice]), sep="\n", flush=True)
    command = _command(folder, port, page, browser=browser and _has_display(os.environ))
    # The token in the environment, not among the arguments, which every user of the machine can list.
    env = {**os.environ, "JUPYTER_TOKEN": token, variable("data"): str(settings.data)}
    code = _run([*command, *extra], env)
    print(f"The service goes on; to end it: agentsvc stop --data {shlex.quote(str(settings.data))}", flush=True)
    if code != 0:
        raise LabError(f"JupyterLab ended with an error (exit {code}); what it said stands above.")
    return 0


def notebooks() -> Path:
    """The folder of notebooks: within the package when installed, beside it in a checkout. Raises `LabError`."""
    package = Path(agentsvc_nb.__file__).parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if folder.is_dir():
            return folder
    raise LabError("The notebooks are not in this installation: install agentsvc-nb again.")


def copy_notebooks(source: Path, target: Path) -> list[Path]:
    """Copy what `target` does not have yet, never over a file that is there; the files that are new."""
    new = []
    for file in sorted(source.rglob("*")):
        relative = file.relative_to(source)
        if file.is_dir() or any(part.startswith((".", "__")) for part in relative.parts):
            continue
        place = target / relative
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("rb") as original, place.open("xb") as copy:
                shutil.copyfileobj(original, copy)
        except FileExistsError:
            continue
        new.append(place)
    return new


def _command(folder: Path, port: int, page: str, *, browser: bool) -> list[str]:
    command = [
        sys.executable,
        "-P",
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url={page}",
    ]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return command


def _run(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run it in a session of its own, so that Ctrl-C reaches us alone and JupyterLab does not ask back."""
    for name in ("SIGTERM", "SIGHUP"):  # the terminal is closed: JupyterLab must not stay behind
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()  # it ends its kernels
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _usable_port(wanted: int) -> int:
    """`wanted`, or any free port for 0. Raises `LabError` for one that can't be had."""
    with socket.socket() as probe:
        if os.name == "posix":  # as JupyterLab does: a port that was just left is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as error:
            ways = "give another with --port, or leave it out for a free one"
            raise LabError(f"JupyterLab can't use port {wanted} ({error.strerror}): {ways}.") from None
        port: int = probe.getsockname()[1]
    return port


def _has_display(env: Mapping[str, str]) -> bool:
    return sys.platform in ("win32", "darwin") or bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))
