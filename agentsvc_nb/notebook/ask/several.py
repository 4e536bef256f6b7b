"""Several runs for one cell: variants of a question, or a question for each row of a DataFrame.

`%%ask --n` asks one question several times, each in a new chat, and shows the answers side by side. `%%ask --each`
shows one progress bar, then a table of the answers.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.client.batch import CONCURRENCY, MapProgress, MapStopped
from agentsvc_nb.client.batch_rows import ABOUT, DataFrameAdapter, adapt, referenced_columns
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.background import Background
from agentsvc_nb.notebook.ask.follow import CANCEL_SECONDS, SHUTDOWN_SECONDS
from agentsvc_nb.notebook.display.render import FREE, Bundle, columns_bundle, percent, price, watched_bundle
from agentsvc_nb.notebook.display.results import DisplayedResult, grid
from agentsvc_nb.notebook.display.screens import STATUS_SECONDS, TICK_SECONDS, Bar, Output
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.files.attachments import AttachedFile, chat_with_files
from agentsvc_nb.notebook.host import Mode
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, errors_as_cells
from agentsvc_nb.wire.limits import WAIT_SECONDS
from agentsvc_nb.wire.runs import CENT, Effort
from agentsvc_nb.wire.text import escape


class Variants(DisplayedResult):
    """The answers to one question that was asked several times.

    Example: `answers[0].text`, `[answer.text for answer in answers]`, `answers.pick(2)`
    """

    def __init__(self, session: Session, answers: Sequence[CellAnswer], bundle: Bundle) -> None:
        super().__init__(bundle)
        self._session = session
        self._answers = tuple(answers)

    def pick(self, number: int) -> CellAnswer:
        """Continue from variant `number`, counted from 1: its chat becomes the notebook's.

        Raises `AskError` when there is no such variant, or it was never started.
        """
        if not 1 <= number <= len(self._answers):
            raise AskError(f"There is no variant {number}.", f"Pick one from 1 to {len(self._answers)}.")
        answer = self._answers[number - 1]
        if not answer.chat:
            raise AskError(f"Variant {number} was not asked: it has no chat to go on in.", "Pick another.")
        self._session.move(answer.chat)
        self._session.staged = {}  # each variant's chat has them
        return answer

    def __len__(self) -> int:
        return len(self._answers)

    def __iter__(self) -> Iterator[CellAnswer]:
        return iter(self._answers)

    def __getitem__(self, at: int) -> CellAnswer:
        return self._answers[at]

    def __repr__(self) -> str:
        return f"<Variants: {', '.join(answer.status for answer in self._answers)}>"


class VariantColumn:
    """The screen of one variant. It displays nothing itself: `Board` draws all columns together."""

    def __init__(self) -> None:
        self.view = RunView()
        self.bundle = Bundle()

    def draw(self, view: RunView) -> None:
        self.view = view

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self.bundle = bundle

    def clear(self) -> None:
        pass

    @property
    def shown(self) -> Bundle:
        return self.bundle or watched_bundle(self.view)


class VariantsOutput:
    """The output of all variants: their status lines while they run, if the host is `live`, then their answers."""

    def __init__(self, output: Output, live: bool) -> None:
        self._output = output
        self._live = live
        self._id = ""
        self._told = 0.0

    def draw(self, columns: Sequence[VariantColumn]) -> None:
        now = time.monotonic()
        # Each update sends all columns anew, so they are drawn more rarely than a single run.
        if not self._live or now - self._told < STATUS_SECONDS:
            return
        self._told, bundle = now, columns_bundle([watched_bundle(column.view) for column in columns])
        if self._id:
            self._output.update(bundle, self._id)
        else:
            self._id = secrets.token_hex(4)
            self._output.show(bundle, display_id=self._id)

    def finish(self, bundle: Bundle) -> None:
        if self._id:
            self._output.clear()
        self._output.show(bundle)


def watch(
    session: Session, asked: Sequence[Background], columns: Sequence[VariantColumn], board: VariantsOutput
) -> Variants:
    """Watch the variants until all have ended, and show them side by side.

    An interrupt cancels them all; after a second one, their ends are not waited for. When the kernel is being
    restarted or closed they go on, as with `follow`.

    Raises:
        RunFailed: no variant completed.
        RunStopped: the cell was interrupted.
    """
    stopped = False
    try:
        _until_done(asked, columns, board)
    except KeyboardInterrupt:
        stopped = True
        _stop(session, asked, columns, board)
    bundle = columns_bundle([column.shown for column in columns])
    board.finish(bundle)
    made = Variants(session, [_answer(one, column) for one, column in zip(asked, columns, strict=True)], bundle)
    failure: RunFailed | RunStopped | None = None
    if stopped:
        failure = RunStopped("The cell was stopped; its variants are cancelled.", "`%runs` lists them.")
    elif not any(answer.status == "completed" for answer in made):
        failure = RunFailed("None of the variants completed.", "Each says why above.")
    if failure is not None:
        failure.answer = made
        raise failure
    return made


def _stop(
    session: Session, asked: Sequence[Background], columns: Sequence[VariantColumn], board: VariantsOutput
) -> None:
    patience = CANCEL_SECONDS
    try:
        # An interrupt may be the first sign of a restart, which must not cancel anything (`SHUTDOWN_SECONDS`).
        time.sleep(SHUTDOWN_SECONDS)
    except KeyboardInterrupt:
        patience = 0.0
    if session.closing():
        return
    for one in asked:
        one.cancel()
    with contextlib.suppress(KeyboardInterrupt):
        _until_done(asked, columns, board, patience)


def _until_done(
    asked: Sequence[Background], columns: Sequence[VariantColumn], board: VariantsOutput, seconds: float = float("inf")
) -> None:
    end = time.monotonic() + seconds
    while not all(one.done() for one in asked) and time.monotonic() < end:
        time.sleep(TICK_SECONDS)
        board.draw(columns)


def _answer(one: Background, column: VariantColumn) -> CellAnswer:
    """The answer of a variant; of one that failed or still runs, the answer so far."""
    return one.outcome() or CellAnswer(column.view.record, column.view.text, column.shown, ())


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
