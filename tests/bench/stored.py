"""What a service has in its database, read beside it."""

from __future__ import annotations

from agentsvc_nb.service.keyring import open_beside
from agentsvc_nb.testing import RunningService


def runs(service: RunningService, status: str) -> int:
    """How many runs have this status."""
    counted = "SELECT COUNT(*) AS runs FROM run WHERE status = :status"
    with open_beside(service.folder) as database:
        [row] = database.read(lambda tx: tx.all(counted, status=status))
    return int(row["runs"])
