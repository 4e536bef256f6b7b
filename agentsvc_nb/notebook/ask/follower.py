"""Start or follow a run, show its progress on a screen, and return its answer or raise an exception.

Two threads share this work. A daemon thread opens the run's event stream and reads it (`_read`). The thread that called
`follow` draws new events and receives interrupts. For a foreground cell, that is the main thread of the kernel.
"""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Literal

from agentsvc_nb import clock
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.notebook.ask.answer import AnswerShape, CellAnswer
from agentsvc_nb.notebook.ask.request import AskRequest, prepare
from agentsvc_nb.notebook.display.file_table import charts_bundle, files_bundle, records_bundle
from agentsvc_nb.notebook.display.render import Bundle, answer_bundle, describe_failure
from agentsvc_nb.notebook.display.screens import TICK_SECONDS, Screen
from agentsvc_nb.notebook.display.sources import sources_html
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.display.waiting_calls import describe_waiting_calls
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped, to_ask_error
from agentsvc_nb.notebook.files.workspace import make_fetcher, make_reader
from agentsvc_nb.notebook.kernel.tool_executor import KernelToolExecutor
from agentsvc_nb.notebook.state.journal import TYPED_CHARS, JournalEntry, TurnRecord
from agentsvc_nb.notebook.state.session import EMBEDDED, EarlierQuestion, Session
from agentsvc_nb.wire.files import StagedFile, WorkspaceFile
from agentsvc_nb.wire.runs import Event, Run
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.client.streams import EventStream

RECONNECTS: Final = 4
"""The maximum number of consecutive reconnects of an event stream. With the client's default of two, a stream would not
survive a restart of the service.
"""
POLL_SECONDS: Final = 0.5
"""Seconds between two status requests for the run that holds the chat. These requests are free (docs/api/events.md)."""
CANCEL_SECONDS: Final = 5.0
"""The maximum time to wait for a cancelled run to stop, in seconds."""
SHUTDOWN_SECONDS: Final = 0.3
"""Seconds to wait after an interrupt before the run is cancelled. Jupyter interrupts a kernel before it shuts the
kernel down, and a shutdown must not cancel the run.
"""
PROMPT_CHARS: Final = 80
"""The maximum length of the prompt shown by `%runs`, in characters."""

EndReason = Literal["ended", "stopped", "left", "late"]
"""The reason why following a run ended.

- `ended`: the run ended by itself.
- `stopped`: an interrupt cancelled the run.
- `left`: the run may continue, but nobody follows it: the user interrupted twice, the service did not confirm the
  cancellation, or the kernel is shutting down.
- `late`: the timeout elapsed.
"""


def ask(session: Session, request: AskRequest, screen: Screen) -> CellAnswer:
    """Ask the question, or show an earlier run's answer (see `prepare`).

    Returns and raises like `RunFollower.follow`.
    """
    follower = RunFollower(session, prepare(session, request), screen)
    follower.record()
    return follower.follow()


def attach(session: Session, run_id: str, screen: Screen, *, timeout: float | None = None) -> CellAnswer:
    """Follow a run that has already started, from its first event. Returns and raises like `RunFollower.follow`."""
    return RunFollower(session, AskRequest(shown=run_id, timeout=timeout), screen).follow()


class RunFollower:
    """Starts the run of a prepared request, or finds the run that the request names, and follows it to its end.

    Args:
        background: whether the run may continue after its cell has ended. The caller then records the turn when the
            question is asked, and a new chat does not become the notebook's chat.
        fails_cell: whether a failed run makes the cell fail. The exception below the output then explains the failure.

    Attributes:
        view: the state of the run as received so far.
        executor: executes the agent's calls in the user's kernel. None if the question does not let the agent use the
            kernel.
        earlier: a question to the same chat that must end before this one starts.
    """

    def __init__(
        self,
        session: Session,
        request: AskRequest,
        screen: Screen,
        *,
        background: bool = False,
        fails_cell: bool = True,
    ) -> None:
        self.session = session
        self.request = request
        self.screen = screen
        self.background = background
        self.fails_cell = fails_cell
        self.client: AgentService = session.client()
        self.executor: KernelToolExecutor | None = None
        if request.kernel is not None and not request.shown:
            self.executor = KernelToolExecutor(request.kernel, session.journal, self.client)
        self.view = RunView(own=session.base_url == EMBEDDED, kernel=self.executor.calls if self.executor else ())
        self.notes = (*session.take_notes(), *request.notes) if background else request.notes
        self.earlier: EarlierQuestion | None = None
        self._staged: dict[str, StagedFile] = {}
        self._items: SimpleQueue[Run | Event | BaseException | None] = SimpleQueue()
        self._stream: EventStream | None = None
        self._left = False
        self._opened = threading.Event()  # set once the service has responded to the start, or the start has failed
        self._abandoned = threading.Event()

    def record(self) -> None:
        """Record the question in the journal, unless an earlier run is shown.

        If the question names no chat, also move the staged uploads from the session to this question.
        """
        request, session = self.request, self.session
        if not request.shown:
            session.journal.start(
                JournalEntry(
                    idempotency_key=request.key,
                    fingerprint=request.fingerprint,
                    notebook=session.name,
                    base_url=session.base_url,
                    address=str(request.address),
                    prompt=label(request.typed, PROMPT_CHARS),
                    typed=request.typed[:TYPED_CHARS],
                    attachments=" ".join(file.sha256 for file in request.files),
                    uploads=request.uploads,
                )
            )
            if request.chat is None:
                self._staged, session.staged = session.staged, {}

    def record_turn(self, address: str) -> None:
        """Record the turn, so that the question is asked again when its cell runs again in this kernel."""
        request = self.request
        self.session.execution_history.add(TurnRecord(request.execution, address, request.key, request.fingerprint))

    def follow(self) -> CellAnswer:
        """Follow the run until it ends, the user interrupts it, or the timeout elapses. Then write the final output.

        The first interrupt cancels the run on the service and waits up to 5 s for its end. A second interrupt ends this
        wait at once. Shutting down or restarting the kernel does not cancel the run.

        Raises:
            AskError: the run did not start, or its event stream was lost and reconnecting failed.
            RunFailed: the run failed, was cancelled elsewhere, or did not end in time. Not raised if
                `request.raise_error` is False.
            RunStopped: the user interrupted the cell.
        """
        view, timeout = self.view, self.request.timeout
        try:
            end = self._watch()
            if end == "ended" and not view.ended:  # the stream ended without the event that ends the run
                view.apply_record(self.client.runs.get(view.run_id))
        except (AskError, StefanBrainError) as error:
            raise self._handle_lost_stream(error) from None
        finally:
            if self.executor is not None:
                self.executor.close()
        if not view.run_id:
            raise self._handle_unstarted(end)
        why = describe_waiting_calls(view.waiting_calls.values())
        line = (
            f"The cell stopped waiting. The run may still be active: follow it with `%runs attach {view.run_id}`."
            if end == "left"
            else ""
        )
        if end == "late":
            line = f"The run did not end within {timeout:g} s and is still active.{why}"
        line = line or self._schema_mismatch(view.record)
        # If no exception is raised, the output itself must say why the run ended.
        fails = self.fails_cell and (self.request.raise_error or end in ("stopped", "left"))
        answer = self._write_output(line, told_below=fails)
        failure = self._failure(end, answer.run, why)
        if failure is not None:
            failure.answer = answer
            if self.request.raise_error or isinstance(failure, RunStopped):
                raise failure
        return answer

    def cancel(self) -> None:
        """Cancel the run as soon as the service has responded to its start. Returns at once, without waiting."""
        self.view.stopping = True
        if self.executor is not None:
            self.executor.close()
        self._abandoned.set()
        threading.Thread(target=self._cancel, name="agentsvc-cancel", daemon=True).start()

    # -- in the thread that follows the run --------------------------------------------------------------------------

    def _watch(self) -> EndReason:
        self._began = clock.monotonic()
        try:
            threading.Thread(target=self._read, name="agentsvc-feed", daemon=True).start()
            if self._process_for(self.request.timeout):
                return "ended"
            if self.view.waiting:
                self.cancel()  # the run waits for the chat, and must not start while nobody follows it
            self._leave_stream()
            return "late"
        except KeyboardInterrupt:
            return self._stop()

    def _stop(self) -> EndReason:
        """Unless the kernel is shutting down, cancel the run, and wait for its end or a second interrupt."""
        cancelled = False
        self.view.stopping = True
        if self.executor is not None:
            self.executor.close()
        try:
            # A kernel that is shutting down is also interrupted. Whether it is shutting down is known only a moment
            # later.
            if self._process_for(SHUTDOWN_SECONDS):
                return "stopped"
            if not self.session.closing():
                cancelled = True
                self.cancel()
                if self._process_for(CANCEL_SECONDS):
                    return "stopped"
        except KeyboardInterrupt:
            if not cancelled and not self.session.closing():
                self.cancel()
        except Exception:  # the user has stopped the run, so an error of the stream no longer matters
            if self.view.ended:
                return "stopped"
        self._leave_stream()
        return "left"

    def _process_for(self, seconds: float | None) -> bool:
        """Apply and draw the stream's items that arrive within `seconds`. Return True if the stream has ended.

        If `seconds` is None, continue until the stream has ended.
        """
        until = None if seconds is None else clock.monotonic() + seconds
        while until is None or clock.monotonic() < until:
            ended = False
            with contextlib.suppress(Empty):
                item = self._items.get(timeout=TICK_SECONDS)
                while True:
                    ended |= self._apply(item)
                    item = self._items.get_nowait()
            self.view.elapsed = clock.monotonic() - self._began
            self.screen.draw(self.view)
            if ended:
                return True
            if self.executor is not None:
                self.executor.tick(lambda: self.screen.draw(self.view))
        return False

    def _apply(self, item: Run | Event | BaseException | None) -> bool:
        """Update the view and the session with an item of the stream. Return True if it marks the stream's end."""
        if isinstance(item, BaseException):
            raise item
        if isinstance(item, Event):
            self.view.apply(item)
        elif item is not None:
            self.view.apply_start(item)
            self._record_opened(item)
        return item is None

    def _record_opened(self, run: Run) -> None:
        session, request = self.session, self.request
        session.known.waiting_calls[run.run_id] = self.view.waiting_calls
        if self.executor is not None:
            session.known.kernel_calls[run.run_id] = self.executor.calls
        if not request.key:  # this cell attached to a run that was started elsewhere
            return
        if not request.shown:
            session.journal.record_run(request.key, run)
        session.remember_chat(request.address, run.chat)
        if not self.background:
            if moves := bool(run.chat and request.new_chat):
                session.switch_chat(run.chat)
            self.record_turn(str(session.address(run.chat) if moves else request.address))

    def _leave_stream(self) -> None:
        """Stop reading the stream. The run continues on the service."""
        self._abandoned.set()
        self._left = True
        if self._stream is not None:
            with contextlib.suppress(Exception):
                self._stream.close()

    # -- in the thread that reads the stream -------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            with self._open() as stream:
                self._stream = stream
                self._opened.set()
                self._items.put(stream.run)
                if not self._left:  # the cell may have ended before the service responded to the start
                    for event in stream:
                        self._items.put(event)
            self._items.put(None)
        except BaseException as error:  # the thread that follows the run raises this error
            self._items.put(error)
        finally:
            self._opened.set()

    def _open(self) -> EventStream:
        """Start the run, or attach to the run to show. While another run holds the chat, wait if `request.wait` is set.

        Raises `AskError` if the user cancels the question before the run starts.
        """
        if self.request.shown:
            return self.client.runs.attach(self.request.shown, max_retries=RECONNECTS)
        # Background questions of this kernel are asked in the order of their cells.
        while self.earlier is not None and not self.earlier.done():
            self._wait_for(self.earlier.run_id)
        while True:
            if self._abandoned.is_set():
                raise _cancelled_error()
            try:
                return self._start()
            except StefanBrainError as error:
                if not self.request.wait or error.code != "agent_run_rejected":
                    raise
                holder = error.active_run_id or ""
            self._wait_for(holder)
            while not self._has_ended(holder):
                self._wait_for(holder)

    def _start(self) -> EventStream:
        stream = self.client.runs.start_and_stream(
            **self.request.start_arguments(self._staged.values()),
            client_tools=self.executor.tools() if self.executor else (),
            max_retries=RECONNECTS,
        )
        if self.executor is not None:
            self.executor.set_run(stream.run)
        return stream

    def _wait_for(self, run_id: str) -> None:
        """Wait half a second for the run that holds the chat. `run_id` is empty if that run is not known.

        Raises `AskError` if the user cancels the question meanwhile.
        """
        self.view.waiting = run_id or "of unknown id"
        if self._abandoned.wait(POLL_SECONDS):
            raise _cancelled_error()

    def _has_ended(self, run_id: str) -> bool:
        """Return True if the run has ended or this account has no such run. The caller then starts its own run."""
        try:
            return not run_id or self.client.runs.get(run_id).ended
        except StefanBrainError as error:
            if error.status == 404:
                return True
            raise

    def _cancel(self) -> None:
        # The run's id is known only when the service has responded to the start. Without this wait, the run could not
        # be cancelled.
        self._opened.wait()
        if self._stream is not None:
            with contextlib.suppress(Exception):  # if cancelling fails, the run's events still show its state
                self.client.runs.cancel(self._stream.run.run_id)

    # -- the end -----------------------------------------------------------------------------------------------------

    def _handle_lost_stream(self, error: AskError | StefanBrainError) -> AskError:
        """Return the exception for a lost stream. Write the run's output so far, or clear it if no run has started."""
        run_id, service = self.view.run_id, self.session.base_url
        if not run_id:
            failure = error if isinstance(error, AskError) else to_ask_error(error, service)
            self._undo_start(failure.refused, failure.unsent)
            return failure
        failure = connection_lost_error(error, f"run {run_id}", f"%runs attach {run_id}", service)
        failure.answer = self._write_output(str(failure), failure.hint, pictured=False)
        return failure

    def _handle_unstarted(self, end: EndReason) -> AskError | RunFailed | RunStopped:
        """Return the exception for a run that did not start before the timeout or the user's interrupt."""
        timeout = self.request.timeout
        if end == "left":
            self._undo_start(refused=True)  # when the cell runs again, its key must not lead to this cancelled run
            return RunStopped(
                "The cell was stopped before its run started. If the service received the request, it cancels the run."
            )
        if self.view.waiting:
            self._undo_start(refused=True)
            return AskError(
                f"The chat was still busy with another run after {timeout:g} s; nothing was started."
                f" (run {self.view.waiting})"
            )
        self.screen.clear()
        return RunFailed(
            f"The service did not confirm within {timeout:g} s that the run started; it may be active.",
            "Run the cell again to follow it, or to start it.",
        )

    def _undo_start(self, refused: bool, unsent: bool = False) -> None:
        """Clear the output, restore staged uploads, and update the question's record in the journal.

        Args:
            refused: the service refused the question. Its record is deleted.
            unsent: the question did not reach the service. Its record is marked.
        """
        self.screen.clear()
        if self.request.key:
            self.session.staged = self._staged | self.session.staged
            if refused:
                self.session.journal.remove_refused(self.request.key)
            if unsent:
                self.session.journal.mark_unsent(self.request.key)

    def _failure(self, end: EndReason, run: Run, why: str) -> RunFailed | RunStopped | None:
        """Return the exception for a run that did not complete, else None. `why` says what delays a late run."""
        known = {"cancelled": "was cancelled", "completed": "had completed", "failed": "failed"}
        outcome = known.get(str(run.status), f"is {run.status}")
        which = f"(run {run.run_id})"
        follows = f"Follow it with `%runs attach {run.run_id}`, or stop it with `%runs cancel {run.run_id}`."
        if end == "left":
            return RunStopped(f"The cell was stopped, but the run may still be active. {which}", follows)
        if end == "stopped":
            return RunStopped(f"The cell was stopped; the run {outcome}. {which}")
        if end == "late":
            return RunFailed(
                f"The run did not end within {self.request.timeout:g} s and is still active.{why} {which}", follows
            )
        hint = "Add `--no-raise-error` to continue after a failure." if self.fails_cell else ""
        if run.status == "failed":
            return RunFailed(f"{describe_failure(run)} {which}", hint)
        if run.status != "completed":
            return RunFailed(f"The run {outcome}. {which}", hint)
        misfit = self._schema_mismatch(run)
        return RunFailed(f"{misfit} {which}", hint) if misfit else None

    def _schema_mismatch(self, run: Run) -> str:
        """Return why the answer's data does not match the `--schema` option. Return an empty text if it matches."""
        if run.status != "completed" or self.request.shape is None:
            return ""
        try:
            self.request.shape.read(run.structured_output or {})
        except StefanBrainError as error:
            return error.message
        return ""

    def _write_output(self, *ends: str, pictured: bool = True, told_below: bool = False) -> CellAnswer:
        """Write the final output and return the answer.

        Args:
            ends: lines to add to the output.
            pictured: whether the output shows thumbnails, charts and quoted passages, which must be downloaded.
            told_below: whether an exception below the output says why the run ended. The output then does not say it.
        """
        view, request = self.view, self.request
        if view.run is not None:
            self.session.journal.record_state(view.run)
        notes = (*self.session.take_notes(), *self.notes)
        draw, files = prepare_output(self.client, view, request.shape, pictured=pictured)
        bundle = draw(notes=(*notes, *filter(None, ends)))
        shown = draw(notes=notes, why=False) if told_below else bundle
        run = view.record
        metadata = {"agentsvc_nb": {"run_id": run.run_id, "chat": run.chat, "status": str(run.status)}}
        self.screen.finish(shown, metadata)
        if view.files:
            self.session.known.answers[run.run_id] = shown, metadata
        return CellAnswer(
            run,
            view.text,
            bundle,
            files,
            request.shape,
            request.again,
            self.session.journal.attached_digests(run.run_id),
            lambda: self.client.runs.tables(run.run_id),
        )


def prepare_output(
    client: AgentService, view: RunView, shape: AnswerShape | None = None, *, pictured: bool
) -> tuple[partial[Bundle], list[WorkspaceFile]]:
    """Return two values: a function that builds the final output of a run, and the files that the run wrote.

    The function is `answer_bundle` with most arguments set. With `pictured`, download the run's pictures for
    thumbnails, and the passages that its answer quotes.
    """
    run = view.record
    files = [WorkspaceFile.model_validate({"id": "", "run_id": run.run_id, **facts}) for facts in view.files.values()]
    records = None
    if run.structured_output is not None and shape is not None and shape.records:
        records = records_bundle(shape.columns, shape.rows(run.structured_output))
    fetch = make_fetcher(client, run.chat) if pictured else None
    draw = partial(
        answer_bundle,
        view,
        records=records,
        charts=charts_bundle(files, fetch) if fetch else None,
        sources=sources_html(view.text, make_reader(client, run.chat)) if pictured else (),
        files=files_bundle(files, fetch, "Files of this run") if files else None,
    )
    return draw, files


def connection_lost_error(error: AskError | StefanBrainError, what: str, again: str, service: str) -> AskError:
    """Return the error to raise when the connection was lost while a cell followed `what`, a run or job.

    The error's hint names `again`, the magic with which the user can follow it later.
    """
    failure = error if isinstance(error, AskError) else to_ask_error(error, service)
    how = "The connection to the service was lost" if is_connection_lost(error) else "The service stopped responding"
    there = failure.hint if isinstance(error, AskError) else f"The service in use is {service}."
    shown = AskError(
        f"{how} before {what} ended: {failure}",
        f"Follow it with `{again}` when the service is available again. {there}",
    )
    shown.error = failure.error
    return shown


def is_connection_lost(error: AskError | StefanBrainError) -> bool:
    """Return True if the error means that the service can't be reached.

    This includes an embedded service that could not be started again.
    """
    cause = error.error if isinstance(error, AskError) else error
    return cause is None or isinstance(cause, APIConnectionError)


def _cancelled_error() -> AskError:
    error = AskError("The question was cancelled before its run started; nothing was started.")
    error.refused = True
    return error
