"""The runs started from this machine: list them, find one by the beginning of its id, wait for them, cancel them; list
their tool calls that wait for approval, and decide on them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.approvals import WaitingCall, Watched
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import frame
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.display.render import FREE, cost, mark, moment, price, stacked
from agentsvc_nb.notebook.display.results import PrintedText, ResultTable, Row, code, grid
from agentsvc_nb.notebook.display.waiting_calls import calls_bundle, print_new_calls, why_late
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, errors_as_cells
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.runs import CENT, TERMINAL
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.notebook.kernel.calls import KernelCall


LAST: Final = "last"
POLL_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 86_400.0
"""How long `wait` waits when no timeout is given: a day."""


def runs(session: Session, *, everywhere: bool = False) -> ResultTable:
    """List this notebook's runs from the journal, oldest first; the state of active ones is read from the service.

    With `everywhere`, the runs of all notebooks on this machine. Raises `AskError` when the service cannot be asked.
    """
    name = None if everywhere else _name(session)
    rows = session.journal.runs(name)
    stale = [row["run_id"] for row in rows if _stale(session, row)]
    if stale:
        with errors_as_cells(session):
            for run_id in stale:
                _refresh(session, session.client(), run_id)
        rows = session.journal.runs(name)
    return _table(session, rows)


def _active(session: Session, *, everywhere: bool = False) -> list[str]:
    """Return the ids of runs that were active when last seen, of this notebook or (`everywhere`) of this machine."""
    rows = session.journal.runs(None if everywhere else _name(session))
    return [row["run_id"] for row in rows if _stale(session, row)]


def _stale(session: Session, row: Mapping[str, Any]) -> bool:
    """Whether a run of the connected service had not ended when last seen, so that its state must be read anew."""
    return row["run_id"] is not None and row["status"] not in TERMINAL and row["base_url"] == session.base_url


def _refresh(session: Session, client: AgentService, run_id: str) -> None:
    try:
        session.journal.seen(client.runs.get(run_id))
    except StefanBrainError as error:
        if error.status != 404:  # 404: a run of another account, which keeps its last known state
            raise


def _table(session: Session, found: Sequence[Mapping[str, Any]]) -> ResultTable:
    rows = [row | {"seconds": _seconds(row), "cost_cents": _cents(row)} for row in map(dict, found)]
    charged = [row["cost_microcents"] or 0 for row in rows if _price(row) != FREE]
    spent = f", {cost(sum(charged))} in all" if charged else f", {FREE}" if rows else ""
    total = f"{len(rows):,} run{'s' * (len(rows) != 1)}{spent}"
    hint = ["`%runs show RUN` shows one again; the beginning of its id will do."] if rows else []
    bundle = grid("Runs", ("run", "state", "started", "seconds", "cost", "asked"), [*map(_row, rows)], [total, *hint])
    wanted = [{name: row[name] for name in results.RUNS} for row in rows]
    return ResultTable(bundle, lambda: frame(wanted, results.RUNS, notebook=session.notebook))


def _row(row: Mapping[str, Any]) -> Row:
    seconds = row["seconds"]
    return (
        code(row["run_id"][:13]) if row["run_id"] else None,
        mark(row["status"]) if row["run_id"] else "○ not answered",
        moment(row["started_at"] or row["created_at"]),
        None if seconds is None else f"{seconds:.1f}",
        None if row["cost_microcents"] is None else _price(row),
        row["prompt"],
    )


def _price(row: Mapping[str, Any]) -> str:
    return price(row["cost_microcents"] or 0, row["model"], _own(row))


def _own(row: Mapping[str, Any]) -> bool:
    return bool(row["base_url"] == EMBEDDED)


def _seconds(row: Mapping[str, Any]) -> float | None:
    try:
        start, end = (datetime.fromisoformat(row[name] or "") for name in ("started_at", "ended_at"))
        return (end - start).total_seconds()
    except (ValueError, TypeError):
        return None


def _cents(row: Mapping[str, Any]) -> float | None:
    spent = row["cost_microcents"]
    return None if spent is None else spent / CENT


def the_run(session: Session, given: str) -> str:
    """Return the id of the run given by its id, the first 8 characters of it or more, or `last`.

    Raises `AskError` unless exactly one run fits.
    """
    if ids.is_run(given):
        return given
    known = [str(row["run_id"]) for row in session.journal.runs(None) if row["run_id"]]
    ours = [str(row["run_id"]) for row in session.journal.runs(_name(session)) if row["run_id"]]
    if given == LAST and ours:
        return ours[-1]
    found = ids.runs_beginning(given, known)
    if len(found) != 1:
        raise AskError(f"{given!r} is not a run id; nothing was sent.", "`%runs` lists this notebook's runs.")
    return found.pop()


def cancel(session: Session, *run_ids: str) -> PrintedText:
    """Cancel runs; safe to repeat. Raises `AskError` when one is not known, or the service fails."""
    lines = []
    for run_id in [the_run(session, given) for given in run_ids]:
        with errors_as_cells(session):
            run = session.client().runs.cancel(run_id)
        session.journal.seen(run)
        lines.append(f"Run {run.run_id} is {run.status}.")
    return PrintedText("\n".join(lines))


def wait(session: Session, run_ids: Iterable[str] = (), *, timeout: float | None = None) -> ResultTable:
    """Wait until these runs have ended, by default all active ones of this notebook, and return their table.

    Meanwhile, only tool calls that wait for approval are printed.

    Raises:
        AskError: a run is not known, or the service failed.
        RunFailed: `timeout` seconds have elapsed; its `answer` is the table so far. The runs go on.
        RunStopped: the cell was interrupted; the runs go on.
    """
    rows = session.journal.runs(_name(session))
    wanted = [the_run(session, given) for given in run_ids] or [r["run_id"] for r in rows if _stale(session, r)]

    def table() -> ResultTable:
        return _table(session, [row for row in session.journal.runs(None) if row["run_id"] in wanted])

    try:
        with errors_as_cells(session):
            _wait(session, wanted, PATIENCE_SECONDS if timeout is None else timeout)
    except KeyboardInterrupt:
        raise RunStopped("Waiting was stopped; the runs go on.", "`%runs cancel RUN` stops one.") from None
    except RunFailed as late:
        late.answer = table()
        raise
    return table()


def _wait(session: Session, wanted: Iterable[str], timeout: float) -> None:
    client, told = session.client(), set[str]()
    runs = [Watched(client, run_id) for run_id in wanted]
    end = time.monotonic() + timeout
    while runs:
        for run in runs:
            run.look()
            print_new_calls(run.waiting.values(), told)
            if run.status in TERMINAL:
                session.journal.seen(client.runs.get(run.run_id))
        runs = [run for run in runs if run.status not in TERMINAL]
        left = end - time.monotonic()
        if runs and left <= 0:
            late, why = runs[0].run_id, why_late(runs[0].waiting.values())
            raise RunFailed(
                f"The run has not ended within {timeout:g} s; it goes on.{why} (run {late})", "`%runs` lists them."
            )
        if runs:
            time.sleep(min(POLL_SECONDS, left))


def _name(session: Session) -> str:
    return session.notebook or session.label


_CALL: Final = "call_"
_CALL_ID_CHARS: Final = 10
"""The least number of characters of a call id that is given by its beginning, `call_` included."""
_LISTS: Final = "`%approve` lists what waits."


def approvals(session: Session, *, everywhere: bool = False) -> ResultTable:
    """List the tool calls that wait for approval, of this notebook's runs or (`everywhere`) of all of this machine;
    first, code that is to run in this kernel.

    The runs of `%%ask --each` are not in the journal, so only those that this kernel started are included. Raises
    `AskError` when the service cannot be asked.
    """
    found = _waiting(session, everywhere)
    own = _for_kernel(session)
    waiting: list[KernelCall | WaitingCall] = [*own, *found]
    session.known.calls = [call.call_id for call in waiting]
    bundle = stacked([*(call.asking_bundle() for call in own), *([calls_bundle(found)] if found else [])])
    if not waiting:
        said = "Nothing waits for approval."
        bundle = {"text/plain": said, "text/html": f"<div>{said}</div>"}
    rows = [{name: getattr(call, name) for name in results.APPROVALS} for call in waiting]
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
    if own := [
        call for call in _for_kernel(session) if len(given) >= _CALL_ID_CHARS and call.call_id.startswith(given)
    ]:
        if len(own) > 1 or not own[0].decide(not refuse, reason=reason):
            raise AskError(f"No single call {label(given, 64)} waits; nothing was sent.", _LISTS)
        return PrintedText(own[0].refused_line if refuse else own[0].approved_line)
    call = _the_call(session, given)
    decide(session, call, not refuse, reason)
    return PrintedText(f"{'Refused' if refuse else 'Approved'}: {label(call.tool, 60)} of run {call.run_id}.")


def _for_kernel(session: Session) -> list[KernelCall]:
    return [call for calls in session.known.kernel.values() for call in calls if call.state == "asked"]


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
        found = [c for c in _waiting(session, True) if len(given) >= _CALL_ID_CHARS and c.call_id.startswith(given)]
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
    known = dict.fromkeys(_active(session, everywhere=everywhere)) | session.known.rows
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
