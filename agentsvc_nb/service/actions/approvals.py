"""A call of a run waits for somebody's yes or no (docs/decisions/0020-effects-wait.md)."""

from __future__ import annotations

from agentsvc_nb.service.actions import runs
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records import tool_calls
from agentsvc_nb.service.records.tool_calls import CallRecord
from agentsvc_nb.wire.runs import CallApproval, Verdict


def decide(tx: Tx, account: str, run_id: str, call_id: str, given: Verdict) -> CallApproval:
    """Approve or refuse a call; the same verdict once more changes nothing.

    Raises `invalid_run_id`, `run_not_found`, `call_not_found`, and `call_not_waiting` for the other verdict and for a
    call whose run has ended.
    """
    run = runs.get(tx, account, run_id)
    call = tool_calls.by_call_id(tx, run.run_id, call_id)
    if call is None:
        raise Fail("call_not_found")
    if decided := tool_calls.decide(tx, call, "approved" if given.approved else "refused", given.reason or ""):
        return _shown(decided, given.approved)
    if call.state in _SAME[given.approved]:
        return _shown(call, given.approved)
    raise Fail("call_not_waiting")


_SAME = {True: ("approved", "begun", "done"), False: ("refused",)}


def _shown(call: CallRecord, approved: bool) -> CallApproval:
    return CallApproval(
        run_id=call.run_id, call_id=call.call_id, tool=call.tool, approved=approved, reason=call.reason or ""
    )
