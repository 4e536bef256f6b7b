"""Execute the agent's calls in the user's kernel, for one run.

Two threads share this work. The thread that reads the run's events receives a call and waits for its end. The main
thread of the kernel inspects variables, asks the user and runs code. Code runs at most once: a call that any kernel has
already started is not started again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from agentsvc_nb import clock
from agentsvc_nb.client.client_tools import CallAnswer, ClientTool, current_call
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.kernel import edits, variables
from agentsvc_nb.notebook.kernel.access import KernelAccess
from agentsvc_nb.notebook.kernel.calls import (
    CODE_CHARS,
    ERROR_CHARS,
    INVISIBLE,
    KernelCall,
    State,
    failed_answer,
    picture_kind,
)
from agentsvc_nb.notebook.kernel.edits import EditCall
from agentsvc_nb.notebook.kernel.pages import NotebookPage, PageGone
from agentsvc_nb.notebook.kernel.variables import SEARCHED_BEYOND, SharingRules
from agentsvc_nb.notebook.redaction import redact
from agentsvc_nb.wire.limits import REASON_CHARS
from agentsvc_nb.wire.runs import Run
from agentsvc_nb.wire.text import forbidden, label, plain

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.notebook.kernel.database_port import OfferedDatabase
    from agentsvc_nb.notebook.state.journal import Journal

KernelMode = Literal["off", "look", "ask"]
BUTTONS_SECONDS: Final = 5.0
"""How many seconds a front end may take until its buttons work while a cell runs. After that, a prompt asks the
user.
"""
_TICK_SECONDS: Final = 0.25
_LOOK_SECONDS: Final = 5.0
_NOBODY: Final = "Nobody can approve this call, because the notebook runs without a user. Continue without it."
_CLOSED: Final = "The user's cell has ended and accepts no more calls; nothing was run."
_BEGUN: Final = "This code was started before and was interrupted, so it may have run in part. It was not run again."
_NO_PAGE: Final = "The notebook page does not respond: it was closed or is reloading. Continue without its cells."
_NO_CONFIRMATION: Final = "The notebook page did not confirm that it changed the cell. Check the cell with show_cell."
_AWAITS: Final = "Code with `await` outside a function can't run here. Write it without `await`."


@dataclass(frozen=True)
class KernelOffer:
    """The rights of the agent in the user's kernel for one question.

    Attributes:
        between: whether calls are executed between cells, because the question's cell ends before its run.
        buttons: whether the user can approve calls with buttons.
        database: the database that the agent may query, if any.
        page: the page that shows the notebook. If it has our extension, the agent may propose changes of cells.
    """

    access: KernelAccess
    mode: KernelMode
    rules: SharingRules
    between: bool = False
    buttons: bool = False
    database: OfferedDatabase | None = None
    page: NotebookPage | None = None

    @property
    def signature(self) -> str:
        """The permissions as text. Questions with different permissions do not share stored answers."""
        return f"{self.mode} {self.database.name}" if self.database else self.mode


@dataclass
class KernelToolExecutor:
    """Executes the agent's calls in the user's kernel, for one run.

    `run_id` and `chat` are empty until the run has started. Pictures that the code displays are uploaded to the chat's
    files.
    """

    offer: KernelOffer
    journal: Journal
    client: AgentService
    run_id: str = ""
    chat: str | None = None
    calls: list[KernelCall] = field(default_factory=list)
    _looks: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = field(default_factory=SimpleQueue)
    _closed: threading.Event = field(default_factory=threading.Event)
    _pictures: int = 0

    # -- in the thread that reads the run's events ---------------------------------------------------------------

    def set_run(self, run: Run) -> None:
        """Set the run's id and chat. This is called before the run's events are read."""
        self.run_id, self.chat = run.run_id, run.chat

    def tools(self) -> list[ClientTool]:
        """Return the functions that the agent may call."""
        offer, functions = self.offer, list[Callable[..., Any]]()
        if offer.mode != "off":
            functions += self._variable_functions()
        if offer.mode == "ask":
            functions.append(self._code_function())
            if offer.page is not None and offer.page.is_there(while_busy=not offer.between):
                functions += self._cell_functions(offer.page)
        # `effect=False`, because the user approves each call here. Otherwise, the service would also ask for approval.
        tools = [ClientTool(function, effect=False) for function in functions]
        if offer.database is not None:
            from agentsvc_nb.notebook.kernel.databases import database_tools

            tools = database_tools(offer.database, offer.rules, self._run_on_main_thread, self._query) + tools
        return tools

    def _variable_functions(self) -> list[Callable[..., Any]]:
        shell, rules = self.offer.access.shell, self.offer.rules

        def list_variables() -> Any:
            """List the variables of the user's notebook kernel, with their types and sizes."""
            return self._run_on_main_thread(lambda: variables.describe_all(shell.user_ns, rules))

        def show_variable(name: str) -> Any:
            """Show a variable of the user's notebook kernel: its type and size, and for a table its columns with their
            types and its first rows. Values that look like credentials are masked."""
            return self._run_on_main_thread(lambda: variables.describe(name, shell.user_ns, rules))

        return [list_variables, show_variable]

    def _code_function(self) -> Callable[..., Any]:
        def run_in_kernel(
            code: Annotated[str, Field(min_length=1, max_length=CODE_CHARS)],
            why: Annotated[str, Field(max_length=400)] = "",
        ) -> CallAnswer:
            """Run Python code in the user's notebook kernel, which has the user's variables. The user sees the code and
            `why`, one sentence about its purpose, and approves, changes or refuses it. You get the printed output, the
            value of the last line, and the error. Keep the code short and print only what you need."""
            code = code.replace("\r\n", "\n")
            if found := forbidden(code):
                return failed_answer(INVISIBLE.format("code", found))
            asked = current_call.get()
            call = KernelCall(asked.call_id, self.run_id, code, why, asked.created_at)
            self._await(call, ("asked", "approved", "running"))
            answer = call.answer()
            return CallAnswer([*answer.content, *self._upload_pictures(call)], answer.failed)

        return run_in_kernel

    def _cell_functions(self, page: NotebookPage) -> list[Callable[..., Any]]:
        def list_cells() -> Any:
            """List the code cells of the user's notebook: their ids, the numbers of cells that have run, and the
            beginning of each cell."""
            return _answer_or_failure(lambda: edits.list_cells(page.cells()))

        def show_cell(cell: str) -> Any:
            """Show the source of a code cell of the user's notebook, by its id or number. Values that look like
            credentials are masked."""
            return _answer_or_failure(lambda: edits.describe_cell(edits.find_cell(page.cells(), cell)))

        def edit_cell(
            cell: str,
            new: Annotated[str, Field(max_length=edits.SOURCE_CHARS)],
            old: str = "",
            why: Annotated[str, Field(max_length=400)] = "",
        ) -> Any:
            """Change a code cell of the user's notebook, by its id or number: `new` replaces `old`, which must occur
            exactly once in the cell. Without `old`, `new` replaces the whole cell. The user sees the change and `why`,
            one sentence about its purpose, and accepts or refuses it. The cell is not run."""
            return _answer_or_failure(lambda: self._edit(page, cell, old, new.replace("\r\n", "\n"), why))

        return [list_cells, show_cell, edit_cell]

    def _edit(self, page: NotebookPage, cell: str, old: str, new: str, why: str) -> CallAnswer:
        if invisible := forbidden(new):
            return failed_answer(INVISIBLE.format("change", invisible))
        found = edits.find_cell(page.cells(), cell)
        code, asked = edits.apply_change(found.source, old, new), current_call.get()
        call = EditCall(asked.call_id, self.run_id, code, why, asked.created_at, cell=found)
        self._await(call, ("asked",))
        if call.begin():
            try:
                wrong = edits.failure_reason(page.ask("edit", cell=found.id, was=found.source, source=code))
                call.end("failed" if wrong else "done", wrong)
            except PageGone:
                call.end("stopped", _NO_CONFIRMATION)
        return call.answer()

    def _query(self, sql: str, why: str, run: Callable[[str], Any]) -> Any:
        """Show a query to the user, and run it as the user has approved or changed it."""
        from agentsvc_nb.notebook.kernel.databases import QueryCall

        asked = current_call.get()
        call = QueryCall(asked.call_id, self.run_id, sql, why, asked.created_at)
        self._await(call, ("asked",))
        if not call.begin():
            return call.answer()
        found = self._run_on_main_thread(lambda: run(call.code))
        call.end("failed" if isinstance(found, CallAnswer) else "done")
        return found | {"query_as_the_user_changed_it": call.code} if call.edited and isinstance(found, dict) else found

    def _run_on_main_thread(self, look: Callable[[], Any]) -> Any:
        future: Future[Any] = Future()
        self._looks.put((future, look))
        while not future.done() and not self._closed.wait(_TICK_SECONDS / 5):
            pass
        if not future.done():
            return failed_answer(_CLOSED)
        return _answer_or_failure(future.result)

    def _await(self, call: KernelCall, states: tuple[State, ...]) -> None:
        """Add a call for the main thread, and wait until the call has none of these states any more."""
        self.calls.append(call)
        looked = clock.monotonic()
        while call.state in states and not call.wait(_TICK_SECONDS):
            if clock.monotonic() - looked > _LOOK_SECONDS:
                looked = clock.monotonic()
                self._close_if_ended()
            if self._closed.is_set():
                call.give_up(_CLOSED)

    def _close_if_ended(self) -> None:
        """Ask the service whether the run has ended, and if so, stop all calls.

        While a call waits, no thread reads the run's events, so the event that ends the run is not noticed.
        """
        with suppress(StefanBrainError):
            if self.client.runs.get(self.run_id).ended:
                self.close()

    def _upload_pictures(self, call: KernelCall) -> list[dict[str, Any]]:
        """Upload the displayed pictures, and return content blocks for the agent. Stop at the first error."""
        blocks: list[dict[str, Any]] = []
        for raw in call.outcome.pictures if call.outcome and self.chat else ():
            self._pictures += 1
            kind = picture_kind(raw)
            name = f"kernel-{call.call_id[-6:]}-{self._pictures}.{kind}"
            try:
                [staged] = self.client.files.upload((name, raw), chat=self.chat)
            except StefanBrainError as error:
                return [*blocks, {"type": "text", "text": f"A picture could not be sent: {error.message}"}]
            self.journal.record_attachment(self.run_id, staged.sha256)
            blocks.append({"type": "image", "path": f"uploads/{name}", "media_type": f"image/{kind}"})
        return blocks

    # -- in the thread that follows the run ----------------------------------------------------------------------

    def tick(self, draw: Callable[[], object]) -> None:
        """Execute waiting calls: at once if the question's cell is running, otherwise when no cell is running.

        Raises `KeyboardInterrupt` if the user interrupts a prompt.
        """
        if not self.has_work:
            return
        if self.offer.between:
            self.offer.access.when_idle(lambda: self._serve(lambda: None))
        else:
            self._serve(draw)

    def serve_while_waiting(self) -> None:
        """Execute waiting calls in a cell that waits for a run and blocks the kernel. Only the main thread does this.

        Raises `KeyboardInterrupt` if the user interrupts a prompt.
        """
        if threading.current_thread() is threading.main_thread() and (self.calls or not self._looks.empty()):
            self._serve(lambda: None, asks=True)

    @property
    def has_work(self) -> bool:
        if not self._looks.empty():
            return True
        return any(
            (call.state == "approved" and call.on_main_thread) or (call.state == "asked" and not self.offer.between)
            for call in self.calls
        )

    def close(self) -> None:
        """Stop waiting calls and refuse new ones. Code that is already running continues."""
        self._closed.set()

    # -- on the main thread --------------------------------------------------------------------------------------

    def _serve(self, draw: Callable[[], object], asks: bool = False) -> None:
        try:
            while True:
                future, look = self._looks.get_nowait()
                _complete(future, look)
        except Empty:
            pass
        for call in list(self.calls):
            if self._closed.is_set():
                return
            if call.state == "asked" and (asks or not self.offer.between):
                self._decide(call, draw, told=not asks)
            if call.on_main_thread and call.begin():
                self._run(call, draw)

    def _decide(self, call: KernelCall, draw: Callable[[], object], told: bool) -> None:
        access, waited = self.offer.access, clock.monotonic() - call.asked_at
        if self.offer.buttons and (access.hears_buttons or waited < BUTTONS_SECONDS):
            return
        if host.key_prompt(access.shell):
            call.by_prompt = True
            draw()
            if not told:  # the code is displayed in another cell
                print(call.bundle()["text/plain"])
            _decide_by_prompt(call)
        else:
            call.give_up(_NOBODY)

    def _run(self, call: KernelCall, draw: Callable[[], object]) -> None:
        from agentsvc_nb.notebook.kernel.running import CodeOutcome, run, uses_top_level_await

        shell = self.offer.access.shell
        if hasattr(shell, "kernel") and uses_top_level_await(shell, call.code):
            return call.end("stopped", _AWAITS)
        if not self.journal.begin_call(call.call_id):
            return call.end("stopped", _BEGUN)
        call.outcome = CodeOutcome()
        run(shell, call.code, call.outcome, draw)
        call.end("failed" if call.outcome.error else "done")


def _answer_or_failure(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except PageGone:
        return failed_answer(_NO_PAGE)
    except LookupError as error:
        return failed_answer(str(error.args[0]))


def _complete(future: Future[Any], look: Callable[[], Any]) -> None:
    try:
        future.set_result(look())
    except Exception as error:  # code in a user's class may raise any exception
        said = str(error.args[0]) if isinstance(error, LookupError) and error.args else type(error).__name__
        said = redact(plain(said[: ERROR_CHARS + SEARCHED_BEYOND]))[:ERROR_CHARS]
        future.set_exception(LookupError(said))


def _decide_by_prompt(call: KernelCall) -> None:
    """Ask the user to approve, change or refuse the call, until the answer is valid.

    At the end of the input (`EOFError`), refuse the call. After a `KeyboardInterrupt`, the call stays undecided.
    """
    try:
        while call.state == "asked":
            said, _, why = input(call.question).strip().partition(" ")
            said = said.casefold().rstrip(",:")
            if said in ("y", "yes"):
                call.decide(True)
            elif said in ("n", "no"):
                # Read the reason from the same line: before its next prompt appears, JupyterLab interprets typed keys
                # as commands, such as cut.
                call.decide(False, reason=label(why.strip(), REASON_CHARS))
            elif said in ("e", "edit") and call.on_main_thread:
                print("Type the code to run instead. End it with a line that contains only a dot:")
                call.decide(True, "\n".join(iter(input, ".")))
    except EOFError:
        call.decide(False)
