"""`%%ask --n`: one question asked several times, each in a new chat, with the answers side by side."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentsvc_nb.notebook.display.approval import watched_bundle
from agentsvc_nb.notebook.display.render import Bundle, columns_bundle
from agentsvc_nb.notebook.display.results import DisplayedResult
from agentsvc_nb.notebook.display.screens import STATUS_SECONDS, TICK_SECONDS, Output
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.runs.answer import CellAnswer
from agentsvc_nb.notebook.runs.background import Background
from agentsvc_nb.notebook.runs.follow import CANCEL_SECONDS, SHUTDOWN_SECONDS
from agentsvc_nb.notebook.state.session import Session


class Variants(DisplayedResult):
    """The answers to one question that was asked several times.

    Example: `answers[0].text`, `[answer.text for answer in answers]`, `answers.pick(2)`
    """

    def __init__(self, session: Session, answers: Sequence[CellAnswer], bundle: Bundle) -> None:
        super().__init__(bundle)
        self._session, self._answers = session, tuple(answers)

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
        self.view, self.bundle = RunView(), Bundle()

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
        self._output, self._live, self._id, self._told = output, live, "", 0.0

    def draw(self, columns: Sequence[VariantColumn]) -> None:
        now = time.monotonic()
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
