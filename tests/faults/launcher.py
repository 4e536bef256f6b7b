"""Serves as `agentsvc serve` does, but with engines that fail at a named point.

    python -m tests.faults.launcher --data DIR --port 0
        [--point "in runs.claim 1"] [--group N] [--late-writers]
        [--set smtp_url=smtp://127.0.0.1:2525] [--set database=postgresql://...]

The product has no switch for this: the engines are arguments of `create_app`, like the agent.
"""

from __future__ import annotations

import argparse
import json
import os
import uuid
from pathlib import Path
from typing import Any

from agentsvc_nb import __version__, clock
from agentsvc_nb.agents import choose
from agentsvc_nb.service.app import Engines, create_app
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import ensure_own_key
from agentsvc_nb.service.runner.storage import SystemClock
from agentsvc_nb.service.server import bind, origin, run
from agentsvc_nb.settings import Settings
from tests.faults.effects import offer
from tests.faults.engines import FaultyBlobs, FaultyDatabase, MovableClock, Point
from tests.faults.history_checker import HistoryChecker, LateWritersDatabase


def main() -> None:
    given = _arguments()
    offer()
    settings = Settings.from_env({}, data=given.data, model="scripted", **dict(one.split("=", 1) for one in given.set))
    folder = DataFolder(settings.data, settings.database, settings.shared_secret)
    folder.make()
    with folder.hold(), bind("127.0.0.1", given.port) as listening:
        ensure_own_key(folder)
        base_url = origin("127.0.0.1", listening.getsockname()[1])
        app = create_app(
            settings,
            instance=str(uuid.uuid4()),
            origin=base_url,
            agent=HistoryChecker(choose("scripted"), settings.data),
            engines=_engines(given, folder),
        )
        ready = {"pid": os.getpid(), "base_url": base_url, "version": __version__}
        with clock.replaced(MovableClock(folder.path)):
            run(app, listening, lambda: write_private(folder.ready, json.dumps(ready)))


def _engines(given: argparse.Namespace, folder: DataFolder) -> Engines:
    database: Any
    if given.late_writers:
        database = LateWritersDatabase(folder)
    else:
        database = FaultyDatabase(folder, Point.parse(given.point), given.group)
    blobs = FaultyBlobs(folder.path / "blobs", Point.parse(given.point))
    return Engines(database, blobs, SystemClock())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--point", default="never never 0")
    parser.add_argument("--group", type=int, default=0)
    parser.add_argument("--late-writers", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    main()
