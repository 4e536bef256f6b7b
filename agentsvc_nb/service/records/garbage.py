"""What nobody can ask for any more: expired uploads, old idempotency keys, contents without a row."""

from __future__ import annotations

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records.queries import load

_sql = load("leftovers")

WITH_CONTENTS = ("file", "media", "upload")
"""Every table whose rows name a blob, in a column `sha256`: what none of them names may be removed."""


def contents(tx: Tx) -> set[str]:
    """The hashes of all blobs that a row names."""
    named = " UNION ".join(f"SELECT sha256 FROM {table} WHERE sha256 IS NOT NULL" for table in WITH_CONTENTS)
    return {row["sha256"] for row in tx.all(named)}


def expire_uploads(tx: Tx, before: int, limit: int) -> int:
    """Delete up to `limit` uploads that expired before `before` (ms); how many."""
    return tx.run(_sql["expire_uploads"], before=before, limit=limit)


def forget_replays(tx: Tx, before_day: str, limit: int) -> int:
    """Delete up to `limit` Idempotency-Keys of UTC days before `before_day`; how many."""
    return tx.run(_sql["forget_replays"], before_day=before_day, limit=limit)
