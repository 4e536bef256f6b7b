"""Tool calls that wait for approval: list them, approve or refuse one."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.client.approvals import WaitingCall, Watched
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import frame
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.display.approval import calls_bundle
from agentsvc_nb.notebook.display.results import PrintedText, ResultTable
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.runs.history import LAST, active, the_run
from agentsvc_nb.notebook.state.session import Session, errors_as_cells
from agentsvc_nb.wire.runs import TERMINAL
from agentsvc_nb.wire.text import label

_CALL: Final = "call_"
_ID_CHARS: Final = 10
"""The least number of characters of a call id that is given by its beginning, `call_` included."""
_LISTS: Final = "`%approve` lists what waits."


def approvals(session: Session, *, everywhere: bool = False) -> ResultTable:
    """List the tool calls that wait for approval, of this notebook's runs or (`everywhere`) of all of this machine.

    The runs of `%%ask --each` are not in the journal, so only those that this kernel started are included. Raises
    `AskError` when the service cannot be asked.
    """
    found = _waiting(session, everywhere)
    session.known.calls = [call.call_id for call in found]
    bundle = calls_bundle(found)
    if not found:
        said = "Nothing waits for approval."
        bundle = {"text/plain": said, "text/html": f"<div>{said}</div>"}
    rows = [{name: getattr(call, name) for name in results.APPROVALS} for call in found]
    return ResultTable(bundle, lambda: frame(rows, results.APPROVALS, notebook=session.notebook))


def approve(session: Session, given: str, *, refuse: bool = False, reason: str = "") -> PrintedText:
    """Approve or refuse a tool call.

    Args:
        given: a call id or its beginning, or a run (as `the_run` takes it, except `last`) with just one waiting call.
        refuse: refuse the call instead of approving it.
        reason: why it is refused; the agent is told.

    Raises `AskError` when no call or several calls fit, when the call no longer waits, or the service fails.
    """
    if reason and not refuse:
        raise AskError("--reason goes with --refuse; nothing was sent.", "The agent is told why its call was refused.")
    call = _the_call(session, given)
    decide(session, call, not refuse, reason)
    return PrintedText(f"{'Refused' if refuse else 'Approved'}: {label(call.tool, 60)} of run {call.run_id}.")


def decide(session: Session, call: WaitingCall, approved: bool, reason: str) -> None:
    """Send the decision on a tool call. Raises `AskError` when the call no longer waits, or the service fails."""
    with errors_as_cells(session):
        if approved:
            session.client().runs.approve(call.run_id, call.call_id)
        else:
            session.client().runs.refuse(call.run_id, call.call_id, reason=reason)
    session.known.calls = [known for known in session.known.calls if known != call.call_id]


def _the_call(session: Session, given: str) -> WaitingCall:
    if given.startswith(_CALL):
        # A call id does not tell its run, so all runs of this machine are searched.
        found = [c for c in _waiting(session, True) if len(given) >= _ID_CHARS and c.call_id.startswith(given)]
        what = f"call {label(given, 64)}"
    elif given == LAST:  # when the notebook is run again, this would approve a call that nobody has looked at
        raise AskError("Name the call or its run; nothing was sent.", _LISTS)
    else:
        run_id = the_run(session, given)
        found, what = _of_run(session, run_id), f"call of run {run_id}"
    if not found:
        raise AskError(f"No {what} waits for approval; nothing was sent.", _LISTS)
    if len(found) > 1:
        names = ", ".join(label(call.call_id, 64) for call in found[:9])
        raise AskError(f"{len(found)} calls wait; nothing was sent.", f"Name one of them: {names}")
    return found[0]


def _waiting(session: Session, everywhere: bool) -> list[WaitingCall]:
    known = dict.fromkeys(active(session, everywhere=everywhere)) | session.known.rows
    return [call for run_id in known for call in _of_run(session, run_id)]


def _of_run(session: Session, run_id: str) -> list[WaitingCall]:
    run = Watched(session.client(), run_id)
    with errors_as_cells(session):
        try:
            run.look()
        except StefanBrainError as error:
            if error.status != 404:  # 404: a run of another account
                raise
            session.known.rows.pop(run_id, None)
    if run.status in TERMINAL:
        session.known.rows.pop(run_id, None)
    return [*run.waiting.values()]
