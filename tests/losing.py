"""A service that goes away in mid-run, and that nothing brings back."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from agentsvc_nb import embedded
from agentsvc_nb.service.folder import DataFolder


def lose_for_good(data: Path) -> None:
    """kill -9 of the embedded service of a folder in which none can start again."""
    found = embedded.status(data)
    assert found is not None
    os.kill(found.pid, signal.SIGSTOP)  # so that it writes nothing into what follows
    database = DataFolder(data).database
    for file in data.glob(f"{database.name}*"):
        file.unlink()
    database.write_text("this is no database")
    os.kill(found.pid, signal.SIGKILL)
