"""An embedded service that is lost in the middle of a run and cannot be started again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from agentsvc_nb import embedded
from agentsvc_nb.service.folder import DataFolder


def lose_for_good(data: Path) -> None:
    """Kill the folder's embedded service (SIGKILL) and damage its database, so that no other can start there."""
    found = embedded.status(data)
    assert found is not None
    os.kill(found.pid, signal.SIGSTOP)  # so that it writes nothing while the database is replaced
    database = DataFolder(data).database
    for file in data.glob(f"{database.name}*"):
        file.unlink()
    database.write_text("this is no database")
    os.kill(found.pid, signal.SIGKILL)
