"""What a service has in its database, read beside it."""

from __future__ import annotations

import contextlib
import sqlite3

from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.testing import RunningService


def runs(service: RunningService, status: str) -> int:
    """How many runs have this status."""
    path = f"file:{DataFolder(service.data).database}?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as connection:
        (found,) = connection.execute("SELECT COUNT(*) FROM run WHERE status = ?", (status,)).fetchone()
    return int(found)
