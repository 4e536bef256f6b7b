"""`agentsvc runs approve`: yes or no to the calls of a run that wait for it."""

from __future__ import annotations

import sys
from pathlib import Path

from agentsvc_nb.client.approvals import waiting_calls
from agentsvc_nb.commands.ask import service
from agentsvc_nb.wire.text import exact, label


def decide(run_id: str, *, data: Path | None, call_id: str | None, refuse: bool, reason: str) -> int:
    """Approve or refuse the call, or every one that waits, and print each. 1 when none waits.

    Raises `StefanBrainError`, and `NoService` for a folder where none ran.
    """
    with service(data, new=False) as client:
        found = [call for call in waiting_calls(client, run_id).values() if call_id in (None, call.call_id)]
        for call in found:
            if refuse:
                client.runs.refuse(run_id, call.call_id, reason=reason)
            else:
                client.runs.approve(run_id, call.call_id)
            print(f"{'Refused' if refuse else 'Approved'}: {label(call.tool)} {exact(call.input)}")
    if not found:
        print("No call of this run waits for approval.", file=sys.stderr)
    return 0 if found else 1
