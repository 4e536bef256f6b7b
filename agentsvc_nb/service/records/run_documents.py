"""A run as it goes over the wire: the JSON of `wire.runs.Run`, written without its checks. It is read more often than
anything else."""

from __future__ import annotations

import json
from typing import Any

from agentsvc_nb.service.ports.storage import Row, Tx
from agentsvc_nb.service.records.queries import load
from agentsvc_nb.wire.times import rfc3339, rfc3339_or_none

_sql = load("runs")


def of_account(tx: Tx, run_id: str, account: str, origin: str) -> dict[str, Any] | None:
    row = tx.one(_sql["shown"], run_id=run_id, account=account)
    if row is None:
        return None
    text = row["structured_output"]
    return document(row, None if text is None else json.loads(text), origin)


def document(row: Row, structured_output: dict[str, Any] | None, origin: str) -> dict[str, Any]:
    """The columns of a run as JSON."""
    return {
        "object": "agent_run",
        "run_id": row["run_id"],
        "status": row["status"],
        "chat": row["chat"],
        "project": row["project"],
        "created_at": rfc3339(row["created_at"]),
        "started_at": rfc3339_or_none(row["started_at"]),
        "ended_at": rfc3339_or_none(row["ended_at"]),
        "output": row["output"],
        "structured_output": structured_output,
        "last_error": row["last_error"],
        "last_error_message": row["last_error_message"],
        "steps": row["steps"],
        "usage": {name: row[name] for name in ("input_tokens", "output_tokens", "cost_microcents")},
        "model": row["model"],
        "app_url": f"{origin}/app/chats/{row['chat']}?run={row['run_id']}",
    }
