"""When the service last wrote something down."""

from __future__ import annotations

from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records.queries import load

_sql = load("newest")


def newest(tx: Tx) -> int | None:
    """The time of the newest record in ms; None when there is none."""
    row = tx.one(_sql["newest"])
    return None if row is None else row["at"]
