"""List, show, undo, cancel and wait for runs started from this machine, and approve or refuse their tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb import clock
from agentsvc_nb.client.approvals import PendingApproval, RunApprovals, event_pages
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import frame
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.follower import prepare_output
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.display.render import FREE, cost, format_time, price, stack, status_label, undone_bundle
from agentsvc_nb.notebook.display.results import Preview, PrintedText, QuotedText, ResultTable, code, grid
from agentsvc_nb.notebook.display.screens import Output, answer_id
from agentsvc_nb.notebook.display.timeline import seconds_between
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.display.waiting_calls import calls_bundle, describe_waiting_calls, print_new_calls
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, convert_errors
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.runs import CENT, TERMINAL, NewStandingApproval, Verdict
from agentsvc_nb.wire.text import label
from agentsvc_nb.wire.undo import sentences

if TYPE_CHECKING:
    from agentsvc_nb.notebook.kernel.calls import KernelCall


LAST: Final = "last"
POLL_SECONDS: Final = 1.0
WAIT_SECONDS: Final = 86_400.0
"""The default timeout of `wait`: one day, in seconds."""
PART_CHARS: Final = 100
"""How many characters `show_sent` shows of each part of a request."""
_COLUMNS: Final = ("run", "state", "started", "seconds", "cost", "asked")


def runs(session: Session, *, everywhere: bool = False) -> ResultTable:
    """List this notebook's runs from the journal, oldest first. The state of active runs is read from the service.

    With `everywhere`, list the runs of all notebooks on this machine. Raises `AskError` when the service cannot be
    reached.
    """
    if active := _active(session, everywhere=everywhere):
        with convert_errors(session):
            for run_id in active:
                try:
                    session.journal.record_state(session.client().runs.get(run_id))
                except StefanBrainError as error:
                    if error.status != 404:  # 404: the run belongs to another account. Its last known state is shown
                        raise
    return _table(session, session.journal.runs(None if everywhere else session.name))


def _active(session: Session, *, everywhere: bool = False) -> list[str]:
    """Return the ids of runs of this notebook (with `everywhere`, this machine) that were active when last seen."""
    return [
        row["run_id"]
        for row in session.journal.runs(None if everywhere else session.name)
        if row["run_id"] is not None and row["status"] not in TERMINAL and row["base_url"] == session.base_url
    ]


def _table(session: Session, found: Sequence[Mapping[str, Any]]) -> ResultTable:
    shown, rows, charged = [], [], []
    for row in found:
        microcents, seconds = row["cost_microcents"], seconds_between(row["started_at"], row["ended_at"])
        spent = price(microcents or 0, row["model"], row["base_url"] == EMBEDDED)
        if spent != FREE:
            charged.append(microcents or 0)
        shown.append(
            (
                code(row["run_id"][:13]) if row["run_id"] else None,
                f"{status_label(row['status'])}{', undone' * bool(row['undone_at'])}"
                if row["run_id"]
                else "○ not answered",
                format_time(row["started_at"] or row["created_at"]),
                None if seconds is None else f"{seconds:.1f}",
                None if microcents is None else spent,
                row["prompt"],
            )
        )
        cents = None if microcents is None else 0.0 if spent == FREE else microcents / CENT
        known = {**row, "seconds": seconds, "cost_cents": cents}
        rows.append({name: known[name] for name in results.RUNS})
    total = f"{len(rows):,} run{'s' * (len(rows) != 1)}"
    if rows:
        total += f", {cost(sum(charged))} in all" if charged else f", {FREE}"
    hint = ["Show a run with `%runs show RUN`, where RUN is the beginning of its id."] if rows else []
    bundle = grid("Runs", _COLUMNS, shown, [total, *hint])
    return ResultTable(bundle, lambda: frame(rows, results.RUNS, notebook=session.notebook))


def resolve_run(session: Session, given: str) -> str:
    """Return the id of the run that the user names by its id, by 8 or more first characters of it, or as `last`.

    Raises `AskError` if no run or several runs match.
    """
    if ids.is_run(given):
        return given
    known = [str(row["run_id"]) for row in session.journal.runs(None) if row["run_id"]]
    ours = [str(row["run_id"]) for row in session.journal.runs(session.name) if row["run_id"]]
    if given == LAST and ours:
        return ours[-1]
    found = ids.match_run_ids(given, known)
    if len(found) != 1:
        raise AskError(f"{given!r} matches no run, or more than one; nothing was sent.", "List the runs with `%runs`.")
    return found.pop()


def cancel(session: Session, *run_ids: str) -> PrintedText:
    """Cancel runs. It is safe to cancel a run twice. Raises `AskError` when a run is unknown or a request fails."""
    lines = []
    for run_id in [resolve_run(session, given) for given in run_ids]:
        with convert_errors(session):
            run = session.client().runs.cancel(run_id)
        session.journal.record_state(run)
        lines.append(f"Run {run.run_id} is {run.status}.")
    return PrintedText("\n".join(lines))


def undo(
    session: Session, given: str, *, redo: bool = False, force: bool = False, output: Output | None = None
) -> QuotedText:
    """Undo a run's changes to files. With `redo`, apply the undone changes again.

    Files that were changed later stay as they are, unless `force` is set.

    If `output` is given, the answer's output in the notebook is updated to say whether the run is undone.

    Raises `AskError` when the run is unknown or still active, or when the request fails.
    """
    run_id = resolve_run(session, given)
    with convert_errors(session):
        client = session.client()
        done = client.runs.redo(run_id, force=force) if redo else client.runs.undo(run_id, force=force)
    session.journal.record_undone(run_id, done.undone_at)
    if output is not None and run_id in session.known.answers:
        answer, metadata = session.known.answers[run_id]
        output.update(undone_bundle(answer) if done.undone_at else answer, answer_id(run_id), metadata=metadata)
    return QuotedText("\n".join(sentences(done, "%runs", redo=redo)))


def raise_limit(session: Session, given: str, max_cents: float) -> PrintedText:
    """Raise an active run's cost limit. Raises `AskError` if the run is unknown or has ended, or the request fails."""
    run_id = resolve_run(session, given)
    with convert_errors(session):
        run = session.client().runs.raise_limit(run_id, max_cents)
    return PrintedText(f"The limit of run {run.run_id} is now {run.max_cents or 0:,.2f} cents.")


def show(session: Session, given: str) -> CellAnswer:
    """Show a run's current state without following the run.

    Raises `AskError` if no such run exists, or a request fails.
    """
    run_id = resolve_run(session, given)
    view = RunView(own=session.base_url == EMBEDDED)
    with convert_errors(session):
        run = session.client().runs.get(run_id)
        view.apply_start(run)
        for page in event_pages(session.client(), run_id):
            for event in page.data:
                view.apply(event)
    session.journal.record_state(run)
    if run.ended:
        view.apply_record(run)
    client, inputs = session.client(), session.journal.attached_digests(run_id)
    draw, files = prepare_output(client, view, pictured=True)
    bundle = draw(notes=session.take_notes())
    return CellAnswer(run, view.text, bundle, files, inputs=inputs, fetch_tables=lambda: client.runs.tables(run_id))


def show_sent(session: Session, given: str) -> QuotedText:
    """List what a run sent to language models: for each call, the address, and the length and beginning of each part.

    Raises `AskError` when the run is unknown or a request fails.
    """
    run_id = resolve_run(session, given)
    with convert_errors(session):
        calls = session.client().runs.sent(run_id)
    lines = []
    for call in calls:
        whose = "hosted" if call.hosted else "your own server"
        lines.append(
            f"{call.place}. {call.model} at {call.provider} ({whose}), about {call.tokens:,} tokens; new in this call:"
        )
        lines += [f"   {each.what}, {each.chars:,} characters: {label(each.text, PART_CHARS)}" for each in call.parts]
    return QuotedText("\n".join(lines) or f"Run {run_id} sent nothing to a language model.")


def wait(session: Session, run_ids: Iterable[str] = (), *, timeout: float | None = None) -> ResultTable:
    """Wait until these runs (by default all active runs of this notebook) have ended, and return their table.

    Prints the tool calls that need the user's approval while it waits, and nothing else.

    Raises:
        AskError: a run is unknown, or a request failed.
        RunFailed: the runs did not end within `timeout` seconds. The exception's `answer` is the table so far. The runs
            continue.
        RunStopped: the user interrupted the cell. The runs continue.
    """
    wanted = [resolve_run(session, given) for given in run_ids] or _active(session)
    end = clock.monotonic() + (WAIT_SECONDS if timeout is None else timeout)

    def table() -> ResultTable:
        return _table(session, [row for row in session.journal.runs(None) if row["run_id"] in wanted])

    printed = set[str]()
    try:
        with convert_errors(session):
            client = session.client()
            going = [RunApprovals(client, run_id) for run_id in wanted]
            while going:
                for run in going:
                    run.update()
                    print_new_calls(run.waiting.values(), printed)
                    if run.status in TERMINAL:
                        session.journal.record_state(client.runs.get(run.run_id))
                going = [run for run in going if run.status not in TERMINAL]
                left = end - clock.monotonic()
                if going and left <= 0:
                    late, why = going[0].run_id, describe_waiting_calls(going[0].waiting.values())
                    failed = RunFailed(
                        f"The run did not end within {timeout:g} s and is still active.{why} (run {late})",
                        "List the active runs with `%runs`.",
                    )
                    failed.answer = table()
                    raise failed
                if going:
                    clock.sleep(min(POLL_SECONDS, left))
    except KeyboardInterrupt:
        raise RunStopped(
            "You stopped waiting, but the runs are still active.", "Stop a run with `%runs cancel RUN`."
        ) from None
    return table()


_CALL: Final = "call_"
_CALL_ID_CHARS: Final = 10
"""The minimum number of characters with which a user may name a call, including the prefix `call_`."""
_LISTS: Final = "List the waiting calls with `%approve`."


def standing_approvals(session: Session) -> Preview:
    """List the current standing approvals, which approve further calls of a tool in advance.

    Raises `AskError` when the request fails.
    """
    with convert_errors(session):
        found = list(session.client().runs.standing_approvals())
    rows = [
        (
            code(each.id),
            each.tool,
            each.folder,
            f"run {each.run_id[:13]} ends" if each.run_id else format_time(each.expires_at),
            code(each.chat),
        )
        for each in found
    ]
    note = (
        "Revoke an approval with `%approve --revoke APPROVAL`."
        if rows
        else "No calls are approved in advance: each call waits for your approval."
    )
    return Preview(grid("Approved in advance", ("approval", "tool", "folder", "until", "chat"), rows, [note]))


def revoke(session: Session, approval: str) -> PrintedText:
    """Revoke a standing approval. Raises `AskError` when the approval does not exist, or the request fails."""
    with convert_errors(session):
        session.client().runs.revoke_approval(approval)
    return PrintedText(
        f"The approval was revoked. The next call waits for your approval again. (approval {label(approval, 64)})"
    )


def approvals(session: Session, *, everywhere: bool = False) -> ResultTable:
    """List the tool calls that wait for approval: first code for this kernel, then calls of this notebook's runs.

    With `everywhere`, list the calls of all notebooks on this machine. Runs of `%%ask --each` are not in the journal.
    They are listed only if this kernel started them. Raises `AskError` when the service cannot be reached.
    """
    found = _waiting_calls(session, everywhere)
    own = _for_kernel(session)
    waiting: list[KernelCall | PendingApproval] = [*own, *found]
    session.known.listed_calls = [call.call_id for call in waiting]
    bundle = stack([*(call.asking_bundle() for call in own), *([calls_bundle(found)] if found else [])])
    if not waiting:
        said = "No calls wait for your approval."
        bundle = {"text/plain": said, "text/html": f"<div>{said}</div>"}
    rows = [{name: getattr(call, name) for name in results.APPROVALS} for call in waiting]
    return ResultTable(bundle, lambda: frame(rows, results.APPROVALS, notebook=session.notebook))


def approve(
    session: Session,
    given: str,
    *,
    refuse: bool = False,
    reason: str = "",
    changed: Mapping[str, Any] | None = None,
    further: NewStandingApproval | None = None,
) -> PrintedText:
    """Approve or refuse a tool call.

    Args:
        given: a call's id or the first characters of the id, or a run that has exactly one waiting call. A run is named
            as for `resolve_run`, but not as `last`.
        refuse: refuse the call instead of approving it.
        reason: the reason for a refusal. It is sent to the agent.
        changed: arguments to use instead of those that the agent chose. The agent learns about the change.
        further: the standing approval to give for further calls of the same tool.

    Raises `AskError` when no call or several calls match, when the call was already decided, or when the request fails.
    """
    if reason and not refuse:
        raise AskError(
            "--reason is only valid with --refuse; nothing was sent.",
            "Add --refuse to refuse the call and send the reason to the agent.",
        )
    if refuse and (changed is not None or further):
        raise AskError(
            "--refuse cannot be combined with --input, --for or --folder; nothing was sent.",
            "Remove --refuse to approve the call.",
        )
    if own := [
        call for call in _for_kernel(session) if len(given) >= _CALL_ID_CHARS and call.call_id.startswith(given)
    ]:
        if changed is not None or further:
            raise AskError("--input and --for do not apply to code for this kernel; nothing was sent.", _LISTS)
        if len(own) > 1 or not own[0].decide(not refuse, reason=reason):
            raise AskError(f"{label(given, 64)} matches no waiting call, or more than one; nothing was sent.", _LISTS)
        return PrintedText(own[0].refused_line if refuse else own[0].approved_line)
    call = _resolve_call(session, given)
    verdict = Verdict(approved=not refuse, reason=reason or None, standing=further)
    verdict.input = None if changed is None else dict(changed)
    decide(session, call, verdict)
    did = "Refused" if refuse else "Approved" if changed is None else "Approved as changed"
    return PrintedText(f"{did}: {label(call.tool, 60)} (run {call.run_id})")


def _for_kernel(session: Session) -> list[KernelCall]:
    return [call for calls in session.known.kernel_calls.values() for call in calls if call.state == "asked"]


def decide(session: Session, call: PendingApproval, verdict: Verdict) -> None:
    """Send a decision about a tool call. Raises `AskError` when the call was already decided, or the request fails."""
    with convert_errors(session):
        if verdict.approved:
            further = verdict.standing.model_dump() if verdict.standing else {}
            session.client().runs.approve(call.run_id, call.call_id, input=verdict.input, **further)
        else:
            session.client().runs.refuse(call.run_id, call.call_id, reason=verdict.reason or "")
    session.known.listed_calls = [known for known in session.known.listed_calls if known != call.call_id]


def _resolve_call(session: Session, given: str) -> PendingApproval:
    if given.startswith(_CALL):
        # A call id does not say to which run it belongs, so search all runs of this machine.
        found = [
            c for c in _waiting_calls(session, True) if len(given) >= _CALL_ID_CHARS and c.call_id.startswith(given)
        ]
        what = f"call {label(given, 64)}"
    elif given == LAST:  # with `last`, a rerun of the notebook would approve a call that nobody has seen
        raise AskError(
            "`last` is not allowed here, because it could approve a call that you have not seen; nothing was sent.",
            _LISTS,
        )
    else:
        run_id = resolve_run(session, given)
        found, what = _waiting_in_run(session, run_id), f"call of run {run_id}"
    if not found:
        raise AskError(f"No {what} waits for approval; nothing was sent.", _LISTS)
    if len(found) > 1:
        names = ", ".join(label(call.call_id, 64) for call in found[:9])
        raise AskError(f"{len(found)} calls match; nothing was sent.", f"Use the id of one call: {names}")
    return found[0]


def _waiting_calls(session: Session, everywhere: bool) -> list[PendingApproval]:
    known = dict.fromkeys(_active(session, everywhere=everywhere)) | session.known.row_runs
    return [call for run_id in known for call in _waiting_in_run(session, run_id)]


def _waiting_in_run(session: Session, run_id: str) -> list[PendingApproval]:
    run = RunApprovals(session.client(), run_id)
    with convert_errors(session):
        try:
            run.update()
        except StefanBrainError as error:
            if error.status != 404:  # 404: the run belongs to another account
                raise
            session.known.row_runs.pop(run_id, None)
    if run.status in TERMINAL:
        session.known.row_runs.pop(run_id, None)
    return [*run.waiting.values()]
