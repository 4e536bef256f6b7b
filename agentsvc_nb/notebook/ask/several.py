"""Ask a question for each row of a DataFrame: one progress bar, then a table of the answers."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.client.batch import CONCURRENCY, MapProgress, MapStopped
from agentsvc_nb.client.batch_rows import ABOUT, DataFrameAdapter, adapt, referenced_columns
from agentsvc_nb.notebook.display.render import FREE, Bundle, percent, price
from agentsvc_nb.notebook.display.results import DisplayedResult, grid
from agentsvc_nb.notebook.display.screens import Bar, Output
from agentsvc_nb.notebook.errors import RunFailed, RunStopped
from agentsvc_nb.notebook.files.attachments import AttachedFile, chat_with_files
from agentsvc_nb.notebook.host import Mode
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, errors_as_cells
from agentsvc_nb.wire.limits import WAIT_SECONDS
from agentsvc_nb.wire.runs import CENT, Effort
from agentsvc_nb.wire.text import escape

DRAW_SECONDS: Final = 0.2
_STEPS: Final = 10
"""The number of lines that a terminal prints while the rows are asked."""


@dataclass(frozen=True)
class RowsQuestion:
    """A question for each row of a DataFrame.

    `frame` is the value of the variable `name`; `fresh` ignores earlier answers; `notes` are lines for the output; the
    other fields are arguments of `client.map`.
    """

    name: str
    frame: Any
    message: str
    files: Sequence[AttachedFile] = ()
    notes: tuple[str, ...] = ()
    schema: Any = None
    key: str | None = None
    project: str | None = None
    model: str | None = None
    effort: Effort | None = None
    max_concurrency: int = CONCURRENCY
    max_cents: float | None = None
    keep: str | None = None
    fresh: bool = False
    timeout: float | None = None
    raise_error: bool = True


class Rows(DisplayedResult):
    """The answers: `frame` is the DataFrame with the new columns."""

    def __init__(self, bundle: Bundle, frame: Any) -> None:
        super().__init__(bundle)
        self.frame = frame

    def __repr__(self) -> str:
        return self._bundle["text/plain"]


class RowsBar:
    """The progress of a batch: a live bar in a browser, ten lines in a terminal, nothing in a static host."""

    def __init__(self, output: Output, mode: Mode, clock: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._mode = mode
        self._clock = clock
        self._bar = Bar(output, mode == "live")
        self._drawn = 0.0
        self._step = 0
        self.own = False
        """Whether this machine's own service answers; set by `ask_each`."""
        self.models: tuple[str, ...] = ()
        """Those that answered, once that is known."""

    def __call__(self, progress: MapProgress) -> None:
        self.models = progress.models
        now, step = self._clock(), _STEPS * progress.done // max(1, progress.total)
        # The last progress is always drawn, or the bar would stop short of its end.
        if self._mode == "live" and (now - self._drawn >= DRAW_SECONDS or progress.done == progress.total):
            self._drawn = now
            self._bar.draw(progress_bundle(progress, self.own))
        if self._mode == "terminal" and step > self._step:
            self._output.show(progress_bundle(progress, self.own))
        self._step = step

    def finish(self, bundle: Bundle) -> None:
        self._bar.finish(bundle)


def ask_each(session: Session, question: RowsQuestion, bar: RowsBar) -> Rows:
    """Ask every row and return the answers; a row that failed has a value in the column `error`.

    Raises:
        AskError: the batch could not be started.
        RunFailed: every row failed (not with `raise_error=False`); its `answer` is the DataFrame.
        RunStopped: the cell was interrupted. Its `answer` has the rows so far; running the cell again continues there.
    """
    bar.own = session.base_url == EMBEDDED
    try:
        with errors_as_cells(session):
            out = _map_rows(session, question, bar)
    except MapStopped as stopped:
        bar.finish(_table(session, question, stopped.partial, bar)[0])
        halted = RunStopped(str(stopped))
        halted.answer = stopped.partial
        raise halted from None
    bundle, answered = _table(session, question, out, bar)
    bar.finish(bundle)
    if not answered and question.raise_error and len(out):
        failed = RunFailed(
            "No row was answered; the column `error` says why.", "`--no-raise-error` keeps the cell going."
        )
        failed.answer = out
        raise failed
    return Rows(bundle, out)


def _map_rows(session: Session, question: RowsQuestion, bar: RowsBar) -> Any:
    def show_progress(progress: MapProgress) -> None:
        session.known.rows.update(dict.fromkeys(progress.going))
        bar(progress)

    return session.client().map(
        question.frame,
        question.message,
        schema=question.schema,
        key=question.key,
        project=question.project or session.project,
        model=question.model,
        effort=question.effort,
        files=[file.sent for file in question.files],
        file_ids=[*session.staged.values()],
        files_from=chat_with_files(session),
        max_concurrency=question.max_concurrency,
        max_cents=question.max_cents,
        timeout=WAIT_SECONDS if question.timeout is None else question.timeout,
        # Part of the fingerprint of each row: with another salt no earlier answer is found.
        salt=secrets.token_hex(8) if question.fresh else "",
        keep=question.keep,
        on_progress=show_progress,
    )


def progress_bundle(progress: MapProgress, own: bool = False) -> Bundle:
    """A progress bar with the rows done, their cost, and the estimated time left."""
    amount, pieces = percent(progress.done, progress.total), _pieces(progress, own)
    value = f' value="{amount[:-2]}"' if amount else ""
    html = f'<progress max="100"{value} aria-label="rows">{amount}</progress>'
    line = " · ".join(pieces)
    return {"text/plain": line, "text/html": f'{html} <span role="status">{escape(line, 400)}</span>'}


def _spent(cents: float, models: Sequence[str], own: bool) -> str:
    """The price of rows that these models answered; free if nobody is charged for any of them."""
    return price(round(cents * CENT), models[0] if len(models) == 1 else None, own)


def _pieces(progress: MapProgress, own: bool) -> list[str]:
    spent = _spent(progress.cents, progress.models, own)
    if progress.cents_expected is not None and spent != FREE:
        spent += f" of about {_spent(progress.cents_expected, progress.models, own)}"
    pieces = [f"{progress.done:,} of {progress.total:,} rows", spent]
    if progress.failed:
        pieces.insert(1, f"{progress.failed:,} failed")
    if progress.seconds_left is not None and progress.done < progress.total:
        pieces.append(f"about {_lasting(progress.seconds_left)} left")
    if progress.waiting:
        pieces.append(f"the service is busy: waiting {progress.waiting:.0f} s")
    return pieces


def _lasting(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _table(session: Session, question: RowsQuestion, out: Any, bar: RowsBar) -> tuple[Bundle, int]:
    """Return the table of questions, answers and errors, and the number of rows that were answered."""
    whole = adapt(out)
    there = adapt(question.frame).columns
    new = [name for name in whole.columns if name not in there]
    shown = [*referenced_columns(question.message, there), *(name for name in new if name not in ABOUT), "error"]
    errors, cents = whole.values("error"), whole.values("cents")
    answered = errors.count(None)
    facts = [f"{answered:,} of {len(errors):,} rows answered", _spent(sum(filter(None, cents)), bar.models, bar.own)]
    notes = [" · ".join(facts), *question.notes, *session.take_notes()]
    return grid(f"{question.name}, asked", shown, _lines(whole, shown), notes), answered


def _lines(whole: DataFrameAdapter, shown: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(whole.values(name) for name in shown), strict=True))
