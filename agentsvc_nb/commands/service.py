"""`agentsvc status`, `sign-in`, `stop` and `restart`: a data folder's service, seen, opened and ended."""

from __future__ import annotations

import os
import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import Final

from agentsvc_nb import embedded
from agentsvc_nb.service.folder import DataFolder, Ready
from agentsvc_nb.service.plan import plan_of
from agentsvc_nb.settings import SettingsError, data_folder
from agentsvc_nb.wire.text import plain

QUIET_SECONDS: Final = 1.0
"""A user who waits for longer than this is told what for."""


def status(data: Path | None) -> int:
    """Print where everything of the running service is; 1 when none answers."""
    folder = DataFolder(data_folder(os.environ, data))
    ready = embedded.status(folder.path)
    if ready is not None:
        print("\n".join([*_described(folder, ready), *_settings(folder, ready)]))
        return 0
    if embedded.is_held(folder):
        print(
            f"The service in {folder.path} does not answer: it is starting or ending, or hangs (log: {_log(folder)})."
        )
    else:
        print("\n".join([f"No service is running in {folder.path}.", *_settings(folder)]))
    return 1


def sign_in(data: Path | None) -> int:
    """Print the link that signs a browser in; 1 when no service answers. The link is a secret."""
    folder = DataFolder(data_folder(os.environ, data))
    ready = embedded.status(folder.path)
    if ready is None:
        print(f"No service answers in {folder.path}: start one with `agentsvc serve`.", file=sys.stderr)
        return 1
    print(ready.sign_in_url)
    return 0


def stop(data: Path | None) -> int:
    """End the service. Raises `EmbeddedError` when it does not end."""
    folder = data_folder(os.environ, data)
    print("Stopped." if _ended(folder) else f"No service was running in {folder}.")
    return 0


def restart(data: Path | None, model: str | None) -> int:
    """End the service and start it with the settings that its folder keeps, and those that are named here. They are
    read first: with bad ones it goes on.

    Raises `SettingsError`, and `EmbeddedError` when it does not end or does not come up.
    """
    plan = plan_of(data, model)
    if fault := plan.fault():
        raise SettingsError(fault)
    _ended(plan.settings.data)
    embedded.find_or_start(plan.settings.data, model=model)
    return status(plan.settings.data)


def _ended(folder: Path) -> bool:
    waiting = threading.Timer(QUIET_SECONDS, _say, ["Waiting for the service to end; it takes up to 10 s."])
    waiting.start()
    try:
        return embedded.stop(folder)
    finally:
        waiting.cancel()


def _described(folder: DataFolder, ready: Ready) -> list[str]:
    return [
        f"agentsvc {ready.version} at {ready.base_url}",
        f"  model:  {ready.model or 'unknown'}",
        f"  data:   {folder.path}",
        f"  log:    {_log(folder)}",
        f"  since:  {_since(folder)} (process {ready.pid})",
    ]


def _settings(folder: DataFolder, ready: Ready | None = None) -> list[str]:
    """What the folder keeps for its next service, and how that is otherwise here."""
    try:
        plan = plan_of(folder.path)
    except SettingsError as error:
        return [f"  kept:   unknown: {error}"]
    notice = plan.notice(ready) if ready else None
    return [*(f"  kept:   {plain(line)}" for line in plan.described()), *filter(None, [notice])]


def _log(folder: DataFolder) -> str:
    return str(folder.log) if folder.log.exists() else "the terminal that it was started in"


def _since(folder: DataFolder) -> str:
    try:
        written = folder.ready.stat().st_mtime  # once in a service's life: when it was ready
    except OSError:
        return "just now"
    return datetime.fromtimestamp(written).strftime("%Y-%m-%d %H:%M:%S")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
