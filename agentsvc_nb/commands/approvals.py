"""`agentsvc runs approve`: yes or no to the calls of a run that wait for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from agentsvc_nb.client.surface import AgentService
from agentsvc_nb.commands.ask import service
from agentsvc_nb.safe.text import plain


def decide(run_id: str, *, data: Path | None, call_id: str | None, refuse: bool, reason: str) -> int:
    """Approve or refuse the call, or every one that waits, and print each. 1 when none waits.

    Raises `StefanBrainError`, and `NoService` for a folder where none ran.
    """
    with service(data, new=False) as client:
        found = [call for call in waiting(client, run_id) if call_id in (None, call["call_id"])]
        for call in found:
            if refuse:
                client.runs.refuse(run_id, call["call_id"], reason=reason)
            else:
                client.runs.approve(run_id, call["call_id"])
            given = plain(json.dumps(call["input"], ensure_ascii=False))
            print(f"{'Refused' if refuse else 'Approved'}: {call['tool']} {given}")
    if not found:
        print("No call of this run waits for approval.", file=sys.stderr)
    return 0 if found else 1


def waiting(client: AgentService, run_id: str) -> list[dict[str, Any]]:
    """The payloads of the calls that wait, in order."""
    found: dict[str, dict[str, Any]] = {}
    page = client.runs.events(run_id, limit=1000)
    while True:
        for event in page.data:
            if event.type == "approval.requested":
                found[event.payload["call_id"]] = event.payload
            elif event.type == "approval.decided":
                found.pop(event.payload["call_id"], None)
        if not page.has_more:
            return list(found.values())
        page = client.runs.events(run_id, after=page.next_after, limit=1000)
