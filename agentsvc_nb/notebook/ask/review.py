"""Review of runs: show one again, compare two, export them to a file."""

from __future__ import annotations

import difflib
import html
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentsvc_nb.client.approvals import event_pages
from agentsvc_nb.client.cards import Showing
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.history import runs, the_run
from agentsvc_nb.notebook.display.file_table import charts_bundle, files_bundle
from agentsvc_nb.notebook.display.markdown import WRAPPED
from agentsvc_nb.notebook.display.render import Bundle, answer_bundle, mark, price, seconds_of
from agentsvc_nb.notebook.display.results import QuotedText, grid
from agentsvc_nb.notebook.display.sources import sources_html
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.workspace import fetcher, reader
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, errors_as_cells
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import label, plain

if TYPE_CHECKING:
    from agentsvc_nb.client.models import Run
    from agentsvc_nb.wire.runs import Event

DIFF_LINES: Final = 400
BEGINNING: Final = 100
"""Characters of a part of a request that are shown."""
_PRE: Final = f'<pre style="{WRAPPED}">'
_TAGS: Final = {"+": "ins", "-": "del"}


def show(session: Session, given: str) -> CellAnswer:
    """Show a run as it is now, rebuilt from its events; an active run is not followed.

    Raises `AskError` when the run is not known, or the service fails.
    """
    run_id = the_run(session, given)
    view = RunView(own=session.base_url == EMBEDDED)
    with errors_as_cells(session):
        run = session.client().runs.get(run_id)
        view.opened(run)
        for event in _events(session, run_id):
            view.apply(event)
    session.journal.seen(run)
    if run.ended:
        view.settle(run)
    files = [WorkspaceFile.model_validate({"id": "", "run_id": run_id, **facts}) for facts in view.files.values()]
    table = files_bundle(files, caption="Files of this run") if files else None
    charts = charts_bundle(files, fetch) if (fetch := fetcher(session.client(), run.chat)) else None
    sources = sources_html(view.text, reader(session.client(), run.chat))
    bundle = answer_bundle(view, notes=session.take_notes(), files=table, charts=charts, sources=sources)
    inputs, client = session.journal.inputs(run_id), session.client()
    return CellAnswer(run, view.text, bundle, files, inputs=inputs, fetch_tables=lambda: client.runs.tables(run_id))


def _events(session: Session, run_id: str) -> Iterable[Event]:
    return (event for page in event_pages(session.client(), run_id) for event in page.data)


class Comparison(Showing):
    """Two runs compared: their facts, and a unified diff of their answers in `text`."""

    def __init__(self, first: Run, second: Run, own: bool = False) -> None:
        self.first = first
        self._own = own
        self.second = second
        before, after = (plain(run.output or "").splitlines() for run in (first, second))
        names = (first.run_id, second.run_id)
        self.lines = tuple(difflib.unified_diff(before, after, *names, lineterm="", n=2))
        self.text = "\n".join(self.lines)

    def _mimebundle(self) -> Bundle:
        rows = [
            ("state", *(mark(str(run.status)) for run in (self.first, self.second))),
            ("model", self.first.model, self.second.model),
            ("seconds", *(_seconds(run) for run in (self.first, self.second))),
            ("steps", self.first.steps, self.second.steps),
            ("cost", *(_price(run, self._own) for run in (self.first, self.second))),
            ("characters", *(f"{len(run.output or ''):,}" for run in (self.first, self.second))),
        ]
        facts = grid("Two runs", ("", self.first.run_id, self.second.run_id), rows)
        shown = self.lines[2:DIFF_LINES]
        rest = [f"… {len(self.lines) - DIFF_LINES:,} more lines"] if len(self.lines) > DIFF_LINES else []
        said = shown or ("The answers are the same.",)
        changed = "\n".join(_line_html(line) for line in (*said, *rest))
        return {
            "text/plain": "\n".join((facts["text/plain"], *said, *rest)),
            "text/html": f"{facts['text/html']}{_PRE}{changed}</pre>",
        }


def _price(run: Run, own: bool) -> str:
    return price(run.usage.cost_microcents, run.model, own)


def _seconds(run: Run) -> str:
    seconds = seconds_of(run)
    return "" if seconds is None else f"{seconds:.1f}"


def _line_html(line: str) -> str:
    tag, text = _TAGS.get(line[:1]), html.escape(line)
    return f"<{tag}>{text}</{tag}>" if tag else text


def diff(session: Session, first: str, second: str) -> Comparison:
    """Compare two runs and their answers. Raises `AskError` when one is not known, or the service fails."""
    found = [the_run(session, given) for given in (first, second)]
    with errors_as_cells(session):
        one, other = (session.client().runs.get(run_id) for run_id in found)
    return Comparison(one, other, own=session.base_url == EMBEDDED)


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


def export(session: Session, target: str | Path, given: Iterable[str] = ()) -> QuotedText:
    """Export this notebook's runs, or those given, to a file; its suffix decides the format.

    `.jsonl` has a line for each run with its record and all its events, `.csv` the table of `%runs`, `.md` the
    beginning of each question and its answer. An existing file is overwritten.

    Raises `AskError` for another suffix, an unknown run, a failing service, or a file that cannot be written.
    """
    path = Path(target).expanduser()
    write = _WRITERS.get(path.suffix)
    if write is None:
        raise AskError(f"{path.name} does not say what to write; nothing was written.", "End it in .jsonl, .csv or .md")
    wanted = [the_run(session, name) for name in given]
    table = runs(session).df
    chosen = [str(run_id) for run_id in table["run_id"].dropna() if not wanted or run_id in wanted]
    chosen += [run_id for run_id in wanted if run_id not in chosen]
    with errors_as_cells(session):
        text = write(session, chosen)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AskError(f"{path} can't be written: {error.strerror}.", "Name another file.") from None
    return QuotedText(f"{len(chosen)} run{'s' * (len(chosen) != 1)} in {path}")


def _jsonl(session: Session, chosen: list[str]) -> str:
    lines = []
    for run_id in chosen:
        record = session.client().runs.get(run_id).model_dump(mode="json")
        events = [
            {"id": event.id, "type": event.type, "created_at": event.created_at, "payload": event.payload}
            for event in _events(session, run_id)
        ]
        lines.append(json.dumps({"run": record, "events": events}, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _csv(session: Session, chosen: list[str]) -> str:
    table = runs(session, everywhere=True).df
    return str(table[table["run_id"].isin(chosen)].to_csv(index=False))


def _markdown(session: Session, chosen: list[str]) -> str:
    asked = {row["run_id"]: row["prompt"] for row in session.journal.runs(None)}
    own, parts = session.base_url == EMBEDDED, []
    for run_id in chosen:
        run = session.client().runs.get(run_id)
        facts = f"{run.status}, {run.model or 'model unknown'}, {_price(run, own)}, run {run_id}"
        parts.append(f"## {asked.get(run_id) or 'Run'}\n\n*{facts}*\n\n{plain(run.output or '')}\n")
    return "\n".join(parts)


_WRITERS: Final = {".jsonl": _jsonl, ".csv": _csv, ".md": _markdown}
