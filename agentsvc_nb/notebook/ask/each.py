"""`%%ask --each`: ask about each row of a DataFrame. Show a progress bar, then a table of the answers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

from agentsvc_nb import clock
from agentsvc_nb.client.batch import CONCURRENCY, MapProgress, MapStopped
from agentsvc_nb.client.batch_rows import ABOUT, adapt, referenced_columns
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.display.progress import progress_html
from agentsvc_nb.notebook.display.render import FREE, Bundle, percent, price
from agentsvc_nb.notebook.display.results import DisplayedResult, grid
from agentsvc_nb.notebook.display.screens import Bar, Output
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.files.attachments import chat_with_files
from agentsvc_nb.notebook.host import Mode
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, convert_errors
from agentsvc_nb.wire.limits import WAIT_SECONDS
from agentsvc_nb.wire.runs import CENT

DRAW_SECONDS: Final = 0.2
_STEPS: Final = 10
"""The maximum number of progress lines printed in a terminal."""


class RowsResult(DisplayedResult):
    """The answers for all rows, as the value of a cell. `frame` is the DataFrame with columns for the answers added."""

    def __init__(self, bundle: Bundle, frame: Any) -> None:
        super().__init__(bundle)
        self.frame = frame

    def __repr__(self) -> str:
        return self._bundle["text/plain"]


class RowsBar:
    """A display of how many rows are done: a live bar in a browser, up to ten lines in a terminal, nothing elsewhere.

    Attributes:
        own: whether the embedded service on this machine answers the questions.
        models: the models that have answered so far.
    """

    def __init__(self, output: Output, mode: Mode, clock: Callable[[], float] = clock.monotonic) -> None:
        self._output = output
        self._mode = mode
        self._clock = clock
        self._bar = Bar(output, mode == "live")
        self._drawn = 0.0
        self._step = 0
        self.own = False
        self.models: tuple[str, ...] = ()

    def __call__(self, progress: MapProgress) -> None:
        self.models = progress.models
        now, step = self._clock(), _STEPS * progress.done // max(1, progress.total)
        # always draw the last state, so that the bar ends at 100 %
        if self._mode == "live" and (now - self._drawn >= DRAW_SECONDS or progress.done == progress.total):
            self._drawn = now
            self._bar.draw(progress_bundle(progress, self.own))
        if self._mode == "terminal" and step > self._step:
            self._output.show(progress_bundle(progress, self.own))
        self._step = step

    def finish(self, bundle: Bundle) -> None:
        self._bar.finish(bundle)


def ask_each(
    session: Session,
    request: AskRequest,
    name: str,
    frame: Any,
    bar: RowsBar,
    *,
    key: str | None = None,
    max_concurrency: int = CONCURRENCY,
    max_cents: float | None = None,
) -> RowsResult:
    """Ask about every row and return the answers. For a row that failed, the column `error` says why.

    Args:
        request: the question. `{{column}}` in its message is replaced with the row's value in that column.
        name: the name of the variable or file that holds `frame`.
        key, max_concurrency, max_cents: as for `client.map`.

    Raises:
        AskError: the service received no row.
        RunFailed: every row failed, and `request.raise_error` is set. The exception's `answer` is the DataFrame.
        RunStopped: the user interrupted the cell. The exception's `answer` holds the rows answered so far. When the
            cell runs again, only the other rows are asked.
    """
    shape = request.shape
    if shape is not None and shape.records:
        raise AskError(
            "--each returns one record per row, so --schema must not be a list; nothing was sent.",
            "Use `--schema Model` instead of `--schema list[Model]`.",
        )
    bar.own = session.base_url == EMBEDDED

    def show_progress(progress: MapProgress) -> None:
        session.known.row_runs.update(dict.fromkeys(progress.going))
        bar(progress)

    try:
        with convert_errors(session):
            chat = chat_with_files(session)
            if chat and (earlier := session.take_replaced(chat, ())):
                session.client().files.upload(*(file.sent for file in earlier), chat=chat)
            out = session.client().map(
                frame,
                request.message,
                schema=None if shape is None else shape.kind or shape.schema,
                key=key,
                project=request.project or session.project,
                model=request.model,
                effort=request.effort,
                files=[file.sent for file in request.files],
                file_ids=[*session.staged.values()],
                files_from=chat,
                files_version=_files_version(session, chat) if session.notebook else None,
                max_concurrency=max_concurrency,
                max_cents=max_cents,
                timeout=WAIT_SECONDS if request.timeout is None else request.timeout,
                # the salt is part of each row's fingerprint, so with a new salt no stored answer is found
                salt=secrets.token_hex(8) if request.fresh else "",
                on_progress=show_progress,
            )
    except MapStopped as stopped:
        bar.finish(_table(session, request, name, frame, stopped.partial, bar)[0])
        halted = RunStopped(str(stopped))
        halted.answer = stopped.partial
        raise halted from None
    if _format_cost(1, bar.models, bar.own) == FREE:  # the line below says `free`, so the rows must cost 0
        set_columns = out.assign if hasattr(out, "assign") else out.with_columns
        out = set_columns(cents=out["cents"] * 0)
    bundle, answered = _table(session, request, name, frame, out, bar)
    bar.finish(bundle)
    if not answered and request.raise_error and len(out):
        failed = RunFailed(
            "The agent did not answer any row. See the reasons in the column `error`.",
            "Add `--no-raise-error` to continue after a failure.",
        )
        failed.answer = out
        raise failed
    return RowsResult(bundle, out)


def _files_version(session: Session, chat: str | None) -> str:
    """Return a text that identifies the chat's current files, except those that only cells further down added.

    After a kernel restart, the chat already contains the files of all cells. If files of later cells counted, the text
    would change, and all rows would be asked again.
    """
    turns = session.journal.turns(session.base_url, chat) if chat else []
    attached: dict[str, set[str]] = {turn["idempotency_key"]: {*turn["attachments"].split()} for turn in turns}
    above = session.execution_history.keys
    below = {turn["run_id"] for turn in turns if turn["idempotency_key"] not in above}
    made = session.journal.recorded_puts(session.name, session.base_url).union(*attached.values())
    found = session.staged_uploads | session.uploads_before(session.address())
    found |= {("", sha256) for key in above for sha256 in attached.get(key, ())}
    for file in session.client().files.list(chat) if chat else ():
        if file.kind == "upload" and file.id not in made:
            found.add((file.file_name, file.id))
        elif file.kind != "upload" and file.run_id not in below:
            found.add((file.path, file.id))
    return json.dumps(sorted(found))


def progress_bundle(progress: MapProgress, own: bool = False) -> Bundle:
    """Return a progress bar with the number of finished rows, their cost, and the estimated time left."""
    amount = percent(progress.done, progress.total)
    spent = _format_cost(progress.cents, progress.models, own)
    if progress.cents_expected is not None and spent != FREE:
        spent += f" of about {_format_cost(progress.cents_expected, progress.models, own)}"
    pieces = [f"{progress.done:,} of {progress.total:,} rows", spent]
    if progress.failed:
        pieces.insert(1, f"{progress.failed:,} failed")
    if (left := progress.seconds_left) is not None and progress.done < progress.total:
        pieces.append(f"about {f'{left:.0f} s' if left < 90 else f'{left / 60:.0f} min'} left")
    if progress.waiting:
        pieces.append(f"the service is busy: waiting {progress.waiting:.0f} s")
    line = " · ".join(pieces)
    return {"text/plain": line, "text/html": progress_html("Rows", line, percent=amount)}


def _format_cost(cents: float, models: Sequence[str], own: bool) -> str:
    """Format the cost of rows that were answered by these models. Returns `free` if none of the models costs money."""
    return price(round(cents * CENT), models[0] if len(models) == 1 else None, own)


def _table(session: Session, request: AskRequest, name: str, frame: Any, out: Any, bar: RowsBar) -> tuple[Bundle, int]:
    """Return the table of questions, answers and errors, and how many rows were answered."""
    whole, given = adapt(out), adapt(frame).columns
    new = [column for column in whole.columns if column not in given and column not in ABOUT]
    shown = [*referenced_columns(request.message, given), *new, "error"]
    errors, cents = whole.values("error"), whole.values("cents")
    answered = errors.count(None)
    facts = [
        f"{answered:,} of {len(errors):,} rows answered",
        _format_cost(sum(filter(None, cents)), bar.models, bar.own),
    ]
    notes = [" · ".join(facts), *request.notes, *session.take_notes()]
    rows = list(zip(*(whole.values(column) for column in shown), strict=True))
    return grid(f"{name}, asked", shown, rows, notes), answered
