"""Review of runs: show one again, and what one sent to language models."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.client.approvals import event_pages
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.follower import output_of
from agentsvc_nb.notebook.ask.history import the_run
from agentsvc_nb.notebook.display.results import QuotedText
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, errors_as_cells
from agentsvc_nb.wire.text import label

BEGINNING: Final = 100
"""Characters of a part of a request that are shown."""


def show(session: Session, given: str) -> CellAnswer:
    """Show a run as it is now, rebuilt from its events; an active run is not followed.

    Raises `AskError` when the run is not known, or the service fails.
    """
    run_id = the_run(session, given)
    view = RunView(own=session.base_url == EMBEDDED)
    with errors_as_cells(session):
        run = session.client().runs.get(run_id)
        view.opened(run)
        for page in event_pages(session.client(), run_id):
            for event in page.data:
                view.apply(event)
    session.journal.seen(run)
    if run.ended:
        view.settle(run)
    client, inputs = session.client(), session.journal.inputs(run_id)
    draw, files = output_of(client, view, pictured=True)
    bundle = draw(notes=session.take_notes())
    return CellAnswer(run, view.text, bundle, files, inputs=inputs, fetch_tables=lambda: client.runs.tables(run_id))


def sent(session: Session, given: str) -> QuotedText:
    """What a run sent to language models: call by call the address, and each part's length and beginning. Raises
    `AskError` when the run is not known, or the service fails."""
    run_id = the_run(session, given)
    with errors_as_cells(session):
        calls = session.client().runs.sent(run_id)
    lines = []
    for call in calls:
        whose = "a provider's" if call.hosted else "your own"
        lines.append(
            f"{call.place}. {call.model} at {call.provider} ({whose}), some {call.tokens:,} tokens; new in it:"
        )
        lines += [f"   {each.what}, {each.chars:,} characters: {label(each.text, BEGINNING)}" for each in call.parts]
    return QuotedText("\n".join(lines) or f"Run {run_id} sent nothing to a language model.")
